"""What the pages of a domain cost the parser, and how it pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import cast

import pytest
import trio

from mesh.actors.actor import Address, Message, Send
from mesh.process.workshop import Answer, Workshop, WorkshopFault
from peers.crawler.frontier.host_state import UNKNOWN_UNPARSED_MAX, UNPARSED_MAX
from peers.crawler.model.messages import ParseFailed, ParsePage
from peers.crawler.model.page_tasks import decode_task, encode
from peers.crawler.model.web_request import FailureReason, FetchPage
from peers.crawler.parsing.parser_port import ParserPort
from peers.crawler.parsing_costs import CPU_SHARE, FREE_CPU_S
from peers.storage.messages import PageStored, StorePage
from tests.helpers import ME, fetched, parsed
from tests.patience import PATIENCE_S
from tests.peers.crawler.desk import HOME, ORIGIN, ROBOTS, SETTINGS, Desk, asked

FATAL = ParseFailed(HOME, FailureReason.EXHAUSTING, is_fatal=True)


def dear(url: str, cpu_s: float) -> Message:
    return parsed(url, cpu_s=cpu_s)


def test_a_domain_waits_no_less_for_a_restart_and_twice_as_long_the_next_time() -> None:
    desk = Desk(backoff_s=30.0).with_home_asked(f"{ORIGIN}/1")
    desk.tell(fetched(HOME))
    desk.tell(FATAL, "parser")
    desk.start()
    assert asked(desk.wake(29.0)) == []
    sends = desk.wake(1.0)
    assert asked(sends + desk.allow()) in ([f"{ORIGIN}/1"], [ROBOTS, f"{ORIGIN}/1"])
    desk.tell(fetched(f"{ORIGIN}/1"))
    desk.tell(ParseFailed(f"{ORIGIN}/1", FailureReason.EXHAUSTING, is_fatal=True), "parser")
    assert asked(desk.seed(f"{ORIGIN}/2")) == []
    assert asked(desk.wake(59.0)) == []
    assert asked(desk.wake(1.0)) == [f"{ORIGIN}/2"]


def test_a_clock_that_went_back_lets_no_domain_wait_for_longer_than_it_ever_would() -> None:
    desk = Desk(backoff_s=30.0, backoff_max_s=40.0).with_home_asked(f"{ORIGIN}/1")
    desk.tell(fetched(HOME))
    desk.now += 1e9
    desk.tell(FATAL, "parser")
    desk.now -= 1e9
    desk.start()
    desk.wake(41.0)
    assert desk.controller._frontier.find("a.test") is not None
    assert asked(desk.wake(1e6)) != []


def test_long_after_its_last_wait_a_domain_begins_anew() -> None:
    desk = Desk(backoff_s=30.0, backoff_max_s=100.0, robots_ttl_s=1e6)
    desk.with_home_asked(*(f"{ORIGIN}/{number}" for number in range(1, 4)))
    for number, (pause_s, rest_s) in enumerate([(30.0, 0.0), (60.0, 0.0), (30.0, 101.0)]):
        url = HOME if not number else f"{ORIGIN}/{number}"
        desk.now += rest_s
        desk.tell(fetched(url))
        desk.tell(ParseFailed(url, FailureReason.EXHAUSTING, is_fatal=True), "parser")
        assert asked(desk.wake(pause_s - 1.0)) == []
        assert asked(desk.wake(1.0)) == [f"{ORIGIN}/{number + 1}"]


def test_long_after_its_last_wait_a_domain_has_as_many_pages_at_the_parser_as_others() -> None:
    desk = Desk(backoff_s=30.0, backoff_max_s=100.0, robots_ttl_s=1e6).with_home_asked(f"{ORIGIN}/1")
    desk.tell(fetched(HOME))
    desk.tell(FATAL, "parser")
    found = desk.controller._frontier.find("a.test")
    assert found is not None
    assert found.domain.exhausted_count == 1
    assert asked(desk.wake(30.0)) == [f"{ORIGIN}/1"]
    assert found.domain.exhausted_count == 1
    desk.tell(fetched(f"{ORIGIN}/1"))
    desk.tell(parsed(f"{ORIGIN}/1"), "parser")
    desk.now += 101.0
    assert asked(desk.seed(f"{ORIGIN}/2")) == [f"{ORIGIN}/2"]
    assert found.domain.exhausted_count == 0


def with_company(desk: Desk) -> Desk:
    """The page of another domain was taken apart just before that of the desk's."""
    desk.seed("http://b.test/")
    desk.tell(fetched("http://b.test/robots.txt", 404))
    desk.wake(desk.settings.delay_s)
    desk.tell(fetched("http://b.test/"))
    desk.tell(parsed("http://b.test/"), "parser")
    return desk


def test_who_is_dear_beside_others_has_a_share_of_a_processor() -> None:
    desk = with_company(Desk().with_home_asked(f"{ORIGIN}/1"))
    desk.tell(fetched(HOME))
    desk.tell(dear(HOME, FREE_CPU_S + 2.0), "parser")
    assert asked(desk.wake(2.0 / CPU_SHARE - 0.5)) == []
    assert asked(desk.wake(0.5)) == [f"{ORIGIN}/1"]


@pytest.mark.parametrize("has_company", [False, True])
def test_who_is_alone_or_ordinary_waits_for_nothing(has_company: bool) -> None:
    desk = Desk().with_home_asked(f"{ORIGIN}/1")
    if has_company:
        with_company(desk)
    desk.tell(fetched(HOME))
    desk.tell(dear(HOME, FREE_CPU_S if has_company else 9.0), "parser")
    assert asked(desk.wake(SETTINGS.delay_s)) == [f"{ORIGIN}/1"]


@pytest.mark.parametrize("unparsed_max", [UNKNOWN_UNPARSED_MAX, UNPARSED_MAX])
def test_a_domain_has_so_many_pages_at_the_parser_under_whatever_names(unparsed_max: int) -> None:
    names = [f"http://x{number}.many.test" for number in range(unparsed_max + 1)]
    desk = Desk()
    if unparsed_max == UNPARSED_MAX:
        desk.seed("http://many.test/")
        desk.allow("http://many.test", status=404)
        desk.tell(fetched("http://many.test/"))
        desk.tell(parsed("http://many.test/"), "parser")
    for name in names[:-1]:
        desk.seed(f"{name}/")
        desk.allow(name, status=404)
        desk.tell(fetched(f"{name}/"))
    assert asked(desk.seed(f"{names[-1]}/", HOME)) == [ROBOTS]
    assert asked(desk.tell(parsed(f"{names[0]}/"), "parser")) == [f"{names[-1]}/robots.txt"]


class SlowWorkshop:
    """Processes whose work takes the time that it is charged with."""

    processes_max = 1

    def __init__(self, cost_s: Callable[[str], float], limit_s: float = 10.0) -> None:
        self.cost_s, self.limit_s = cost_s, limit_s
        self.used_s = 0.0

    async def run(self) -> None:
        await trio.sleep_forever()

    async def carry_out(self, orders: Iterable[bytes], take: Callable[[Answer], None]) -> None:
        for encoded in orders:
            order = cast(ParsePage, decode_task(encoded))
            cost_s = min(self.cost_s(order.url), self.limit_s)
            await trio.sleep(cost_s)
            self.used_s += cost_s
            take(WorkshopFault.TIME if cost_s == self.limit_s else encode(parsed(order.url, cpu_s=cost_s)))


class Crawl:
    """A controller and a parser with one process; the web answers at once, and all is stored at once."""

    def __init__(self, desk: Desk, workshop: SlowWorkshop) -> None:
        self.desk = desk
        self.port = ParserPort(ME, cast(Workshop, workshop))
        self.stored: list[str] = []
        self.began_s = desk.now

    async def run(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.port.run, self._delivered)
                while True:
                    self._note_time()
                    self._do(self.desk.wake())
                    at_s = self.desk.controller.wake_at() - self.desk.now
                    await trio.sleep(min(max(at_s, 0.001), 0.01))

    def _note_time(self) -> None:
        self.desk.now = max(self.desk.now, self.began_s + trio.current_time())

    def _delivered(self, _: Address, actor: str, message: Message) -> None:
        assert actor == "controller"
        self._note_time()
        self._do(self.desk.tell(message, "parser"))

    def _do(self, sends: list[Send]) -> None:
        for send in sends:
            match send.message:
                case FetchPage(url):
                    self._do(
                        self.desk.tell(
                            fetched(url, 404 if url.endswith("robots.txt") else 200, seconds=0.001)
                        )
                    )
                case ParsePage():
                    self.port.receive(Address(ME, "controller"), send.message)
                case StorePage(page):
                    self.stored.append(page.url)
                    self._do(self.desk.tell(PageStored(page.url, page.stamp), "cell"))


@pytest.mark.parametrize("cost_s", [10.0, 9.0])
@pytest.mark.parametrize("is_wildcard", [False, True])
async def test_pages_that_cost_a_process_ten_seconds_each_keep_no_honest_host_waiting(
    cost_s: float, is_wildcard: bool, autojump_clock: object
) -> None:
    """Before, 2 of 158 were stored after 80 s."""
    honest = [f"http://honest.test/{number}" for number in range(158)]
    bad = [f"http://{f'x{n}.' * is_wildcard}bad.test/{n}" for n in range(400)]
    workshop = SlowWorkshop(lambda url: cost_s if "bad.test" in url else 0.005)
    desk = Desk(delay_s=0.2)
    crawl = Crawl(desk, workshop)
    crawl._do(desk.seed(*bad) + desk.seed(*honest))
    with trio.fail_after(PATIENCE_S * 1_000):
        await crawl.run(80.0)
    assert sum("honest" in url for url in crawl.stored) == len(honest)
    assert inf > workshop.used_s > cost_s  # it had its share
