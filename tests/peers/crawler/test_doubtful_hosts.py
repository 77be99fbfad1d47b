"""Hosts that do not answer hold up no others: those that do are asked nearly as often as without them."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf

from mesh.actors.actor import Address, Send
from peers.crawler.model import politeness
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage
from peers.crawler.model.wire_messages import FoundLink, LinksFound
from tests.helpers import ME, fetched
from tests.peers.crawler.desk import Desk

HOSTS = 100
PAGES = 100  # of each
TIMEOUT_S, ANSWER_S = 10.0, 0.1
MEETING_S = 30.0  # in which all hosts are asked for the first time
SETTINGS = CrawlSettings(delay_s=1.0, fetches_in_flight_max=20)  # as 1,000 hosts have of 200


def pages_of_sound_hosts(n_silent: int, n_refusing: int, seconds: float = 90.0) -> int:
    """Crawl hosts of which, of each ten, so many do not answer; return how many pages of six others came."""
    desk = Desk(SETTINGS)
    begin_s, end_s, number = desk.now + MEETING_S, desk.now + seconds, count()
    asked: list[tuple[float, int, str]] = []
    page_count = 0

    def note(sends: list[Send]) -> None:
        for send in sends:
            if isinstance(send.message, FetchPage):
                kind = int(send.message.url.split(".")[0].removeprefix("http://h")) % 10
                took_s = TIMEOUT_S if kind < n_silent else ANSWER_S
                heappush(asked, (desk.now + took_s, next(number), send.message.url))

    for host in range(HOSTS):
        links = tuple(FoundLink(f"http://h{host}.test/{page}") for page in range(PAGES))
        note(desk.controller.receive(Address(ME, "searcher"), LinksFound(host + 1, links), desk.now))
    while True:
        wake_s, answer_s = desk.controller.wake_at(), asked[0][0] if asked else inf
        desk.now = max(desk.now, min(wake_s, answer_s))
        if desk.now > end_s:
            return page_count
        if wake_s < answer_s:
            note(desk.controller.wake(desk.now))
            continue
        _, _, url = heappop(asked)
        kind = int(url.split(".")[0].removeprefix("http://h")) % 10
        if kind < n_silent:
            note(desk.tell(FetchFailed(url, FailureReason.TIMEOUT)))
        elif kind < n_silent + n_refusing:
            note(desk.tell(FetchFailed(url, FailureReason.REFUSED)))
        else:
            page_count += kind >= 4 and desk.now >= begin_s and not url.endswith("robots.txt")
            note(desk.tell(fetched(url, 404, seconds=ANSWER_S)))


def test_sound_hosts_keep_nine_tenths_of_their_rate_while_three_of_ten_time_out_and_one_refuses() -> None:
    undisturbed, disturbed = pages_of_sound_hosts(0, 0), pages_of_sound_hosts(3, 1)
    assert disturbed >= 0.9 * undisturbed


def test_a_host_is_doubtful_until_it_answers_and_again_when_it_does_not() -> None:
    new = HostRecord("a.test")
    assert politeness.is_doubtful(new)
    sound = politeness.with_answer(new, 0.2, 20_000, 1.0)
    assert not politeness.is_doubtful(sound)
    assert politeness.is_doubtful(politeness.after_failure(sound, SETTINGS, 1.0, 2.0))
    assert politeness.doubtful_max(SETTINGS) == 14
