"""The ranks that one peer works out in the background, from the news since the last time.

Nothing here is kept on a disk: rows of pages are, and what other peers say they say again when a peer tells
them that it has begun (`RanksBegun`). One thread at a time works on it; the actor holds views alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Final, NamedTuple

import numpy as np

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from mesh.urls import host_of
from peers.link_graph.rank_exchange import RankEnvelope, RankExchange, RankMessage, SumsTold
from peers.link_graph.rank_wire import RankReader, messages_of
from peers.link_graph.slot_ranks import DAMPING, NO_SUMS, PageLinks, RankSums
from peers.link_graph.source_row import TARGET_BYTES
from peers.link_graph.wire_messages import RANKED_MAX, SUM_NAME_BYTES, RanksHeld, RanksTold

# A peer gives so many times as much as its share of the slots gives to pages as many as ours, at most. Hosts
# are of unlike size, and links do not fall evenly: what honest peers give differs from that by less.
GIVEN_MAX: Final = 8.0
PAGES_MIN: Final = 1_000  # as many are taken for ours where there are fewer
SUMS_MIN: Final = 100_000  # held of each peer in any case
TOLERANCE: Final = 1e-4  # as was measured on cnr-2000: a tenth of it says twice as much
RETRY_S: Final = 20.0
SUMS_A_TIME: Final = 50_000  # told at most: 600 kB
_TARGETS: Final = np.dtype([("slot", ">u2"), ("name", f">i{SUM_NAME_BYTES}"), ("rest", "V12")])
assert _TARGETS.itemsize == TARGET_BYTES


class LinkedTo(NamedTuple):
    """A visited page, as its row says."""

    url: str
    targets: bytes  # see `source_row.SourceRow`


@dataclass(slots=True)
class RankNews:
    """All that the work has to take into account, since the last time."""

    ownership: Ownership | None = None  # if it has changed
    begun: set[str] = field(default_factory=set)  # peers that have lost what they held
    messages: list[tuple[str, RanksTold | RanksHeld]] = field(default_factory=list)  # with the sender
    pages: dict[tuple[int, int], LinkedTo | None] = field(default_factory=dict)  # by slot and name

    @property
    def is_nothing(self) -> bool:
        return not (self.ownership or self.begun or self.messages or self.pages)


class TopPage(NamedTuple):
    """A page by slot and name."""

    slot: int
    name: int
    rank: float

    @property
    def mark(self) -> bytes:
        """Return how its fingerprint begins."""
        return self.name.to_bytes(SUM_NAME_BYTES, "big", signed=True)


class TopHost(NamedTuple):
    """A host, with the sum of the ranks of its visited pages."""

    host: str
    rank: float
    n_pages: int


class RankView(NamedTuple):
    """The ranks of a moment."""

    n_pages: int  # visited, of the slots of this peer
    n_links: int  # of these, in memory
    n_left_out: int  # pages whose links are not in memory
    n_clipped: int  # peers that claim to give more than is believed
    pages: tuple[TopPage, ...]  # highest first
    hosts: tuple[TopHost, ...]
    ranks: Mapping[int, RankSums]  # of all known pages, by slot

    def rank_of(self, slot: int, name: int) -> float | None:
        """Return the rank of a page; None of one that is unknown."""
        names, values = self.ranks.get(slot, NO_SUMS)
        at = int(np.searchsorted(names, name))
        return float(values[at]) if at < len(names) and names[at] == name else None


class RankOutcome(NamedTuple):
    """The result of one time."""

    messages: tuple[tuple[str, Message], ...]  # to be sent, with the receiver
    view: RankView
    wake_at: float  # when there is something to be told again; -inf for at once, inf for never


NOTHING_RANKED: Final = RankView(0, 0, 0, 0, (), (), {})


class RankWork:
    """The ranks of the slots of one peer, and the links of its pages."""

    def __init__(self, me: str, links_max: int) -> None:
        self._me = me
        self.links_max = links_max
        self._exchange: RankExchange | None = None
        self._hosts: dict[int, dict[int, str]] = {}  # of each visited page, by slot and name
        self._left_out: set[tuple[int, int]] = set()
        self._reader = RankReader()
        self._n_clipped = 0
        self._tops: dict[int, _SlotTop] = {}

    def run(self, news: RankNews, now: float) -> RankOutcome:
        """Take in the news, and rank anew all pages that they change."""
        exchange = self._follow(news.ownership)
        for peer in sorted(news.begun):
            exchange.note_begun(peer)
        room = self.links_max - sum(ranks.n_links for ranks in exchange.slots.values())
        for (slot, name), page in news.pages.items():
            room -= self._note_page(exchange, slot, name, page, room)
        envelopes: list[RankEnvelope] = []
        n_sums = {peer: given.n_sums for peer, given in exchange.given().items()}
        for peer, message in news.messages:
            read = self._reader.read(peer, message, self._owners, self._owners.slot_count)
            envelopes += exchange.receive(peer, self._within_memory(peer, read, n_sums))
        exchange.scale(self._factors(exchange))
        envelopes += exchange.wake(now)
        messages = ((peer, message) for peer, said in envelopes for message in messages_of(said))
        return RankOutcome(tuple(messages), self._view(exchange), exchange.wake_at())

    def _follow(self, ownership: Ownership | None) -> RankExchange:
        """Go by these owners from now on; None: by those before."""
        exchange = self._exchange
        if exchange is None:
            assert ownership is not None, "nothing is worked out before the first view"
            owners = SlotsOwned(ownership, self._me)
            exchange = RankExchange(
                self._me, owners, TOLERANCE, retry_s=RETRY_S, takes_slots=True, sums_max=SUMS_A_TIME
            )
            self._exchange = exchange
            self._owners = owners
        elif ownership is not None:
            self._owners = SlotsOwned(ownership, self._me)
            exchange.change_owners(self._owners)
            self._reader.keep(ownership.alive)
            for slot in self._hosts.keys() - exchange.slots.keys():
                del self._hosts[slot]
            for slot in self._tops.keys() - exchange.slots.keys():
                del self._tops[slot]
            self._left_out = {page for page in self._left_out if page[0] in exchange.slots}
        return exchange

    def _note_page(
        self, exchange: RankExchange, slot: int, name: int, page: LinkedTo | None, room: int
    ) -> int:
        """Take in the links of a page, if there is room for them; return how much of it that takes."""
        if self._owners[slot] != self._me:
            return 0
        if slot not in exchange.slots:
            exchange.take_slot(slot)
        before = exchange.slots[slot].n_links
        self._left_out.discard((slot, name))
        if page is None:
            self._hosts.get(slot, {}).pop(name, None)
            exchange.remove(slot, name)
        else:
            self._hosts.setdefault(slot, {})[name] = host_of(page.url)
            links = links_in(page.targets)
            if len(links.names) > room:
                self._left_out.add((slot, name))
                links = _NO_LINKS
            exchange.link(slot, name, links)
        self._tops.pop(slot, None)
        return exchange.slots[slot].n_links - before

    def _within_memory(
        self, peer: str, messages: Iterable[RankMessage], n_sums: dict[str, int]
    ) -> Iterator[RankMessage]:
        """Yield messages of a peer, without statements beyond its share of our memory."""
        room = max(SUMS_MIN, GIVEN_MAX * self._owners.share_of(peer) * self.links_max)
        for message in messages:
            if isinstance(message, SumsTold):
                n_more = len(message.statement.sums.names) - self._n_held(message)
                if n_more > 0 and n_sums.get(peer, 0) + n_more > room:
                    continue
                n_sums[peer] = n_sums.get(peer, 0) + n_more
            yield message

    def _n_held(self, told: SumsTold) -> int:
        """Return the number of sums that a statement would replace."""
        assert self._exchange is not None
        ranks = self._exchange.slots.get(told.target)
        held = None if ranks is None else ranks.given.get(told.source)
        return 0 if held is None else len(held.sums.names)

    def _factors(self, exchange: RankExchange) -> dict[str, float]:
        """Return the factors of the peers that claim to give more than is believed."""
        n_pages = PAGES_MIN + sum(map(len, self._hosts.values()))
        factors: dict[str, float] = {}
        for peer, given in exchange.given().items():
            most = GIVEN_MAX * DAMPING * n_pages * self._owners.share_of(peer)
            if given.total > most:
                factors[peer] = most / given.total
        self._n_clipped = len(factors)
        return factors

    def _view(self, exchange: RankExchange) -> RankView:
        for slot, ranks in exchange.slots.items():
            top = self._tops.get(slot)
            if top is None or top.ranks is not ranks.ranks:
                self._tops[slot] = _top_of(slot, ranks.ranks, self._hosts.get(slot, {}))
        pages = (page for top in self._tops.values() for page in top.pages)
        hosts = (host for top in self._tops.values() for host in top.hosts)
        return RankView(
            sum(map(len, self._hosts.values())),
            sum(ranks.n_links for ranks in exchange.slots.values()),
            len(self._left_out),
            self._n_clipped,
            tuple(nlargest(RANKED_MAX, pages, key=lambda page: (page.rank, -page.name))),
            tuple(nlargest(RANKED_MAX, hosts, key=lambda host: (host.rank, host.host))),
            {slot: ranks.ranks for slot, ranks in exchange.slots.items()},
        )


class SlotsOwned:
    """The owners of slots as `rank_exchange` wants them."""

    def __init__(self, ownership: Ownership, me: str) -> None:
        self._ownership, self._me = ownership, me
        self._shares: dict[str, float] = {}

    def __getitem__(self, slot: int, /) -> str:
        return self._ownership.owner_of(slot) or self._me

    @property
    def slot_count(self) -> int:
        return self._ownership.table.slot_count

    def share_of(self, peer: str) -> float:
        """Return the share of all slots that a peer owns."""
        share = self._shares.get(peer)
        if share is None:
            table = self._ownership.table
            share = self._shares[peer] = float(table.slots_of(peer).mean()) if peer in table.weights else 0.0
        return share


class _SlotTop(NamedTuple):
    """The highest ranks of a slot."""

    ranks: RankSums  # that they are made of
    pages: tuple[TopPage, ...]
    hosts: tuple[TopHost, ...]


_NO_LINKS: Final = PageLinks(np.zeros(0, np.int64), np.zeros(0, np.int64))


def links_in(targets: bytes) -> PageLinks:
    """Return the links of a row of a page, see `source_row.SourceRow`."""
    array = np.frombuffer(targets, _TARGETS)
    return PageLinks(array["slot"].astype(np.int64), array["name"].astype(np.int64))


def name_of_mark(mark: bytes) -> int:
    """Return the name of a page in the arithmetic of ranks: the first half of its fingerprint."""
    return int.from_bytes(mark[:SUM_NAME_BYTES], "big", signed=True)


def _top_of(slot: int, ranks: RankSums, host_of_page: Mapping[int, str]) -> _SlotTop:
    if not host_of_page:
        return _SlotTop(ranks, (), ())
    names = np.fromiter(host_of_page, np.int64, len(host_of_page))
    values = ranks.values[np.searchsorted(ranks.names, names)]
    best = np.argsort(-values, kind="stable")[:RANKED_MAX]
    pages = zip(names[best].tolist(), values[best].tolist(), strict=True)
    hosts: dict[str, tuple[float, int]] = {}
    for host, value in zip(host_of_page.values(), values.tolist(), strict=True):
        total, n_pages = hosts.get(host, (0.0, 0))
        hosts[host] = total + value, n_pages + 1
    return _SlotTop(
        ranks,
        tuple(TopPage(slot, name, value) for name, value in pages),
        tuple(TopHost(host, *sums) for host, sums in hosts.items()),
    )
