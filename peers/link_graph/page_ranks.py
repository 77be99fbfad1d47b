"""The part of the link graph's actor that ranks pages, if the policy says `ranks = true`.

Theory of operation. What changes is gathered (`rank_work.RankNews`) and given to a thread, which works it in
and comes back with what is to be told to others, and a view of the ranks. Meanwhile the next is gathered. So
ranks are behind by a few seconds, and by as long as that takes when it takes long.

Ranks are in memory alone. A peer that begins tells each other one so, until that has heard it: then what was
told to it, and what it told, is told anew (`rank_exchange`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from functools import partial
from math import inf
from typing import Final, NamedTuple

import numpy as np

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.actors.port import BACKGROUND, CarryOut
from peers.link_graph.rank_exchange import RankMessage, SumsHeld, SumsTold
from peers.link_graph.rank_work import (
    NOTHING_RANKED,
    LinkedTo,
    RankNews,
    RankOutcome,
    RankView,
    RankWork,
    name_of_mark,
)
from peers.link_graph.slot_ranks import RankSums, Statement, Version
from peers.link_graph.source_row import SourceRow
from peers.link_graph.wire_messages import (
    STATEMENT_NUMBER_MAX,
    STATEMENTS_MAX,
    SUM_BYTES,
    SUM_NAME_BYTES,
    SUMS_MAX,
    HeldSums,
    RanksBegun,
    RanksHeard,
    RanksHeld,
    RanksTold,
    SumsPart,
)

PAUSE_S: Final = 2.0  # between two times of work
REST_SHARE: Final = 3.0  # at least so many times as long as the work took
BEGUN_AGAIN_S: Final = 10.0
WAITING_MAX: Final = 20_000  # pages that wait to be worked in, or messages: about 20 MB
PARTIAL_MAX: Final = 64  # statements of which some parts have come
_NAMES: Final = np.dtype(f">i{SUM_NAME_BYTES}")
_VALUES: Final = np.dtype(f">f{SUM_BYTES}")
MESSAGE_BYTES_MAX: Final = 1 << 20


class PageRanks:
    """The ranks of the pages of one peer's slots, as of a few seconds ago."""

    def __init__(self, me: str, actor: str, life: int, links_max: int, ticket: int = 1) -> None:
        """Begin without pages.

        Args:
          actor: that this is a part of, here and at other peers.
          ticket: of its work.
          links_max: see `graph_rules.LinkGraphRules.ranks_links_max`.
        """
        self._here, self._life, self.ticket = Address(me, actor), life, ticket
        self._work = RankWork(me, links_max)  # left alone while it is being worked on
        self._news = RankNews()
        self._began_at: float | None = None  # the work that is under way
        self._next_at = -inf  # no sooner is there other work
        self._due_at = inf  # by then there is work even if nothing happens
        self._unheard: dict[str, float] = {}  # peers that do not know of our begin: when they are told again
        self._partial: OrderedDict[tuple[int, int], _Parts] = OrderedDict()
        self.view: RankView = NOTHING_RANKED
        self._ownership: Ownership | None = None

    @property
    def links_max(self) -> int:
        """Return how many links it takes into account at most."""
        return self._work.links_max

    @property
    def is_settled(self) -> bool:
        """Is there nothing to be worked out, to be told, or to be heard of?"""
        return (
            self._began_at is None
            and self._news.is_nothing
            and self._due_at == inf
            and not self._unheard
            and self._ownership is not None
        )

    @property
    def is_full(self) -> bool:
        """Do so many pages wait that no more should be looked through?"""
        return len(self._news.pages) >= WAITING_MAX

    def follow(self, ownership: Ownership) -> None:
        """Go by other owners."""
        if self._ownership is None:
            self._unheard = dict.fromkeys(sorted(ownership.alive - {self._here.peer}), -inf)
        else:
            self._unheard = {peer: at for peer, at in self._unheard.items() if peer in ownership.alive}
            self._unheard |= dict.fromkeys(
                sorted(ownership.alive - self._ownership.alive - {self._here.peer}), -inf
            )
        self._ownership = self._news.ownership = ownership

    def note_page(self, slot: int, mark: bytes, row: SourceRow) -> None:
        """Take in the links of a page of one of our slots."""
        self._news.pages[slot, name_of_mark(mark)] = LinkedTo(row.url, row.targets)

    def forget_page(self, slot: int, mark: bytes) -> None:
        self._news.pages[slot, name_of_mark(mark)] = None

    def rank_of(self, slot: int, mark: bytes) -> float | None:
        """Return the rank of a page of one of our slots; None of one that is unknown."""
        return self.view.rank_of(slot, name_of_mark(mark))

    def receive(self, source: Address, message: Message) -> list[Send]:
        """Take the word of another peer on ranks."""
        match message:
            case RanksTold(parts):
                self._note_messages(source.peer, list(self._whole(source.peer, parts)))
            case RanksHeld(held):
                self._note_messages(source.peer, list(self._held(held)))
            case RanksBegun(life):
                self._news.begun.append(source.peer)
                return [Send(source, RanksHeard(life))]
            case RanksHeard(life) if life == self._life:
                self._unheard.pop(source.peer, None)
        return []

    def wake(self, now: float) -> list[Send]:
        """Tell others that we have begun, and begin with work that is due."""
        sends = []
        for peer, at in self._unheard.items():
            if at <= now:
                self._unheard[peer] = now + BEGUN_AGAIN_S
                sends.append(Send(Address(peer, self._here.actor), RanksBegun(self._life)))
        if self._work_at() <= now:
            news, self._news = self._news, RankNews()
            self._began_at, self._due_at = now, inf
            work = partial(self._work.run, news, now)
            sends.append(Send(Address(self._here.peer, BACKGROUND), CarryOut(self.ticket, work)))
        return sends

    def wake_at(self) -> float:
        return min(self._work_at(), min(self._unheard.values(), default=inf))

    def take_outcome(self, outcome: RankOutcome, now: float) -> list[Send]:
        """Take the result of the work; return the messages to others that follow from it."""
        assert self._began_at is not None
        self._next_at = now + max(PAUSE_S, REST_SHARE * (now - self._began_at))
        self._began_at, self._due_at, self.view = None, outcome.wake_at, outcome.view
        return [
            Send(Address(peer, self._here.actor), message)
            for peer, messages in outcome.envelopes
            for message in _messages_of(messages)
        ]

    def _work_at(self) -> float:
        if self._began_at is not None or self._ownership is None:
            return inf
        at = self._due_at if self._news.is_nothing else -inf
        return max(at, self._next_at) if at < inf else inf

    def _note_messages(self, peer: str, messages: list[RankMessage]) -> None:
        """Keep messages until they are worked in; beyond a limit they are lost, and come again."""
        if messages and len(self._news.messages) < WAITING_MAX:
            self._news.messages.append((peer, messages))

    def _held(self, held: Iterable[HeldSums]) -> Iterator[RankMessage]:
        for each in held:
            if self._are_slots(each.source, each.target):
                yield SumsHeld(each.source, each.target, Version(each.number, each.teller), each.is_asked)

    def _whole(self, peer: str, parts: Iterable[SumsPart]) -> Iterator[RankMessage]:
        """Yield the statements that these parts make whole."""
        for part in parts:
            sums = _sums_in(part)
            ownership = self._ownership
            if sums is None or ownership is None or not self._are_slots(part.source, part.target):
                continue
            if ownership.owner_of(part.source) != peer or part.source == part.target:
                continue
            if part.n_parts > 1:
                sums = self._joined(peer, part, sums)
            if sums is not None:
                yield SumsTold(part.source, part.target, Statement(Version(part.number, peer), sums))

    def _joined(self, peer: str, part: SumsPart, sums: RankSums) -> RankSums | None:
        """Put a part to the others; return all of them when none is missing."""
        key, of = (part.source, part.target), (peer, part.number, part.n_parts)
        known = self._partial.get(key)
        if known is None or known.of != of:
            known = self._partial[key] = _Parts(of, {})
        known.sums[part.part] = sums
        self._partial.move_to_end(key)
        if len(self._partial) > PARTIAL_MAX:
            self._partial.popitem(last=False)
        if len(known.sums) < part.n_parts:
            return None
        del self._partial[key]
        all_parts = [known.sums[number] for number in range(part.n_parts)]
        names = np.concatenate([each.names for each in all_parts])
        values = np.concatenate([each.values for each in all_parts])
        return RankSums(names, values) if _is_rising(names) else None

    def _are_slots(self, *slots: int) -> bool:
        return self._ownership is not None and max(slots) < self._ownership.table.slot_count


class _Parts(NamedTuple):
    """Parts of a statement, by number."""

    of: tuple[str, int, int]  # teller, number of the version and of the parts
    sums: dict[int, RankSums]


def _sums_in(part: SumsPart) -> RankSums | None:
    """Return the sums of a part; None when it has none that can be."""
    n_sums, odd = divmod(len(part.names), SUM_NAME_BYTES)
    if odd or len(part.values) != n_sums * SUM_BYTES or part.part >= part.n_parts:
        return None
    names = np.frombuffer(part.names, _NAMES).astype(np.int64)
    values = np.frombuffer(part.values, _VALUES).astype(np.float64)
    is_sound = bool(np.isfinite(values).all() and (values >= 0).all() and _is_rising(names))
    return RankSums(names, values) if is_sound else None


def _is_rising(names: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> bool:
    return bool((names[1:] > names[:-1]).all())


def _messages_of(messages: Iterable[RankMessage]) -> Iterator[Message]:
    """Yield the messages to a peer as they cross the wire."""
    held = [each for each in messages if isinstance(each, SumsHeld)]
    for at in range(0, len(held), STATEMENTS_MAX):
        yield RanksHeld(tuple(map(_held_sums, held[at : at + STATEMENTS_MAX])))
    parts: list[SumsPart] = []
    n_bytes = 0
    for each in messages:
        if not isinstance(each, SumsTold):
            continue
        for part in _parts_of(each):
            size = len(part.names) + len(part.values)
            if parts and (len(parts) >= STATEMENTS_MAX or n_bytes + size > MESSAGE_BYTES_MAX):
                yield RanksTold(tuple(parts))
                parts, n_bytes = [], 0
            parts.append(part)
            n_bytes += size
    if parts:
        yield RanksTold(tuple(parts))


def _held_sums(held: SumsHeld) -> HeldSums:
    number, teller = held.version
    return HeldSums(held.source, held.target, number, teller, held.is_asked)


def _parts_of(told: SumsTold) -> Iterator[SumsPart]:
    (number, _), (names, values) = told.statement
    n_parts = max(1, -(-len(names) // SUMS_MAX))
    for part in range(n_parts):
        some = slice(part * SUMS_MAX, (part + 1) * SUMS_MAX)
        yield SumsPart(
            told.source,
            told.target,
            min(number, STATEMENT_NUMBER_MAX),
            part,
            n_parts,
            names[some].astype(_NAMES).tobytes(),
            values[some].astype(_VALUES).tobytes(),
        )
