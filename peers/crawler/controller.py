"""The controller (主控): decides which URL is fetched when, and sends every link to its owner.

It follows the coordinator of Li, Yan, Wang 2004, section 6.2: one per peer, only links travel
between them. A URL goes through these hands, and is settled only when the last has answered:

    frontier -> fetcher -> parser -> cell (durable on the whole team) -> links on their way -> done

`visits` has the first step, `pages_in_progress` the next ones, `links` the last. What is in flight when a
peer dies is still queued in its table, so a restart repeats that and nothing else.

It fetches only for slots that it *holds*: the handover says which, and the membership until when
(`CrawlLicensed`). Rows of other slots it keeps as well: as standby, for which the peers that change
them ship the changes to each other (`mirror`), and compare from time to time (the exchange). What must not
happen before the team has something is *pledged*: a promise to who sent us links, and the news that a page
is done. Here are the slots, the pledges that are redeemed, and when link texts that came late are indexed.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar, Final

import numpy as np

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.actors.port import DiskFilled
from mesh.keys.decree import TOPICS
from mesh.membership.model.messages import CrawlLicensed, DecreesInForce, HoldingsRevoked, QueueMeasured
from mesh.slot_set import SlotMask, encode_slot_list
from mesh.tables.table import Table, TableSection
from peers.crawler.domain_budgets import DomainBudgets
from peers.crawler.explainer import QUESTIONS, Asked, Explainer, PeerFacts
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.keys import slot_in
from peers.crawler.frontier.store import FrontierStore
from peers.crawler.links.left_out_links import LeftOutLinks
from peers.crawler.links.links import Links
from peers.crawler.links.order_change import OrderChange
from peers.crawler.links.outbox import LinkOutbox
from peers.crawler.model.messages import (
    CallAlias,
    ChangeSettings,
    PageParsed,
    PagesLinked,
    ParseFailed,
    RobotsParsed,
    SitesSeen,
    StopCrawl,
    WatchSites,
    WebReached,
)
from peers.crawler.model.politeness import LICENCE_S_MIN
from peers.crawler.model.settings import CrawlSettings, Tuning
from peers.crawler.model.url_rows import visitor_tag
from peers.crawler.model.web_request import FetchFailed, PageFetched
from peers.crawler.model.wire_messages import (
    DemandTold,
    ExplainCrawl,
    ExplainUrl,
    HastenUrls,
    LendTurn,
    LinksAccepted,
    LinksFound,
)
from peers.crawler.page_limit import SETTLING_S, PageLimit
from peers.crawler.pages_in_progress import PagesInProgress
from peers.crawler.site_watch import SiteWatch
from peers.crawler.url_explainer import FactSources
from peers.crawler.visits import Visits
from peers.crawler.wishes import SearchersWishes
from peers.handover.keeper import Keeper
from peers.handover.messages import HoldSlots, SlotsStopped
from peers.handover.mirror import Mirror, Pledge
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreActor, StoreDeclaration
from peers.handover.wire_messages import ItemsChanged, ItemsKept
from peers.policy.decreed import number_of, policy_of
from peers.storage.ledger.stored_versions import StoredVersions
from peers.storage.messages import LinkTextsChanged, PageRefused, PageStored
from peers.topics.topic_list import topics_of

FRONTIER_SECTION: Final = b"f"  # of the table of a controller
STOP_CHECK_S: Final = 0.1  # between two looks whether anything of slots that were taken from us is unfinished
STOP_PATIENCE_S: Final = 10.0  # with pages of them whose links nobody accepts: those are in the outbox
MEASURE_SHARE: Final = 100  # a change of one part in so many is worth one
MEASURE_LATE_S: Final = 5.0  # with no other turn by then it has one of its own
IDLE_HORIZON_S: Final = 10.0  # a crawl that has something to ask within it is not at rest
ANCHORS_PER_TURN: Final = 200
_NEIGHBOURS: Final = ("cell", "membership", "handover", "submissions", "link_graph", "topics")
HOT_HOSTS: Final = 10  # that statistics show
DISK_FULL_PAUSE_S: Final = 10.0


class CrawlStatistics(HolderStatistics, frozen=True):
    """Counts since the start of the process; gauges of now."""

    pages_fetched: int  # answers with status 200 that went to the parser
    pages_stored: int
    urls_seen: int  # ever, of the slots held
    fetch_status: dict[str, int]  # answers by HTTP status, failures by reason
    bytes_fetched: int
    links_found: int
    links_sent: int  # to other peers
    links_received: int  # from other peers and users
    links_refused: int  # of those: not canonical, or too deep
    links_left_out: int  # to pages that the policy of the mesh does not want
    links_overlisted: int  # from sitemaps and feeds, to hosts of which more is queued than may be asked for
    lists_read: int  # sitemaps and feeds
    pages_told: int  # that are due at once as their sites say that they have changed
    hosts: int
    aliases: int  # of these in memory: other names of sites, visited by their first one
    queued: int
    due: int  # queued on hosts that were not given up
    in_flight: int
    in_progress: int  # fetched, not yet settled
    bytes_in_progress: int  # of the bodies of fetched pages that are not stored yet
    outbox: int  # links that no other peer has accepted yet
    anchors_changed: int  # stored pages, of all slots, of whose new link texts the cell has not heard yet
    slots_held: int  # that it crawls
    held_back: int  # pages that are done, whose links others have not accepted so far
    turns_lent: int  # of hosts, to members that look at pages once more
    hot_hosts: tuple[tuple[str, int], ...]  # the longest queues, longest first: host and URLs queued
    deaf: int  # gauge: members that accept no links, which others get for them
    is_held_up: bool  # no fetch begins because other peers do not accept links
    is_shared: bool  # the others of the teams have kept all that has changed here
    is_idle: bool  # nothing is due and nothing is on its way
    searched_words: tuple[str, ...]  # guide words that are there since searchers want them
    brought_forward: int  # visits that come sooner, since several searchers were shown the page
    pages_max: int  # that the policy lets the whole mesh visit, when that is why no fetch begins; else 0
    policy_late_s: float  # for how long the policy should have been followed by another


class Controller(StoreActor):
    """Actor of the crawl. Neighbours: controllers, fetcher, parser, cell, membership, handover, recorder."""

    name: ClassVar[str] = "controller"
    keeps: ClassVar = StoreDeclaration("frontier", name, is_needed_to_crawl=True)
    remote_messages: ClassVar[frozenset[type[Message]]] = (
        QUESTIONS | STORE_MESSAGES | {LendTurn, LinksFound, LinksAccepted, DemandTold, HastenUrls}
    )

    def __init__(
        self,
        me: str,
        table: Table,
        settings: CrawlSettings,
        stored: StoredVersions,
        life: int = 1,
        tuning: Tuning | None = None,
    ) -> None:
        tuning = tuning or Tuning()
        self._settings, self._measure_s = settings, tuning.measure_s
        rows = TableSection(table, FRONTIER_SECTION)
        self._frontier = Frontier(rows, settings, visitor=visitor_tag(me))
        self._store = FrontierStore(self._frontier, settings)
        self._mirror = Mirror(me, self.name, self._store, life)
        self._keeper = Keeper(me, self.keeps, self._store, life=life, mirror=self._mirror)
        outbox = LinkOutbox(TableSection(table, b"o"), life, settings.outbox_links_max)
        left_out = LeftOutLinks(TableSection(table, b"l"), tuning.links_left_out_max)
        neighbours = self._mirror, OrderChange(TableSection(table, b"w"), self._frontier)
        self._links = Links(me, self.name, self._frontier, outbox, left_out, *neighbours, settings, tuning)
        budgets = self._budgets = DomainBudgets(TableSection(table, b"b"))
        parts = self._frontier, self._store, self._links, stored, budgets
        self._pages = PagesInProgress(me, *parts, settings, tuning)
        recalls, self._limit = TableSection(table, b"g"), PageLimit()
        self._visits = Visits(me, self._frontier, self._pages, budgets, recalls, settings, self._limit)
        self._wishes = SearchersWishes(self._frontier, self._visits.clocks, self._links)
        sources = FactSources(self._frontier, self._visits, budgets, left_out, stored)
        self._explainer = Explainer(me, sources, self._pages, self._links, self._limit)
        self._addresses = {name: Address(me, name) for name in _NEIGHBOURS}
        self._ownership: Ownership | None = None
        self._licensed_until_s, self._is_stopped = inf, False
        self._policy, self._rules_end_s = tuning.policy, inf  # mesh clock: when some of its rules end
        self._held: SlotMask | None = None  # what the handover said last
        self._stopping: dict[int, float] = {}  # slots taken from us, of which something may go on; since when
        self._stop_check_s, self._anchors_at_s = inf, 0.0
        self._measured = self._measured_pages = 0
        self._measure_at_s = -inf  # not before
        self._measure_due_s = inf  # when others hear of it at the latest
        self._fetch_at_s = self._visits.next_time()  # at the end of the last turn

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._store.now = now
        sends: list[Send] = []
        match message:
            case ItemsChanged() | ItemsKept():  # the first as they are half of all that comes
                sends = self._mirror.receive(source, message, now)
            case PageFetched():
                sends = self._visits.fetched(message, now)
            case PageParsed():
                sends = self._visits.parsed(message, now)
            case PageStored(url, stamp):
                self._pages.stored(url, stamp, now)
                sends = self._flush(now) if self._is_to_flush() else []
            case FetchFailed():
                sends = self._visits.failed(message, now)
            case ParseFailed(url, reason):
                sends = [] if self._visits.unparsed(message, now) else self._lose(url, reason, now)
            case PageRefused(url, stamp):
                sends = self._lose(url, "archive", now) if self._pages.is_of(url, stamp) else []
            case RobotsParsed():
                self._visits.unread_robots.read(message, now)
                sends = self._explain(self._explainer.take_waiting(message), now, message)
            case LinksFound():
                sends = self._links.take_in(source, message, now)
                self._visits.clocks.recall_seeds(message.links, now)
            case DemandTold() | HastenUrls():
                sends = self._wishes.take(source, message, now)
            case LinksAccepted(batch):
                sends = self._redeem(self._links.accepted(source.peer, batch, now))
            case OwnershipChanged(ownership):
                sends = self._change_ownership(ownership, now)
            case HoldSlots(slots, inherited):
                sends = self._hold(self._keeper.decode(slots), self._keeper.decode(inherited), now)
            case HoldingsRevoked():
                sends = self._hold_nothing(now)
            case CrawlLicensed(until, pages_elsewhere, busy_elsewhere, rounds):
                self._licensed_until_s = until
                self._limit.hear(pages_elsewhere, busy_elsewhere, rounds)
            case DiskFilled():
                self._explainer.disk_full_until_s = self._visits.pause(now + DISK_FULL_PAUSE_S)
            case DecreesInForce():
                sends = self._change_policy(message, now)
            case ChangeSettings(settings):
                sends = self._change_settings(settings)
            case ExplainUrl() | ExplainCrawl():
                sends = self._explain([(source, message)], now)
            case CallAlias(host, representative):
                self._frontier.call_alias(host, representative)
            case LendTurn():
                sends = self._visits.lending.answer(source, message, self._licensed_until_s, now)
            case WebReached(how, parser):
                self._visits.reach_web(how, parser, now)
            case WatchSites():
                self._watch_sites(message, now)
            case StopCrawl():
                self._is_stopped = True
                sends = self._flush(now)
            case _:
                sends = self._keeper.receive(source, message, now)
        return sends + self._end_turn(now)

    def wake(self, now: float) -> list[Send]:
        self._store.now = now
        sends: list[Send] = []
        if self._pages.is_routing:
            self._pages.route(now)
        if self._pages.is_full:
            sends += self._flush(now)
        if self._links.look_at_s <= now:
            is_pressed = 2 * len(self._store.held_back) >= self._settings.pages_held_back_max
            self._links.look_for_deaf(now, is_pressed=is_pressed)
        if self._links.due_s() <= now:
            sends += self._links.send(now)
        if self._anchors_due_s() <= now:
            sends += self._tell_anchors(now)
        if self._keeper.wake_at() <= now:
            sends += self._keeper.wake(now)
        if self._stop_check_s <= now:
            sends += self._report_stopped(now)
        if self._rules_end_s <= now:
            self._follow_policy(now)
        if self._explainer.listing.at_s <= now:
            self._explainer.listing.do_some(now)
        if (sites := self._visits.sites) is not None and sites.check_at_s <= now:
            sites.check(self._policy, now)
        return sends + self._end_turn(now)

    def wake_at(self) -> float:
        if self._pages.is_routing or self._pages.is_full:
            return -inf
        at = min(
            self._links.due_s(),
            self._links.look_at_s,
            self._anchors_due_s(),
            self._keeper.wake_at(),
            self._stop_check_s,
            self._measure_due_s,
            self._rules_end_s,
            self._explainer.listing.at_s,
        )
        if (sites := self._visits.sites) is not None and sites.check_at_s < at:
            at = sites.check_at_s
        if self._store.now < self._store.released_due_s < at:  # it is a change then, which a commit tells
            at = self._store.released_due_s
        licensed_until, fetch_at = self._licensed_until_s, self._fetch_at_s
        if -inf < licensed_until < at and len(self._visits):
            at = licensed_until
        if (
            fetch_at < at
            and fetch_at < licensed_until - LICENCE_S_MIN
            and self._may_fetch()
            and self._visits.has_room()
        ):
            at = fetch_at
        return at

    @property
    def has_news(self) -> bool:
        return self._pages.has_finished or self._links.has_unsent or self._mirror.has_news

    def before_commit(self, now: float) -> list[Send]:
        sends: list[Send] = []
        is_settling = self._pages.has_finished
        if is_settling or self._links.has_unsent:
            sends += self._flush(now)
            if is_settling and self._fetch_at_s > now + IDLE_HORIZON_S and not len(self._visits):
                self._fetch_at_s = self._visits.next_time()  # nothing else has it looked for
        sends += self._keeper.before_commit(now)
        if self._mirror.has_pledges:
            sends += self._redeem(self._mirror.redeem())
        if self._budgets.changed:
            self._budgets.save()
        return sends

    def observe(self) -> CrawlStatistics:
        frontier, links, pages, visits = self._frontier, self._links, self._pages, self._visits
        return CrawlStatistics(
            store=self._keeper.observe(),
            pages_fetched=pages.fetched_count,
            pages_stored=pages.stored_count,
            urls_seen=frontier.url_count,
            fetch_status=dict(visits.outcomes),
            bytes_fetched=visits.bytes_fetched,
            links_found=pages.links_found,
            links_sent=links.sent_count,
            links_received=links.received_count,
            links_refused=links.refused_count,
            links_left_out=links.own.left_out_count,
            links_overlisted=links.own.overlisted_count,
            lists_read=pages.list_count,
            pages_told=links.own.told_count,
            hosts=frontier.host_count,
            aliases=len(frontier.hosts.aliases),
            queued=frontier.queued_count,
            due=frontier.due_count,
            in_flight=len(visits),
            in_progress=len(pages) + pages.finishing_count,
            bytes_in_progress=pages.n_bytes,
            outbox=links.waiting_count,
            anchors_changed=frontier.changed_texts.count,
            slots_held=0 if self._held is None else int(self._held.sum()),
            held_back=self._store.pledged_count,
            turns_lent=visits.lending.lent_count,
            hot_hosts=frontier.hosts.longest_queues(HOT_HOSTS),
            deaf=len(links.deaf.now),
            is_held_up=self._is_held_up(),
            is_shared=self._is_shared(),
            is_idle=self._is_idle(),
            searched_words=frontier.order.searched_words,
            brought_forward=self._wishes.brought_forward,
            pages_max=(self._limit.pages_max or 0) if self._limit.is_reached(visits.page_count) else 0,
            policy_late_s=self._policy.late_s(self._store.now),
        )

    def _end_turn(self, now: float) -> list[Send]:
        """Do the work that may be due after any event: new visits, pledges to redeem, a measurement."""
        if self._limit.is_given:
            self._take_part()
        sends = self._begin_visits(now)
        if self._mirror.has_pledges:
            sends += self._redeem(self._mirror.redeem())
        sends += self._keeper.end_turn(now)
        self._measure_due_s = inf
        if self._is_mismeasured():
            if self._measure_at_s <= now:
                sends.append(self._measure(now))
            else:
                self._measure_due_s = self._measure_at_s + (0.0 if self._limit.is_given else MEASURE_LATE_S)
        if (sites := self._visits.sites) is not None and sites.seen:
            sends.append(Send(self._addresses["submissions"], SitesSeen(tuple(sites.seen))))
            sites.seen.clear()
        if self._pages.linked:
            sends.append(Send(self._addresses["link_graph"], PagesLinked(tuple(self._pages.linked))))
            self._pages.linked.clear()
        if self._pages.counted:
            sends.append(Send(self._addresses["topics"], self._pages.counted.take()))
        return sends

    def _watch_sites(self, message: WatchSites, now: float) -> None:
        if self._visits.sites is None:
            self._visits.sites = SiteWatch(self._frontier, self._links, self._pages.slots)
        self._visits.sites.take(message, self._policy, now)

    def _take_part(self) -> None:
        """Take another part of the pages that the policy leaves to the mesh, and tell it at once."""
        if self._limit.take(self._visits.page_count, is_wanted=self._frontier.due_count > 0):
            self._measure_at_s = -inf

    def _is_mismeasured(self) -> bool:
        """Is the queue much longer or shorter than the membership knows, or does each page count?"""
        is_untold = self._limit.is_given and self._pages_told() != self._measured_pages
        return is_untold or abs(self._frontier.due_count - self._measured) * MEASURE_SHARE > self._measured

    def _measure(self, now: float) -> Send:
        self._measured, self._measured_pages = self._frontier.due_count, self._pages_told()
        self._measure_at_s = now + self._measure_s
        return Send(self._addresses["membership"], QueueMeasured(self._measured, self._measured_pages))

    def _pages_told(self) -> int:
        return self._limit.claim(self._visits.visited_count)

    def _change_settings(self, settings: CrawlSettings) -> list[Send]:
        self._settings = self._store.settings = self._pages.settings = settings
        self._frontier.change_settings(settings)
        self._links.change_settings(settings)
        self._visits.change_settings(settings)
        return []

    def _change_policy(self, message: DecreesInForce, now: float) -> list[Send]:
        if message.kind == TOPICS:
            counted = self._pages.counted
            topics = None if counted is None else counted.topics
            self._pages.follow_topics(topics_of(message.decrees, topics))
            return []
        if (policy := policy_of(message)) is not None:
            self._policy = policy
            self._limit.change(policy.pages_max)
            self._follow_policy(now)
        self._links.note_policy(number_of(message))
        return []

    def _follow_policy(self, now: float) -> None:
        """Go by those rules of the policy that have not ended."""
        policy = self._policy.at(now)
        self._rules_end_s = self._policy.next_end_s(now)
        self._visits.change_policy(policy)
        self._links.change_policy(policy)
        self._pages.follow_graph(policy.link_graph)

    # --- from a host to done ---

    def _begin_visits(self, now: float) -> list[Send]:
        self._fetch_at_s = self._visits.next_time()
        if now < self._licensed_until_s:
            if now > self._licensed_until_s - LICENCE_S_MIN:
                self._fetch_at_s = inf  # not before the next licence
            if self._fetch_at_s > now or not self._may_fetch():
                return []
            sends = self._visits.begin(now)
            self._fetch_at_s = self._visits.next_time()
            return sends
        has_run_out = self._licensed_until_s > -inf
        self._licensed_until_s = -inf  # nothing to wake up for before there is another one
        return self._visits.abandon() if has_run_out else []

    def _may_fetch(self) -> bool:
        return self._links.has_owners and not self._is_stopped and not self._is_held_up()

    def _is_held_up(self) -> bool:
        """Do other peers leave us with more links than we want to wait with, or pages that wait for those?"""
        return self._links.is_full or len(self._store.held_back) >= self._settings.pages_held_back_max

    def _lose(self, url: str, reason: str, now: float) -> list[Send]:
        if (sends := self._pages.lose(url, reason, now)) is not None:
            self._visits.outcomes[reason] += 1
        return sends or []

    def _is_to_flush(self) -> bool:
        """Have finished pages no links that wait for a commit, or are they many?"""
        return self._pages.is_full or (self._pages.has_finished and not self._links.has_unsent)

    def _flush(self, now: float) -> list[Send]:
        """Send links to other peers, and settle the pages that these links are from."""
        batches = self._links.pack(now)
        sends = self._links.send(now) if batches else []
        return sends + self._pages.settle(batches, now)

    def _redeem(self, pledges: list[Pledge]) -> list[Send]:
        """Release the pages and send the messages that waited until the data was safe with others."""
        sends: list[Send] = []
        for pledge in pledges:
            for key in pledge.keys:
                self._store.release(key)
            for target, message in pledge.sends:
                if isinstance(message, LinksAccepted):
                    self._links.note_promise(target, message.batch)
            sends += pledge.sends
        return sends

    def _explain(self, asked: Asked, now: float, said: RobotsParsed | None = None) -> list[Send]:
        halted = self._is_stopped, self._is_held_up()
        standing = PeerFacts(self._ownership, self._held, self._stopping, self._licensed_until_s, *halted)
        return self._explainer.answer(asked, standing, self._settings, self._policy, now, said)

    # --- slots ---

    def _change_ownership(self, ownership: Ownership, now: float) -> list[Send]:
        self._ownership = ownership
        self._frontier.know_slots(ownership.slot_of)
        self._store.slot_count = ownership.table.slot_count
        self._keeper.change_ownership(ownership, now)
        self._links.change_ownership(ownership, now)
        crawlers = frozenset(peer for peer, weight in ownership.table.weights.items() if weight > 0)
        if self._limit.share_with(crawlers) and self._limit.is_given and len(crawlers) > 1:
            self._visits.pause(now + SETTLING_S)
        return []

    def _hold(self, slots: SlotMask, inherited: SlotMask, now: float) -> list[Send]:
        """Crawl exactly these slots from now on."""
        held = self._held if self._held is not None else np.zeros_like(slots)
        self._held = slots
        visited = self._visits.visited_count
        self._frontier.hold(_numbers(slots & inherited), now)
        self._frontier.hold(_numbers(slots & ~held & ~inherited))
        self._limit.move(self._visits.visited_count - visited)
        self._stopping = {slot: at for slot, at in self._stopping.items() if not slots[slot]}
        gone = _numbers(held & ~slots)
        self._frontier.stop(gone)
        self._stopping.update(dict.fromkeys(gone, now))
        return self._report_stopped(now)

    def _hold_nothing(self, now: float) -> list[Send]:
        """Crawl no slot until the handover names some: it may do so only after the next licence."""
        if self._held is None:
            return []
        nothing = np.zeros_like(self._held)
        return self._hold(nothing, nothing, now)

    def _report_stopped(self, now: float) -> list[Send]:
        """Let go of those slots taken from us of which nothing is unfinished; look again for the others."""
        self._stop_check_s = inf
        if not self._stopping:
            return []
        self._store.release_at_once(self._stopping)
        busy = self._visits.slots() | self._pages.slots() | self._visits.lending.slots(now)
        for key in list(self._store.held_back):
            slot = slot_in(key)
            if self._stopping.get(slot, inf) + STOP_PATIENCE_S <= now:
                self._store.release(key)
                self._store.release_at_once([slot])
            else:
                busy.add(slot)
        stopped = [slot for slot in self._stopping if slot not in busy]
        for slot in stopped:
            del self._stopping[slot]
        self._stop_check_s = now + STOP_CHECK_S if self._stopping else inf
        if not stopped:
            return []
        visited = self._visits.visited_count
        self._frontier.drop(stopped)
        self._limit.move(self._visits.visited_count - visited)
        self._visits.robots.drop_unheld()
        promise = SlotsStopped(encode_slot_list(stopped, self._store.slot_count))
        return [Send(self._addresses["handover"], promise)]

    # --- anchors ---

    def _is_idle(self) -> bool:
        return not (
            self._is_anything_due(self._store.now + IDLE_HORIZON_S)
            or self._visits.slots()
            or len(self._pages)
            or self._pages.finishing_count
            or not self._links.is_idle
            or self._frontier.changed_texts.count
            or not self._is_shared()
            or self._has_slots_to_come()
        )

    def _is_shared(self) -> bool:
        """Have the teams heard of all that has changed here?"""
        return self._mirror.is_idle and not self._store.has_released

    def _is_anything_due(self, until_s: float = -inf) -> bool:
        """Is anything queued that is to be asked for, or due again by then, within the policy's limits?"""
        if self._limit.is_reached(self._visits.page_count) or self._policy.is_over_at(self._store.now):
            return False
        frontier = self._frontier
        return frontier.due_count > 0 or (until_s > -inf and frontier.is_due_again(until_s))

    def _has_slots_to_come(self) -> bool:
        """Is there anything here of slots that are ours and not held so far?"""
        ownership = self._ownership
        if ownership is None:
            return False
        ours = ownership.owned & self._frontier.slots.mask(ownership.table.slot_count)
        return bool((ours if self._held is None else ours & ~self._held).any())

    def _anchors_due_s(self) -> float:
        """When changed link texts go to the index: at their interval, or once nothing is to be fetched."""
        frontier = self._frontier
        if not frontier.changed_texts.count or self._ownership is None:
            return inf
        pages = self._pages
        is_quiet = not (len(self._visits) or len(pages) or pages.finishing_count or self._is_anything_due())
        return min(self._links.own.quiet_s, self._anchors_at_s) if is_quiet else self._anchors_at_s

    def _tell_anchors(self, now: float) -> list[Send]:
        changed = self._frontier.changed_texts.take(ANCHORS_PER_TURN)
        if not self._frontier.changed_texts.count:
            self._anchors_at_s = now + self._settings.anchors_interval_s
        return [Send(self._addresses["cell"], LinkTextsChanged(url, slot)) for url, slot in changed]


def _numbers(slots: SlotMask) -> list[int]:
    numbers: list[int] = np.flatnonzero(slots).tolist()
    return numbers
