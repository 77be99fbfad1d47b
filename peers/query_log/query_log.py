"""The actor that keeps the mesh's log of searches: searches at this gateway, and the rows of its slots.

Rows go to the peer that answers for the slot of their query, and from there to its team as changes of every
store do. Which of them are kept says the policy alone (`policy.log_rules`), by day and query: every peer
deletes by it what it has, and takes no row from others that it would delete. So what is forgotten does not
come back, and without a log in the policy there is nothing, nor does the handover know of this store: from
its start the actor is dormant until a policy has a log, or has none while there are rows to be deleted, or
until a member that has heard of a log compares its store or sends changes.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from operator import attrgetter
from typing import ClassVar, Final

from mesh.actors.actor import Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.actors.slot_reports import ReportKind, SlotReports
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.table import Table, TableSection
from peers.handover.item_store import Item, ItemStore, key_of
from peers.handover.keeper import Keeper
from peers.handover.messages import SlotsSynchronised, SynchroniseSlots, UseStore
from peers.handover.mirror import Mirror
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreActor, StoreDeclaration
from peers.policy.decreed import policy_of
from peers.policy.log_rules import QueryLogRules, query_digest
from peers.policy.rules import DAY_S
from peers.query_log.log_part import log_part
from peers.query_log.log_row import (
    LogRow,
    RowName,
    is_loggable,
    is_row,
    join,
    name_in,
    number_in,
    row_bytes,
    row_in,
)
from peers.query_log.messages import ResultClicked, ResultsShown
from peers.query_log.wire_messages import (
    ROWS_MAX,
    ClicksTold,
    ClicksWanted,
    LogTold,
    LogWanted,
    SearchesNoted,
    SearchesTold,
    ToldRow,
)

ROWS_PER_TURN: Final = 1_000
TURN_PAUSE_S: Final = 0.05
# Of one member on a day, 12 a second: some 100 MB. Further ones are not kept.
ROWS_OF_MEMBER_MAX: Final = 1_000_000
# Of a query on a day, those that its weights are made of: of the clients with the least digests.
# More would say little more, and are read within a search.
ROWS_OF_DAY_MAX: Final = 100
WEIGHED_MAX: Final = 2_000  # queries remembered: a few MB


_ROWS: Final = ReportKind(ToldRow, attrgetter("number"), SearchesTold, items_max=ROWS_MAX)


class QueryLogStatistics(HolderStatistics, frozen=True):
    """The work on the log: gauges of now, counts since the start."""

    is_kept: bool  # does the policy say so?
    told: int  # count: rows of this gateway
    untold: int  # gauge: of these, not yet noted
    taken: int  # count: rows of gateways that were put into the store
    refused: int  # count: those that were not, by the policy, a limit, or since they are none
    dropped: int  # count: rows deleted because the policy does not keep them any more


class OwnQueryLog(StoreActor):
    """Neighbours: the gateway of this peer, the logs of others, and gateways that read them."""

    name: ClassVar[str] = "query_log"
    keeps: ClassVar = StoreDeclaration("query_log", name, is_optional=True)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {
        SearchesTold,
        SearchesNoted,
        LogWanted,
        ClicksWanted,
    }

    def __init__(self, me: str, table: Table, life: int = 1) -> None:
        """Begin without looking at the table: most meshes log nothing.

        Args:
          table: the section of this actor.
          life: of the peer, see `mesh.tables.lives`.
        """
        self._me, self._table, self._life = me, table, life
        self.is_dormant = True  # until it is known that there is a log, or something of one
        self._ownership: Ownership | None = None
        self._rules: QueryLogRules | None = None
        self._is_ruled = False  # is it known whether there is a log?
        self._swept_to, self._sweep_at = b"", inf
        # Of queries that were searched today: the weights of their pages, and what they were made for.
        self._weighed: dict[bytes, tuple[tuple[str, int], ...]] = {}
        self._weighed_for: tuple[int, QueryLogRules, object] | None = None
        self._of_members: Counter[str] = Counter()  # rows of today
        self._today = 0
        self._n_taken = self._n_refused = self._n_dropped = 0

    def _begin(self, now: float) -> list[Send]:
        """Take up the rows in the table; from now on others get their answers about them."""
        me, life = self._me, self._life
        self._store = ItemStore(TableSection(self._table, b"q"), join, accepts=self._accepts)
        mirror = Mirror(me, self.name, self._store, life)
        self._keeper = Keeper(me, self.keeps, self._store, life=life, mirror=mirror)
        self._reports = SlotReports(me, self.name, TableSection(self._table, b"t"), life, _ROWS)
        self.is_dormant = False
        if self._ownership is not None:
            self._follow(self._ownership, now)
        return self._use()

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._today = int(now // DAY_S)
        sends: list[Send] = []
        match message:
            case ResultsShown(query, client, page, n_shown, listed):
                self._log(client, LogRow(query, ((page, n_shown),), (), (), (listed,) if listed else ()), now)
            case ResultClicked(query, client, rank, url, comparison, team):
                credited = ((comparison, rank, team),) if comparison else ()
                self._log(client, LogRow(query, (), ((rank, url),), credited), now)
            case SearchesTold(batch, rows):
                if self._take(source, rows):
                    sends = [Send(source, SearchesNoted(batch))]
            case SearchesNoted(batch) if not self.is_dormant:
                self._reports.note_answer(source.peer, batch, now)
            case SearchesNoted():
                pass  # of rows of an earlier life, which will be told again
            case LogWanted(request) if self._rules is None:
                sends = [Send(source, LogTold(request, (), ()))]
            case LogWanted(request, after):
                part = log_part(self._store, after, self._is_told)
                sends = [Send(source, LogTold(request, *part))]
            case ClicksWanted(request, digest):
                sends = [Send(source, ClicksTold(request, self._weights_of(digest)))]
            case DecreesInForce():
                sends = self._hear_policy(message, now)
            case SynchroniseSlots(task=task, slots=slots) if self._rules is None:
                # There is no log, or we have not heard of it: then it is compared as soon as we have.
                sends = [Send(source, SlotsSynchronised(task, slots))]
            case OwnershipChanged(ownership):
                self._ownership = ownership
                if not self.is_dormant:
                    self._follow(ownership, now)
            case _ if self.is_dormant:
                # The sender has heard of a log. It gets its answers, though we may know less, or more.
                sends = self._begin(now) + self._keeper.receive(source, message, now)
            case _:
                sends = self._keeper.receive(source, message, now)
        return sends + self._end_turn(now) if not self.is_dormant else sends

    def wake(self, now: float) -> list[Send]:
        self._today = int(now // DAY_S)
        sends = self._keeper.wake(now) if self._keeper.wake_at() <= now else []
        if self._sweep_at <= now:
            self._sweep(now)
        return sends + self._end_turn(now)

    def wake_at(self) -> float:
        return min(self._keeper.wake_at(), self._reports.wake_at(), self._sweep_at)

    @property
    def has_news(self) -> bool:
        return self._rules is not None and self._keeper.has_news  # it is asked at every commit

    def before_commit(self, now: float) -> list[Send]:
        return self._keeper.before_commit(now)

    def observe(self) -> Statistics:
        if self.is_dormant:
            return Statistics()
        return QueryLogStatistics(
            store=self._keeper.observe(),
            is_kept=self._rules is not None,
            told=self._reports.n_told,
            untold=self._reports.waiting_count,
            taken=self._n_taken,
            refused=self._n_refused,
            dropped=self._n_dropped,
        )

    def _follow(self, ownership: Ownership, now: float) -> None:
        self._keeper.change_ownership(ownership, now)
        self._reports.change_ownership(ownership, now)

    def _use(self) -> list[Send]:
        return [Send(Address(self._me, "handover"), UseStore())]

    def _end_turn(self, now: float) -> list[Send]:
        sends = self._reports.wake(now) if self._reports.wake_at() <= now else []
        return sends + self._keeper.end_turn(now)

    # --- Rows of this gateway, and of others

    def _log(self, client: bytes, row: LogRow, now: float) -> None:
        """Have a row brought to its slot; none while there is no log, or far too many are on their way."""
        if self._rules is None or self._reports.is_full or not is_loggable(row.query):
            return
        name = RowName(query_digest(row.query), self._today, client)
        self._reports.tell([ToldRow(name.encoded, row_bytes(row))], now)

    def _take(self, source: Address, rows: tuple[ToldRow, ...]) -> bool:
        """Put rows of a gateway into the store; False if their slots are not ours: they come again.

        So they do while there is no log here: either we hear of it later than their gateway, or it deletes
        them as soon as it hears that there is none.
        """
        ownership = self._ownership
        if ownership is None or self._rules is None:
            return False
        slots = [number_in(row.name) % ownership.table.slot_count for row in rows]
        if any(ownership.answerer_of(slot) != self._me for slot in slots):
            return False
        for slot, row in zip(slots, rows, strict=True):
            is_within = self._of_members[source.peer] < ROWS_OF_MEMBER_MAX
            if is_within and self._accepts(slot, row.name, row.value):
                self._of_members[source.peer] += 1
                self._n_taken += 1
                self._store.put(slot, row.name, row.value)
            else:
                self._n_refused += 1
        return True

    def _accepts(self, slot: int, name: bytes, value: bytes) -> bool:
        """Is this a row in its place that the policy keeps? As long as that is not known, all are."""
        ownership = self._ownership
        if ownership is None or not is_row(name, value):
            return False
        is_in_place = number_in(name) % ownership.table.slot_count == slot
        return is_in_place and (self._keeps(name) or not self._is_ruled)

    def _keeps(self, name: bytes) -> bool:
        digest, day, _ = name_in(name)
        return self._rules is not None and self._rules.keeps(digest, day, self._today)

    def _is_told(self, item: Item) -> bool:
        """Do we answer for its slot, and is it kept?"""
        ownership = self._ownership
        return (
            ownership is not None and ownership.answerer_of(item.slot) == self._me and self._keeps(item.name)
        )

    def _weights_of(self, digest: bytes) -> tuple[tuple[str, int], ...]:
        """Return the weights of a query's pages; none where others answer for its slot."""
        rules, ownership = self._rules, self._ownership
        if rules is None or not rules.click_weight or ownership is None or self.is_dormant:
            return ()
        slot = number_in(digest) % ownership.table.slot_count
        if ownership.answerer_of(slot) != self._me:
            return ()
        now_in_force = (self._today, rules, ownership.serving_epoch)
        if self._weighed_for != now_in_force:
            self._weighed, self._weighed_for = {}, now_in_force
        weights = self._weighed.get(digest)
        if weights is None:
            weights = self._weighed[digest] = self._read_weights(slot, digest, rules)
            if len(self._weighed) > WEIGHED_MAX:
                del self._weighed[next(iter(self._weighed))]
        return weights

    def _read_weights(self, slot: int, digest: bytes, rules: QueryLogRules) -> tuple[tuple[str, int], ...]:
        # Loaded where clicks have a weight.
        from peers.query_log.click_weights import DAYS_COUNTED, click_weights

        by_day = {}
        for day in range(max(0, self._today - DAYS_COUNTED), self._today):
            prefix = RowName(digest, day, b"").encoded
            items = self._store.items_below(slot, prefix, ROWS_OF_DAY_MAX)
            by_day[day] = [row_in(item.value) for item in items if self._keeps(item.name)]
        return tuple(click_weights(by_day, self._today, rules.examined))

    # --- Rows that are not kept any more

    def _hear_policy(self, message: DecreesInForce, now: float) -> list[Send]:
        policy = policy_of(message)
        if policy is None:
            return []
        before, self._rules = self._rules, policy.query_log
        is_news = not self._is_ruled or before != self._rules
        self._is_ruled = True
        sends: list[Send] = []
        if self.is_dormant:
            if self._rules is None and next(self._table.scan(b"", limit=1), None) is None:
                return []
            sends = self._begin(now)
        elif self._rules is not None and before is None:
            sends = self._use()  # nothing was kept for others meanwhile
        if is_news:
            self._swept_to, self._sweep_at = b"", now
        if self._rules is None:
            self._reports.clear()
        return sends

    def _sweep(self, now: float) -> None:
        """Delete some rows that the policy does not keep; once through all of them, wait for another day."""
        items = self._store.items_after(self._swept_to, ROWS_PER_TURN)
        for item in items:
            if not self._keeps(item.name):
                self._store.drop(item.slot, item.name)
                self._n_dropped += 1
        if len(items) == ROWS_PER_TURN:
            self._swept_to, self._sweep_at = key_of(items[-1]), now + TURN_PAUSE_S
            return
        self._of_members.clear()
        self._swept_to = b""
        self._sweep_at = inf if self._rules is None else (self._today + 1) * DAY_S
