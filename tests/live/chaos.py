"""What can happen to the peers of a mesh, and what must be true when it is over. [io]

Every action leaves an excuse in the books: what the peer that was killed had fetched in its last seconds
may be fetched once more, nothing else may. With two copies of everything no more than one peer is away for
good or loses its disk at a time, and the next one only when there are two copies again (`wait_until_whole`).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from peers.crawler.frontier.store import COMPANY_S
from tests.live.access_log import Access, Excuse, assert_polite, by_host, repeats, unexcused
from tests.live.archives import archived_urls
from tests.live.lab_process import wait_for
from tests.live.mesh_processes import Mesh
from tests.live.searching import (
    Answer,
    Searching,
    ask,
    failures,
    incomplete,
    misses,
    searching,
    told,
    wrong,
)
from tests.live.truth import Truth
from tests.patience import PATIENCE_S

# What a peer fetches becomes durable within this time: it is parsed, stored here and by a standby, which
# hears that it is done when news of its slot goes there.
UNSETTLED_S: Final = 5.0 + COMPANY_S
RECOVERY_S: Final = 10.0  # from the return of a peer until it has taken what it missed
WHOLE_S: Final = 3 * PATIENCE_S  # a standby comes in for one that is away after 20 s
REPLICAS: Final = 2
TOLD_S_MIN: Final = 0.5  # what was shorter is not worth a line
BUSY_S: Final = 2.0  # who asked a host so recently is crawling it
MUCH: Final = 10  # pages: some seconds of crawling


class Trouble(NamedTuple):
    """A gateway from which no answer is expected for a while. Times are in seconds since the epoch."""

    gateway: str
    from_s: float
    until_s: float


class Chaos:
    """Does things to a mesh, one after the other, and keeps the books."""

    def __init__(self, mesh: Mesh, truth: Truth) -> None:
        self.mesh = mesh
        self.truth = truth.of(())  # what has been seeded
        self._web = truth  # what there is
        self._seeded: set[str] = set()
        self._troubles: list[Trouble] = []
        self.excuses: list[Excuse] = []
        self.transcript: list[str] = []
        self._began = time.time()
        self._n_told = 0

    def say(self, what: str) -> None:
        self.transcript.append(f"{time.time() - self._began:6.1f} s  {what}")
        print(self.transcript[-1], flush=True)

    def tell(self, asked: Searching) -> None:
        """Write down what the searches brought; all answers go to a file beside the mesh."""
        self.say(told(asked.answers))
        for from_s, until_s, gateway, missing in incomplete(asked.answers):
            if until_s - from_s > TOLD_S_MIN:
                when = f"{from_s - self._began:.1f} to {until_s - self._began:.1f} s"
                self.say(f"  {when}: up to {missing} slots missing at {gateway}")
        for miss in misses(asked.answers):
            if miss.seconds > TOLD_S_MIN or not miss.is_said:
                how = "said" if miss.is_said else "unsaid"
                self.say(
                    f"  {miss.began_s - self._began:.1f} s: {miss.seconds:.1f} s without {miss.page}, {how}"
                )
            for each in miss.unsaid:
                at_s = each.asked_s - self._began
                self.say(f"    {at_s:.1f} s: {each.took_s:.1f} s at {each.gateway}: {each.told}")
        self._n_told += 1
        lines = [json.dumps([round(a.asked_s - self._began, 3), *a[1:]]) for a in asked.answers]
        answers = self.mesh.folder.parent / f"answers-{self._n_told}"
        answers.write_text("\n".join(lines), encoding="utf-8")

    def excuse(self, peer: int, at_s: float, until_s: float) -> None:
        """Note that a peer failed at that time and went on fetching, if at all, until that one.

        What it had fetched shortly before is not settled. If another had failed a moment earlier, it may
        have had nobody to give its pages to since then.
        """
        from_s = at_s - UNSETTLED_S
        for earlier in reversed(self.excuses):
            if earlier.until_s + RECOVERY_S > from_s:
                from_s = min(from_s, earlier.from_s)
        self.excuses.append(Excuse(peer, from_s, until_s))

    @contextmanager
    def trouble(self, *numbers: int) -> Iterator[None]:
        """Expect no answers of these gateways while the block runs."""
        gateways = [self.mesh.gateway(number) for number in numbers]
        from_s = time.time()
        yield
        self._troubles += [Trouble(gateway, from_s, time.time()) for gateway in gateways]

    def assert_answers_are_right(self, asked: Searching) -> None:
        """Every answer holds in itself, who could answer did, and what was missing came back."""
        assert asked.answers, "the test could not ask"  # as often as it wants it cannot on a busy machine
        assert not wrong(asked.answers), wrong(asked.answers)[:3]
        failed = [each for each in failures(asked.answers) if not self._is_excused(each)]
        assert not failed, f"{len(failed)} failed: {failed[:3]}; {self._troubles}"
        # A standby commits to its index a little after the owner.
        lasting = [miss for miss in misses(asked.answers) if not miss.is_over]
        assert not lasting, lasting

    def _is_excused(self, answer: Answer) -> bool:
        return any(
            each.gateway == answer.gateway
            and answer.asked_s <= each.until_s
            and answer.answered_s >= each.from_s
            for each in self._troubles
        )

    # --- actions ---

    def found(self, peers: int) -> None:
        """Start the first peers, wait until they have shared the slots out, and seed all there is."""
        self.meet(peers)
        self.crawl(self.mesh.web.addresses)

    def crawl(self, hosts: Collection[str]) -> None:
        """Hand the seeds of these hosts to the mesh, besides those that it has had."""
        self._seeded |= set(hosts)
        self.truth = self._web.of(self._seeded)
        self.mesh.seed(hosts)
        self.say(f"seeds of {len(hosts)} hosts, {len(self.truth.pages)} pages by now")

    def meet(self, peers: int) -> None:
        """Start the first peers, and wait until they have shared the slots out."""
        self.mesh.start(1)
        if peers > 1:
            self.mesh.start(*range(2, peers + 1))
        self.mesh.wait_until_met()
        began = time.monotonic()
        self.mesh.wait_until_balanced()
        self.say(f"{peers} peers have met, and balanced in {time.monotonic() - began:.1f} s")

    def join(self, number: int) -> None:
        self.mesh.start(number)
        self.say(f"peer-{number} has joined")

    def kill(self, *numbers: int) -> float:
        """kill -9; return when."""
        at_s = time.time()
        with self.trouble(*numbers):
            self.mesh.kill(*numbers)
        for number in numbers:
            self.excuse(number, at_s, time.time() + 0.1)
        self.say(f"peers {numbers} have been killed")
        return at_s

    def kill_and_restart(self, number: int, down_s: float) -> None:
        self.kill(number)
        time.sleep(down_s)
        self.mesh.start(number)
        self.say(f"peer-{number} is back")

    def pause(self, number: int, seconds: float) -> None:
        """SIGSTOP for a while. What was on its way is finished afterwards, maybe by another as well."""
        at_s = time.time()
        with self.trouble(number):
            self.mesh.pause(number)
            self.say(f"peer-{number} stands still for {seconds:.1f} s")
            time.sleep(seconds)
            self.mesh.resume(number)
        self.excuse(number, at_s, time.time() + 1.0)

    def restart(self, number: int, down_s: float = 0.0) -> None:
        """End a peer kindly and start it again: nothing may be fetched twice for that."""
        with self.trouble(number):
            code = self.mesh.stop(number)
        assert code == 0, f"peer-{number} ended with {code}: {self.mesh.log(number)[-2_000:]}"
        time.sleep(down_s)
        self.mesh.start(number)
        self.say(f"peer-{number} has been stopped and started")

    def lose_disk(self, number: int) -> None:
        """Kill a peer whose disk does not come back; others must have two copies of everything before."""
        self.kill(number)
        self.mesh.empty(number)
        self.mesh.start(number)
        self.say(f"peer-{number} is back with an empty disk")

    def drain(self, number: int, timeout: float = 3 * PATIENCE_S) -> None:
        """Have a peer give away all it has, and end it for good."""
        self.mesh.drain(number)
        self.say(f"peer-{number} gives all away")
        others = [each for each in self.mesh.running() if each != number]

        def is_drained() -> bool:
            return bool(self.mesh.row(number, seen_by=others[0]).get("state") == "drained")

        wait_for(is_drained, f"end of the draining of peer-{number}", timeout)
        with self.trouble(number):
            assert self.mesh.stop(number) == 0
        states = {each["id"]: each["state"] for each in self.mesh.report(others[0])["members"]}
        assert states.get(self.mesh.peer_id(number), "gone") == "gone"  # not down: nobody waits for it
        self.say(f"peer-{number} has gone for good")

    # --- what is to be seen ---

    @contextmanager
    def watched(self, pages: int = 20, hosts: Collection[str] | None = None) -> Iterator[Searching]:
        """Search for known pages while the block runs; all that was answered must be right."""
        with searching(self.mesh.gateways, self.truth.some(pages, hosts)) as asked:
            yield asked
            wait_for(
                lambda: all(miss.is_over for miss in misses([*asked.answers])), "pages that were missing"
            )
        self.tell(asked)
        self.assert_answers_are_right(asked)

    def unfinished(self, accesses: Collection[Access]) -> set[str]:
        """Hosts of which much is still to be fetched."""
        asked = {access.url for access in accesses}
        left = Counter(urlsplit(url).netloc for url in self.truth.pages - asked)
        return {host for host, pages in left.items() if pages >= MUCH}

    def busiest(
        self, accesses: Callable[[], Collection[Access]], among: Collection[int] = ()
    ) -> tuple[int, list[str]]:
        """The peer that is crawling most hosts of which much is left, and those hosts.

        Args:
          among: numbers of peers; () for all that run.
        """

        def found() -> tuple[int, list[str]] | None:
            log = accesses()
            busy, since_s = self.unfinished(log), time.time() - BUSY_S
            shares = {n: sorted(busy & set(hosts_of(n, log, since_s))) for n in among or self.mesh.running()}
            number = max(shares, key=lambda each: len(shares[each]))
            return (number, shares[number]) if shares[number] else None

        return wait_for(found, "peer that has much to do: the crawl is too short for this test")

    # --- at the end ---

    def wait_until_whole(self, timeout: float = WHOLE_S) -> dict[str, Any]:
        """Wait until all rests, every page is searched once and kept `REPLICAS` times."""
        pages = len(self.truth.pages)

        def is_whole() -> dict[str, Any] | None:
            report = self.mesh.report()
            total = report["total"]
            return (
                report
                if total["idle"]
                and len(report["peers"]) == len(self.mesh.running())
                and total["pages_indexed"] == pages
                and total["documents"] == REPLICAS * pages
                else None
            )

        began = time.monotonic()
        try:
            report = wait_for(is_whole, "whole mesh", timeout)
        except AssertionError as error:
            rows = self.mesh.report()["peers"]
            shown = (
                "id",
                "idle",
                "pages_indexed",
                "documents",
                "pending",
                "members",
                "frontier",
                "slots",
                "state",
                "stores",
            )
            raise AssertionError(
                f"{error}: {pages} pages; {[{k: r.get(k) for k in shown} for r in rows]}"
            ) from error
        self.say(f"whole after {time.monotonic() - began:.1f} s")
        return report

    def assert_all_found(self) -> None:
        """Every known page is found through every gateway, in answers that are complete."""
        for page in self.truth.known:
            for gateway in self.mesh.gateways():
                answer = ask(gateway, page)
                assert answer.is_found, answer
                assert answer.missing == 0, answer
                assert not answer.wrong, answer

    def assert_archived(self) -> None:
        """The archives of the peers that run have every page, as often as there are copies."""
        copies = archived_urls(self.mesh.folder, self.mesh.running())
        assert copies.keys() == self.truth.pages
        few = {url: n for url, n in copies.items() if n < REPLICAS}
        assert not few, f"{len(few)} pages with too few copies: {list(few)[:5]}"

    def assert_log(self, accesses: Collection[Access], delay_s: float) -> None:
        """Every page was asked for once, or with an excuse, and no host too soon."""
        asked = [access for access in accesses if access.agent != "oracle"]
        assert {access.url for access in asked} >= self.truth.pages
        log = self.mesh.folder.parent / "accesses"
        log.write_text("\n".join(map(repr, asked)), encoding="utf-8")  # nginx's own goes with the web
        again = repeats(asked)
        self.say(f"{len(asked)} requests, {len(again)} of them repeated")
        bad = unexcused(again, self.excuses)
        assert not bad, f"{len(bad)} without excuse, such as {list(map(str, bad[:5]))}; {self.excuses}"
        assert_polite(asked, delay_s)


def hosts_of(peer: int, accesses: Collection[Access], since_s: float) -> list[str]:
    """The hosts that a peer has asked last, of those it has asked since then."""
    return [
        host
        for host, asked in by_host(accesses).items()
        if asked[-1].peer == peer and asked[-1].began_s >= since_s
    ]


def script(chaos: Chaos, random: Random) -> list[Callable[[], None]]:
    """Actions in an order drawn from a seed; each leaves the mesh such that the next one may come."""
    mesh = chaos.mesh

    def anybody() -> int:
        return random.choice(mesh.running())

    def two_die() -> None:
        first, second = random.sample(mesh.running(), 2)
        chaos.kill(first, second)
        time.sleep(random.uniform(0, 4))
        mesh.start(first, second)
        chaos.say(f"peers {first} and {second} are back")

    actions = [
        lambda: chaos.kill_and_restart(anybody(), random.uniform(0, 6)),
        lambda: chaos.kill_and_restart(anybody(), random.uniform(0, 1)),
        lambda: chaos.pause(anybody(), random.uniform(1, 3)),
        lambda: chaos.pause(anybody(), random.uniform(4, 8)),
        lambda: chaos.restart(anybody(), random.uniform(0, 2)),
        two_die,
    ]
    random.shuffle(actions)
    return actions
