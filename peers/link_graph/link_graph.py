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

Nothing of a page is kept, nor taken from others, that the policy takes down. Without `[link_graph]` in the
policy the actor is dormant, and the handover does not know of its store; what was kept is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final, cast

from mesh.actors.actor import Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.actors.port import BACKGROUND, CarriedOut, CarryOut
from mesh.membership.model.messages import DecreesInForce
from mesh.stamp import Stamp
from mesh.tables.table import Table, TableSection
from mesh.urls import fingerprint, has_host, host_of, is_canonical
from peers.crawler.model.messages import PageLinked, PagesLinked
from peers.handover.item_store import Item, ItemStore, key_at, key_of, slot_in
from peers.handover.keeper import Keeper
from peers.handover.messages import SlotsSynchronised, SynchroniseSlots, UseStore
from peers.handover.mirror import Mirror, Pledge
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreActor, StoreDeclaration
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
    LISTED_MAX,
    BacklinksListed,
    GraphNoted,
    GraphTold,
    ListBacklinks,
    ListRanks,
    RankedHost,
    RankedPage,
    RanksBegun,
    RanksHeard,
    RanksHeld,
    RanksListed,
    RanksTold,
)
from peers.policy.decreed import policy_of
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import DAY_S, OF_SEEDS, Policy

if TYPE_CHECKING:
    from peers.link_graph.page_ranks import PageRanks
    from peers.link_graph.rank_work import RankOutcome

ROWS_SECTION: Final = b"g"  # of the table of this actor
SWEEP_ROWS: Final = 500  # looked through in a turn
SKIP_ROWS: Final = 32  # read at a time where rows of targets are passed over
SWEEP_PAUSE_S: Final = 0.05
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


class MeshGraph(StoreActor):
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
        ListRanks,
    }

    def __init__(self, me: str, table: Table, life: int = 1) -> None:
        """Begin without looking at the table: most meshes keep no graph.

        Args:
          table: the section of this actor.
          life: of the peer, see `mesh.tables.lives`.
        """
        self._me, self._table, self._life = me, table, life
        self.is_dormant = True
        self._ownership: Ownership | None = None
        self._policy: Policy = OF_SEEDS
        self._now = 0.0
        self._swept_to, self._sweep_at = b"", inf
        self._counts = {"pages": 0, "taken": 0, "refused": 0, "dropped": 0}
        self._lost: list[tuple[str, tuple[GoneLink, ...]]] = []  # by page, in this turn
        self._is_behind = False  # do rows wait to be told, for want of room?
        self._is_purging, self._purge_at = False, -inf  # are rows of targets looked through, too? when again?
        self._ranks: PageRanks | None = None
        self._n_ranks = 0  # so often ranks have begun

    def _begin(self) -> None:
        """Take up the rows in the table."""
        rows = TableSection(self._table, ROWS_SECTION)
        self._store = ItemStore(rows, self._join, changed=self._changed, accepts=self._accepts)
        self._mirror = Mirror(self._me, self.name, self._store, self._life)
        self._keeper = Keeper(self._me, self.keeps, self._store, life=self._life, mirror=self._mirror)
        self._tellings = Tellings(self._me, self.name, self._life)
        self.is_dormant = False

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._now = now
        sends: list[Send] = []
        match message:
            case PagesLinked(pages):
                if self._rules is not None:
                    for page in pages:
                        self._note_page(page, self._rules)
            case ListBacklinks():
                sends = [self._list(source, message)]
            case DecreesInForce():
                sends = self._hear_policy(message, now)
            case SynchroniseSlots(task=task, slots=slots) if self._rules is None:
                # Peers that have started since the graph ended have no such store. That they do not answer
                # must keep no slot from being crawled.
                sends = [Send(source, SlotsSynchronised(task, slots))]
            case OwnershipChanged(ownership):
                self._ownership = ownership
                if not self.is_dormant:
                    self._follow_ranks()
                    self._keeper.change_ownership(ownership, now)
                    self._tellings.clear()
                    if self._ranks is not None:
                        self._ranks.follow(ownership)
                    self._sweep_anew(now)  # what was another's to tell may be ours now
            case ListRanks():
                sends = [Send(source, self._ranked(message))]
            case _ if self.is_dormant:
                pass  # others have heard of the policy already, and repeat what they say
            case GraphTold():
                self._take(source, message)
            case GraphNoted(batch):
                self._note_told(self._tellings.note_answer(source.peer, batch, now))
            case RanksTold() | RanksHeld() | RanksBegun() | RanksHeard():
                sends = [] if self._ranks is None else self._ranks.receive(source, message)
            case CarriedOut():
                sends = self._take_result(message, now)
            case _:
                sends = self._keeper.receive(source, message, now)
        return sends + self._end_turn(now) if not self.is_dormant else sends

    def wake(self, now: float) -> list[Send]:
        self._now = now
        sends = self._keeper.wake(now) if self._keeper.wake_at() <= now else []
        if self._sweep_at <= now:
            self._sweep(now)
        if self._ranks is not None and self._ranks.wake_at() <= now:
            sends += self._ranks.wake(now)
        return sends + self._end_turn(now)

    def wake_at(self) -> float:
        at = min(self._keeper.wake_at(), self._tellings.wake_at(), self._sweep_at)
        return at if self._ranks is None else min(at, self._ranks.wake_at())

    @property
    def has_news(self) -> bool:
        return self._keeper.has_news

    def before_commit(self, now: float) -> list[Send]:
        return self._keeper.before_commit(now) + self._redeem()

    def observe(self) -> Statistics:
        if self.is_dormant:
            return Statistics()
        ranked = (0, 0, 0) if self._ranks is None else self._ranks.view[:3]
        return LinkGraphStatistics(
            store=self._keeper.observe(),
            is_on=self._rules is not None,
            told=self._tellings.n_told,
            untold=len(self._tellings) + self._is_behind,
            **self._counts,
            ranked=ranked[0],
            ranked_links=ranked[1],
            unranked=ranked[2],
        )

    @property
    def _rules(self) -> LinkGraphRules | None:
        return self._policy.link_graph

    def _end_turn(self, now: float) -> list[Send]:
        if self._lost and self._ownership is not None:
            self._tell_lost(self._ownership)
        return self._redeem() + self._tellings.wake(now) + self._keeper.end_turn(now)

    def _redeem(self) -> list[Send]:
        if not self._mirror.has_pledges:
            return []
        return [send for pledge in self._mirror.redeem() for send in pledge.sends]

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
        row = row_after(before, page.url, page.stamp, page.title, links, ownership.slot_of)
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
            self._sweep_anew(self._now)

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
        return source_row_in(items[0].value).url if items else ""

    def _take_result(self, done: CarriedOut, now: float) -> list[Send]:
        """Go on with a result of the background."""
        if done.ticket == _LISTING:
            source, listed = cast(tuple[Address, BacklinksListed], done.result)
            return [Send(source, listed)]
        if self._ranks is None or done.ticket != self._ranks.ticket:
            return []  # of ranks that are not wanted any more
        return self._ranks.take_outcome(cast("RankOutcome", done.result), now)

    # --- Policy and time

    def _hear_policy(self, message: DecreesInForce, now: float) -> list[Send]:
        policy = policy_of(message)
        if policy is None:
            return []
        before, was_on, self._policy = self._policy, self._rules is not None, policy
        is_on = policy.link_graph is not None
        if self.is_dormant:
            # What an earlier life kept is deleted when the graph has ended meanwhile.
            if not is_on and next(self._table.scan(b"", limit=1), None) is None:
                return []
            self._begin()
            if self._ownership is not None:
                self._keeper.change_ownership(self._ownership, now)
        has_ranks = self._follow_ranks()
        if was_on != is_on or has_ranks or before.rules != policy.rules:
            self._purge_at = now
            self._sweep_anew(now)
        if not is_on:
            self._tellings.clear()
            self._is_behind = False
        # Also when it is not the first time, to compare.
        return [Send(Address(self._me, "handover"), UseStore())] if is_on and not was_on else []

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

    def _sweep(self, now: float) -> None:
        """Look through some rows: tell those that are not told, and delete those that are not to be kept."""
        if self._ranks is not None and self._ranks.is_full:
            self._sweep_at = now + FULL_PAUSE_S
            return
        if not self._swept_to:
            self._is_purging = self._purge_at <= now
        left = SWEEP_ROWS
        while left > 0:
            limit = SWEEP_ROWS if self._is_purging else SKIP_ROWS
            items = self._store.items_after(self._swept_to, limit)
            for item in items:
                self._swept_to = key_of(item)
                if self._rules is None:
                    self._drop(item)
                elif is_name_of_source(item.name):
                    self._look_at_page(item)
                elif self._is_purging:
                    self._look_at_target(item)
                else:
                    self._swept_to = key_at(item.slot, AFTER_TARGETS)
                    break
            else:
                if len(items) < limit:
                    self._end_sweep(now)
                    return
            left -= limit
        self._sweep_at = now + SWEEP_PAUSE_S

    def _end_sweep(self, now: float) -> None:
        if self._is_purging:
            self._purge_at = inf if self._rules is None else now + SWEEP_S
        self._swept_to, self._sweep_at = b"", self._purge_at

    def _sweep_anew(self, now: float) -> None:
        self._swept_to, self._sweep_at = b"", now

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
    part = tuple(links[message.start : message.start + LISTED_MAX])
    return BacklinksListed(message.request, url, True, *total, len(links), part, rank)
