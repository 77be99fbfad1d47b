"""The log of searches in a mesh under faults: rows survive, count once, and go when they are to go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date
from random import Random

import pytest

from mesh.actors.actor import Address
from peers.handover.item_store import Item
from peers.policy.log_rules import ForgottenQuery, QueryLogRules, query_digest
from peers.policy.rules import DAY_S, EVERYTHING, Policy, policy_bytes
from peers.query_log.log_row import CLIENTS_TOLD_MIN, list_of, number_in
from peers.query_log.messages import ResultClicked, ResultsShown
from peers.query_log.query_log import OwnQueryLog, QueryLogStatistics
from peers.query_log.wire_messages import ClicksTold, ClicksWanted, LogTold
from simulations.faults.machine import Machine
from simulations.faults.stores.searches import LogUse, log_told
from simulations.faults.stores.store_use import all_rows, unequal_rows
from simulations.webs.web import SyntheticWeb
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

SLOTS = 32
QUERIES = ("北京大学", "glacier", "tianwang 天网", "search engine", "slots", "weather")
KEPT = QueryLogRules(days=7, clicks=True)

Rows = dict[tuple[str, int], int]  # clients by query and day


class Mesh(PlayedMesh):
    """Machines with two copies of everything, and what clients were shown."""

    def __init__(
        self, seed: int = 3, started: int = 3, rules: QueryLogRules | None = KEPT, start_s: float = 1_000.0
    ) -> None:
        self.random = Random(seed)
        self.network = Network(random_of(seed, "network"))
        self.world = World(self.network, start_s=start_s)
        self.members = Members(seed, 4, replicas=2, slot_count=SLOTS)
        self.policies = 0
        self.rules: QueryLogRules | None = None  # as they were published last
        self.clients = 0
        web = SyntheticWeb(seed, pages=1)
        self.begin(4, web, started=started)
        self.pass_time(20.0)
        if rules is not None:
            self.obey(rules)

    def obey(self, rules: QueryLogRules | None) -> None:
        """Publish a policy, and wait until all that are reached have heard of it."""
        self.publish(rules)
        self.pass_time(10.0)

    def publish(self, rules: QueryLogRules | None) -> None:
        self.policies += 1
        self.rules = rules
        policy = Policy(rules=EVERYTHING.rules, query_log=rules)
        self.running[0].publish(self.members.policy(self.policies, policy_bytes(policy)))

    def show(self, machine: Machine, query: str, clients: int = 1, page: int = 1) -> None:
        """Show a page of results to some clients that nobody else is."""
        for _ in range(clients):
            self.clients += 1
            listed = list_of(f"http://{number}.test/{query}" for number in range(10)) if page == 1 else b""
            shown = ResultsShown(query, self.clients.to_bytes(8, "big"), page, 10, listed)
            self.tell(machine, shown)

    def tell(self, machine: Machine, message: ResultsShown | ResultClicked) -> None:
        self.world.deliver(Address(machine.peer, "http"), Address(machine.peer, "query_log"), message)

    def log(self, machine: Machine) -> OwnQueryLog:
        log = self.world.node(machine.peer).actor("query_log")
        assert isinstance(log, OwnQueryLog)
        return log

    def seen(self, machine: Machine) -> QueryLogStatistics | None:
        """Return the statistics of a log, None of a dormant one."""
        statistics = self.log(machine).observe()
        return statistics if isinstance(statistics, QueryLogStatistics) else None

    def is_told(self, machine: Machine) -> bool:
        seen = self.seen(machine)
        if seen is None:
            return self.rules is None
        return seen.is_kept == (self.rules is not None) and not (seen.untold or seen.store.unkept)

    def rows(self, machine: Machine) -> list[Item]:
        log = self.log(machine)
        return [] if log.is_dormant else log._store.items_after(b"", 100_000)

    def n_rows(self, machine: Machine) -> int:
        return len(self.rows(machine))

    def told(self) -> list[LogTold]:
        """The parts of the log that all members tell a gateway."""
        now = self.world.now
        return [part for each in self.running for part in log_told(self.log(each), each.peer, now)]

    def clients_told(self) -> Rows:
        rows: Rows = {}
        for each in (each for told in self.told() for each in told.queries):
            rows[each.query, each.day] = rows.get((each.query, each.day), 0) + each.clients
        return rows

    def clients_listed(self) -> Rows:
        """The clients that were shown one list, by query and day; each query has but one here."""
        rows: Rows = {}
        for each in (each for told in self.told() for each in told.queries):
            [shown] = each.lists
            rows[each.query, each.day] = rows.get((each.query, each.day), 0) + shown.clients
        return rows

    def weights(self, query: str) -> list[tuple[tuple[str, int], ...]]:
        """The weights of a query's pages that members tell of, but of those that tell of none."""
        wanted, found = ClicksWanted(1, query_digest(query)), []
        for machine in self.running:
            asker = Address(machine.peer, "searcher")
            sends = self.log(machine).receive(asker, wanted, self.world.now)
            found += [send.message.weights for send in sends if isinstance(send.message, ClicksTold)]
        return [weights for weights in found if weights]

    def rare_told(self) -> list[int]:
        """How many queries were asked by 1, 2, .. clients."""
        told = [each.queries for part in self.told() for each in part.rare]
        return [sum(counts) for counts in zip(*told, strict=True)] if told else []

    def check_replicas(self, n_rows: int) -> None:
        """There are so many rows, each on both members of its team, and nowhere else."""
        assert len(all_rows(self.running, LogUse.rows)) == n_rows
        assert list(unequal_rows(self.running, LogUse.rows)) == []


def test_without_a_log_in_the_policy_nothing_is_kept_nor_sent() -> None:
    mesh = Mesh(rules=None)
    for machine in mesh.running:
        mesh.show(machine, "glacier", clients=6)
    mesh.rest()
    assert [mesh.n_rows(machine) for machine in mesh.running] == [0, 0, 0]
    assert all(mesh.log(machine).is_dormant for machine in mesh.running)
    assert {kind for kind in mesh.world.traffic.sent if kind.startswith("Search")} == set()
    assert "query_log" not in {name for machine in mesh.running for name in machine.handover().wanted}
    assert mesh.clients_told() == {}


def test_rows_of_all_gateways_come_to_the_team_of_their_slot_and_are_counted_by_client() -> None:
    mesh = Mesh()
    for number, query in enumerate(QUERIES, CLIENTS_TOLD_MIN):
        for client in range(number):
            mesh.show(mesh.running[client % 3], query)
    mesh.rest()
    assert mesh.clients_told() == {(query, 0): n for n, query in enumerate(QUERIES, CLIENTS_TOLD_MIN)}
    mesh.check_replicas(mesh.clients)


def test_a_client_counts_once_a_day_and_query_and_its_clicks_join_its_row() -> None:
    mesh = Mesh()
    mesh.show(mesh.running[0], "glacier", clients=4)
    for _ in range(3):
        for page in (1, 2):
            mesh.tell(mesh.running[1], ResultsShown("glacier", b"somebody", page, 10))
        mesh.tell(mesh.running[1], ResultClicked("glacier", b"somebody", 2, "http://a.test/"))
    mesh.rest()
    [query] = [each for told in mesh.told() for each in told.queries]
    assert (query.clients, query.pages) == (5, ((1, 5, 10), (2, 1, 10)))
    assert query.clicks == ((2, "http://a.test/", 1),)
    assert sum(map(mesh.n_rows, mesh.running)) == 2 * 5


def test_preferences_are_summed_over_peers_and_each_client_counts_once_through_faults() -> None:
    """Clicks are told again, in two gateways, while messages get lost and repeated, and a peer crashes."""
    mesh = Mesh(7, started=4)
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.2)
    expected = Counter[int]()
    for number in range(60):
        query, client = mesh.random.choice(QUERIES), (1_000 + number).to_bytes(8, "big")
        teams = [mesh.random.randrange(2) for _ in range(mesh.random.randint(1, 3))]
        more = sum(1 if team else -1 for team in teams)
        expected[(more > 0) - (more < 0)] += 1
        for rank, team in [*enumerate(teams, 1)] * 3:
            clicked = ResultClicked(query, client, rank, f"http://a.test/{rank}", "titles.0a0b0c0d", team)
            mesh.tell(mesh.machines[number % 2], clicked)
        if number == 30:
            mesh.pass_time(5.0)
            mesh.machines[3].crash(is_power_loss=True)
    for _ in range(500):  # a flood of one client
        mesh.tell(
            mesh.machines[0],
            ResultClicked(QUERIES[0], b"flooding", 1, "http://a.test/", "titles.0a0b0c0d", 1),
        )
    expected[1] += 1
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)
    mesh.machines[3].start()
    mesh.rest()
    told = [each for part in mesh.told() for each in part.compared]
    assert {(each.day, each.comparison) for each in told} == {(0, "titles.0a0b0c0d")}
    sums = [
        sum(counts) for counts in zip(*((each.first, each.second, each.ties) for each in told), strict=True)
    ]
    assert sums == [expected[-1], expected[1], expected[0]]
    assert all(sums)
    assert b"flooding" not in b"".join(map(_bytes, mesh.told()))


def test_whoever_takes_over_tells_the_same_weights_of_clicks_and_nobody_else_tells_any() -> None:
    """Clicks are told again, or made up, messages get lost, and the peer that kept the query dies."""
    rules = QueryLogRules(days=7, clicks=True, click_weight=0.1)
    mesh = Mesh(9, started=4, rules=rules, start_s=DAY_S - 600.0)
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.2)
    for client, url in enumerate(["http://a.test/"] * 12 + ["http://b.test/"] * 6 + ["http://c.test/"] * 4):
        for _ in range(2):
            clicked = ResultClicked("glacier", client.to_bytes(8, "big"), 1, url)
            mesh.tell(mesh.machines[client % 2], clicked)
    for _ in range(300):
        mesh.tell(mesh.machines[0], ResultClicked("glacier", b"flooding", 1, "http://spam.test/"))
    for client in range(40):  # that a gateway makes up
        for rank, url in enumerate(("http://c.test/", "http://spam.test/"), 1):
            mesh.tell(mesh.machines[2], ResultClicked("glacier", client.to_bytes(8, "big"), rank, url))
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)
    mesh.rest()
    assert mesh.weights("glacier") == [], "the day is not over"
    mesh.pass_time(DAY_S - mesh.world.now % DAY_S + 60.0)
    mesh.rest()
    # To c the liar gives as much as the four readers that it has elsewhere, to the other page nothing.
    expected = (("http://a.test/", 1_000), ("http://c.test/", 667), ("http://b.test/", 500))
    assert mesh.weights("glacier") == [expected]
    slot = number_in(query_digest("glacier")) % SLOTS
    own = {each.peer: each for each in mesh.running}
    ownership = mesh.running[0].ownership
    assert ownership is not None
    keeper = own[ownership.answerer_of(slot) or ""]
    keeper.crash(is_power_loss=True)
    mesh.pass_time(60.0)
    mesh.rest()
    assert mesh.weights("glacier") == [expected]
    keeper.start()
    mesh.pass_time(10.0)
    mesh.rest()
    assert mesh.weights("glacier") == [expected]


def test_of_a_query_that_few_have_asked_on_a_day_only_a_count_leaves_the_log() -> None:
    mesh = Mesh()
    for clients, query in enumerate(("my name", "my illness", "my street", "my debts"), 1):
        mesh.show(mesh.running[0], query, clients)
    mesh.show(mesh.running[0], "rare and twice", clients=2)
    mesh.show(mesh.running[0], "weather", clients=5)
    mesh.rest()
    assert mesh.clients_told() == {("weather", 0): 5}
    assert mesh.rare_told() == [1, 2, 1, 1]
    assert b"my" not in b"".join(map(_bytes, mesh.told()))


@pytest.mark.parametrize("seed", range(2))
def test_under_faults_no_row_is_lost_that_was_noted_and_none_counts_twice(seed: int) -> None:
    mesh = Mesh(100 + seed, started=4)
    _show_all(mesh, mesh.running)
    mesh.rest()
    before = mesh.clients_told()
    assert sum(before.values()) == mesh.clients
    n_stable, steady = mesh.clients, mesh.machines[0]  # its rows are told, whatever becomes of others
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.2)
    for _ in range(10):
        victim = mesh.random.choice(mesh.machines[1:])
        if not victim.is_up:
            victim.start()
        elif len(mesh.running) > 3:
            victim.crash(is_power_loss=mesh.random.random() < 0.5)
        _show_all(mesh, [steady], clients=2)
        mesh.pass_time(mesh.random.choice([0.3, 2.0, 10.0]))
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)
    for machine in mesh.machines:
        if not machine.is_up:
            machine.start()
    mesh.pass_time(30.0)
    mesh.rest()
    after = mesh.clients_told()
    assert sum(after.values()) == mesh.clients > n_stable
    assert mesh.clients_listed() == after
    mesh.check_replicas(mesh.clients)


def test_rows_follow_their_slots_to_who_joins_and_from_who_leaves() -> None:
    mesh = Mesh()
    _show_all(mesh, mesh.running)
    mesh.rest()
    before = mesh.clients_told()
    mesh.machines[3].start()
    mesh.pass_time(10.0)
    mesh.rest()
    assert mesh.n_rows(mesh.machines[3]) > 0
    assert mesh.clients_told() == before
    mesh.machines[1].drain(is_draining=True)
    mesh.pass_time(10.0)
    mesh.rest()
    assert mesh.n_rows(mesh.machines[1]) == 0
    assert mesh.clients_told() == before
    mesh.check_replicas(mesh.clients)


def test_a_forgotten_query_leaves_every_peer_and_does_not_come_back_from_one_that_was_down() -> None:
    mesh = Mesh()
    _show_all(mesh, mesh.running)
    mesh.rest()
    n_rows, n_forgotten = mesh.clients, mesh.clients_told()["glacier", 0]
    mesh.machines[2].crash()
    mesh.pass_time(30.0)
    gone = ForgottenQuery(digest=query_digest("glacier").hex(), to=date(1970, 1, 1))
    mesh.obey(QueryLogRules(days=7, forgotten=(gone,)))
    mesh.machines[2].start()
    mesh.pass_time(10.0)
    mesh.rest()
    mesh.show(mesh.running[0], "glacier", clients=6)  # it is still the day up to which it is forgotten
    mesh.rest()
    assert {query for query, _ in mesh.clients_told()} == {*QUERIES} - {"glacier"}
    assert b"glacier" not in _all_bytes(mesh)
    mesh.check_replicas(n_rows - n_forgotten)


def test_a_peer_that_was_down_when_the_log_ended_deletes_its_rows_when_it_starts() -> None:
    mesh = Mesh()
    _show_all(mesh, mesh.running)
    mesh.rest()
    late = mesh.machines[2]
    assert mesh.n_rows(late) > 0
    late.crash()
    mesh.pass_time(2.0)  # it is not held for dead yet, so rows wait for it as well
    _show_all(mesh, mesh.running)
    mesh.obey(None)
    assert any(query.encode() in _all_bytes(mesh) for query in QUERIES)
    late.start()
    mesh.pass_time(10.0)
    mesh.rest()
    assert not any(query.encode() in _all_bytes(mesh) for query in QUERIES)
    late.crash()
    late.start()
    mesh.pass_time(10.0)
    mesh.rest()
    assert mesh.log(late).is_dormant, "nothing is left to be done"


def test_a_member_that_hears_of_the_log_late_gets_the_rows_of_the_others() -> None:
    mesh = Mesh(rules=None)
    mesh.rest()
    late = mesh.machines[2]
    mesh.network.part([mesh.machines[0].peer, mesh.machines[1].peer], [late.peer])
    mesh.publish(KEPT)
    mesh.pass_time(1.0)
    assert late.ownership is not None
    assert mesh.log(late).is_dormant
    _show_all(mesh, mesh.running[:2])
    mesh.pass_time(0.5)
    mesh.network.heal()
    mesh.pass_time(10.0)
    mesh.rest()
    assert mesh.clients_told() == {(query, 0): 6 for query in QUERIES}
    assert mesh.n_rows(late) > 0
    mesh.check_replicas(mesh.clients)


@pytest.mark.parametrize("seed", range(3))
def test_on_and_off_and_on_at_other_times_on_other_peers_loses_no_row_of_the_last_log(seed: int) -> None:
    mesh = Mesh(200 + seed, started=4, rules=None)
    random = mesh.random
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.2)
    for phase, rules in enumerate([KEPT, None, KEPT, None, KEPT]):
        others = random.sample(mesh.machines[1:], 2)
        if random.random() < 0.5:
            others[0].crash(is_power_loss=random.random() < 0.5)
        if random.random() < 0.7:
            sides = (
                [each.peer for each in mesh.machines if each not in others],
                [each.peer for each in others],
            )
            mesh.network.part(*sides)
        mesh.pass_time(random.choice([0.1, 3.0, 30.0]))
        mesh.publish(rules)
        for _ in range(6):
            mesh.pass_time(random.choice([0.1, 0.5, 2.0]))
            if rules is not None:
                _show_all(mesh, mesh.machines[:1], 1, f" {phase}")
        mesh.network.heal()
        for machine in mesh.machines:
            if not machine.is_up:
                machine.start()
        mesh.pass_time(random.choice([10.0, 40.0]))
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)
    mesh.pass_time(30.0)
    mesh.rest()
    told = mesh.clients_told()
    assert {query: told.get((f"{query} 4", 0)) for query in QUERIES} == dict.fromkeys(QUERIES, 6)
    copies = Counter(item.name for machine in mesh.running for item in mesh.rows(machine))
    assert set(copies.values()) == {2}


@pytest.mark.parametrize("rules", [None, QueryLogRules(days=7, forgotten_to=date(1970, 1, 1))])
def test_all_rows_go_from_all_peers_when_all_are_forgotten_or_the_log_ends(
    rules: QueryLogRules | None,
) -> None:
    mesh = Mesh()
    _show_all(mesh, mesh.running)
    mesh.rest()
    mesh.obey(rules)
    mesh.rest()
    assert [mesh.n_rows(machine) for machine in mesh.running] == [0, 0, 0]
    assert not any(query.encode() in _all_bytes(mesh) for query in QUERIES)
    assert [seen.store.slots_filled for machine in mesh.running if (seen := mesh.seen(machine))] == [0, 0, 0]


def test_rows_that_are_older_than_the_policy_says_are_deleted_when_their_time_is_over() -> None:
    mesh = Mesh(rules=QueryLogRules(days=1), start_s=DAY_S - 300.0)
    mesh.show(mesh.running[0], "glacier", clients=6)
    mesh.rest()
    mesh.pass_time(DAY_S - mesh.world.now + 60.0)
    mesh.show(mesh.running[0], "weather", clients=6)
    mesh.rest()
    assert mesh.clients_told() == {("weather", 1): 6}
    mesh.check_replicas(6)


def _show_all(mesh: Mesh, machines: Iterable[Machine], clients: int = 3, suffix: str = "") -> None:
    for machine in machines:
        for query in QUERIES:
            mesh.show(machine, query + suffix, clients)


def _bytes(told: LogTold) -> bytes:
    return repr(told).encode()


def _all_bytes(mesh: Mesh) -> bytes:
    """All that the tables of all machines have."""
    return b"".join(key + value for machine in mesh.machines for key, value in machine.disk.table.scan(b""))
