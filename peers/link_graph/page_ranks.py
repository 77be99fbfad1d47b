"""The part of the link graph's actor that ranks pages, if the policy says `ranks = true`.

Theory of operation. What changes is gathered (`rank_work.RankNews`) and given to a thread, which works it in
and comes back with what is to be told to others, and a view of the ranks. Meanwhile the next is gathered. So
ranks are behind by a few seconds, and by as long as that takes when it takes long.

Ranks are in memory alone. A peer that begins tells each other one so, until that has heard it: then what was
told to it, and what it told, is told anew (`rank_exchange`).
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from math import inf
from typing import Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.actors.port import BACKGROUND, CarryOut
from peers.link_graph.rank_work import (
    NOTHING_RANKED,
    LinkedTo,
    RankNews,
    RankOutcome,
    RankView,
    RankWork,
    name_of_mark,
)
from peers.link_graph.source_row import SourceRow
from peers.link_graph.wire_messages import (
    RanksBegun,
    RanksHeard,
    RanksHeld,
    RanksTold,
)

PAUSE_S: Final = 2.0  # between two times of work
REST_SHARE: Final = 3.0  # at least so many times as long as the work took
BEGUN_AGAIN_S: Final = 10.0
WAITING_MAX: Final = 20_000  # pages that wait to be worked in: about 20 MB
WAITING_BYTES_MAX: Final = 64 << 20  # of messages that wait
PART_BYTES: Final = 200  # of a statement beside its sums


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
        self._waiting_bytes = Counter[str]()  # of messages, by the peer that sent them
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
        before, others = self._ownership, _owners_beside(self._here.peer, ownership)
        known = set() if before is None else _owners_beside(self._here.peer, before)
        self._unheard = {peer: at for peer, at in self._unheard.items() if peer in others}
        self._unheard |= dict.fromkeys(sorted(others - known), -inf)
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
                n_bytes = sum(PART_BYTES + len(part.names) + len(part.values) for part in parts)
                self._note_message(source.peer, message, n_bytes)
            case RanksHeld(held):
                self._note_message(source.peer, message, PART_BYTES * len(held))
            case RanksBegun(life):
                self._news.begun.add(source.peer)
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
            self._waiting_bytes.clear()
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
        return [Send(Address(peer, self._here.actor), message) for peer, message in outcome.messages]

    def _work_at(self) -> float:
        if self._began_at is not None or self._ownership is None:
            return inf
        at = self._due_at if self._news.is_nothing else -inf
        return max(at, self._next_at) if at < inf else inf

    def _note_message(self, peer: str, message: RanksTold | RanksHeld, n_bytes: int) -> None:
        """Keep a message until it is worked in; beyond a limit it is lost, and comes again.

        A peer may have as much as is free behind it: one gets half, and leaves room for others however
        much it sends.
        """
        of_peer = self._waiting_bytes[peer] + n_bytes
        if self._waiting_bytes.total() + of_peer <= WAITING_BYTES_MAX:
            self._waiting_bytes[peer] = of_peer
            self._news.messages.append((peer, message))


def _owners_beside(me: str, ownership: Ownership) -> set[str]:
    """Return the other live members that own slots: a bootstrap node ranks nothing."""
    return {peer for peer, weight in ownership.table.weights.items() if weight > 0} & ownership.alive - {me}
