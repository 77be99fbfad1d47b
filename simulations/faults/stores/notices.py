"""The watch: each version of a page that has a watched word is noticed by its visitor, and nothing else is.

A notice is on the disk of one peer alone: it may be lost with that, and is read where that peer is a member.
A member that lies invents as many as it likes, in its own name: gateways have all those of others beside.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace
from xxhash import xxh3_64_digest

from mesh.actors.actor import Message
from mesh.stamp import BEFORE_ALL
from mesh.urls import is_canonical
from peers.gateway.model.messages import GatherNotices, NoticesGathered
from peers.watch.list_file import entries_of
from peers.watch.matcher import Matcher
from peers.watch.watch_list import WatchEntry, list_body
from peers.watch.watcher import Watcher
from peers.watch.wire_messages import PLACE_MAX, TIME_MAX, EntryCount, Notice, NoticesTold
from simulations.faults.stores.store_use import TICKETS, StoreUse, UsedMachine, UsedRun
from simulations.webs.changing_web import is_shown
from simulations.webs.web import Served
from simulations.world.varied_pages import SUBJECTS, VariedParser

ANSWERED_S: Final = 2.0
_TICKETS: Final = 7 * TICKETS
_SCIENCE, _SPORTS, _PHYSICS, *_, _ROWING = SUBJECTS
_LINES: Final = (_ROWING.word, f"science\t{_SCIENCE.word} {_PHYSICS.word}")
_FURTHER: Final = _SPORTS.word  # of the later list, so that what the first one has noticed is right by it


class _Visit(NamedTuple):
    """A version of a page was read."""

    machine: UsedMachine
    at_s: float
    entries: frozenset[str]  # names of what it was watching for


class WatchUse(StoreUse):
    """Watched words and a phrase; one more is added at a moment of the run."""

    chance = "watch"

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        self._number = 0
        self._documents = VariedParser(run.web)
        self._all = entries_of((*_LINES, _FURTHER))
        self._matcher = Matcher(0, self._all)
        self._visits: dict[tuple[str, bytes], list[_Visit]] = defaultdict(list)  # by URL and body
        self._gathered: NoticesGathered | None = None
        self._urls: set[str] = set()  # of pages that anybody tells notices of

    def decree(self) -> None:
        self._publish(self._all[:-1])

    def begin(self, until: float) -> None:
        at_s = self._random.uniform(self._world.now, until)
        self._world.plan(at_s, lambda: self._publish(self._all))

    def end_faults(self) -> None:
        """Say it once more, for it may have been lost with the only member that had heard of it."""
        self._publish(self._all)

    def _publish(self, entries: Sequence[WatchEntry]) -> None:
        machine = self._run.some_gateway()
        if machine is not None:
            self._number += 1
            machine.publish(self._run.members.watch(self._number, list_body(entries, 1.0)))

    def requested(self, machine: UsedMachine, url: str, served: Served) -> bool:
        if served.status == 200 and is_shown(served.body) and not url.endswith("/robots.txt"):
            watcher = self.actor(machine, Watcher.name)
            assert isinstance(watcher, Watcher)
            known = frozenset() if watcher._list is None else watcher._list.names
            self._visits[url, served.body].append(_Visit(machine, self._world.now, known))
        return False

    def told(self, machine: UsedMachine, message: Message) -> bool:
        if not isinstance(message, NoticesGathered):
            return False
        self._gathered = message
        return True

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        honest = [machine for machine in machines if machine is not self._run.liar]
        for is_hostile in (True, False):  # what it says need be no notice at all
            with self.lying(partial(self._forged, is_hostile=is_hostile)):
                told = self._read(honest)
            if not all(each and not each[-1].notices for each in told.values()):
                yield "a gateway has not all notices of the peers"
                return
        notices = {peer: [one for each in parts for one in each.notices] for peer, parts in told.items()}
        said = {peer: {notice.identity for notice in of_peer} for peer, of_peer in notices.items()}
        yield from self._missed(machines, said)
        for machine in honest:
            yield from self._made_up(machine, notices[machine.peer], told[machine.peer][-1].counts)
        if any(not is_canonical(url) for url in self._urls):
            yield "a gateway is told notices of what is no page"

    def _read(self, machines: Sequence[UsedMachine]) -> dict[str, list[NoticesTold]]:
        """Return the notices of peers, as a gateway tells them in parts; in the last ones there are none."""
        gateway = self._random.choice(machines)
        parts: dict[str, list[NoticesTold]] = {machine.peer: [] for machine in machines}
        while not all(each and not each[-1].notices for each in parts.values()):
            after = {
                peer: part.notices[-1].place for peer, each in parts.items() for part in each if part.notices
            }
            self._gathered = None
            gateway.order(
                GatherNotices(_TICKETS, tuple(after.items()), wants_counts=True, is_from_oldest=True)
            )
            self._world.run(until=self._world.now + ANSWERED_S)
            gathered: NoticesGathered | None = self._gathered
            if gathered is None or not parts.keys() <= dict(gathered.told).keys():
                return {gateway.peer: []}
            self._urls |= {notice.url for _, each in gathered.told for notice in each.notices}
            for peer, of_peer in gathered.told:
                if peer in parts:
                    parts[peer].append(of_peer)
        return parts

    def _forged(self, message: Message, *, is_hostile: bool) -> Message:
        """Return the answer of a member that lies: many notices, of times to come, as if others had none."""
        if not isinstance(message, NoticesTold):
            return message
        urls = list(self._run.watch.stored)
        first = Notice(
            PLACE_MAX - 1_000, "javascript:alert(1)", b"made up", _SCIENCE.word, 1, TIME_MAX, "made up", 1, 1
        )
        made_up = tuple(
            replace(first, place=first.place + n, url=first.url if is_hostile else self._random.choice(urls))
            for n in range(100)
        )
        return replace(message, notices=made_up, last=PLACE_MAX)

    def _missed(
        self, machines: Sequence[UsedMachine], said: dict[str, set[tuple[str, bytes, str]]]
    ) -> Iterator[str]:
        """Versions that are stored, with entries that none of their readers has noticed."""
        for (url, body), visits in self._visits.items():
            mark = xxh3_64_digest(body)
            may_be_lost = any(
                visit.machine not in machines
                or visit.machine is self._run.liar
                or visit.machine.lost_disk_s >= visit.at_s
                for visit in visits
            )
            if may_be_lost or mark not in self._run.watch.acknowledged.get(url, ()):
                continue
            sure = frozenset.intersection(*(visit.entries for visit in visits))
            for entry in self._found_in(url, body).keys() & sure:
                if not any((url, mark, entry) in said[visit.machine.peer] for visit in visits):
                    names = sorted({visit.machine.name for visit in visits})
                    yield f"nobody of {names} has noticed {entry!r} in {url} as {body!r}"

    def _made_up(
        self, machine: UsedMachine, notices: Sequence[Notice], counts: Sequence[EntryCount]
    ) -> Iterator[str]:
        """Notices that are none of a version which a peer has read, or are said twice, and wrong counts."""
        read = {
            (url, xxh3_64_digest(body)): body
            for (url, body), visits in self._visits.items()
            if any(visit.machine is machine for visit in visits)
        }
        for notice in notices:
            body = read.get((notice.url, notice.mark))
            found = {} if body is None else self._found_in(notice.url, body)
            if found.get(notice.entry) != notice.count:
                yield f"{machine.name} noticed {notice.entry!r} in {notice.url}, which it did not read so"
        for identity, n in Counter(notice.identity for notice in notices).items():
            if n > 1:
                yield f"{machine.name} says {n} times that {identity} is new"
        so_far, occurrences = Counter[str](), Counter[str]()
        for notice in notices:
            so_far[notice.entry] += 1
            occurrences[notice.entry] += notice.count
        told = {each.entry: (each.notices, each.occurrences) for each in counts}
        if told != (kept := {entry: (so_far[entry], occurrences[entry]) for entry in so_far}):
            yield f"{machine.name} counts {told} notices, and has {kept}"

    def _found_in(self, url: str, body: bytes) -> dict[str, int]:
        """Return how often which entries are in a version of a page."""
        document = self._documents.document(url, BEFORE_ALL, body)
        assert document is not None
        found = self._matcher.watch(document.title, document.text)
        return {} if found is None else {hit.entry: hit.count for hit in found.hits}
