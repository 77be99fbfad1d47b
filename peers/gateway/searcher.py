"""The actor that finds things for the gateway: pages, stored copies, the state of the mesh.

It turns each order of the HTTP port into an errand and delivers to it the answers of the other peers.
It also answers other gateways that ask how this peer is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Set
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import msgspec

from mesh.actors.actor import EVERYBODY, Actor, Address, Message, Send, Statistics
from mesh.actors.conduct import CONDUCT, Misbehaved
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.keys.decree import CLASSES
from mesh.membership.model.messages import DecreesInForce
from mesh.membership.model.wire_messages import MembersTold
from peers.crawler.model.wire_messages import (
    CrawlExplained,
    LinksAccepted,
    UrlExplained,
    UrlsHastened,
)
from peers.engine.queries.query_parser import NO_CLASSES
from peers.entities.wire_messages import SealedKept, SealedTold
from peers.gateway.aggregation.aggregation import AGGREGATIONS_MAX, Aggregation
from peers.gateway.aggregation.wire_messages import AskGroup, GroupAnswered
from peers.gateway.backlinks.backlinks_lookup import BacklinksLookup
from peers.gateway.errands.drain_errand import DrainErrand
from peers.gateway.errands.entity_errand import RowErrand, RowLookup
from peers.gateway.errands.errand import Errand, errand_numbers, errand_of
from peers.gateway.errands.hasten_errand import HastenErrand
from peers.gateway.errands.history_roundup import HistoryRoundup
from peers.gateway.errands.inquiry import CrawlInquiry, UrlInquiry
from peers.gateway.errands.log_lookup import LogLookup
from peers.gateway.errands.notice_roundup import NoticeRoundup
from peers.gateway.errands.page_lookup import LinksLookup, PageLookup
from peers.gateway.errands.seed_errand import SeedErrand
from peers.gateway.errands.status_roundup import StatusRoundup
from peers.gateway.errands.submission_errand import (
    SubmissionList,
    SubmissionLookup,
    submission_order,
)
from peers.gateway.errands.versions_lookup import VersionsLookup
from peers.gateway.model.messages import (
    AddSeeds,
    AskWhy,
    AskWhyIdle,
    ChangeGateway,
    CheckLinks,
    CheckReadiness,
    CountTopic,
    DrainOrder,
    FindBacklinks,
    FindPage,
    FindRow,
    FindSubmission,
    FindVersions,
    GatherHistory,
    GatherNeighbours,
    GatherNotices,
    GatherRanks,
    GatherStatus,
    HastenPages,
    JudgeSite,
    KeepRow,
    ListSites,
    MeterRead,
    PagesFound,
    ReadLog,
    ReadMeter,
    ReportUrl,
    RequestRefused,
    Searched,
    SearchPages,
    SubmitUrl,
    SuggestTexts,
)
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.model.wire_messages import StatusTold, StatusWanted
from peers.gateway.search.demand import Demand
from peers.gateway.search.readiness import Readiness
from peers.gateway.search.search import Search
from peers.gateway.search.search_task import reading_of
from peers.gateway.search.shared_state import AGGREGATED_FROM, SharedState
from peers.gateway.search.stand_in_check import SEARCHES_EACH, StandInCheck
from peers.gateway.search.witness_recheck import WitnessRecheck
from peers.gateway.suggesting.suggestion_errand import SuggestionErrand
from peers.history.wire_messages import HistoryTold
from peers.index.wire_messages import ExcerptsRead, HitsFound, SearchSlots, TermsCounted, TypedCompleted
from peers.link_graph.wire_messages import BacklinksListed, NeighboursListed, RanksListed
from peers.policy.crawl_order import PLAIN, CrawlOrder
from peers.policy.decreed import classes_of, number_of, policy_of
from peers.policy.rules import EVERYTHING
from peers.query_log.wire_messages import ClicksTold, LogTold
from peers.storage.wire_messages import PageRead, PagesChecked, VersionsListed
from peers.submissions.wire_messages import SubmissionAnswered, SubmissionsTold
from peers.topics.wire_messages import CountsTold
from peers.watch.wire_messages import NoticesTold

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel

ERRANDS_MAX: Final = (
    256  # at once; the HTTP port takes fewer, so only a bug or a burst of all kinds gets here
)
STARTING: Final = (
    "this peer is starting: no member of the mesh has let it in yet; its log says at which doors it knocks, "
    "and why none opens"
)
EARLY_S: Final = 5.0  # so long an order waits for a peer that is starting; joining takes a second or two
TELL_DEMAND_S: Final = 300.0  # between two messages to the controllers, if the crawl goes by searches
METER_READERS_MAX: Final = 64  # gateways waiting for our status; the oldest is dropped and asks again

Order: TypeAlias = (
    SearchPages
    | SuggestTexts
    | FindPage
    | FindVersions
    | FindBacklinks
    | CheckLinks
    | HastenPages
    | GatherStatus
    | GatherHistory
    | GatherNotices
    | GatherRanks
    | GatherNeighbours
    | CountTopic
    | CheckReadiness
    | AddSeeds
    | DrainOrder
    | AskWhy
    | AskWhyIdle
    | ReadLog
    | SubmitUrl
    | JudgeSite
    | ReportUrl
    | FindSubmission
    | ListSites
    | KeepRow
    | FindRow
)


# Answers of members to the questions of errands, and how each says which one it answers.
_REQUEST_IN: Final[Mapping[type[Message], Callable[[Any], int]]] = {
    LinksAccepted: attrgetter("batch"),
    **dict.fromkeys(
        (
            TermsCounted,
            HitsFound,
            ExcerptsRead,
            TypedCompleted,
            GroupAnswered,
            PageRead,
            PagesChecked,
            VersionsListed,
            BacklinksListed,
            RanksListed,
            NeighboursListed,
            StatusTold,
            HistoryTold,
            NoticesTold,
            LogTold,
            ClicksTold,
            CountsTold,
            SubmissionAnswered,
            SubmissionsTold,
            SealedKept,
            SealedTold,
            UrlExplained,
            CrawlExplained,
            UrlsHastened,
        ),
        attrgetter("request"),
    ),
}


class SearcherStatistics(Statistics, frozen=True):
    """Counters since the start, and gauges."""

    searches: int = 0
    in_flight: int = 0  # errands of all kinds
    refused: int = 0  # orders refused: too many, or too early
    ignored: int = 0  # answers nobody waited for: late, twice, or not from whom was asked
    restarts: int = 0  # searches begun anew: an index was newer than its counts, or the members changed
    fallbacks: int = 0  # searches repeated with any term instead of all
    incomplete: int = 0  # searches answered without all slots
    foreign_epochs: int = 0  # answers made under another serving epoch
    hits_refused: int = 0  # hits from a peer that does not answer for their slot, or that cannot be
    hits_denied: int = 0  # hits that no second member of their team knows, which are not shown
    silent_peers: int = 0
    terms_cached: int = 0
    hedges: int = 0  # times that others were asked for those that were late or incomplete
    bridged: int = 0  # rounds of questions in which others answered for somebody
    hedges_denied: int = 0  # times that the budget was used up
    hedge_s: float = 0.0  # how long is waited before
    mistrusted_peers: int = 0  # aggregators, and members of which they told something else than these do
    tardy_peers: int = 0  # for which others are asked from the start
    slots_answered: int = 0  # by the index of this peer
    cache_hits: int = 0  # searches answered by a page of results that was shown before
    cache_misses: int = 0  # those that were not
    cache_pages: int = 0  # gauge: pages of results kept
    cache_bytes: int = 0  # gauge: what they take, estimated


class Searcher(Actor):
    """Answers the orders of the HTTP port, each with an errand."""

    name: ClassVar[str] = "searcher"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({AskGroup, StatusWanted, *_REQUEST_IN})

    def __init__(
        self,
        me: str,
        life: int = 1,
        settings: GatewaySettings | None = None,
        ordering: CrawlOrder = PLAIN,
        *,
        aggregated_from: int = AGGREGATED_FROM,
    ) -> None:
        """Begin without owners: orders wait a while for the first `OwnershipChanged`.

        Args:
          me: id of this peer.
          life: of this peer: answers to questions of an earlier one are not taken for answers to questions
            of this one.
          settings: until `ChangeGateway`.
          ordering: of the crawl, where the policy of the mesh says none.
          aggregated_from: as `SharedState` has it.
        """
        self._me = me
        self._settings = settings or GatewaySettings()
        self._aggregated_from = aggregated_from
        self._errand_numbers = errand_numbers(life)
        self._errands: dict[int, Errand] = {}  # in the order they began
        self._due_s: dict[int, float] = {}  # when each wants to be woken
        self._silent: Set[str] = frozenset()  # the members of which these times depend
        self._early: deque[tuple[float, Order]] = deque()  # given before there was a view, and until when
        self._shared: SharedState | None = None
        self._policy, self._policy_number = EVERYTHING, 0
        self._classes: ClassModel | None = None
        self._meter_readers: dict[int, tuple[Address, int]] = {}
        self._next_reading = 1
        self._down_at: dict[str, float] = {}  # of members, since they were seen here last
        self._searches = self._refused = self._ignored = 0
        self._n_compared, self._comparing = 0, -1  # searches, and the number of the errand
        self._own_ordering = ordering
        self._demand = Demand(PLAIN)
        self._tell_demand_s = inf
        self._follow_ordering()

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        if (request_in := _REQUEST_IN.get(type(message))) is not None:
            return self._receive_answer(source, request_in(message), message, now)
        if isinstance(message, Order):
            return self._begin(message, now)
        match message:
            case MembersTold():
                return self._receive_members(source, message, now)
            case DecreesInForce(kind=kind):
                (self._change_classes if kind == CLASSES else self._change_policy)(message)
                return []
            case AskGroup():
                return self._aggregate(source, message, now)
            case StatusWanted(request=request):
                return self._read_meter(source, request)
            case MeterRead(request=reading, status=status):
                return self._tell_status(reading, status)
            case OwnershipChanged(ownership=ownership):
                return self._change_ownership(ownership, now)
            case ChangeGateway(settings):
                self._change_settings(settings)
                return []
            case Searched(asker, text, found):
                if self._tell_demand_s < inf:
                    self._demand.note(asker, text, found, now)
                return []
            case _:
                raise LocalProtocolError(f"the searcher got {type(message).__name__} from {source}")

    def wake(self, now: float) -> list[Send]:
        sends: list[Send] = []
        while self._early and self._early[0][0] <= now:
            sends += self._refuse_early(self._early.popleft()[1])
        for number in [number for number, due_s in self._due_s.items() if due_s <= now]:
            errand = self._errands[number]
            sends += errand.wake(now)
            self._follow(number, errand)
        if self._tell_demand_s <= now:
            self._tell_demand_s = now + TELL_DEMAND_S
            told = Send(Address(EVERYBODY, "controller"), self._demand.told(now))
            sends += [told] if self._shared is not None else []
        return sends + self._ask_again(now) + self._reports()

    def wake_at(self) -> float:
        at = min(self._early[0][0], self._tell_demand_s) if self._early else self._tell_demand_s
        if self._shared is not None:
            at = min(at, self._shared.doubts.wake_at())
            if self._shared.punctuality.silent != self._silent:
                self._silent = frozenset(self._shared.punctuality.silent)
                self._due_s = {number: errand.wake_at() for number, errand in self._errands.items()}
        return min(at, *self._due_s.values(), inf)

    def observe(self) -> SearcherStatistics:
        own = SearcherStatistics(
            searches=self._searches,
            in_flight=len(self._errands) + len(self._early),
            refused=self._refused,
            ignored=self._ignored,
        )
        view = self._shared
        if view is None:
            return own
        return msgspec.structs.replace(
            own,
            restarts=view.restarts,
            fallbacks=view.fallbacks,
            incomplete=view.incomplete,
            foreign_epochs=view.foreign_epochs,
            hits_refused=view.hits_refused,
            hits_denied=view.hits_denied,
            silent_peers=len(view.punctuality.silent),
            terms_cached=len(view.statistics),
            hedges=view.hedges,
            bridged=view.bridged,
            hedges_denied=view.hedges_denied,
            hedge_s=view.punctuality.hedge_s,
            mistrusted_peers=len(view.mistrusted),
            tardy_peers=len(view.punctuality.tardy),
            cache_hits=view.cache.hits,
            cache_misses=view.cache.misses,
            cache_pages=len(view.cache),
            cache_bytes=view.cache.size_bytes,
            slots_answered=view.ownership.slots_answered.get(self._me, 0),
        )

    # --- Orders of the HTTP port -----------------------------------------------------------------

    def _begin(self, order: Order, now: float) -> list[Send]:
        view = self._shared
        if view is None:
            if isinstance(order, CheckReadiness) or len(self._early) == ERRANDS_MAX:
                return self._refuse_early(order)
            self._early.append((now + EARLY_S, order))
            return []
        if isinstance(order, SearchPages):
            self._searches += 1
            if cached := self._cached(order, view, now):
                return [Send(Address(self._me, "http"), cached)]
        number = next(self._errand_numbers)
        errand = self._errands[number] = self._errand(number, order, view)
        sends = self._refuse_oldest() if len(self._errands) > ERRANDS_MAX else []
        sends += errand.start(now)
        self._follow(number, errand)
        return sends

    def _refuse_early(self, order: Order) -> list[Send]:
        self._refused += 1
        return [Send(Address(self._me, "http"), RequestRefused(order.ticket, STARTING))]

    def _cached(self, order: SearchPages, view: SharedState, now: float) -> PagesFound | None:
        """The page that was shown for the same order, if it is known to be right."""
        page = view.cache.find(order)
        if page is None or not view.cache.is_current(page, now):
            return None
        view.cache.hits += 1
        return msgspec.structs.replace(page.answer, ticket=order.ticket, seconds=0.0, is_cached=True)

    def _rare_errand(
        self, number: int, order: CountTopic | GatherRanks | GatherNeighbours, view: SharedState
    ) -> Errand:
        """Make an errand whose module is loaded with the first of its kind."""
        if isinstance(order, CountTopic):
            from peers.gateway.topics.counts_lookup import CountsLookup

            return CountsLookup(number, self._me, order, lambda: view.ownership)
        silent = view.punctuality.silent
        if isinstance(order, GatherNeighbours):
            from peers.gateway.hubs.neighbour_roundup import NeighbourRoundup

            return NeighbourRoundup(number, self._me, order, silent, view.policy, view.ownership)
        from peers.gateway.backlinks.rank_roundup import RankRoundup

        return RankRoundup(number, self._me, order, silent, view.policy, view.ownership)

    def _errand(self, number: int, order: Order, view: SharedState) -> Errand:
        match order:
            case SearchPages():
                if view.click_weight:
                    # Loaded where clicks have a weight.
                    from peers.gateway.clicks.clicked_search import ClickedSearch, goes_by_clicks

                    if goes_by_clicks(order):
                        return ClickedSearch(number, self._me, order, view)
                reading = reading_of(order, view, order.text)
                return Search(number, self._me, order, reading, view, view.cache.find(order))
            case SuggestTexts():
                return SuggestionErrand(number, self._me, order, view)
            case FindPage():
                return PageLookup(number, self._me, order, view.ownership, view.policy)
            case FindVersions():
                return VersionsLookup(number, self._me, order, view.ownership, view.policy)
            case FindBacklinks():
                return BacklinksLookup(number, self._me, order, view.ownership, view.policy)
            case CheckLinks():
                return LinksLookup(number, self._me, order, view.ownership, view.policy)
            case HastenPages():
                return HastenErrand(number, self._me, order, view.ownership, view.policy)
            case GatherStatus():
                return StatusRoundup(number, self._me, order, view.punctuality.silent, self._down_at)
            case GatherHistory():
                return HistoryRoundup(number, self._me, order, view.punctuality.silent)
            case GatherNotices():
                return NoticeRoundup(number, self._me, order, view.punctuality.silent)
            case CountTopic() | GatherRanks() | GatherNeighbours():
                return self._rare_errand(number, order, view)
            case CheckReadiness():
                return Readiness(number, self._me, order, view)
            case AddSeeds():
                return SeedErrand(
                    number, self._me, order, lambda: view.ownership, self._policy, self._policy_number
                )
            case AskWhy():
                return UrlInquiry(number, self._me, order, view.ownership)
            case AskWhyIdle():
                return CrawlInquiry(number, self._me, order, view.punctuality.silent)
            case DrainOrder():
                return DrainErrand(number, self._me, order)
            case ReadLog():
                return LogLookup(number, self._me, order, view.ownership)
            case SubmitUrl() | JudgeSite() | ReportUrl():
                return submission_order(number, self._me, order, lambda: view.ownership)
            case FindSubmission():
                return SubmissionLookup(number, self._me, order, view.ownership)
            case ListSites():
                return SubmissionList(number, self._me, order, view.ownership)
            case KeepRow():
                return RowErrand(number, self._me, order, lambda: view.ownership)
            case FindRow():
                return RowLookup(number, self._me, order, view.ownership)

    def _refuse_oldest(self) -> list[Send]:
        self._refused += 1
        number = next(iter(self._errands))
        self._due_s.pop(number)
        oldest = self._errands.pop(number)
        return oldest.refuse("too many requests at once")

    # --- Answers of other peers ------------------------------------------------------------------

    def _receive_answer(self, source: Address, request: int, message: Message, now: float) -> list[Send]:
        if self._shared:
            is_whole = getattr(message, "missing", 0) == 0
            self._shared.punctuality.note_answer(source.peer, request, now, is_whole=is_whole)
        number = errand_of(request)
        errand = self._errands.get(number)
        sends = errand.receive(source, message, now) if errand else None
        if errand is None or sends is None:
            self._ignored += 1
            return []
        self._follow(number, errand)
        view = self._shared
        if view is not None and view.to_compare is not None:
            sends += self._compare(view, view.to_compare, now)
        return sends + self._reports()

    def _aggregate(self, gateway: Address, order: AskGroup, now: float) -> list[Send]:
        """Ask the members of a group for another gateway, unless that is asked too much."""
        view = self._shared
        n_others = sum(isinstance(errand, Aggregation) for errand in self._errands.values())
        if view is None or n_others >= AGGREGATIONS_MAX or len(self._errands) >= ERRANDS_MAX:
            return [Send(gateway, GroupAnswered(order.question.request, ()))]
        number = next(self._errand_numbers)
        errand = Aggregation(number, gateway, order, view.ownership, view.refuse_hit)
        self._errands[number] = errand
        sends = errand.start(now)
        self._follow(number, errand)
        return sends

    def _ask_again(self, now: float) -> list[Send]:
        """Ask about pages that members differed about some time ago."""
        view = self._shared
        if view is None or view.doubts.wake_at() > now:
            return []
        doubts = view.doubts.due(now)
        if len(self._errands) >= ERRANDS_MAX:
            return []  # those who are wrong will be again
        number = next(self._errand_numbers)
        errand = self._errands[number] = WitnessRecheck(number, self._me, doubts, view)
        sends = errand.start(now)
        self._follow(number, errand)
        return sends

    def _reports(self) -> list[Send]:
        """Report the members that gave answers which no honest member gives."""
        if self._shared is None or not self._shared.blamed:
            return []
        blamed, self._shared.blamed = sorted(self._shared.blamed.items()), {}
        to = Address(self._me, CONDUCT)
        return [
            Send(to, Misbehaved(peer, offence, evidence))
            for (peer, offence), evidence in blamed
            if peer != self._me
        ]

    def _receive_members(self, source: Address, members: MembersTold, now: float) -> list[Send]:
        """Hand the beliefs of our membership, which have no number, to all errands that want them."""
        sends: list[Send] = []
        for number, errand in list(self._errands.items()):
            sends += errand.receive(source, members, now) or []
            self._follow(number, errand)
        return sends

    def _compare(self, view: SharedState, question: SearchSlots, now: float) -> list[Send]:
        """Have hits that one member has just found compared with those of others, each member in turn."""
        if self._comparing in self._errands:
            return []
        view.to_compare = None
        self._n_compared += 1
        others = sorted(view.ownership.slots_answered.keys() - {self._me})
        if self._n_compared % SEARCHES_EACH or not others:
            return []
        peer = others[self._n_compared // SEARCHES_EACH % len(others)]
        number = self._comparing = next(self._errand_numbers)
        errand = self._errands[number] = StandInCheck(number, self._me, peer, question, view)
        sends = errand.start(now)
        self._follow(number, errand)
        return sends

    def _follow(self, number: int, errand: Errand) -> None:
        """Note when an errand that has just done something is to be woken, or forget it if it is done."""
        if errand.is_done:
            self._errands.pop(number, None)
            self._due_s.pop(number, None)
        elif number in self._errands:
            self._due_s[number] = errand.wake_at()

    def _change_ownership(self, ownership: Ownership, now: float) -> list[Send]:
        if self._shared is None:
            self._shared = SharedState(
                ownership,
                self._settings.cache_bytes_max,
                self._policy,
                self._aggregated_from,
                NO_CLASSES if self._classes is None else self._classes.names,
            )
            early = [order for _, order in self._early]
            self._early.clear()
            return [send for order in early for send in self._begin(order, now)]
        gone = self._shared.ownership.alive - ownership.alive
        back = ownership.alive & self._down_at.keys()
        self._down_at = {peer: at for peer, at in self._down_at.items() if peer not in back}
        self._down_at |= dict.fromkeys(sorted(gone), now)
        if not self._shared.change_ownership(ownership):
            return []
        sends: list[Send] = []
        for number, errand in list(self._errands.items()):
            sends += errand.ownership_changed(now)
            self._follow(number, errand)
        return sends

    def _change_settings(self, settings: GatewaySettings) -> None:
        self._settings = settings
        if self._shared is not None:
            self._shared.cache.limit(settings.cache_bytes_max)

    # --- What the owner of the mesh wants --------------------------------------------------------

    def _change_policy(self, message: DecreesInForce) -> None:
        number = number_of(message)
        self._policy_number = self._policy_number if number is None else number
        policy = policy_of(message)
        if policy is None:
            return
        self._policy = policy
        self._follow_ordering()
        if self._shared is not None:
            self._shared.change_policy(policy)

    def _change_classes(self, message: DecreesInForce) -> None:
        self._classes = classes_of(message.decrees, self._classes)
        if self._shared is not None:
            self._shared.change_classes(NO_CLASSES if self._classes is None else self._classes.names)

    def _follow_ordering(self) -> None:
        """Count the demand of searchers if the crawl goes by it; else forget the counts."""
        ordering = self._policy.ordering or self._own_ordering
        if not ordering.goes_by_demand:
            self._demand, self._tell_demand_s = Demand(PLAIN), inf
            return
        self._demand.ordering = ordering
        if self._tell_demand_s == inf:
            self._tell_demand_s = -inf

    # --- Our own status, for other gateways ------------------------------------------------------

    def _read_meter(self, source: Address, request: int) -> list[Send]:
        if len(self._meter_readers) == METER_READERS_MAX:
            del self._meter_readers[next(iter(self._meter_readers))]
        reading = self._next_reading
        self._next_reading += 1
        self._meter_readers[reading] = (source, request)
        return [Send(Address(self._me, "meter"), ReadMeter(reading))]

    def _tell_status(self, reading: int, status: bytes) -> list[Send]:
        reader = self._meter_readers.pop(reading, None)
        if reader is None:
            return []
        source, request = reader
        return [Send(source, StatusTold(request, status))]
