"""The actor that keeps the mesh's log of searches: searches at this gateway, and the rows of its slots.

Rows go to the peer that answers for the slot of their query, and from there to its team as changes of every
store do. Which of them are kept says the policy alone (`policy.log_rules`), by day and query: every peer
deletes by it what it has, and takes no row from others that it would delete. So what is forgotten does not
come back, and without a log in the policy there is nothing.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from operator import attrgetter
from typing import ClassVar, Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.actors.slot_reports import ReportKind, SlotReports
from mesh.tables.table import Table, TableSection
from peers.handover.item_store import Item, ItemStore, key_at
from peers.handover.optional_store import OptionalStoreActor
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreDeclaration, StoreStatistics
from peers.policy.log_rules import QueryLogRules, query_digest
from peers.policy.rules import DAY_S, Policy
from peers.query_log.log_part import log_part
from peers.query_log.log_row import (
    GATEWAY_BYTES,
    GROUP_BYTES,
    NAME_BYTES,
    GatewayRow,
    LogRow,
    RowName,
    is_loggable,
    is_row,
    join,
    name_in,
    name_through,
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

# Of one member on a day, 12 a second: some 100 MB. Further ones are not kept.
ROWS_OF_MEMBER_MAX: Final = 1_000_000
# Of a query on a day, those that its weights are made of: of the gateways and clients with the least digests,
# of no gateway more than one part in those that have to agree. More would say little more, and are read
# within a search.
ROWS_OF_DAY_MAX: Final = 100
# They have some 300 bytes each; of a member that writes the longest ones there are few.
ROWS_OF_DAY_BYTES_MAX: Final = 64 << 10
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


class OwnQueryLog(OptionalStoreActor):
    """Neighbours: the gateway of this peer, the logs of others, and gateways that read them."""

    name: ClassVar[str] = "query_log"
    keeps: ClassVar = StoreDeclaration("query_log", name, is_optional=True)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {
        SearchesTold,
        SearchesNoted,
        LogWanted,
        ClicksWanted,
    }

    rows_section: ClassVar = b"q"

    def __init__(self, me: str, table: Table, life: int = 1) -> None:
        super().__init__(me, table, life)
        # Of queries that were searched today: the weights of their pages, and what they were made for.
        self._weighed: dict[bytes, tuple[tuple[str, int], ...]] = {}
        self._weighed_for: tuple[int, Policy, object] | None = None
        self._of_members: Counter[str] = Counter()  # rows of today
        self._n_taken = self._n_refused = self._n_dropped = 0

    def _is_wanted(self, policy: Policy) -> bool:
        return policy.query_log is not None

    def _open_store(self, rows: Table) -> ItemStore:
        return ItemStore(rows, join, accepts=self._accepts)

    def _begin(self) -> None:
        super()._begin()
        self._reports = SlotReports(self._me, self.name, TableSection(self._table, b"t"), self._life, _ROWS)

    def _handle(self, source: Address, message: Message) -> list[Send]:
        match message:
            case ResultsShown(query, client, page, n_shown, listed):
                self._log(client, LogRow(query, ((page, n_shown),), (), (), (listed,) if listed else ()))
            case ResultClicked(query, client, rank, url, comparison, team):
                credited = ((comparison, rank, team),) if comparison else ()
                self._log(client, LogRow(query, (), ((rank, url),), credited))
            case SearchesTold(batch, rows):
                if self._take(source, rows):
                    return [Send(source, SearchesNoted(batch))]
            case SearchesNoted(batch) if not self.is_dormant:
                self._reports.note_answer(source.peer, batch, self._now)
            case SearchesNoted():
                pass  # of rows of an earlier life, which will be told again
            case LogWanted(request) if not self._is_on:
                return [Send(source, LogTold(request, (), ()))]
            case LogWanted(request, after):
                part = log_part(self._store, after, self._is_told)
                return [Send(source, LogTold(request, *part))]
            case ClicksWanted(request, digest):
                return [Send(source, ClicksTold(request, self._weights_of(digest)))]
            case _:
                return super()._handle(source, message)
        return []

    def wake_at(self) -> float:
        return min(super().wake_at(), self._reports.wake_at())

    def _observe(self, store: StoreStatistics) -> QueryLogStatistics:
        return QueryLogStatistics(
            store=store,
            is_kept=self._is_on,
            told=self._reports.n_told,
            untold=self._reports.waiting_count,
            taken=self._n_taken,
            refused=self._n_refused,
            dropped=self._n_dropped,
        )

    @property
    def _today(self) -> int:
        return int(self._now // DAY_S)

    def _follow(self, ownership: Ownership) -> None:
        super()._follow(ownership)
        self._reports.change_ownership(ownership, self._now)

    def _end_turn(self) -> list[Send]:
        sends = self._reports.wake(self._now) if self._reports.wake_at() <= self._now else []
        return sends + super()._end_turn()

    # --- Rows of this gateway, and of others

    def _log(self, client: bytes, row: LogRow) -> None:
        """Have a row brought to its slot; none while there is no log, or far too many are on their way."""
        if not self._is_on or self._reports.is_full or not is_loggable(row.query):
            return
        name = RowName(query_digest(row.query), self._today, client)
        self._reports.tell([ToldRow(name.encoded, row_bytes(row))], self._now)

    def _take(self, source: Address, rows: tuple[ToldRow, ...]) -> bool:
        """Put rows of a gateway into the store; False if their slots are not ours: they come again.

        So they do while there is no log here: either we hear of it later than their gateway, or it deletes
        them as soon as it hears that there is none.
        """
        ownership = self._ownership
        if ownership is None or not self._is_on:
            return False
        slots = [number_in(row.name) % ownership.table.slot_count for row in rows]
        if any(ownership.answerer_of(slot) != self._me for slot in slots):
            return False
        for slot, row in zip(slots, rows, strict=True):
            is_within = self._of_members[source.peer] < ROWS_OF_MEMBER_MAX
            if is_within and self._accepts(slot, row.name, row.value):
                self._of_members[source.peer] += 1
                self._n_taken += 1
                self._store.put(slot, name_through(row.name, source.peer), row.value)
            else:
                self._n_refused += 1
        return True

    def _accepts(self, slot: int, name: bytes, value: bytes) -> bool:
        """Is this a row in its place that the policy keeps?"""
        ownership = self._ownership
        if ownership is None or not is_row(name, value):
            return False
        return number_in(name) % ownership.table.slot_count == slot and self._keeps(name)

    def _keeps(self, name: bytes) -> bool:
        digest, day, _ = name_in(name)
        rules = self._policy.query_log
        return rules is not None and rules.keeps(digest, day, self._today)

    def _is_told(self, item: Item) -> bool:
        """Do we answer for its slot, and is it kept?"""
        ownership = self._ownership
        return (
            ownership is not None and ownership.answerer_of(item.slot) == self._me and self._keeps(item.name)
        )

    def _weights_of(self, digest: bytes) -> tuple[tuple[str, int], ...]:
        """Return the weights of a query's pages; none where others answer for its slot."""
        rules, ownership = self._policy.query_log, self._ownership
        if rules is None or not rules.click_weight or ownership is None or self.is_dormant:
            return ()
        slot = number_in(digest) % ownership.table.slot_count
        if ownership.answerer_of(slot) != self._me:
            return ()
        now_in_force = (self._today, self._policy, ownership.serving_epoch)
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

        by_day = {
            day: self._rows_of_day(slot, RowName(digest, day, b"").encoded, rules.click_gateways)
            for day in range(max(0, self._today - DAYS_COUNTED), self._today)
        }
        return tuple(click_weights(by_day, self._today, rules.examined, rules.click_gateways))

    def _rows_of_day(self, slot: int, prefix: bytes, gateways: int) -> list[GatewayRow]:
        """Return rows of a query and day, of no gateway so many that others have no place."""
        found: list[GatewayRow] = []
        bytes_left, after = ROWS_OF_DAY_BYTES_MAX, prefix
        while len(found) < ROWS_OF_DAY_MAX and bytes_left > 0:
            first = next(self._store.items_of_slot_after(key_at(slot, after)), None)
            if first is None or not first.name.startswith(prefix):
                break
            of_gateway = first.name[: GROUP_BYTES + GATEWAY_BYTES]
            bytes_max = min(bytes_left, ROWS_OF_DAY_BYTES_MAX // gateways)
            items = self._store.items_below(slot, of_gateway, ROWS_OF_DAY_MAX // gateways, bytes_max)
            gateway = name_in(first.name).gateway
            found += [GatewayRow(gateway, row_in(item.value)) for item in items if self._keeps(item.name)]
            bytes_left -= sum(len(item.value) for item in items)
            after = of_gateway + b"\xff" * (NAME_BYTES - len(of_gateway))
        return found

    # --- Rows that are not kept any more

    def _follow_policy(self, before: Policy, *, was_on: bool) -> None:
        if before.query_log != self._policy.query_log or was_on != self._is_on or not self._is_on:
            self._sweep_anew()
        if not self._is_on:
            self._reports.clear()

    def _look_at(self, item: Item) -> None:
        if not self._keeps(item.name):
            self._store.drop(item.slot, item.name)
            self._n_dropped += 1

    def _next_sweep_at(self) -> float:
        self._of_members.clear()
        return (self._today + 1) * DAY_S if self._is_on else inf
