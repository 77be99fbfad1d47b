"""The actor that keeps the link graph of the mesh: the links of the pages of its slots, and those to them.

Theory of operation
===================
The controller tells of each version of a page, as soon as that is stored, where it links to (`PageLinked`).
The row of the page (`source_row`) is written before the page is settled, goes to the team as all rows do, and
has what the targets have yet to hear: the links that are new, and those that have gone. The owner of the
page's slot tells the owners of the targets (`tellings`), as often as it takes; they put it into the rows of
the targets (`target_row`), and answer when their team has it. Then the page's row says that it is told. So
whoever owns the slot after a crash or a hand-over goes on, at worst with links that are told already, and of
two words about a link the one about the later version of its page counts.

If the policy says `ranks`, the owners of slots rank their pages as well, by PageRank (`page_ranks`).

Nothing of a page is kept, nor taken from others, that the policy takes down; without `[link_graph]` in the
policy, nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final, cast

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.actors.port import BACKGROUND, CarriedOut, CarryOut
from mesh.stamp import Stamp
from mesh.tables.table import Table
from mesh.urls import fingerprint, has_host, host_of, is_canonical
from peers.crawler.model.messages import PageLinked, PagesLinked
from peers.handover.item_store import Item, ItemStore, key_at, key_of, slot_in
from peers.handover.mirror import Pledge
from peers.handover.optional_store import SWEEP_PAUSE_S, OptionalStoreActor
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreDeclaration, StoreStatistics
from peers.link_graph.source_row import (
    GoneLink,
    SourceRow,
    TargetLink,
    Telling,
    distinct,
    is_name_of_source,
    is_source_row,
    join_source_rows,
    lost_links,
    name_of_source,
    row_after,
    source_row_bytes,
    source_row_in,
    told_row,
    url_in_source_row,
    with_lost,
)
from peers.link_graph.target_row import (
    DOMAINS_MAX,
    SourceLink,
    TargetRow,
    by_domains,
    domain_of,
    is_name_of_target,
    is_target_row,
    join_target_rows,
    mark_in,
    name_of_target,
    purged,
    target_row_bytes,
    target_row_in,
    total_of,
)
from peers.link_graph.tellings import PAGES_MAX, Tellings
from peers.link_graph.wire_messages import (
    AROUND,
    LISTED_MAX,
    NEIGHBOUR_BYTES_MAX,
    NEIGHBOUR_DOMAINS_MAX,
    BacklinksListed,
    GraphNoted,
    GraphTold,
    ListBacklinks,
    ListNeighbours,
    ListRanks,
    NeighboursListed,
    RankedHost,
    RankedPage,
    RanksBegun,
    RanksHeard,
    RanksHeld,
    RanksListed,
    RanksTold,
)
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import DAY_S, Policy

if TYPE_CHECKING:
    from peers.link_graph.page_ranks import PageRanks
    from peers.link_graph.rank_work import RankOutcome

PURGE_ROWS: Final = 500  # looked through in a turn
SKIP_ROWS: Final = 32  # read at a time where rows of targets are passed over
FULL_PAUSE_S: Final = 1.0  # as long as so many pages wait to be ranked
SWEEP_S: Final = DAY_S  # between two passes over all rows
AFTER_TARGETS: Final = b"u"  # a name behind those of all rows of a slot
AHEAD_S: Final = DAY_S  # by which clocks of members differ at most
LISTED_AT_ONCE: Final = 32  # domains, of which links are listed in a turn: about 3 ms if all are full
_LISTING: Final = 0  # ticket of lists that are made in the background; those of ranks are greater


class LinkGraphStatistics(HolderStatistics, frozen=True):
    """The work on the link graph: gauges of now, counts since the start."""

    is_on: bool  # does the policy say so?
    pages: int  # count: versions of pages of this peer whose links were new or have gone
    told: int  # count: links that their owners were told of, those that have gone included
    untold: int  # gauge: pages of which not all of it is noted
    taken: int  # count: links that were told by their pages' owners
    refused: int  # count: of these, that cannot be or are taken down
    dropped: int  # count: rows that the policy or a limit does not let stay
    ranked: int = 0  # gauge: visited pages of this peer's slots with a rank
    ranked_links: int = 0  # gauge: links in memory for it
    unranked: int = 0  # gauge: pages whose links the limit of memory leaves out
    clipped: int = 0  # gauge: peers that claim to give more rank than is believed


class MeshGraph(OptionalStoreActor):
    """Neighbours: the controller of this peer, the link graphs of others, and gateways."""

    name: ClassVar[str] = "link_graph"
    keeps: ClassVar = StoreDeclaration("links", name, is_needed_to_crawl=True, is_optional=True)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {
        GraphTold,
        GraphNoted,
        ListBacklinks,
        RanksTold,
        RanksHeld,
        RanksBegun,
        RanksHeard,
        ListNeighbours,
        ListRanks,
    }

    rows_section: ClassVar = b"g"

    def __init__(self, me: str, table: Table, life: int = 1) -> None:
        super().__init__(me, table, life)
        self._counts = {"pages": 0, "taken": 0, "refused": 0, "dropped": 0}
        self._lost: list[tuple[str, tuple[GoneLink, ...]]] = []  # by page, in this turn
        self._is_behind = False  # do rows wait to be told, for want of room?
        self._is_purging, self._purge_at = False, -inf  # are rows of targets looked through, too? when again?
        self._ranks: PageRanks | None = None
        self._n_ranks = 0  # so often ranks have begun

    def _is_wanted(self, policy: Policy) -> bool:
        return policy.link_graph is not None

    def _open_store(self, rows: Table) -> ItemStore:
        return ItemStore(rows, self._join, changed=self._changed, accepts=self._accepts)

    def _begin(self) -> None:
        super()._begin()
        self._tellings = Tellings(self._me, self.name, self._life)

    def _handle(self, source: Address, message: Message) -> list[Send]:
        match message:
            case PagesLinked(pages):
                if self._rules is not None:
                    for page in pages:
                        self._note_page(page, self._rules)
            case ListBacklinks():
                return [self._list(source, message)]
            case ListNeighbours():
                return [self._list_neighbours(source, message)]
            case ListRanks():
                return [Send(source, self._ranked(message))]
            case _ if self.is_dormant:
                pass  # others have heard of the policy already, and repeat what they say
            case GraphTold():
                self._take(source, message)
            case GraphNoted(batch):
                self._note_told(self._tellings.note_answer(source.peer, batch, self._now))
            case RanksTold() | RanksHeld() | RanksBegun() | RanksHeard():
                return [] if self._ranks is None else self._ranks.receive(source, message)
            case CarriedOut():
                return self._take_result(message)
            case _:
                return super()._handle(source, message)
        return []

    def wake(self, now: float) -> list[Send]:
        sends = self._ranks.wake(now) if self._ranks is not None and self._ranks.wake_at() <= now else []
        return sends + super().wake(now)

    def wake_at(self) -> float:
        at = min(super().wake_at(), self._tellings.wake_at())
        return at if self._ranks is None else min(at, self._ranks.wake_at())

    def _observe(self, store: StoreStatistics) -> LinkGraphStatistics:
        ranked = (0, 0, 0, 0) if self._ranks is None else self._ranks.view[:4]
        return LinkGraphStatistics(
            store=store,
            is_on=self._is_on,
            told=self._tellings.n_told,
            untold=len(self._tellings) + self._is_behind,
            **self._counts,
            ranked=ranked[0],
            ranked_links=ranked[1],
            unranked=ranked[2],
            clipped=ranked[3],
        )

    @property
    def _rules(self) -> LinkGraphRules | None:
        return self._policy.link_graph

    def _end_turn(self) -> list[Send]:
        if self._lost and self._ownership is not None:
            self._tell_lost(self._ownership)
        return self._tellings.wake(self._now) + super()._end_turn()

    def _join(self, one: bytes, other: bytes) -> bytes:
        """Join two values of one name: see `handover.item_store`. ValueError for bytes that are none."""
        try:
            return join_target_rows(one, other)
        except ValueError:
            pass
        rows = source_row_in(one), source_row_in(other)
        if lost := lost_links(*rows):
            self._lost.append((rows[0].url, lost))
        return join_source_rows(one, other)

    # --- Pages of our slots

    def _note_page(self, page: PageLinked, rules: LinkGraphRules) -> None:
        """Write down the links of a new version of a page."""
        ownership = self._ownership
        if ownership is None or self._policy.is_taken_down(page.url):
            return
        links = distinct((TargetLink(link.url, link.anchor) for link in page.links), rules.links_per_page)
        name = name_of_source(fingerprint(page.url))
        value = self._store.get(page.slot, name)
        before = None if value is None else source_row_in(value)
        version = page.url, page.stamp, page.title
        row = row_after(before, *version, links, ownership.slot_of, rules.since_s)
        if row is not None:
            self._counts["pages"] += 1
            self._store.put(page.slot, name, source_row_bytes(row))

    def _changed(self, slot: int, name: bytes, before: bytes | None, value: bytes) -> None:
        """Have the links of a page told, by whichever peer its row was changed; limit a target's domains."""
        if is_name_of_source(name):
            row = source_row_in(value)
            self._tell(slot, name, row)
            if self._ranks is not None and (before is None or source_row_in(before).targets != row.targets):
                self._rank(slot, name, row)
        elif before is None:
            self._drop_domains_beyond(slot, mark_in(name))

    def _tell_lost(self, ownership: Ownership) -> None:
        """Begin another round for pages with links that the row in force does not know of."""
        while self._lost:
            url, lost = self._lost.pop()
            slot, name = ownership.slot_of(host_of(url)), name_of_source(fingerprint(url))
            value = self._store.get(slot, name)
            if value is not None:
                self._store.put(slot, name, source_row_bytes(with_lost(source_row_in(value), lost)))

    def _tell(self, slot: int, name: bytes, row: SourceRow) -> None:
        ownership = self._ownership
        if row.is_told or self._rules is None or ownership is None or ownership.owner_of(slot) != self._me:
            return
        if not self._tellings.tell(key_at(slot, name), row, ownership, self._now):
            self._is_behind = True

    def _rank(self, slot: int, name: bytes, row: SourceRow) -> None:
        """Have a page of ours ranked by its links, if pages are."""
        ownership = self._ownership
        if self._ranks is not None and ownership is not None and ownership.owner_of(slot) == self._me:
            self._ranks.note_page(slot, mark_in(name), row)

    def _note_told(self, told: tuple[bytes, Telling] | None) -> None:
        """Note that all links of a version of a page are with their owners."""
        if told is not None:
            (key, telling), slot = told, slot_in(told[0])
            value = self._store.get(slot, key[2:])
            row = None if value is None else source_row_in(value)
            if row is not None and row.telling == telling:
                self._store.put(slot, key[2:], source_row_bytes(told_row(row)))
        if self._is_behind and len(self._tellings) < PAGES_MAX // 2:
            self._is_behind = False
            self._sweep_anew()

    # --- Links to pages of our slots

    def _take(self, source: Address, told: GraphTold) -> None:
        """Take links of a page from its owner, and answer when the team has them.

        Without an answer they come again: who sends them may know other owners than we do, also of the page
        that has them, or a policy that we have not heard of.
        """
        ownership = self._ownership
        if ownership is None or self._rules is None:
            return
        is_sound = is_canonical(told.url) and _is_of_its_time(told.visit, told.fetched_at, self._now)
        if is_sound and source.peer not in ownership.team_of(ownership.slot_of(host_of(told.url))):
            self._counts["refused"] += len(told.links)
            return
        links = self._good_among(told) if is_sound else []
        slots = [ownership.slot_of(host_of(link.url)) for link in links]
        gone = [each for each in told.gone if each.slot < ownership.table.slot_count]
        if any(ownership.owner_of(slot) != self._me for slot in (*slots, *(each.slot for each in gone))):
            return
        self._counts["refused"] += len(told.links) - len(links)
        self._counts["taken"] += len(links)
        if is_sound:
            domain = domain_of(told.url)
            for slot, link in zip(slots, links, strict=True):
                there = SourceLink(told.url, told.visit, told.fetched_at, told.title, link.text)
                self._put(slot, name_of_target(fingerprint(link.url), domain), TargetRow(link.url, (there,)))
            lost = SourceLink(told.url, told.visit, told.fetched_at, is_there=False)
            for each in gone:
                self._put(each.slot, name_of_target(each.mark, domain), TargetRow("", (lost,)))
        self._mirror.pledge(Pledge(sends=(Send(source, GraphNoted(told.batch)),)))

    def _put(self, slot: int, name: bytes, row: TargetRow) -> None:
        """Join a row with the one that is there, unless its domain would be beyond those that are kept."""
        if self._is_within(slot, name):
            self._store.put(slot, name, target_row_bytes(row))

    def _good_among(self, told: GraphTold) -> list[TargetLink]:
        if self._policy.is_taken_down(told.url):
            return []
        return [
            link
            for link in told.links
            if is_canonical(link.url) and link.url != told.url and not self._policy.is_taken_down(link.url)
        ]

    def _is_within(self, slot: int, name: bytes) -> bool:
        """Is a row there, or may there be one of its domain?"""
        if self._store.get(slot, name) is not None:
            return True
        rows = self._store.items_below(slot, name_of_target(mark_in(name), b""), DOMAINS_MAX)
        return len(rows) < DOMAINS_MAX or name < rows[-1].name

    def _drop_domains_beyond(self, slot: int, mark: bytes) -> None:
        """Drop the rows of a page beyond those of the domains with the smallest digests."""
        rows = self._store.items_below(slot, name_of_target(mark, b""), DOMAINS_MAX + 1)
        for item in rows[DOMAINS_MAX:]:
            self._store.drop(slot, item.name)
            self._counts["dropped"] += 1

    def _accepts(self, slot: int, name: bytes, value: bytes) -> bool:
        """Is this a row in its place, if another peer says so?"""
        ownership = self._ownership
        if ownership is None:
            return False
        try:
            if is_name_of_source(name):
                row = source_row_in(value)
                is_row = is_source_row(slot, name, row, ownership.slot_of, ownership.table.slot_count)
                return is_row and row.fetched_at <= self._now + AHEAD_S and not self._is_hidden(row.url)
            if is_name_of_target(name):
                target = target_row_in(value)
                is_row = is_target_row(slot, name, target, ownership.slot_of)
                return is_row and self._is_kept(target) and self._is_within(slot, name)
        except ValueError:
            pass
        return False

    def _is_kept(self, row: TargetRow) -> bool:
        if any(not _is_of_its_time(link.visit, link.fetched_at, self._now) for link in row.links):
            return False
        return not self._is_hidden(row.url) and purged(row, self._now, self._is_hidden) is row

    def _is_hidden(self, url: str) -> bool:
        """Does the policy take a page down?"""
        return has_host(url) and self._policy.is_taken_down(url)

    # --- Gateways

    def _list(self, source: Address, message: ListBacklinks) -> Send:
        """Answer with the links to a page; those of many domains are looked through in the background."""
        ownership, url = self._ownership, message.url
        if ownership is None or self._rules is None or not is_canonical(url):
            return Send(source, BacklinksListed(message.request, url))
        if self._is_hidden(url):
            return Send(source, BacklinksListed(message.request, url, is_on=True))
        slot, mark = ownership.slot_of(host_of(url)), fingerprint(url)
        items = self._store.items_below(slot, name_of_target(mark, b""), DOMAINS_MAX)
        rank = None if self._ranks is None else self._ranks.rank_of(slot, mark)
        listed = partial(_listed, message, items, rank, self._now, self._is_hidden)
        if len(items) <= LISTED_AT_ONCE:
            return Send(source, listed())
        return Send(Address(self._me, BACKGROUND), CarryOut(_LISTING, lambda: (source, listed())))

    def _list_neighbours(self, source: Address, message: ListNeighbours) -> Send:
        """Answer, in the background, with the pages that link to some, and those they link to."""
        from peers.link_graph.neighbours import PageRows, neighbours_listed  # loaded where somebody asks

        ownership = self._ownership
        if ownership is None or self._rules is None:
            return Send(source, NeighboursListed(message.request))
        rows: list[PageRows] = []
        for url in message.urls:
            if is_canonical(url) and not self._is_hidden(url):
                slot, mark = ownership.slot_of(host_of(url)), fingerprint(url)
                own = self._store.items_below(slot, name_of_source(mark), 1)
                linking = self._store.items_below(
                    slot, name_of_target(mark, b""), NEIGHBOUR_DOMAINS_MAX, NEIGHBOUR_BYTES_MAX
                )
                rows.append(PageRows(url, [each.value for each in own], [each.value for each in linking]))
        named = [
            item.value
            for each in message.marks
            if each.slot < ownership.table.slot_count
            for item in self._store.items_below(each.slot, name_of_target(each.mark, b""), 1)
        ]
        listed = partial(neighbours_listed, message, rows, named, self._now, self._is_hidden)
        return Send(Address(self._me, BACKGROUND), CarryOut(_LISTING, lambda: (source, listed())))

    def _ranked(self, message: ListRanks) -> RanksListed:
        """Return the pages and hosts of our slots that have the highest ranks."""
        ranks = self._ranks
        if ranks is None:
            return RanksListed(message.request)
        view = ranks.view
        pages = (
            RankedPage(url, page.rank)
            for page in view.pages[: message.most]
            if (url := self._url_of(page.slot, page.mark)) and not self._is_hidden(url)
        )
        hosts = (RankedHost(*host) for host in view.hosts[: message.most])
        numbers = ranks.is_settled, view.n_pages, view.n_left_out
        return RanksListed(message.request, True, *numbers, tuple(pages), tuple(hosts))

    def _url_of(self, slot: int, mark: bytes) -> str:
        """Return the URL of a visited page by the beginning of its fingerprint; "" if its row has gone."""
        items = self._store.items_below(slot, name_of_source(mark), 1)
        return url_in_source_row(items[0].value) if items else ""

    def _take_result(self, done: CarriedOut) -> list[Send]:
        """Go on with a result of the background."""
        if done.ticket == _LISTING:
            source, listed = cast(tuple[Address, BacklinksListed | NeighboursListed], done.result)
            return [Send(source, listed)]
        if self._ranks is None or done.ticket != self._ranks.ticket:
            return []  # of ranks that are not wanted any more
        return self._ranks.take_outcome(cast("RankOutcome", done.result), self._now)

    # --- Policy and time

    def _follow(self, ownership: Ownership) -> None:
        super()._follow(ownership)
        self._tellings.clear()
        self._follow_ranks()
        if self._ranks is not None:
            self._ranks.follow(ownership)
        self._sweep_anew()  # what was another's to tell may be ours now

    def _follow_policy(self, before: Policy, *, was_on: bool) -> None:
        has_ranks = self._follow_ranks()
        if was_on != self._is_on or has_ranks or before.rules != self._policy.rules:
            self._purge_at = self._now
            self._sweep_anew()
        if not self._is_on:
            self._tellings.clear()
            self._is_behind = False

    def _follow_ranks(self) -> bool:
        """Begin or end to rank pages; return whether it begins."""
        rules, ownership = self._rules, self._ownership
        is_wanted = rules is not None and rules.ranks
        before = None if self._ranks is None else self._ranks.links_max
        if rules is None or not is_wanted or ownership is None:
            self._ranks = None
            return False
        if before == rules.ranks_links_max:
            return False
        from peers.link_graph.page_ranks import PageRanks  # numpy code that most meshes have no use for

        self._n_ranks += 1
        name, life = self.name, self._life
        self._ranks = PageRanks(self._me, name, life, rules.ranks_links_max, self._n_ranks)
        self._ranks.follow(ownership)
        return True

    def _sweep(self) -> None:
        """Look through some rows: tell those that are not told, and delete those that are not to be kept.

        Rows of targets are many, and are passed over where nothing is to be deleted.
        """
        if self._ranks is not None and self._ranks.is_full:
            self._sweep_at = self._now + FULL_PAUSE_S
            return
        if not self._swept_to:
            self._is_purging = self._purge_at <= self._now
        left = PURGE_ROWS
        while left > 0:
            limit = PURGE_ROWS if self._is_purging else SKIP_ROWS
            items = self._store.items_after(self._swept_to, limit)
            for item in items:
                self._swept_to = key_of(item)
                if is_name_of_target(item.name) and not self._is_purging:
                    self._swept_to = key_at(item.slot, AFTER_TARGETS)
                    break
                self._look_at(item)
            else:
                if len(items) < limit:
                    self._end_sweep()
                    return
            left -= limit
        self._sweep_at = self._now + SWEEP_PAUSE_S

    def _end_sweep(self) -> None:
        if self._is_purging:
            self._purge_at = self._now + SWEEP_S if self._is_on else inf
        self._swept_to, self._sweep_at = b"", self._purge_at

    def _look_at(self, item: Item) -> None:
        if not self._is_on:
            self._drop(item)
        elif is_name_of_source(item.name):
            self._look_at_page(item)
        else:
            self._look_at_target(item)

    def _look_at_page(self, item: Item) -> None:
        row = source_row_in(item.value)
        if self._is_hidden(row.url):
            self._drop(item)
        else:
            self._tell(item.slot, item.name, row)
            self._rank(item.slot, item.name, row)

    def _look_at_target(self, item: Item) -> None:
        """Leave out of a row the links that are not to be kept; all of the team do, each by itself."""
        row = target_row_in(item.value)
        left = purged(row, self._now, self._is_hidden)
        if self._is_hidden(row.url) or not left.links:
            self._drop(item)
        elif left is not row:
            self._drop(item)
            self._store.put(item.slot, item.name, target_row_bytes(left), is_news=False)

    def _drop(self, item: Item) -> None:
        if self._ranks is not None and is_name_of_source(item.name):
            self._ranks.forget_page(item.slot, mark_in(item.name))
        self._store.drop(item.slot, item.name)
        self._counts["dropped"] += 1


def _is_of_its_time(visit: int, fetched_at: float, now: float) -> bool:
    return Stamp(visit, fetched_at).is_sound and fetched_at <= now + AHEAD_S


def _listed(
    message: ListBacklinks,
    items: Sequence[Item],
    rank: float | None,
    now: float,
    is_hidden: Callable[[str], bool],
) -> BacklinksListed:
    """Return the links to a page that all rows of it have, in the order in which people see them."""
    url = message.url
    rows = [(item.name, target_row_in(item.value)) for item in items]
    kept = [(name, purged(row, now, is_hidden)) for name, row in rows]
    total, links = total_of(kept), by_domains(url, [row for _, row in kept])
    part = tuple(links[max(0, message.start - AROUND) : message.start + LISTED_MAX + AROUND])
    return BacklinksListed(message.request, url, True, *total, len(links), part, rank)
