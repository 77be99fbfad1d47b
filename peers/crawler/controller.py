"""The controller (主控): decides what is fetched when, and sends every link to its owner.

It follows the coordinator of Li, Yan, Wang 2004, section 6.2: one per peer, only links travel
between them. A URL goes through these hands, and is settled only when the last has answered:

    frontier -> fetcher -> parser -> cell (durable on the whole team) -> links on their way -> done

What is in flight when a peer dies is still queued in its table, so a restart repeats that and
nothing else. Links to pages of other peers wait in the outbox until their owner has promised to
keep them.

It fetches only for slots that it *holds*: the handover says which, and the membership until when
(`CrawlLicensed`). Rows of other slots it keeps as well: as standby, for which the peers that change
them ship the changes to each other (`mirror`), and compare from time to time (the exchange).
Two things wait for that. Who sent us links gets its promise when the living team has them too. And a
page that is done here is still shown to others as queued until its links are safe, each with its owner
and the owner's team: else who takes over after us would believe it done, and the links had died with us.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from math import inf
from typing import ClassVar, Final, NamedTuple

import msgspec
import numpy as np

from mesh.actor import Address, Message, Send
from mesh.linkers import entries_of
from mesh.membership_messages import CrawlLicensed, HoldingsRevoked, QueueMeasured
from mesh.messages import FoundLink, LinksAccepted, LinksFound, LinkUse, StoredPage
from mesh.ownership import Ownership, OwnershipChanged
from mesh.port import DiskFilled
from mesh.slot_set import SlotMask, encode_slot_list
from mesh.table import Table, TableSection
from mesh.urls import canonical, host_of, looks_like_trap, origin_of
from peers.crawler import politeness
from peers.crawler.exchange import (
    AbandonFetches,
    FailureReason,
    Fetched,
    FetchFailed,
    FetchRequest,
    header_of,
    location_of,
    status_name,
)
from peers.crawler.frontier import Frontier, HostState, OriginRules, QueuedUrl
from peers.crawler.frontier_items import QUEUED, RobotsRecord
from peers.crawler.frontier_store import FrontierStore, HeldBack
from peers.crawler.messages import ChangeSettings, PageParsed, ParseFailed, ParsePage, RecordPage, StopCrawl
from peers.crawler.outbox import RESEND_S, Batch, Outbox
from peers.crawler.politeness import Blame
from peers.crawler.robots import ROBOTS_BYTES_MAX, beginning_of
from peers.crawler.settings import CrawlSettings
from peers.handover.keeper import Keeper
from peers.handover.messages import HoldSlots, SlotsStopped
from peers.handover.mirror import Mirror, Pledge
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreActor, StoreDeclaration
from peers.storage.messages import PageRefused, PageStored, StoreAnchors, StorePage

FLUSH_S: Final = 0.05  # links to other peers and finished pages wait this long for company
FLUSH_PAGES: Final = 64
STOP_CHECK_S: Final = 0.1  # between two looks whether anything of slots that were taken from us is unfinished
STOP_PATIENCE_S: Final = 10.0  # with pages of them whose links nobody accepts: those are in the outbox
MEASURE_S: Final = 1.0  # between two reports of the queue's length
MEASURE_SHARE: Final = 100  # a change of one part in so many is worth one
ROBOTS_HOPS_MAX: Final = 5  # RFC 9309, 2.3.1.2: at least five redirects, even to another authority
BUSY_PAUSE_S: Final = 1.0  # before asking again whether the host that a robots.txt redirects to is free
ACCEPTING_MAX: Final = 4_096  # batches with links for others that we have still to promise
LINKS_REMEMBERED: Final = 1 << 16  # per generation of the sent-cache: about 20 MB
HOSTS_REMEMBERED: Final = 1 << 16  # hosts whose slot and owner are cached
EXCLUSIONS_PER_TURN: Final = 100  # URLs a host may lose to its rules before another host has its turn
VAIN_TURNS_MAX: Final = 10  # of hosts that have nothing to offer, before other messages have theirs
ANCHORS_PER_TURN: Final = 200
ANCHORS_QUIET_S: Final = 2.0  # without pages of files, until link texts go to the index at once
HOT_HOSTS: Final = 10  # that statistics show
DISK_FULL_PAUSE_S: Final = 10.0
LOCAL_FAILURE_PAUSE_S: Final = 5.0


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
    hosts: int
    queued: int
    due: int  # queued on hosts that were not given up
    in_flight: int
    in_progress: int  # fetched, not yet settled
    bytes_in_progress: int  # of the bodies of fetched pages that are not stored yet
    outbox: int  # links that no other peer has accepted yet
    anchors_changed: int  # stored pages whose new link texts are not indexed yet
    slots_held: int  # that it crawls
    held_back: int  # pages that are done, which others do not hear of so far
    hot_hosts: tuple[tuple[str, int], ...]  # the longest queues, longest first: host and URLs queued
    is_held_up: bool  # no fetch begins because other peers do not accept links
    is_shared: bool  # the others of the teams have kept all that has changed here
    is_idle: bool  # nothing is due and nothing is on its way


class _Fetch(NamedTuple):
    """What was asked of the fetcher: a page, or the robots.txt without which it may not be asked for."""

    state: HostState
    taken: QueuedUrl
    robots_of: str = ""  # the origin of the page; "" when the page itself was asked for
    robots_hops: int = 0


class _Page(msgspec.Struct):
    """A page between the fetcher and its being settled; the parser has its body."""

    state: HostState
    taken: QueuedUrl
    status: int
    fetched_at: float
    seconds: float
    bytes_received: int
    body_bytes: int
    links: tuple[FoundLink, ...] = ()
    anchors: tuple[str, ...] = ()  # that it was stored with


class Controller(StoreActor):
    """Actor of the crawl. Neighbours: controllers, fetcher, parser, cell, membership, handover, recorder."""

    name: ClassVar[str] = "controller"
    keeps: ClassVar = StoreDeclaration("frontier", name, is_needed_to_crawl=True)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {LinksFound, LinksAccepted}

    def __init__(self, me: str, table: Table, settings: CrawlSettings, life: int = 1) -> None:
        self._settings = settings
        self._frontier = Frontier(TableSection(table, b"f"), settings)
        self._store = FrontierStore(self._frontier, settings)
        self._mirror = Mirror(me, self.name, self._store, life)
        self._keeper = Keeper(me, self.keeps, self._store, life=life, mirror=self._mirror)
        self._outbox = Outbox(TableSection(table, b"o"), life, settings.outbox_links_max)
        self._ownership: Ownership | None = None
        self._has_owners = False  # does anybody own slots? all are owned or none is
        names = ("fetcher", "parser", "cell", "membership", "handover", "recorder")
        self._addresses = {name: Address(me, name) for name in names}
        self._me = me
        self._fetches: dict[str, _Fetch] = {}
        self._asked: set[str] = set()  # hosts of these, one of each at a time
        self._robots_moved: dict[str, tuple[str, int]] = {}  # origin to where its robots.txt is, after hops
        self._pages: dict[str, _Page] = {}
        self._bytes_in_progress = 0
        self._finishing: list[_Page] = []
        self._unsent: dict[str, list[FoundLink]] = defaultdict(list)
        self._flush_at_s = inf
        self._anchors_at_s = 0.0
        self._anchors_quiet_s = -inf  # pages of files come in until then
        self._paused_until_s = -inf
        self._licensed_until_s = inf
        self._held: SlotMask | None = None  # what the handover said last
        self._stopping: dict[int, float] = {}  # slots taken from us, of which something may go on; since when
        self._stop_check_s = inf
        self._measured = 0
        self._measure_at_s = -inf  # not before
        self._measure_due_s = inf  # when the membership is to hear of it
        self._is_stopped = False
        self._accepting: set[tuple[Address, int]] = set()  # batches of links that we have yet to promise
        self._places: dict[str, tuple[int, str]] = {}  # cache by host: its slot, and who crawls it
        self._sent: set[tuple[str, str, str]] = set()
        self._sent_before: set[tuple[str, str, str]] = set()
        self._fetch_status: Counter[str] = Counter()
        self._pages_fetched = self._pages_stored = self._bytes_fetched = 0
        self._links_found = self._links_sent = self._links_received = self._links_refused = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._store.now = now
        match message:
            case Fetched():
                sends = self._fetched(message, now)
            case PageParsed():
                sends = self._parsed(message)
            case PageStored(url, fetched_at):
                sends = self._stored(url, fetched_at, now)
            case FetchFailed(url, reason):
                sends = self._fetch_failed(url, reason, now)
            case ParseFailed(url, reason):
                sends = self._page_lost(url, reason)
            case PageRefused(url, fetched_at):
                sends = self._page_refused(url, fetched_at)
            case LinksFound(batch, links):
                sends = self._links_found_elsewhere(source, batch, links, now)
            case LinksAccepted(batch):
                sends = self._links_accepted(source.peer, batch, now)
            case OwnershipChanged(ownership):
                sends = self._change_ownership(ownership, now)
            case HoldSlots(slots, inherited):
                sends = self._hold(self._keeper.decode(slots), self._keeper.decode(inherited), now)
            case HoldingsRevoked():
                sends = self._hold_nothing(now)
            case CrawlLicensed(until):
                self._licensed_until_s = until
                sends = []
            case DiskFilled():
                self._pause(now + DISK_FULL_PAUSE_S)
                sends = []
            case ChangeSettings(settings):
                self._change_settings(settings)
                sends = []
            case StopCrawl():
                self._is_stopped = True
                sends = self._flush(now)
            case _:
                sends = self._keeper.receive(source, message, now)
        return sends + self._end_turn(now)

    def wake(self, now: float) -> list[Send]:
        self._store.now = now
        sends: list[Send] = []
        if self._flush_at_s <= now:
            sends += self._flush(now)
        if self._outbox_due_s() <= now:
            sends += self._send_links(now)
        if self._anchors_due_s() <= now:
            sends += self._store_anchors(now)
        if self._keeper.wake_at() <= now:
            sends += self._keeper.wake(now)
        if self._stop_check_s <= now:
            sends += self._report_stopped(now)
        return sends + self._end_turn(now)

    def wake_at(self) -> float:
        at = min(
            self._flush_at_s,
            self._outbox_due_s(),
            self._anchors_due_s(),
            self._keeper.wake_at(),
            self._stop_check_s,
            self._measure_due_s,
        )
        licensed_until = self._licensed_until_s
        if self._fetches and -inf < licensed_until < at:
            at = licensed_until
        fetch_at = max(self._frontier.next_time(), self._paused_until_s)
        if fetch_at < at and fetch_at < licensed_until and self._may_fetch():
            at = fetch_at
        return at

    def observe(self) -> CrawlStatistics:
        frontier = self._frontier
        return CrawlStatistics(
            store=self._keeper.observe(),
            pages_fetched=self._pages_fetched,
            pages_stored=self._pages_stored,
            urls_seen=frontier.url_count,
            fetch_status=dict(self._fetch_status),
            bytes_fetched=self._bytes_fetched,
            links_found=self._links_found,
            links_sent=self._links_sent,
            links_received=self._links_received,
            links_refused=self._links_refused,
            hosts=frontier.host_count,
            queued=frontier.queued_count,
            due=frontier.due_count,
            in_flight=len(self._fetches),
            in_progress=len(self._pages) + len(self._finishing),
            bytes_in_progress=self._bytes_in_progress,
            outbox=self._outbox.link_count + sum(map(len, self._unsent.values())),
            anchors_changed=frontier.changed_anchors_count,
            slots_held=0 if self._held is None else int(self._held.sum()),
            held_back=len(self._store.held_back),
            hot_hosts=frontier.longest_queues(HOT_HOSTS),
            is_held_up=self._is_held_up(),
            is_shared=self._mirror.is_idle,
            is_idle=self._is_idle(),
        )

    def _end_turn(self, now: float) -> list[Send]:
        """What follows from anything that may have happened."""
        sends = self._start_fetches(now)
        if self._mirror.has_pledges:
            sends += self._redeem()
        sends += self._keeper.end_turn(now)
        if self._is_mismeasured() and self._measure_at_s <= now:
            self._measured, self._measure_at_s = self._frontier.due_count, now + MEASURE_S
            pages = self._frontier.url_count - self._frontier.queued_count
            sends.append(Send(self._addresses["membership"], QueueMeasured(self._measured, pages)))
        self._measure_due_s = self._measure_at_s if self._is_mismeasured() else inf
        return sends

    def _is_mismeasured(self) -> bool:
        """Is the queue much longer or shorter than the membership knows?"""
        measured = self._measured
        return abs(self._frontier.due_count - measured) * MEASURE_SHARE > measured

    # --- slots ---

    def _change_ownership(self, ownership: Ownership, now: float) -> list[Send]:
        self._ownership = ownership
        self._places.clear()
        self._has_owners = ownership.owner_of(0) is not None
        self._store.slot_count = ownership.table.slot_count
        self._keeper.change_ownership(ownership, now)
        self._outbox.hasten(ownership.alive, now)
        return []

    def _hold(self, slots: SlotMask, inherited: SlotMask, now: float) -> list[Send]:
        """Crawl exactly these slots from now on."""
        held = self._held if self._held is not None else np.zeros_like(slots)
        self._held = slots
        self._frontier.hold(_numbers(slots & inherited), now)
        self._frontier.hold(_numbers(slots & ~held & ~inherited))
        if self._stopping:
            self._stopping = {slot: at for slot, at in self._stopping.items() if not slots[slot]}
        gone = _numbers(held & ~slots)
        self._frontier.stop(gone)
        self._stopping.update(dict.fromkeys(gone, now))
        return self._report_stopped(now)

    def _hold_nothing(self, now: float) -> list[Send]:
        """Crawl nothing until the handover says what: it may say so only after the next licence."""
        if self._held is None:
            return []
        nothing = np.zeros_like(self._held)
        return self._hold(nothing, nothing, now)

    def _report_stopped(self, now: float) -> list[Send]:
        """Let go of those slots taken from us of which nothing is unfinished; look again for the others."""
        self._stop_check_s = inf
        if not self._stopping:
            return []
        busy = {fetch.state.slot for fetch in self._fetches.values()}
        busy.update(page.state.slot for page in self._pages.values())
        busy.update(page.state.slot for page in self._finishing)
        for key in list(self._store.held_back):
            slot = int.from_bytes(key[:2], "big")
            if self._stopping.get(slot, inf) + STOP_PATIENCE_S <= now:
                self._release(key)
            else:
                busy.add(slot)
        stopped = [slot for slot in self._stopping if slot not in busy]
        for slot in stopped:
            del self._stopping[slot]
        self._stop_check_s = now + STOP_CHECK_S if self._stopping else inf
        if not stopped:
            return []
        self._frontier.drop(stopped)
        find = self._frontier.find
        self._robots_moved = {
            origin: to for origin, to in self._robots_moved.items() if find(host_of(origin)) is not None
        }
        promise = SlotsStopped(encode_slot_list(stopped, self._store.slot_count))
        return [Send(self._addresses["handover"], promise)]

    # --- the team ---

    def _redeem(self) -> list[Send]:
        return [send for pledge in self._mirror.redeem() for send in self._keep_pledge(pledge)]

    def _keep_pledge(self, pledge: Pledge) -> tuple[Send, ...]:
        for key in pledge.keys:
            self._release(key)
        for target, message in pledge.sends:
            if isinstance(message, LinksAccepted):
                self._accepting.discard((target, message.batch))
        return pledge.sends

    def _release(self, key: bytes) -> None:
        """Have others hear that a page is done."""
        if self._store.release(key):
            self._frontier.note_change(key)

    # --- fetching ---

    def _change_settings(self, settings: CrawlSettings) -> None:
        self._settings = self._store.settings = settings
        self._frontier.change_settings(settings)
        self._outbox.links_max = settings.outbox_links_max

    def _pause(self, until_s: float) -> None:
        self._paused_until_s = max(self._paused_until_s, until_s)

    def _may_fetch(self) -> bool:
        settings = self._settings
        return (
            self._has_owners
            and not self._is_stopped
            and len(self._fetches) < settings.fetches_in_flight_max
            and len(self._pages) + len(self._fetches) < settings.pages_in_progress_max
            and self._bytes_in_progress < settings.page_bytes_in_progress_max
            and not self._is_held_up()
        )

    def _is_held_up(self) -> bool:
        """Do other peers leave us with more links than we want to wait with, or pages that wait for those?"""
        return self._outbox.is_full or len(self._store.held_back) >= self._settings.pages_held_back_max

    def _start_fetches(self, now: float) -> list[Send]:
        sends: list[Send] = []
        vain_turns = 0
        if now >= self._licensed_until_s:
            if self._fetches and self._licensed_until_s > -inf:
                sends.append(Send(self._addresses["fetcher"], AbandonFetches()))
            self._licensed_until_s = -inf  # nothing to wake up for before there is another one
            return sends
        if now < self._paused_until_s or now < self._frontier.next_time():
            return sends
        while vain_turns < VAIN_TURNS_MAX and self._may_fetch():
            state = self._frontier.take_host(now)
            if state is None:
                break
            request = self._next_request(state, now)
            if request is None:
                vain_turns += 1
                self._frontier.release(state, now)
            else:
                sends.append(Send(self._addresses["fetcher"], request))
        return sends

    def _next_request(self, state: HostState, now: float) -> FetchRequest | None:
        """What to ask of a host that may be asked now; None when it has to wait or offers nothing."""
        self._frontier.save(state, politeness.with_courage(state.record))
        if state.host in self._asked:  # for the robots.txt of another host
            self._wait(state, now + BUSY_PAUSE_S)
            return None
        ready_s = politeness.ready_s(self._frontier.asked_s(state.slot), self._delay_s(state))
        if now < ready_s:  # longer than ours, which is over
            self._wait(state, ready_s)
            return None
        for _ in range(EXCLUSIONS_PER_TURN):
            taken = self._frontier.take_url(state)
            if taken is None:
                return None
            origin = origin_of(taken.url)
            known = self._frontier.origins_of(state).get(origin)
            if known is not None and known.expires_s <= now:
                known = None
            excluded = self._reason_to_exclude(state, taken.url, known)
            if excluded is None and known is None:
                return self._robots_request(state, taken, origin, now)
            if excluded is None:
                self._frontier.save_quietly(state, politeness.with_page_asked(state.record))
                request = FetchRequest(taken.url, user_agent=self._settings.user_agent)
                return self._request(request, _Fetch(state, taken), now)
            self._fetch_status[excluded] += 1
            self._frontier.settle(state, taken, "X", excluded)
        return None

    def _reason_to_exclude(self, state: HostState, url: str, known: OriginRules | None) -> str | None:
        reason = politeness.budget_reason(state.record, self._settings)
        if reason is not None:
            return reason
        if known is None:
            origins = self._frontier.origins_of(state)
            is_new = origin_of(url) not in origins
            return politeness.origins_reason(len(origins), self._settings) if is_new else None
        if not known.rules.allows(url):
            return FailureReason.ROBOTS if known.status else FailureReason.UNREACHABLE
        is_honoured = politeness.is_honoured(known.rules.crawl_delay_s, self._settings)
        return None if is_honoured else FailureReason.CRAWL_DELAY

    def _robots_request(
        self, state: HostState, taken: QueuedUrl, origin: str, now: float
    ) -> FetchRequest | None:
        """Ask for the robots.txt of an origin, at another host if it moved there and may be asked."""
        url, hops = self._robots_moved.get(origin, (f"{origin}/robots.txt", 0))
        host = host_of(url)
        other = self._frontier.find(host) if host != state.host else None
        if host in self._asked:
            self._frontier.put_back(state, taken)
            self._wait(state, now + BUSY_PAUSE_S)
            return None
        # If it has to be left alone for longer than its delay it fails: so will our question, and be done.
        if other is not None and now < other.record.next_fetch_s <= now + self._delay_s(other):
            self._frontier.put_back(state, taken)
            self._wait(state, other.record.next_fetch_s)
            return None
        # A byte more than is read of it tells that it was cut.
        request = FetchRequest(url, (), ROBOTS_BYTES_MAX + 1, self._settings.user_agent)
        return self._request(request, _Fetch(state, taken, origin, hops), now)

    def _request(self, request: FetchRequest, fetch: _Fetch, now: float) -> FetchRequest:
        self._fetches[request.url] = fetch
        self._asked.add(host_of(request.url))
        # From here, in case we die before the answer. Others need not hear of it before that: for who takes
        # over from us all hosts count as asked just then.
        for state in self._hosts_of(request.url, fetch.state):
            record = politeness.after_question(state.record, self._delay_s(state), now)
            self._frontier.save_quietly(state, record)
        return request

    def _answered(self, url: str, now: float) -> _Fetch | None:
        """What was asked, now that there is an answer; None when there was no such question."""
        fetch = self._fetches.pop(url, None)
        if fetch is not None:
            self._asked.remove(host_of(url))
            for state in self._hosts_of(url, fetch.state):
                self._wait(state, now + self._delay_s(state))
        return fetch

    def _hosts_of(self, url: str, state: HostState) -> Iterator[HostState]:
        """The hosts whose politeness delay begins: two if a robots.txt was asked of another one."""
        yield state
        host = host_of(url)
        other = self._frontier.find(host) if host != state.host else None
        if other is not None:
            yield other

    def _wait(self, state: HostState, until_s: float) -> None:
        self._frontier.save(state, politeness.wait_until(state.record, until_s))

    def _delay_s(self, state: HostState) -> float:
        origins = self._frontier.origins_of(state).values()
        return politeness.delay_s([origin.rules.crawl_delay_s for origin in origins], self._settings)

    # --- answers of the fetcher ---

    def _fetched(self, fetched: Fetched, now: float) -> list[Send]:
        fetch = self._answered(fetched.url, now)
        if fetch is None:
            return []
        state, taken = fetch.state, fetch.taken
        self._bytes_fetched += fetched.bytes_received
        sends: list[Send] = []
        if fetch.robots_of:
            self._robots_fetched(fetch, fetched, now)
        else:
            self._fetch_status[status_name(fetched.status)] += 1
            if politeness.may_pass(fetched.status):
                self._back_off(state, now, _retry_after_s(fetched), taken.attempts)
                self._retry_or_fail(state, taken, str(fetched.status))
            else:
                self._frontier.save(state, politeness.after_success(state.record))
                sends = self._page_fetched(state, taken, fetched, now)
        self._frontier.release(state, now)
        return sends

    def _page_fetched(self, state: HostState, taken: QueuedUrl, fetched: Fetched, now: float) -> list[Send]:
        page = _Page(
            state,
            taken,
            status=fetched.status,
            fetched_at=fetched.started_at,
            seconds=fetched.seconds,
            bytes_received=fetched.bytes_received,
            body_bytes=len(fetched.body),
        )
        if fetched.status == 200:
            self._pages_fetched += 1
            self._take_out(taken.url)  # of an earlier fetch: what is said of that counts no more
            self._pages[taken.url] = page
            self._bytes_in_progress += page.body_bytes
            return [Send(self._addresses["parser"], ParsePage(fetched))]
        target = location_of(fetched)
        if fetched.status >= 400:
            self._frontier.settle(state, taken, "F", str(fetched.status))
        elif target is not None and taken.hops >= self._settings.redirects_max:
            self._fetch_status[FailureReason.TOO_MANY_REDIRECTS] += 1
            self._frontier.settle(state, taken, "F", FailureReason.TOO_MANY_REDIRECTS)
        else:
            if target is not None:
                self._links_found += 1
                page.links = (FoundLink(target, "", taken.depth, taken.hops + 1),)
                if self._is_new(page.links[0]):
                    self._route(page.links[0], now)
            self._finish(page, now)
        return []

    def _robots_fetched(self, fetch: _Fetch, fetched: Fetched, now: float) -> None:
        state, origin = fetch.state, fetch.robots_of
        self._frontier.put_back(state, fetch.taken)
        target = location_of(fetched)
        self._robots_moved.pop(origin, None)
        if target is not None and fetch.robots_hops < ROBOTS_HOPS_MAX:
            self._robots_moved[origin] = (target, fetch.robots_hops + 1)
        elif fetched.status >= 500 or fetched.status == 429:
            # RFC 9309, 2.3.1.4: unreachable is complete disallow; it is asked for again later.
            self._fetch_status[f"robots_{status_name(fetched.status)}"] += 1
            self._robots_unreachable(fetch, now, _retry_after_s(fetched))
        else:
            self._keep_robots(state, origin, fetched.status, fetched.body, now)

    def _keep_robots(self, state: HostState, origin: str, status: int, body: bytes, now: float) -> None:
        kept = beginning_of(body) if 200 <= status < 300 else b""
        record = RobotsRecord(origin, status, now + self._settings.robots_ttl_s, kept)
        self._frontier.save_robots(state, record)
        self._frontier.save(state, politeness.after_success(state.record))
        self._wait(state, now + self._delay_s(state))  # which may be longer than we knew

    def _fetch_failed(self, url: str, reason: FailureReason, now: float) -> list[Send]:
        fetch = self._answered(url, now)
        if fetch is None:
            return []
        self._fetch_status[reason] += 1
        if fetch.robots_of:
            self._robots_failed(fetch, reason, now)
        else:
            self._page_failed(fetch.state, fetch.taken, reason, now)
        self._frontier.release(fetch.state, now)
        return []

    def _robots_failed(self, fetch: _Fetch, reason: FailureReason, now: float) -> None:
        state, origin = fetch.state, fetch.robots_of
        self._frontier.put_back(state, fetch.taken)
        self._robots_moved.pop(origin, None)
        match politeness.blame_for(reason):
            case Blame.NOBODY:
                pass
            case Blame.US:
                self._pause(now + LOCAL_FAILURE_PAUSE_S)
            case Blame.HOPELESS_HOST:
                self._give_up(state, now)
            case Blame.HOST | Blame.PAGE:  # RFC 9309, 2.3.1.4: what cannot be read may forbid everything
                self._robots_unreachable(fetch, now, 0.0)

    def _robots_unreachable(self, fetch: _Fetch, now: float, retry_after_s: float) -> None:
        """Leave the host alone, or, if it has others, only this origin: a dead port is not a dead host."""
        state, origin = fetch.state, fetch.robots_of
        if not self._frontier.has_other_origin(state, origin):
            self._back_off(state, now, retry_after_s)
            return
        pause_s = politeness.origin_pause_s(self._settings, retry_after_s)
        self._frontier.save_robots(state, RobotsRecord(origin, 0, now + pause_s, b""))

    def _page_failed(self, state: HostState, taken: QueuedUrl, reason: FailureReason, now: float) -> None:
        match politeness.blame_for(reason):
            case Blame.NOBODY:
                self._frontier.put_back(state, taken)
            case Blame.US:
                self._pause(now + LOCAL_FAILURE_PAUSE_S)
                self._frontier.put_back(state, taken)
            case Blame.HOPELESS_HOST:
                self._give_up(state, now)
                self._frontier.put_back(state, taken)
            case Blame.HOST:
                self._back_off(state, now, 0.0, taken.attempts)
                self._retry_or_fail(state, taken, reason)
            case Blame.PAGE:
                self._frontier.settle(state, taken, "F", reason)
                self._frontier.save(state, politeness.after_success(state.record))

    def _give_up(self, state: HostState, now: float) -> None:
        self._frontier.save(state, politeness.given_up(state.record, self._settings, now))

    def _back_off(self, state: HostState, now: float, retry_after_s: float, attempts: int = 0) -> None:
        record = politeness.after_failure(
            state.record,
            self._settings,
            self._delay_s(state),
            now,
            retry_after_s=retry_after_s,
            attempts=attempts,
        )
        self._frontier.save(state, record)

    def _retry_or_fail(self, state: HostState, taken: QueuedUrl, reason: str) -> None:
        if politeness.may_try_again(taken.attempts, self._settings):
            self._frontier.retry(state, taken)
        else:
            self._frontier.settle(state, taken, "F", reason)

    # --- from page to done ---

    def _parsed(self, parsed: PageParsed) -> list[Send]:
        page = self._pages.get(parsed.url)
        if page is None:
            return []
        page.links = parsed.links
        page.anchors = self._frontier.anchors_of(parsed.url, page.state.slot)
        document = parsed.document
        if document is not None:
            document = msgspec.structs.replace(document, anchors=page.anchors)
        stored = StoredPage(
            url=parsed.url,
            slot=page.state.slot,
            fetched_at=page.fetched_at,
            status=page.status,
            records=parsed.records,
            document=document,
        )
        return [Send(self._addresses["cell"], StorePage(stored))]

    def _take_out(self, url: str) -> _Page | None:
        """Take a page out of those in progress, if it is there."""
        page = self._pages.pop(url, None)
        if page is not None:
            self._bytes_in_progress -= page.body_bytes
        return page

    def _page_lost(self, url: str, reason: str) -> list[Send]:
        page = self._take_out(url)
        if page is not None:
            self._fetch_status[reason] += 1
            self._frontier.settle(page.state, page.taken, "F", reason)
        return []

    def _page_refused(self, url: str, fetched_at: float) -> list[Send]:
        page = self._pages.get(url)
        return self._page_lost(url, "archive") if page is not None and page.fetched_at == fetched_at else []

    def _stored(self, url: str, fetched_at: float, now: float) -> list[Send]:
        page = self._pages.get(url)
        if page is None or page.fetched_at != fetched_at:  # of a fetch before this one
            return []
        self._take_out(url)
        self._pages_stored += 1
        self._links_found += len(page.links)
        depth = page.taken.depth + 1
        if depth <= self._settings.depth_max:
            for link in page.links:
                if self._is_new(link):
                    self._route(FoundLink(link.url, link.anchor, depth, linker=link.linker), now)
        self._finish(page, now)
        return self._flush(now) if len(self._finishing) >= FLUSH_PAGES else []

    def _finish(self, page: _Page, now: float) -> None:
        """Settle a page with the next flush, when its links to other peers are in the outbox."""
        self._finishing.append(page)
        self._flush_at_s = min(self._flush_at_s, now + FLUSH_S)

    def _flush(self, now: float) -> list[Send]:
        batches = [
            batch for peer, links in self._unsent.items() for batch in self._outbox.add(peer, links, now)
        ]
        self._links_sent += sum(map(len, self._unsent.values()))
        self._unsent.clear()
        sends = self._send_links(now) if batches else []
        if self._finishing and self._frontier.changes is not None:
            keys = tuple(filter(None, map(self._hold_back, self._finishing)))
            if keys:
                self._mirror.pledge(Pledge(set(batches), keys=keys))
        for page in self._finishing:
            sends += self._settle_page(page)
        self._finishing.clear()
        self._flush_at_s = inf
        return sends

    def _hold_back(self, page: _Page) -> bytes | None:
        """Show a page that is about to be done as queued; None when others know it to be settled."""
        key = self._frontier.key_of(page.state, page.taken)
        row = self._frontier.row(key)
        if row is None or row[:1] != QUEUED:
            return None
        self._store.hold_back(key, HeldBack(row, page.taken.url))
        return key

    def _settle_page(self, page: _Page) -> list[Send]:
        state, taken = page.state, page.taken
        key = self._frontier.settle_quietly(state, taken, "D", str(page.status))
        if key not in self._store.held_back:
            self._frontier.note_change(key)
        if page.status == 200 and page.anchors != self._frontier.anchors_of(taken.url, state.slot):
            self._frontier.mark_anchors_changed(taken.url, state.slot)
        if not self._settings.is_recorded:
            return []
        links = tuple(link.url for link in page.links)
        record = RecordPage(taken.url, page.fetched_at, page.seconds, page.bytes_received, links)
        return [Send(self._addresses["recorder"], record)]

    # --- links ---

    def _is_new(self, link: FoundLink) -> bool:
        """Tell whether a link is to be brought to its owner: not if that was done a moment ago."""
        key = (link.url, link.anchor, link.linker)
        if key in self._sent or key in self._sent_before or looks_like_trap(link.url):
            return False
        self._sent.add(key)
        if len(self._sent) >= LINKS_REMEMBERED:
            self._sent_before, self._sent = self._sent, set()
        return True

    def _route(self, link: FoundLink, now: float) -> None:
        """Bring a link to the peer that owns its host."""
        host = host_of(link.url)
        slot, owner = self._place_of(host)
        if owner == self._me:
            self._add(link, host, slot, now)
        else:
            self._unsent[owner].append(link)
            self._flush_at_s = min(self._flush_at_s, now + FLUSH_S)

    def _add(self, link: FoundLink, host: str, slot: int, now: float) -> None:
        if link.use is LinkUse.FETCH:
            self._frontier.add(link.url, host, slot, link.depth, link.hops, now)
        elif link.use is LinkUse.STORED:
            self._frontier.add_stored(link.url, slot)
            self._anchors_quiet_s = now + ANCHORS_QUIET_S
        if entries := entries_of(link.anchor, link.linker):
            self._frontier.add_anchor(link.url, slot, *entries)

    def _links_found_elsewhere(
        self, source: Address, batch: int, links: tuple[FoundLink, ...], now: float
    ) -> list[Send]:
        """Take in links for our slots and pass on those of others.

        We promise to keep them when the living team has ours, and their owners have accepted the others.
        """
        if not self._has_owners:
            return []  # the sender repeats them
        depth_max = self._settings.depth_max
        wanted = [link for link in links if canonical(link.url) == link.url and link.depth <= depth_max]
        if (source, batch) in self._accepting or self._is_too_much(wanted):
            return []
        self._links_received += len(links)
        self._links_refused += len(links) - len(wanted)
        # What is for others goes out after a pause: two peers whose tables differ must not throw links at
        # each other as fast as they can.
        passed_on = self._keep(wanted, now, hold_off_s=RESEND_S)
        promise = Send(source, LinksAccepted(batch))
        if not passed_on and self._frontier.changes is None:
            return [promise]
        self._accepting.add((source, batch))
        self._mirror.pledge(Pledge(set(passed_on), (promise,)))
        return []

    def _is_too_much(self, links: list[FoundLink]) -> bool:
        """Should we keep links for others, and already wait with so many that they are to wait elsewhere?"""
        if len(self._accepting) < ACCEPTING_MAX and not self._outbox.is_full:
            return False
        return any(self._place_of(host_of(link.url))[1] != self._me for link in links)

    def _links_accepted(self, peer: str, batch: int, now: float) -> list[Send]:
        if not self._outbox.accepted(batch, peer, now):
            return []
        return [send for pledge in self._mirror.accepted(batch) for send in self._keep_pledge(pledge)]

    def _keep(self, links: Iterable[FoundLink], now: float, *, hold_off_s: float = 0.0) -> list[int]:
        """Put links into the table at once: ours into the frontier, those of others into batches."""
        elsewhere: dict[str, list[FoundLink]] = defaultdict(list)
        for link in links:
            host = host_of(link.url)
            slot, owner = self._place_of(host)
            if owner == self._me:
                self._add(link, host, slot, now)
            else:
                elsewhere[owner].append(link)
        return [
            batch
            for peer, theirs in elsewhere.items()
            for batch in self._outbox.add(peer, theirs, now, hold_off_s=hold_off_s)
        ]

    def _outbox_due_s(self) -> float:
        return self._outbox.wake_at() if self._has_owners else inf

    def _send_links(self, now: float) -> list[Send]:
        """Send the batches that are due, and put links that belong to others by now into new ones."""
        sends: list[Send] = []
        for batch in self._outbox.wake(now):
            if not batch.has_waited or self._is_for_its_peer(batch):
                sends.append(Send(Address(batch.peer, self.name), LinksFound(batch.number, batch.links)))
                continue
            self._outbox.remove(batch)
            self._mirror.replaced(batch.number, self._keep(batch.links, now))
        return sends

    def _is_for_its_peer(self, batch: Batch) -> bool:
        return all(self._place_of(host_of(link.url))[1] == batch.peer for link in batch.links)

    def _place_of(self, host: str) -> tuple[int, str]:
        """The slot of a host and who crawls it; we keep its links while nobody does."""
        place = self._places.get(host)
        if place is None:
            ownership = self._ownership
            assert ownership is not None
            if len(self._places) >= HOSTS_REMEMBERED:
                self._places.clear()
            slot = ownership.slot_of(host)
            place = self._places[host] = slot, ownership.owner_of(slot) or self._me
        return place

    # --- anchors ---

    def _is_idle(self) -> bool:
        return not (
            self._frontier.due_count
            or self._fetches
            or self._pages
            or self._finishing
            or self._unsent
            or self._outbox.batch_count
            or self._frontier.changed_anchors_count
            or not self._mirror.is_idle
            or self._has_slots_to_come()
        )

    def _has_slots_to_come(self) -> bool:
        """Is there anything here of slots that are ours and not held so far?"""
        ownership = self._ownership
        if ownership is None:
            return False
        ours = ownership.owned & self._frontier.filled_mask(ownership.table.slot_count)
        return bool((ours if self._held is None else ours & ~self._held).any())

    def _anchors_due_s(self) -> float:
        """When changed link texts go to the index: at their interval, or once nothing is to be fetched."""
        frontier = self._frontier
        if not frontier.changed_anchors_count or self._ownership is None:
            return inf
        is_quiet = not (frontier.due_count or self._fetches or self._pages or self._finishing)
        return min(self._anchors_quiet_s, self._anchors_at_s) if is_quiet else self._anchors_at_s

    def _store_anchors(self, now: float) -> list[Send]:
        changed = self._frontier.take_changed_anchors(ANCHORS_PER_TURN)
        if not self._frontier.changed_anchors_count:
            self._anchors_at_s = now + self._settings.anchors_interval_s
        return [
            Send(self._addresses["cell"], StoreAnchors(url, slot, self._frontier.anchors_of(url, slot)))
            for url, slot in changed
        ]


def _numbers(slots: SlotMask) -> list[int]:
    numbers: list[int] = np.flatnonzero(slots).tolist()
    return numbers


def _retry_after_s(fetched: Fetched) -> float:
    return politeness.retry_after_s(header_of(fetched, "retry-after"))
