"""What pages, queries and an idle minute cost in simulated meshes: the same counts on every machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from statistics import median
from typing import Final

from mesh.actors.actor import Message
from mesh.tables.memory_table import MemoryTable
from mesh.tables.table import Table
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.messages import AddSeeds, PagesFound, SearchPages
from simulations.webs.web import SyntheticWeb, WebShape
from simulations.world.chance import random_of
from simulations.world.crawl import SimulatedCrawl
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.words import COMMON_WORD, WordyParser, rare_word_of
from simulations.world.world import World
from tests.budgets.calls import counted
from tests.simulations.machines import machines_of

SEED: Final = 3
PAGES: Final = 300
SHAPE: Final = WebShape(pages_per_host=15.0, slow_hosts_share=0.0)
MESHES: Final = {"1_peer": (1, 1), "3_peers": (3, 2), "8_peers": (8, 2)}  # peers, copies
QUERY_WORDS: Final = (1, 3, 10)
QUERIES: Final = 120  # one a second: as long as all that a peer does now and then takes to come round
QUERIES_AT_ONCE: Final = 64
IDLE_S: Final = 120.0


class CountingTable(MemoryTable):
    """A table that knows how many rows were read, written and deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.n_read = self.n_written = self.n_deleted = 0
        read = self.get

        def get(key: bytes) -> bytes | None:
            self.n_read += 1
            return read(key)

        self.get = get  # type: ignore[assignment]  # nobody gives a default

    def put(self, key: bytes, value: bytes) -> None:
        self.n_written += 1
        super().put(key, value)

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        self.n_written += len(rows)
        super().put_many(rows)

    def delete(self, key: bytes) -> None:
        self.n_deleted += 1
        super().delete(key)

    def scan(
        self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        for row in super().scan(start, stop, limit=limit):
            self.n_read += 1
            yield row


class CountingCrawl(SimulatedCrawl):
    """A crawl whose tables count."""

    def _table_of(self, peer: str) -> Table:
        table = CountingTable()
        self.tables = [*getattr(self, "tables", []), table]
        return table


def page_costs(peers: int, replicas: int) -> dict[str, float]:
    """What a page costs in a crawl from seeds to rest."""
    web = SyntheticWeb(SEED, PAGES, SHAPE)
    with counted() as calls:
        crawl = CountingCrawl(web, peers=peers, seed=SEED, replicas=replicas, parser=WordyParser)
        crawl.run()
    assert crawl.judge().total == 0, crawl.judge()
    traffic = crawl.world.traffic
    costs: dict[str, float] = {
        "events": crawl.world.n_events,
        "actor_messages": calls.of("mesh/actors/node.py:Node.receive")
        + calls.of("mesh/actors/node.py:Node._deliver"),
        "port_orders": calls.of("simulations/world/world.py:World._order"),
        "rows_read": sum(table.n_read for table in crawl.tables),
        "rows_written": sum(table.n_written for table in crawl.tables),
        "rows_deleted": sum(table.n_deleted for table in crawl.tables),
        "messages_between_peers": traffic.total().messages,
        "bytes_between_peers": traffic.total().bytes,
        "calls": calls.total,
    }
    for kind, tally in sorted(traffic.sent.items()):
        costs[f"bytes_{kind}"] = tally.bytes
    return {name: round(count / PAGES, 2) for name, count in costs.items()}


class _Mesh:
    """Three machines that have crawled a web together."""

    def __init__(self) -> None:
        self.answers: list[Message] = []
        self.world = World(Network(random_of(SEED, "network")))
        self.web = SyntheticWeb(SEED, PAGES // 5, SHAPE)
        members = Members(SEED, 3, replicas=2, slot_count=256)
        settings = CrawlSettings(delay_s=0.1)
        self.machines = machines_of(
            3, self.world, members, self.web, settings, told=lambda _, answer: self.answers.append(answer)
        )
        for machine in self.machines:
            machine.start()
        self.world.run(until=self.world.now + 30.0)
        self.machines[0].order(AddSeeds(ticket=1, urls=self.web.seeds))
        while not self._is_at_rest():
            self.world.run(until=self.world.now + 5.0)
        self.world.run(until=self.world.now + 60.0)

    def _is_at_rest(self) -> bool:
        stored = sum(machine.cell().stored for machine in self.machines)
        return stored >= self.web.pages and all(machine.crawl().is_idle for machine in self.machines)

    def urls(self) -> list[str]:
        pages = (url for url in self.web.seeds)
        return [*islice(pages, QUERIES)]


def query_costs() -> dict[str, float]:
    """What a query of some words costs over three peers, the caches cold."""
    mesh = _Mesh()
    costs: dict[str, float] = {}
    urls = mesh.urls()
    for n_words in QUERY_WORDS:
        idle_messages, idle_calls = _idle_second(mesh)
        sent = mesh.world.traffic.total().messages
        with counted() as calls:
            for ticket in range(QUERIES):
                words = [COMMON_WORD, *(rare_word_of(f"{urls[0]}{ticket}-{n}") for n in range(1, n_words))]
                before = len(mesh.answers)
                mesh.machines[0].order(SearchPages(100 * n_words + ticket, " OR ".join(words)))
                mesh.world.run(until=mesh.world.now + 1.0)
                assert any(isinstance(answer, PagesFound) for answer in mesh.answers[before:])
        messages = mesh.world.traffic.total().messages - sent
        costs[f"messages_{n_words}_words"] = round(messages / QUERIES - idle_messages, 1)
        costs[f"calls_{n_words}_words"] = round(calls.total / QUERIES - idle_calls)
    batches = []  # the median: a routine comparison of slots may fall into a second
    for batch in range(3):
        _idle_second(mesh)
        tickets = range(batch * QUERIES_AT_ONCE, (batch + 1) * QUERIES_AT_ONCE)
        with counted() as calls:
            for ticket in tickets:
                mesh.machines[0].order(SearchPages(ticket, rare_word_of(f"{urls[0]}-at-once-{ticket}")))
            mesh.world.run(until=mesh.world.now + 1.0)
        answered = {each.ticket for each in mesh.answers[-QUERIES_AT_ONCE:] if isinstance(each, PagesFound)}
        assert answered == set(tickets)
        batches.append(calls.total)
    costs[f"calls_of_{QUERIES_AT_ONCE}_at_once"] = round(median(batches) / QUERIES_AT_ONCE)
    return costs


def _idle_second(mesh: _Mesh, seconds: float = 1.0 * QUERIES) -> tuple[float, float]:
    sent = mesh.world.traffic.total().messages
    with counted() as calls:
        mesh.world.run(until=mesh.world.now + seconds)
    return (mesh.world.traffic.total().messages - sent) / seconds, calls.total / seconds


def idle_costs() -> dict[str, float]:
    """What a peer at rest costs in a minute, of three."""
    mesh = _Mesh()
    before = mesh.world.traffic.total()
    with counted() as calls:
        mesh.world.run(until=mesh.world.now + IDLE_S)
    after = mesh.world.traffic.total()
    peer_minutes = len(mesh.machines) * IDLE_S / 60.0
    return {
        "messages": round((after.messages - before.messages) / peer_minutes, 1),
        "bytes": round((after.bytes - before.bytes) / peer_minutes),
        "wakes": round(calls.of("mesh/actors/node.py:Node.wake") / peer_minutes, 1),
        "calls": round(calls.total / peer_minutes),
    }
