"""The actor that finds out which hosts are other names of one site, so that each site is crawled once.

Theory of operation
===================
Who crawls a host compares it with others, now and then while it grows. With which ones? With the same name
without `www.`; and with those whose home page says the same, of which it hears from the owner of the slot of
that (its mark, modulo the number of slots), where hosts with one home page meet. Candidates are no more than
that: what decides are the pages (`alias_evidence`). It asks who crawls the other host what a sample of paths
says there, and compares the answer with its own; what nobody has visited there so far it has visited, by
links, if other pages agree, and asks again. Only hosts of one registrable domain are compared.

A host is judged by who crawls it and nobody else, and only to be an alias of one that comes before it by
name: so no two become aliases of each other, and both sides need not agree on anything. The judgement is in
the record of the host, which all of its team have. From then on links to it go to its representative as well
(`links`), where they are visited; its own URLs end as `alias`, but for those that were stored and a few of
the others. They stay known, and are looked at again every day. While these visits go on it is compared again,
with what it says now, and when a quarter of that is something else it is an alias no more.

All else here is in memory, and lost questions cost nothing: a host that has grown is compared again.

*Who could harm?* Who crawls a host can say of its pages what it likes. It is not told what would be alike,
but could fetch that itself, and have hosts left to it for a while that come after its own by name and are
brought together with it. Who keeps home pages can bring different hosts together: then they are compared.
"""

from __future__ import annotations

from bisect import insort
from math import inf
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask, decode_slots
from mesh.tables.lives import numbers_of
from mesh.tables.table import Table
from mesh.urls import host_of, is_canonical
from peers.crawler.aliases.host_samples import HostSamples
from peers.crawler.model.alias_evidence import (
    SAMPLE_MIN,
    UNKNOWN,
    AliasVerdict,
    Sampled,
    is_alias_still,
    is_name,
    is_preferred,
    judge,
    moved,
    order_of,
    plain_name,
)
from peers.crawler.model.messages import CallAlias, HostGrown
from peers.crawler.model.wire_messages import (
    HOMES_MAX,
    FoundLink,
    HomesTold,
    HomeTold,
    LinksAccepted,
    LinksFound,
    MarksTold,
    MarksWanted,
)
from peers.handover.messages import HoldSlots

LOOK_S: Final = 1.0  # after a host has grown, for its last pages to be stored
AGAIN_S: Final = 2.0  # before it is compared again, doubled each time
TRIES_MAX: Final = 10  # then it has to grow first
LOOKS_PER_TURN: Final = 4
TURN_PAUSE_S: Final = 0.05
LOOKS_MAX: Final = 1_000  # hosts that are being compared; others have to grow first
MARKS_MAX: Final = 1 << 16  # of home pages that are kept, ours and others'; the first ones are forgotten


class AliasesStatistics(Statistics, frozen=True):
    """The comparisons at present, and counts since the start."""

    comparing: int  # gauge: hosts that are being compared with others
    homes: int  # gauge: marks of home pages of which hosts were told here
    found: int  # count: hosts that were found to be aliases
    ended: int  # count: of hosts that were, and are none any more


class _Look:
    """A host that is being compared."""

    __slots__ = ("at_s", "others", "tries")

    def __init__(self, at_s: float) -> None:
        self.at_s = at_s  # when it is to be done
        self.others: set[str] = set()
        self.tries = 0


class _Question(NamedTuple):
    """A question about pages of another host that is not answered so far."""

    host: str
    other: str
    pages: list[Sampled]
    urls: list[str]  # of these, at the other host


class Aliases(Actor):
    """Neighbours: aliases, controllers, handover, membership."""

    name: ClassVar[str] = "aliases"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset(
        {MarksWanted, MarksTold, HomeTold, HomesTold, LinksAccepted}
    )

    def __init__(self, me: str, table: Table, life: int) -> None:
        """Begin without knowing the mesh.

        Args:
          table: the section of the frontier, which is only read.
        """
        self._me = me
        self._controller = Address(me, "controller")
        self._samples = HostSamples(table)
        self._numbers = numbers_of(life)
        self._ownership: Ownership | None = None
        self._held: SlotMask = np.zeros(SLOTS_MAX, np.bool_)
        self._looks: dict[str, _Look] = {}
        self._look_at_s = inf  # none is to be done before
        self._asked: dict[int, _Question] = {}
        self._homes: dict[int, list[str]] = {}  # by mark: the hosts that come first
        self._told: dict[str, int] = {}  # what was told of the home pages of our hosts
        self._found_count = self._ended_count = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged(ownership):
                self._ownership = ownership
                return []
            case _ if self._ownership is None:
                return []
            case HoldSlots(slots):
                held = decode_slots(slots, self._ownership.table.slot_count)
                self._held[: len(held)] = held
                return []
            case HostGrown(host):
                self._look_later(host, now + LOOK_S)
                return []
            case MarksWanted(number, urls):
                return self._tell_marks(self._ownership, source, number, urls)
            case MarksTold(number, marks):
                return self._compare(self._ownership, source.peer, number, marks)
            case HomeTold(host, mark):
                return self._meet(self._ownership, source, host, mark)
            case HomesTold():
                return self._take_others(self._ownership, source.peer, message, now)
            case LinksAccepted():
                return []  # what is not, is asked for again
        raise LocalProtocolError(f"aliases do not understand {type(message).__name__}")

    def wake(self, now: float) -> list[Send]:
        ownership, sends = self._ownership, list[Send]()
        if ownership is None or self._look_at_s > now:
            return sends
        due = [host for host, look in self._looks.items() if look.at_s <= now]
        for host in due[:LOOKS_PER_TURN]:
            sends += self._ask(ownership, host, now)
        self._look_at_s = min((look.at_s for look in self._looks.values()), default=inf)
        self._look_at_s = max(self._look_at_s, now + TURN_PAUSE_S)
        return sends

    def wake_at(self) -> float:
        return self._look_at_s

    def observe(self) -> AliasesStatistics:
        return AliasesStatistics(len(self._looks), len(self._homes), self._found_count, self._ended_count)

    # --- our hosts ---

    def _look_later(self, host: str, at_s: float) -> _Look | None:
        """Have a host compared; None when there is no room for it."""
        look = self._looks.get(host)
        if look is None and len(self._looks) < LOOKS_MAX:
            look = self._looks[host] = _Look(at_s)
            self._look_at_s = min(self._look_at_s, at_s)
        return look

    def _end_look(self, host: str) -> None:
        self._looks.pop(host, None)
        self._forget_questions(host)

    def _forget_questions(self, host: str) -> None:
        self._asked = {number: each for number, each in self._asked.items() if each.host != host}

    def _ask(self, ownership: Ownership, host: str, now: float) -> list[Send]:
        """Ask for the marks of pages at the other hosts, and the first time whether there are such hosts."""
        slot, look = ownership.slot_of(host), self._looks[host]
        representative = self._samples.representative_of(host, slot)
        sample = self._samples.sample_of(host, slot, is_alias=bool(representative))
        if not self._held[slot] or len(sample) < SAMPLE_MIN:
            self._end_look(host)
            return []
        sends: list[Send] = []
        look.tries += 1
        if representative:
            look.others = {representative}
        elif look.tries == 1:
            plain = plain_name(host)
            look.others.update([plain] if plain is not None and is_preferred(plain, host) else [])
            sends = self._tell_home(ownership, host, slot, sample)
        if not look.others or look.tries > TRIES_MAX:
            self._end_look(host)
            return sends
        look.at_s = now + AGAIN_S * 2.0 ** (look.tries - 1)
        self._forget_questions(host)
        for other in sorted(look.others):
            sends += self._question(ownership, host, other, sample)
        return sends

    def _question(self, ownership: Ownership, host: str, other: str, sample: list[Sampled]) -> list[Send]:
        owner = ownership.owner_of(ownership.slot_of(other))
        there = [(page, url) for page in sample if (url := moved(page.url, other)) is not None]
        if owner is None or not there:
            return []
        pages, urls = [page for page, _ in there], [url for _, url in there]
        number = next(self._numbers)
        self._asked[number] = _Question(host, other, pages, urls)
        return [Send(Address(owner, self.name), MarksWanted(number, tuple(urls)))]

    def _compare(self, ownership: Ownership, peer: str, number: int, marks: tuple[int, ...]) -> list[Send]:
        """Judge a host of ours by the marks told of another host by the peer that crawls that."""
        question, owner = self._asked.get(number), None
        if question is not None:
            owner = ownership.owner_of(ownership.slot_of(question.other))
        if question is None or peer != owner or len(marks) != len(question.urls):
            return []
        del self._asked[number]
        host, other = question.host, question.other
        look, slot = self._looks.get(host), ownership.slot_of(host)
        if look is None or not self._held[slot]:
            return []
        mine = [page.mark for page in question.pages]
        if representative := self._samples.representative_of(host, slot):
            if representative == other and not is_alias_still(mine, marks):
                return self._end_alias(host)
            self._end_look(host)
            return []
        verdict = judge(mine, marks)
        if verdict is AliasVerdict.ALIAS:
            self._end_look(host)
            self._found_count += 1
            return [Send(self._controller, CallAlias(host, other))]
        if verdict is AliasVerdict.OPEN and any(map(int.__eq__, mine, marks)):
            return self._have_visited(peer, question, marks)
        look.others.discard(other)
        if not look.others:
            self._end_look(host)
        return []

    def _end_alias(self, host: str) -> list[Send]:
        self._end_look(host)
        self._ended_count += 1
        return [Send(self._controller, CallAlias(host, ""))]

    def _have_visited(self, owner: str, question: _Question, marks: tuple[int, ...]) -> list[Send]:
        """Send the pages not visited at another host, as links, to the peer that crawls that host."""
        links = tuple(
            FoundLink(url, depth=page.depth)
            for page, url, mark in zip(question.pages, question.urls, marks, strict=True)
            if mark == UNKNOWN
        )
        return [Send(Address(owner, "controller"), LinksFound(next(self._numbers), links))] if links else []

    # --- what others compare with ---

    def _tell_marks(
        self, ownership: Ownership, source: Address, number: int, urls: tuple[str, ...]
    ) -> list[Send]:
        """Tell of pages crawled here; a peer that asks for others asks again, under another table."""
        if not all(map(is_canonical, urls)):
            return []
        slots = [ownership.slot_of(host_of(url)) for url in urls]
        if not all(self._held[slot] for slot in slots):
            return []
        marks = tuple(self._samples.mark_to_tell(*each) for each in zip(urls, slots, strict=True))
        return [Send(source, MarksTold(number, marks))]

    # --- where hosts meet ---

    def _tell_home(self, ownership: Ownership, host: str, slot: int, sample: list[Sampled]) -> list[Send]:
        for mark in self._samples.homes_of(sample, slot)[:1]:
            owner = ownership.owner_of(mark % ownership.table.slot_count)
            if owner is not None:
                self._told[host] = mark
                _shorten(self._told)
                return [Send(Address(owner, self.name), HomeTold(host, mark))]
        return []

    def _meet(self, ownership: Ownership, source: Address, host: str, mark: int) -> list[Send]:
        """Tell a host which others have its home page, and those that it comes before of it."""
        owner = ownership.owner_of(ownership.slot_of(host))
        is_here = ownership.owner_of(mark % ownership.table.slot_count) == self._me
        if source.peer != owner or not is_here or not is_name(host):
            return []
        known = self._homes.setdefault(mark, [])
        if host not in known:
            insort(known, host, key=order_of)
            del known[HOMES_MAX:]
        _shorten(self._homes)
        sends: list[Send] = []
        before = tuple(each for each in known if is_preferred(each, host))
        if before:
            sends.append(Send(source, HomesTold(host, mark, before)))
        for each in known:
            crawler = ownership.owner_of(ownership.slot_of(each))
            if is_preferred(host, each) and crawler is not None:
                sends.append(Send(Address(crawler, self.name), HomesTold(each, mark, (host,))))
        return sends

    def _take_others(self, ownership: Ownership, peer: str, told: HomesTold, now: float) -> list[Send]:
        """Compare a host of ours with those that are said to have its home page."""
        host, owner = told.host, ownership.owner_of(told.mark % ownership.table.slot_count)
        others = {each for each in told.others if is_name(each) and is_preferred(each, host)}
        if peer != owner or self._told.get(host) != told.mark or not others:
            return []
        look = self._look_later(host, now)
        if look is not None and not others <= look.others:
            look.tries, look.at_s = max(look.tries, 1), now
            look.others = set(sorted(look.others | others, key=order_of)[:HOMES_MAX])
            self._look_at_s = min(self._look_at_s, now)
        return []


def _shorten(entries: dict[Any, Any]) -> None:
    """Forget the oldest entries beyond `MARKS_MAX`."""
    while len(entries) > MARKS_MAX:
        del entries[next(iter(entries))]
