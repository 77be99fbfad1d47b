"""Topics: each visit that the servers know of counts once, with the text of the page, and no other does.

A visit may be lost with the peer that made it, before anybody promised anything; those that are made when
there are no faults any more must all be there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Final, NamedTuple

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from mesh.stamp import BEFORE_ALL
from mesh.urls import fingerprint
from peers.actors import TOPICS_SECTION
from peers.engine.pages.document import content_digest
from peers.gateway.model.messages import CountsSummed, CountTopic
from peers.topics.topic_list import FORMAT, RELATED_MAX, STRINGS_MAX, CountedTopic, TopicList, list_body
from peers.topics.topics import Topics, TopicStatistics
from peers.topics.visit_row import (
    CONTENT_BYTES,
    NAME_BYTES,
    PAGE_BYTES,
    VisitName,
    keys_bytes,
    levels_bytes,
    visit_in,
)
from peers.topics.wire_messages import ToldVisit, VisitsTold
from simulations.faults.stores.store_use import TICKETS, StoreUse, UsedMachine, UsedRun, all_rows
from simulations.webs.changing_web import is_shown
from simulations.webs.web import Served
from simulations.world.checks import reachable
from simulations.world.varied_pages import VariedParser
from simulations.world.words import rare_word_of

# Longer than clocks are apart, so that no visit is of a slice to come; a run has some of two of them.
SLICE_S: Final = 6 * 3_600
SECOND_SLICE_S: Final = 100.0  # from the begin of the run to that of its second slice
KNOWN_S: Final = 15.0  # from the end of all faults until everybody knows of the topics
ANSWERED_S: Final = 20.0
SLICES_AHEAD: Final = 10  # of visits that nobody can have made
_TICKETS: Final = 4 * TICKETS
_NOT_MODIFIED: Final = 304


class _Visit(NamedTuple):
    """A visit that found a page there, with its text."""

    content: bytes
    slice: int
    page: bytes
    url: str
    text: str

    @property
    def name(self) -> bytes:
        return VisitName(self.content, self.slice, self.page).encoded


class TopicUse(StoreUse):
    """A topic of which some pages are, to some a page is related, the others are of no matter."""

    chance = "topics"
    rows = TOPICS_SECTION + Topics.rows_section

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        starts_s = int(self._world.now + SECOND_SLICE_S) % SLICE_S
        words = sorted(map(rare_word_of, reachable(run.web)))
        strings, related = words[::3][:STRINGS_MAX], words[1::3][:RELATED_MAX]
        self._topic = CountedTopic("words", "Words", tuple(strings), tuple(related))
        self._list = TopicList(FORMAT, (self._topic,), SLICE_S, starts_s)
        self._documents = VariedParser(run.web)
        self._served: dict[bytes, _Visit] = {}  # by the name of the row
        self._sure: dict[bytes, _Visit] = {}  # those that must be there
        self._read: set[bytes] = set()  # contents that somebody surely read who knew of the topic
        self._made_up: set[bytes] = set()  # rows of a member that lies
        self._calm_s = inf
        self._counted: CountsSummed | None = None
        self._number = 0

    def decree(self) -> None:
        """Have the topic counted from now on; once more, for those that have not heard of it."""
        machine = self._run.some_gateway()
        if machine is not None:
            self._number += 1
            machine.publish(self._run.members.topics(self._number, list_body(self._list)))

    def end_faults(self) -> None:
        self.decree()
        self._calm_s = self._world.now + KNOWN_S

    def requested(self, machine: UsedMachine, url: str, served: Served) -> bool:
        is_there = served.status in (200, _NOT_MODIFIED) and is_shown(served.body)
        if is_there and not url.endswith("/robots.txt") and not self._run.is_look(url):
            document = self._documents.document(url, BEFORE_ALL, served.body)
            assert document is not None
            content = content_digest(document).to_bytes(CONTENT_BYTES, "big")
            number = self._list.slice_at(machine.wall_time())
            visit = _Visit(content, number, fingerprint(url)[-PAGE_BYTES:], url, document.text)
            self._served[visit.name] = visit
            # What a page said that the liar read, and that has not changed, nobody else need know.
            may_miss = self._run.has_liar and (machine is self._run.liar or served.status == _NOT_MODIFIED)
            if self._world.now > self._calm_s and not may_miss:
                self._sure[visit.name] = visit
            if served.status == 200 and self._knows(machine):
                self.confirm_later(machine, lambda: self._read.add(content))
        return False

    def _knows(self, machine: UsedMachine) -> bool:
        """Has a machine heard of the topic?"""
        seen = self.actor(machine, Topics.name).observe()
        return isinstance(seen, TopicStatistics) and seen.topics > 0

    def lie(self, machine: UsedMachine, until: float) -> None:
        """Have a member make up visits, in rows as it may write them and in others."""
        self.lie_now_and_then(machine, partial(self._lies, machine), until)

    def _lies(self, machine: UsedMachine, ownership: Ownership) -> Iterator[tuple[str, str, Message]]:
        random = self._random
        key, now_number = self._list.key_of(self._topic), self._list.slice_at(machine.local_time())
        name = VisitName(random.randbytes(CONTENT_BYTES), now_number, random.randbytes(PAGE_BYTES))
        keys, levels = keys_bytes([key]), levels_bytes({key: 2})
        self._made_up.add(name.encoded)
        other = name._replace(page=random.randbytes(PAGE_BYTES))
        visits = (
            ToldVisit(name.encoded, keys, levels),
            ToldVisit(other._replace(slice=now_number + SLICES_AHEAD).encoded, keys, levels),
            ToldVisit(other.encoded, keys_bytes([b"none"])),
            ToldVisit(other.encoded, keys[:-1], levels),
        )
        slot = int.from_bytes(name.content, "big") % ownership.table.slot_count
        told = VisitsTold(random.randrange(1 << 40), visits)
        yield ownership.answerer_of(slot) or "", Topics.name, told
        yield random.choice(sorted(ownership.table.weights)), Topics.name, told

    def told(self, machine: UsedMachine, message: Message) -> bool:
        if not isinstance(message, CountsSummed):
            return False
        self._counted = message
        return True

    def is_over(self, machines: Sequence[UsedMachine]) -> bool:
        seen = [self.actor(machine, Topics.name).observe() for machine in machines]
        return all(isinstance(each, TopicStatistics) and not each.untold for each in seen)

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        names = {key[2:] for key in all_rows(machines, self.rows) if len(key) == 2 + NAME_BYTES}
        for name, visit in self._sure.items():
            if name not in names and visit.url not in self._run.hidden:
                yield f"a visit of {visit.url} in slice {visit.slice} is not counted"
        pages = {visit.page: visit.url for visit in self._served.values()}
        made_up = Counter[int]()
        for name in names - self._served.keys():
            found = visit_in(name)
            # Who takes over a page knows no other content of it than that of the text that it was told.
            if name in self._made_up or self._run.is_told_by_liar(pages.get(found.page, "")):
                made_up[found.slice] += 1
                continue
            yield (
                f"a visit of {pages.get(found.page, 'nothing that was asked for')} in slice {found.slice} is"
                f" counted, with the content {found.content.hex()}, which no server knows of"
            )
        visits = [self._served[name] for name in sorted(names & self._served.keys())]
        yield from self._wrong_sums(visits, made_up)

    def _wrong_sums(self, visits: Sequence[_Visit], made_up: Mapping[int, int]) -> Iterator[str]:
        """Judge the sums of a gateway, beside the rows that there are. Args: made_up: rows by slice."""
        machine, self._counted = self._run.some_gateway(), None
        assert machine is not None
        key, topics = self._list.key_of(self._topic), self._list
        machine.order(CountTopic(_TICKETS, key, topics.slice_s, topics.starts_s, self._topic.kept))
        self._world.run(until=self._world.now + ANSWERED_S)
        counted = self._counted
        if counted is None:
            yield "no gateway counts the pages on a topic"
            return
        told = {each.slice: (each.pages, each.related, each.topic) for each in counted.slices}
        past = [visit for visit in visits if visit.slice < counted.end]
        most, least = self._sums(past), self._sums(past, self._read)
        for number in told.keys() | most.keys():  # slices
            bounds = [sums.get(number, (0, 0, 0)) for sums in (least, told, most)]
            n = made_up.get(number, 0)
            if not all(a <= b <= c + n for a, b, c in zip(*bounds, strict=True)):
                yield (
                    f"in slice {number} a gateway counts {bounds[1]} pages: all, related and on the topic;"
                    f" and there are {bounds[2]}, or at least {bounds[0]}"
                )

    def _sums(
        self, visits: Sequence[_Visit], known: Container[bytes] | None = None
    ) -> Mapping[int, tuple[int, ...]]:
        """Return how many pages there are in each slice, how many are related, and how many on the topic.

        Args:
          known: contents of which it is known what they are about; None for all.
        """
        levels: dict[int, Counter[int]] = defaultdict(Counter)
        for visit in visits:
            level = self._level(visit.text) if known is None or visit.content in known else 0
            levels[visit.slice].update(range(level + 1))
        return {number: tuple(counts[level] for level in range(3)) for number, counts in levels.items()}

    def _level(self, text: str) -> int:
        if any(string in text for string in self._topic.strings):
            return 2
        return int(any(string in text for string in self._topic.related))
