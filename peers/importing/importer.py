"""The actor that brings pages of files to the peers that own them, and takes in those that are ours.

Theory of operation
===================
A page comes in an order of the HTTP port, read and taken apart by the command that imports. It goes to the
importer of its slot's owner, ours or another peer's, and there the way of a crawled page, but for the fetch:

    importer -ImportPage-> the owner's importer -StorePage-> cell (durable on the whole team) -PageStored->
    importer -LinksFound-> controller (known as stored there, link texts to the owners of their targets)
    -LinksAccepted-> importer -PageImported-> the importer that was asked

So whoever heard `PageImported` may forget the page: the team has it, will not fetch it before it is due, and
its links are as safe as those of a crawled page. Nothing is kept here but what is on its way; if a peer
dies the page is given again, to whoever owns its slot then, and a cell that has it says so.

Credit. To each owner only so many bytes are on their way. An owner takes pages no faster than its index does:
it asks its cell how many pages wait for the index, and begins no more than it has room for, since what
the indexer cannot take would have to be read back from the archive. The order is answered when all of its
pages are, or after a while, by saying which ones are late.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import ClassVar, Final

import msgspec

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.delivery import Delivery, DeliverySettings
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.lives import numbers_of
from mesh.urls import host_of, is_canonical
from peers.crawler.model.messages import PageLinked, PagesLinked
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink, LinksAccepted, LinksFound, LinkUse
from peers.importing.messages import (
    KNOWN,
    LATE,
    REFUSED,
    STORED,
    ImportDeferred,
    ImportedPage,
    ImportPages,
    PagesImported,
)
from peers.importing.wire_messages import ImportPage, ImportRefused, PageImported
from peers.policy.decreed import policy_of
from peers.storage.ledger.place import Version
from peers.storage.messages import CountUnindexed, PageRefused, PageStored, StorePage, UnindexedCounted
from peers.storage.wire_messages import StoredPage

DAY_S: Final = 86_400.0
PAGES_UNDER_WAY: Final = 4_096  # to one owner; ordinary ones are fewer for their bytes


class ImporterSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and limits of an importer."""

    order_s: float = 10.0  # then an order is answered, with what is late; the command gives that again
    # Without an answer for anything, before an owner is sent pages again; who is only slow gets none twice.
    repeat_s: float = 5.0
    links_again_s: float = 1.0  # and links to our controller, which may not know the owners yet
    window_bytes: int = 8 << 20  # on their way to one owner: 80 ms of a gigabit
    order_bytes_max: int = 64 << 20  # of all orders; more are refused, the command comes again
    # A page with its text and links must fit a frame of 16 MiB.
    page_bytes_max: int = 14 << 20
    taken_bytes_max: int = 64 << 20  # as owner, on their way into the archive; more get no answer
    # Pages not yet in the index, as owner and standby: the cell lets the indexer have 4,096.
    unindexed_max: int = 2_048
    count_pause_s: float = 0.05  # between two questions to the cell
    links_pause_s: float = 0.02  # links wait this long for those of other pages
    links_remembered: int = 1 << 17  # twice so many, about 50 MB: the navigation of a site is sent once


class ImporterStatistics(Statistics, frozen=True):
    """Counts since the start; gauges of now."""

    orders: int  # gauge
    pages_waiting: int  # gauge: of those, no outcome so far
    pages_taken: int  # gauge: as owner, on their way
    stored: int  # as owner
    known: int  # as owner: there already
    refused: int  # pages that cannot be kept
    late: int  # not durable in time; given again
    repeated: int  # sent again
    links: int  # sent to our controller
    foreign: int  # of slots that are not ours: their sender repeats them


@dataclass(slots=True)
class _Order:
    """Pages that the HTTP port waits for."""

    outcomes: list[str]
    limit_at: float
    owners: dict[int, str] = field(default_factory=dict)  # by number: where what is left is on its way


@dataclass(slots=True)
class _Sent:
    """A page that its owner has not answered for."""

    ticket: int
    index: int  # in the order
    message: ImportPage
    n_bytes: int


@dataclass(slots=True)
class _Taken:
    """A page of a slot of ours, on its way."""

    page: StoredPage
    links: tuple[FoundLink, ...]
    n_bytes: int
    askers: list[tuple[Address, int]]
    is_begun: bool = False
    is_new: bool = True
    is_stored: bool = False
    batches: set[int] = field(default_factory=set)  # of links that the controller has not accepted


@dataclass(slots=True)
class _Batch:
    """Links on their way to our controller, and the pages that wait for them."""

    links: list[FoundLink] = field(default_factory=list)
    versions: dict[Version, None] = field(default_factory=dict)  # a set in the order of adding


class Importer(Actor):
    """Brings pages to their owners, and keeps those that are ours; see the theory of operation above."""

    name: ClassVar[str] = "importer"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({ImportPage, PageImported, ImportRefused})

    def __init__(self, me: str, life: int = 1, settings: ImporterSettings | None = None) -> None:
        """Begin without owners: orders are refused until the first `OwnershipChanged`.

        Args:
          life: of this peer, so that an answer meant for an earlier one is not taken for one to a question
            of this.
        """
        self._me = me
        self._settings = settings or ImporterSettings()
        self._numbers = numbers_of(life)
        self._ownership: Ownership | None = None
        self._orders: dict[int, _Order] = {}
        self._sent: Delivery[int, _Sent] = Delivery(_to_owners(self._settings))
        self._order_bytes = 0
        self._limit_at = inf  # of orders
        self._taken: dict[Version, _Taken] = {}
        self._taken_bytes = 0
        self._waiting: deque[Version] = deque()  # taken, not given to the cell
        self._storing = 0
        self._room = 0  # pages that the index has room for
        self._count_at = inf
        self._batches: Delivery[int, _Batch] = Delivery(_to_controller(self._settings))
        self._gathering = _Batch()
        self._flush_at = inf
        self._has_graph = False  # by the policy
        self._links_known: set[FoundLink] = set()
        self._links_known_before: set[FoundLink] = set()
        self._stored = self._known = self._refused = self._late = 0
        self._links = self._foreign = 0
        self._cell = Address(me, "cell")
        self._controller = Address(me, "controller")
        self._http = Address(me, "http")

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case ImportPages():
                return self._begin_order(message, now)
            case ImportPage():
                return self._take(source, message, now)
            case PageImported(number, is_new):
                return self._note_answer(source.peer, number, STORED if is_new else KNOWN, now)
            case ImportRefused(number, reason):
                return self._note_answer(source.peer, number, REFUSED + reason, now)
            case PageStored(url, stamp, is_new):
                return self._note_stored((url, stamp), is_new, now)
            case PageRefused(url, stamp):
                return self._note_refused((url, stamp))
            case LinksAccepted(number):
                return self._note_accepted(source.peer, number, now)
            case UnindexedCounted(pages):
                self._room = self._settings.unindexed_max - pages - self._storing
                return self._store_waiting(now)
            case OwnershipChanged(ownership):
                return self._change_ownership(ownership, now)
            case DecreesInForce():
                if (policy := policy_of(message)) is not None:
                    self._has_graph = policy.link_graph is not None
                return []
        raise LocalProtocolError(f"importer does not understand {type(message).__name__}")

    def wake(self, now: float) -> list[Send]:
        sends: list[Send] = []
        if self._flush_at <= now:
            sends += self._flush(now)
        if self._count_at <= now:
            self._count_at = now + self._settings.count_pause_s if self._waiting else inf
            sends.append(Send(self._cell, CountUnindexed()))
        if self._limit_at <= now:
            sends += self._end_late_orders(now)
        return sends + self._deliver(now)

    def wake_at(self) -> float:
        return min(
            self._flush_at, self._count_at, self._limit_at, self._sent.wake_at_s, self._batches.wake_at_s
        )

    def observe(self) -> ImporterStatistics:
        return ImporterStatistics(
            orders=len(self._orders),
            pages_waiting=len(self._sent),
            pages_taken=len(self._taken),
            stored=self._stored,
            known=self._known,
            refused=self._refused,
            late=self._late,
            repeated=self._sent.observe().repeated,
            links=self._links,
            foreign=self._foreign,
        )

    # --- Orders, and what is on its way to the owners

    def _begin_order(self, order: ImportPages, now: float) -> list[Send]:
        if self._ownership is None or self._ownership.owner_of(0) is None:
            return [Send(self._http, ImportDeferred(order.ticket, "this peer is starting"))]
        n_bytes = sum(map(bytes_of, order.pages))
        if self._orders and self._order_bytes + n_bytes > self._settings.order_bytes_max:
            return [Send(self._http, ImportDeferred(order.ticket, "too many pages are on their way"))]
        outcomes = [LATE] * len(order.pages)
        begun = self._orders[order.ticket] = _Order(outcomes, now + self._settings.order_s)
        for index, page in enumerate(order.pages):
            wrong = self._why_not_of(self._me) or self._what_is_wrong(page, now)
            if wrong:
                outcomes[index] = REFUSED + wrong
                self._refused += 1
            else:
                self._enqueue(order.ticket, begun, index, page, now)
        if not begun.owners:
            return self._end_order(order.ticket, begun)
        self._limit_at = min(self._limit_at, begun.limit_at)
        return self._deliver(now)

    def _why_not_of(self, peer: str) -> str:
        """Why no pages are taken of a member; "" when they are."""
        assert self._ownership is not None
        is_known_not_to = peer in self._ownership.alive and peer not in self._ownership.importers
        return f"the certificate of {peer} does not let it import" if is_known_not_to else ""

    def _what_is_wrong(self, page: ImportedPage, now: float) -> str:
        """Why a page cannot be kept; "" when it can."""
        if not is_canonical(page.url):
            return "its URL is not canonical"
        if not isfinite(page.fetched_at) or page.fetched_at < 0:
            return "its date makes no sense"
        if page.fetched_at > now + DAY_S:
            return "it is dated in the future"
        if page.document is not None and page.document.url != page.url:
            return "its text is of another page"
        if bytes_of(page) > self._settings.page_bytes_max:
            return f"it is larger than {self._settings.page_bytes_max >> 20} MiB"
        return ""

    def _enqueue(self, ticket: int, order: _Order, index: int, page: ImportedPage, now: float) -> None:
        assert self._ownership is not None
        slot = self._ownership.slot_of(host_of(page.url))
        stored = StoredPage(
            page.url, slot, page.fetched_at, page.status, page.records, page.document, page.visit
        )
        number = next(self._numbers)
        sent = _Sent(ticket, index, ImportPage(number, stored, page.links), bytes_of(page))
        self._order_bytes += sent.n_bytes
        self._bring(number, sent, order, now)

    def _bring(self, number: int, sent: _Sent, order: _Order, now: float) -> None:
        """Queue a page for the present owner of its slot."""
        owner = self._owner_of(sent.message.page.slot)
        order.owners[number] = owner
        is_added = self._sent.add(owner, number, sent, sent.n_bytes, now)
        assert is_added, "orders are bounded, and nothing else"

    def _owner_of(self, slot: int) -> str:
        assert self._ownership is not None
        return self._ownership.owner_of(slot) or self._me

    def _deliver(self, now: float) -> list[Send]:
        """Send pages and links as far as there is credit, for the first time or again."""
        sends = [
            Send(Address(owner, self.name), sent.message) for owner, _, sent in self._sent.wake(now).leaving
        ]
        return sends + [
            Send(self._controller, LinksFound(number, tuple(batch.links)))
            for _, number, batch in self._batches.wake(now).leaving
        ]

    def _note_answer(self, peer: str, number: int, outcome: str, now: float) -> list[Send]:
        sent = self._sent.note_answer(peer, number, now)
        if sent is None:
            return []
        self._order_bytes -= sent.n_bytes
        order = self._orders[sent.ticket]
        order.outcomes[sent.index] = outcome
        del order.owners[number]
        sends = [] if order.owners else self._end_order(sent.ticket, order)
        return sends + self._deliver(now)

    def _end_order(self, ticket: int, order: _Order) -> list[Send]:
        for number, owner in order.owners.items():
            sent = self._sent.withdraw(owner, number)
            assert sent is not None, "what has no outcome is on its way"
            self._order_bytes -= sent.n_bytes
            self._late += 1
        del self._orders[ticket]
        return [Send(self._http, PagesImported(ticket, self._me, tuple(order.outcomes)))]

    def _end_late_orders(self, now: float) -> list[Send]:
        late = [(ticket, order) for ticket, order in self._orders.items() if order.limit_at <= now]
        sends = [send for ticket, order in late for send in self._end_order(ticket, order)]
        self._limit_at = min((order.limit_at for order in self._orders.values()), default=inf)
        return sends

    def _change_ownership(self, ownership: Ownership, now: float) -> list[Send]:
        """Send pages on their way to dead or former owners to the present owners."""
        self._ownership = ownership
        for owner, number, sent in self._sent.parcels():
            if owner != self._owner_of(sent.message.page.slot):
                self._sent.withdraw(owner, number)
                self._bring(number, sent, self._orders[sent.ticket], now)
        return self._deliver(now)

    # --- Pages of slots of ours

    def _take(self, source: Address, message: ImportPage, now: float) -> list[Send]:
        """Take a page in, unless it is not for us or there is no room: then its sender repeats it."""
        page, ownership = message.page, self._ownership
        if ownership is None:
            return []
        wrong = self._why_not_of(source.peer) or self._what_is_wrong(_as_given(message), now)
        if wrong or ownership.slot_of(host_of(page.url)) != page.slot:
            return [Send(source, ImportRefused(message.number, wrong or "its slot is another one"))]
        if ownership.owner_of(page.slot) != self._me:
            self._foreign += 1
            return []
        version = (page.url, page.stamp)
        taken, asker = self._taken.get(version), (source, message.number)
        if taken is not None:
            taken.askers += [] if asker in taken.askers else [asker]
            return []
        n_bytes = bytes_of(_as_given(message))
        if self._taken and self._taken_bytes + n_bytes > self._settings.taken_bytes_max:
            return []
        self._taken[version] = _Taken(page, message.links, n_bytes, [asker])
        self._taken_bytes += n_bytes
        self._waiting.append(version)
        return self._store_waiting(now)

    def _store_waiting(self, now: float) -> list[Send]:
        """Give the cell as many pages as the index has room for, and ask for more room in time."""
        sends: list[Send] = []
        while self._waiting and self._room > 0:
            taken = self._taken[self._waiting.popleft()]
            taken.is_begun = True
            self._storing += 1
            self._room -= 1
            sends.append(Send(self._cell, StorePage(taken.page)))
        if not self._waiting:
            self._count_at = inf
        elif self._count_at == inf:
            self._count_at = now
        return sends

    def _note_stored(self, version: Version, is_new: bool, now: float) -> list[Send]:
        taken = self._taken.get(version)
        if taken is None or not taken.is_begun or taken.is_stored:
            return []
        taken.is_stored, taken.is_new = True, is_new
        self._storing -= 1
        return self._gather_links(version, taken, now)

    def _note_refused(self, version: Version) -> list[Send]:
        taken = self._taken.get(version)
        if taken is None or not taken.is_begun or taken.is_stored:
            return []
        self._storing -= 1
        self._refused += 1
        self._drop(version, taken)
        refused = "its records are not whole"
        return [Send(asker, ImportRefused(number, refused)) for asker, number in taken.askers]

    def _drop(self, version: Version, taken: _Taken) -> None:
        del self._taken[version]
        self._taken_bytes -= taken.n_bytes

    def _gather_links(self, version: Version, taken: _Taken, now: float) -> list[Send]:
        """Put a stored page and its links into batches, which go out full or after a moment."""
        sends: list[Send] = [self._linked(version, taken)] if self._has_graph else []
        links = [FoundLink(taken.page.url, use=LinkUse.STORED)]
        for link in taken.links:
            is_known = link in self._links_known or link in self._links_known_before
            if not is_known and link.use is not LinkUse.STORED:  # only the page itself is
                links.append(link)
        taken.links = ()
        for link in links:
            batch = self._gathering
            batch.links.append(link)
            batch.versions[version] = None
            if len(batch.links) == LINKS_MAX:
                sends += self._flush(now)
        if self._gathering.links:
            self._flush_at = min(self._flush_at, now + self._settings.links_pause_s)
        return sends

    def _linked(self, version: Version, taken: _Taken) -> Send:
        """Tell the link graph where a page links to."""
        (url, stamp), document = version, taken.page.document
        links = tuple(link for link in taken.links if link.use is not LinkUse.STORED) if document else ()
        title = document.title if document is not None else ""
        page = PageLinked(url, taken.page.slot, stamp, title, links)
        return Send(Address(self._me, "link_graph"), PagesLinked((page,)))

    def _flush(self, now: float) -> list[Send]:
        self._flush_at = inf
        batch, self._gathering = self._gathering, _Batch()
        number = next(self._numbers)
        self._batches.add(self._me, number, batch, 0, now)
        for version in batch.versions:
            self._taken[version].batches.add(number)
        self._links += len(batch.links)
        return self._deliver(now)

    def _note_accepted(self, peer: str, number: int, now: float) -> list[Send]:
        batch = self._batches.note_answer(peer, number, now)
        if batch is None:
            return []
        for link in batch.links:
            self._remember(link)
        sends: list[Send] = []
        for version in batch.versions:
            taken = self._taken[version]
            taken.batches.discard(number)
            if not taken.batches and version not in self._gathering.versions:
                sends += self._finish(version, taken)
        return sends

    def _remember(self, link: FoundLink) -> None:
        """Send a link that was accepted no more, unless it is long ago."""
        if link.use is LinkUse.STORED:
            return
        self._links_known.add(link)
        if len(self._links_known) >= self._settings.links_remembered:
            self._links_known_before, self._links_known = self._links_known, set()

    def _finish(self, version: Version, taken: _Taken) -> list[Send]:
        self._drop(version, taken)
        if taken.is_new:
            self._stored += 1
        else:
            self._known += 1
        return [Send(asker, PageImported(number, taken.is_new)) for asker, number in taken.askers]


def _to_owners(settings: ImporterSettings) -> DeliverySettings:
    """An order that nobody answers ends with its pages; how much waits is bounded by the orders."""
    return DeliverySettings(
        again_s=settings.repeat_s,
        again_max_s=settings.repeat_s,
        slow_s=inf,
        window=PAGES_UNDER_WAY,
        window_bytes=settings.window_bytes,
    )


def _to_controller(settings: ImporterSettings) -> DeliverySettings:
    """How much waits is bounded by the pages taken."""
    return DeliverySettings(again_s=settings.links_again_s, again_max_s=settings.links_again_s)


def bytes_of(page: ImportedPage) -> int:
    """About how many bytes a page takes in memory and on the wire; at most six to a character of text."""
    size = len(page.records) + sum(len(link.url) + 4 * len(link.anchor) + 16 for link in page.links)
    if page.document is not None:
        size += 3 * (page.document.text_chars + len(page.document.title) + len(page.document.headings))
    return size + len(page.url) + 64


def _as_given(message: ImportPage) -> ImportedPage:
    page = message.page
    return ImportedPage(
        page.url, page.fetched_at, page.status, page.records, page.document, message.links, page.visit
    )
