"""The log of searches: people search and click, at any gateway; each client counts once, and none is made up.

What a gateway was told counts if it is durable there; before that it may die with the process, since nobody
has promised anything.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

import msgspec

from mesh.actors.actor import Address, Message
from mesh.actors.ownership import Ownership
from peers.actors import QUERY_LOG_SECTION
from peers.handover.item_store import Item
from peers.handover.wire_messages import ItemsChanged
from peers.policy.log_rules import QueryLogRules, query_digest
from peers.policy.rules import DAY_S
from peers.query_log.log_row import (
    CLIENTS_TOLD_MIN,
    LogRow,
    RowName,
    list_of,
    name_in,
    name_through,
    number_in,
    row_bytes,
    row_in,
)
from peers.query_log.messages import ResultClicked, ResultsShown
from peers.query_log.query_log import OwnQueryLog, QueryLogStatistics
from peers.query_log.wire_messages import LogTold, LogWanted, QueryOfDay, SearchesTold, ToldRow
from simulations.faults.stores.store_use import StoreUse, UsedMachine, UsedRun, all_rows

QUERIES: Final = ("天网", "glacier", "search engine", "slots", "nobody asks this")
COMMON: Final = QUERIES[:-1]
PAUSE_S: Final = 1.5  # mean, between two searches
CLICK_SHARE: Final = 0.6
AGAIN_SHARE: Final = 0.3  # of the searches that a client makes again, elsewhere
LATER_S: Final = 4.0  # mean, to a click
ODD_DAYS: Final = 5  # to come, of rows that nobody keeps
_CLIENTS_OF_RARE: Final = 3


class LogUse(StoreUse):
    """The log, with clicks."""

    switches: ClassVar = {"query_log": QueryLogRules(days=30, clicks=True, click_weight=0.05)}
    rows = QUERY_LOG_SECTION + OwnQueryLog.rows_section
    chance = "searchers"

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        self._clients = 0
        # Names of rows, to the URLs that were clicked on: all that may be there, and all that must.
        self._possible: dict[bytes, set[str]] = defaultdict(set)
        self._durable: dict[bytes, set[str]] = {}
        self._made_up: dict[bytes, set[str]] = defaultdict(set)  # likewise, by a member that lies
        self._query_of = {query_digest(query): query for query in QUERIES}

    def begin(self, until: float) -> None:
        self.act_now_and_then(self._search, PAUSE_S, until)

    def _search(self) -> None:
        random = self._random
        self._clients += 1
        query = QUERIES[-1] if self._clients <= _CLIENTS_OF_RARE else random.choice(COMMON)
        client = self._clients.to_bytes(8, "big")
        urls = [f"http://site{number}.test/{query}" for number in range(10)]
        shown = ResultsShown(query, client, 1, len(urls), list_of(urls))
        self._tell(shown)
        if random.random() < AGAIN_SHARE:
            self._later(shown)
        if random.random() < CLICK_SHARE:
            rank = random.randint(1, len(urls))
            self._later(ResultClicked(query, client, rank, urls[rank - 1]))

    def _later(self, message: ResultsShown | ResultClicked) -> None:
        at_s = self._world.now + self._random.expovariate(1 / LATER_S)
        self._world.plan(at_s, lambda: self._tell(message))

    def _tell(self, message: ResultsShown | ResultClicked) -> None:
        """Have a gateway tell its log, if any runs."""
        running = self._run.running()
        if not running:
            return
        machine = self._random.choice(running)
        day = int(machine.local_time() // DAY_S)
        told = RowName(query_digest(message.query), day, message.client).encoded
        name = name_through(told, machine.peer)
        clicks = {message.url} if isinstance(message, ResultClicked) else set()
        self._possible[name] |= clicks
        seen = self._log(machine).observe()
        is_kept = isinstance(seen, QueryLogStatistics) and seen.is_kept
        source, target = (Address(machine.peer, actor) for actor in ("http", OwnQueryLog.name))
        self._world.deliver(source, target, message)
        if is_kept:
            self.confirm_later(machine, partial(self._note_durable, machine, name, clicks))

    def _note_durable(self, machine: UsedMachine, name: bytes, clicks: set[str]) -> None:
        if machine is not self._run.liar:  # whom others need not listen to, until it has left with its rows
            self._durable.setdefault(name, set()).update(clicks)

    def is_over(self, machines: Sequence[UsedMachine]) -> bool:
        seen = [self._log(machine).observe() for machine in machines]
        return all(isinstance(each, QueryLogStatistics) and not each.untold for each in seen)

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        rows = {key[2:]: row_in(value) for key, value in all_rows(machines, self.rows).items()}
        for name, urls in self._durable.items():
            said = f"of the query {name[:8].hex()} by client {int.from_bytes(name_in(name).client)}"
            if name not in rows:
                yield f"a search {said} is not in the log"
            elif lost := urls - _clicked(rows[name]):
                yield f"a search {said} has lost its click on {lost}"
        for name, row in rows.items():
            if name not in self._possible and name not in self._made_up:
                yield f"nobody made the search {name.hex()} that is in the log"
            elif made_up := _clicked(row) - self._possible.get(name, set()) - self._made_up.get(name, set()):
                yield f"nobody clicked on {made_up}, as the log says"
        told = [
            part
            for machine in machines
            for part in log_told(self._log(machine), machine.peer, machine.local_time())
        ]
        yield from _wrong_counts(rows, [each for part in told for each in part.queries])
        yield from _wrong_rare(rows, told)

    # --- The member that lies

    def lie(self, machine: UsedMachine, until: float) -> None:
        """Have a member make up searches and clicks, in rows as it may write them and in others."""
        self.lie_now_and_then(machine, partial(self._lies, machine), until)

    def _lies(self, machine: UsedMachine, ownership: Ownership) -> Iterator[tuple[str, str, Message]]:
        random, slot_count = self._random, ownership.table.slot_count
        today = int(machine.local_time() // DAY_S)
        digest, query = random.choice(list(self._query_of.items()))
        slot, url = number_in(digest) % slot_count, f"http://liar.test/{random.randrange(3)}"
        row = row_bytes(LogRow(query, ((1, 10),), ((1, url),)))
        clients = [random.randbytes(8), *(name_in(name).client for name in self._known_of(digest))]
        names = [RowName(digest, today, client).encoded for client in clients]
        for name in names:
            self._made_up[name_through(name, machine.peer)].add(url)
        odd = RowName(digest, today, b"none" + random.randbytes(4))
        rows = [
            *(ToldRow(name, row) for name in names),
            ToldRow(odd.encoded, row_bytes(LogRow(query + "?", ((1, 10),)))),
            ToldRow(odd._replace(day=today + ODD_DAYS).encoded, row),
            ToldRow(odd.encoded, b"\xc1"),
        ]
        number = random.randrange(1 << 40)
        yield ownership.answerer_of(slot) or "", OwnQueryLog.name, SearchesTold(number, tuple(rows))
        items = [Item(slot, each.name, each.value) for each in rows[len(names) :]]
        items.append(Item((slot + 1) % slot_count, odd.encoded, row))
        for peer in ownership.team_of(slot):
            changed = ItemsChanged(number, machine.local_time(), msgspec.msgpack.encode(items))
            yield peer, OwnQueryLog.name, changed

    def _known_of(self, digest: bytes) -> list[bytes]:
        """Return the name of some row of a query, if there is one."""
        return [name for name in self._durable if name_in(name).digest == digest][:1]

    def _log(self, machine: UsedMachine) -> OwnQueryLog:
        log = self.actor(machine, OwnQueryLog.name)
        assert isinstance(log, OwnQueryLog)
        return log


def log_told(log: OwnQueryLog, peer: str, now: float) -> Iterator[LogTold]:
    """Yield the parts of the log that a member tells a gateway."""
    asker, after, is_first = Address(peer, "searcher"), b"", True
    while after or is_first:
        is_first = False
        sends = log.receive(asker, LogWanted(1, after), now)
        [told] = [send.message for send in sends if isinstance(send.message, LogTold)]
        after = told.next
        yield told


def _clicked(row: LogRow) -> set[str]:
    return {url for _, url in row.clicks}


def _groups(rows: Mapping[bytes, LogRow]) -> dict[tuple[str, int], list[LogRow]]:
    """Return the rows by query and day."""
    groups: dict[tuple[str, int], list[LogRow]] = defaultdict(list)
    for name, row in rows.items():
        groups[row.query, name_in(name).day].append(row)
    return groups


def _wrong_counts(rows: Mapping[bytes, LogRow], told: Sequence[QueryOfDay]) -> Iterator[str]:
    """Judge the word of members on queries that several have asked, beside the rows that there are."""
    clients, clicks = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for each in told:
        clients[each.query, each.day] += each.clients
        clicks[each.query, each.day] += sum(count for _, _, count in each.clicks)
    groups = _groups(rows)
    for key in groups.keys() | clients.keys():
        of_key = groups.get(key, [])
        n_rows = len(of_key) if len(of_key) >= CLIENTS_TOLD_MIN else 0
        n_clicks = sum(len(row.clicks) for row in of_key) if n_rows else 0
        if (clients[key], clicks[key]) != (n_rows, n_clicks):
            yield (
                f"members tell of {clients[key]} clients and {clicks[key]} clicks for {key}, and the log has"
                f" {n_rows} and {n_clicks}"
            )


def _wrong_rare(rows: Mapping[bytes, LogRow], told: Sequence[LogTold]) -> Iterator[str]:
    """Judge how many queries few have asked, and that no word of them is told."""
    counted = [each.queries for part in told for each in part.rare]
    n_told = sum(map(sum, counted))
    rare = {query for (query, _), of_key in _groups(rows).items() if len(of_key) < CLIENTS_TOLD_MIN}
    n_rare = sum(len(of_key) < CLIENTS_TOLD_MIN for of_key in _groups(rows).values())
    if n_told != n_rare:
        yield f"members tell of {n_told} queries that few have asked, and the log has {n_rare}"
    if rare & {each.query for part in told for each in part.queries} - set(COMMON):
        yield f"members tell of {rare}, which few have asked"
