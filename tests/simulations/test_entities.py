"""Entities in a mesh under faults: kept by their teams alone, the newest counts, and forgotten means gone."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import msgspec
import pytest

from mesh.actors.actor import Message
from mesh.errors import RemoteProtocolError
from peers.entities.entities import Entities, EntityStatistics
from peers.entities.seal import RowKey
from peers.entities.sealed_row import (
    KEY_BYTES,
    NONCE_BYTES,
    SealedRow,
    name_of,
    row_bytes,
    row_in,
    slot_of_key,
)
from peers.entities.wire_messages import FULL, OFF, OUTDATED, UNTRUE, KeepSealed
from peers.gateway.model.messages import FindRow, KeepRow, RowAnswered, RowFound
from peers.handover.item_store import Item
from peers.policy.entity_rules import EntityRules
from peers.policy.rules import DAY_S, EVERYTHING, Policy, policy_bytes
from simulations.faults.machine import Machine
from simulations.faults.stores.sealed_rows import EntityUse
from simulations.faults.stores.store_use import all_rows, unequal_rows
from simulations.webs.web import SyntheticWeb
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

SLOTS = 32
TODAY = 10
UNTIL = 30


def key_of(number: int) -> RowKey:
    return RowKey(number.to_bytes(KEY_BYTES, "big"))


def row_of(entity: int, number: int = 1, until_day: int = UNTIL) -> SealedRow:
    content = b"fields of %d, change %d" % (entity, number)
    return key_of(entity).seal(number, until_day, content, number.to_bytes(NONCE_BYTES, "big"))


RULES = EntityRules()


class Mesh(PlayedMesh):
    """Machines with two copies of everything, and a gateway at each."""

    def __init__(
        self,
        machines: int = 3,
        started: int | None = None,
        rules: EntityRules | None = RULES,
        seed: int = 3,
    ) -> None:
        self.network = Network(random_of(seed, "network"))
        self.world = World(self.network, start_s=(TODAY + 1) * DAY_S - 1_500.0)
        self.members = Members(seed, machines, replicas=2, slot_count=SLOTS)
        self.policies = self.ticket = 0
        self.answers: dict[int, Message] = {}
        web = SyntheticWeb(seed, pages=1)
        self.begin(machines, web, started=started, told=self._told)
        self.pass_time(20.0)
        self.obey(rules)

    def _told(self, machine: Machine, answer: Message) -> None:
        self.answers[answer.ticket] = answer  # type: ignore[attr-defined]  # all of these have one

    def obey(self, rules: EntityRules | None) -> None:
        self.policies += 1
        policy = Policy(rules=EVERYTHING.rules, entities=rules)
        self.running[0].publish(self.members.policy(self.policies, policy_bytes(policy)))
        self.pass_time(20.0)

    def ask(self, order: type[Message], *values: object, gateway: int = 0, seconds: float = 3.0) -> Message:
        self.ticket += 1
        self.running[gateway % len(self.running)].order(order(self.ticket, *values))
        self.pass_time(seconds)
        return self.answers.pop(self.ticket)

    def keep(self, entity: int, row: SealedRow, gateway: int = 0) -> str:
        answer = self.ask(KeepRow, key_of(entity).public, row, gateway=gateway)
        assert isinstance(answer, RowAnswered), answer
        return answer.refusal

    def find(self, entity: int, gateway: int = 0) -> SealedRow | None:
        found = self.ask(FindRow, key_of(entity).public, gateway=gateway)
        assert isinstance(found, RowFound)
        assert found.is_complete
        return found.row

    def actor(self, machine: Machine) -> Entities:
        actor = self.world.node(machine.peer).actor("entities")
        assert isinstance(actor, Entities)
        return actor

    def rows(self, machine: Machine) -> list[Item]:
        actor = self.actor(machine)
        return [] if actor.is_dormant else actor._store.items_after(b"", 100_000)

    def is_told(self, machine: Machine) -> bool:
        seen = self.actor(machine).observe()
        return not isinstance(seen, EntityStatistics) or not seen.store.unkept

    def check_replicas(self, count: int) -> None:
        """There are so many rows, each on all of its team, and nowhere else."""
        assert len(all_rows(self.running, EntityUse.rows)) == count
        assert list(unequal_rows(self.running, EntityUse.rows)) == []

    def all_bytes(self, machine: Machine) -> bytes:
        """All that a machine has in its table, durably."""
        return b"".join(key + value for key, value in self.actor(machine)._table.scan(b""))


def test_without_entities_in_the_policy_nothing_is_kept_nor_sent() -> None:
    mesh = Mesh(rules=None)
    assert mesh.keep(1, row_of(1)) == OFF
    mesh.rest()
    assert all(mesh.actor(machine).is_dormant for machine in mesh.running)
    assert [mesh.all_bytes(machine) for machine in mesh.running] == [b"", b"", b""]
    assert "entities" not in {name for machine in mesh.running for name in machine.handover().wanted}


@pytest.mark.parametrize("machines", [1, 3, 5])
def test_an_entity_is_found_from_all_gateways_and_forgotten_is_gone_from_all_peers(
    machines: int,
) -> None:
    mesh = Mesh(machines)
    for entity in range(12):
        assert mesh.keep(entity, row_of(entity), gateway=entity) == ""
    assert mesh.keep(3, row_of(3, number=2), gateway=1) == ""
    mesh.rest()
    mesh.check_replicas(12)
    for entity in range(12):
        found = mesh.find(entity, gateway=entity + 1)
        assert found == row_of(entity, 2 if entity == 3 else 1)
    contents = [row_of(3).sealed, row_of(3, number=2).sealed]
    assert any(contents[1] in mesh.all_bytes(machine) for machine in mesh.running)
    assert mesh.keep(3, key_of(3).forget(row_of(3, number=2))) == ""
    mesh.rest()
    for machine in mesh.running:
        assert not any(content in mesh.all_bytes(machine) for content in contents)
    found = mesh.find(3)
    assert found is not None
    assert found.is_forgotten
    assert mesh.keep(3, row_of(3, number=99)) == OUTDATED
    mesh.check_replicas(12)


@pytest.mark.parametrize("machines", [1, 3])
def test_after_its_last_day_nothing_at_all_is_left_of_an_entity(machines: int) -> None:
    mesh = Mesh(machines)
    for entity in range(4):
        assert mesh.keep(entity, row_of(entity, until_day=TODAY)) == ""
    assert mesh.keep(3, key_of(3).forget(row_of(3, until_day=TODAY))) == ""
    assert mesh.keep(4, row_of(4)) == ""
    mesh.pass_time((TODAY + 1) * DAY_S - mesh.world.now + 1.0)
    assert mesh.find(2) is None, "from the first moment on"
    mesh.pass_time(4_000.0)
    mesh.rest()
    mesh.check_replicas(1)
    assert mesh.find(4) == row_of(4)


@pytest.mark.parametrize("machines", [3, 5])
def test_a_crash_loses_no_entity_and_brings_none_back_that_was_forgotten(machines: int) -> None:
    mesh = Mesh(machines)
    for entity in range(12):
        assert mesh.keep(entity, row_of(entity), gateway=entity) == ""
    mesh.rest()
    down = mesh.running[1]
    down.crash()
    mesh.pass_time(60.0)
    mesh.rest()
    mesh.check_replicas(12)
    assert mesh.keep(5, key_of(5).forget(row_of(5))) == ""
    assert mesh.keep(6, row_of(6, number=2)) == ""
    down.start()  # with all that it had
    mesh.pass_time(60.0)
    mesh.rest()
    mesh.check_replicas(12)
    for machine in mesh.running:
        assert row_of(5).sealed not in mesh.all_bytes(machine)
    assert mesh.find(6, gateway=1) == row_of(6, number=2)
    found = mesh.find(5, gateway=1)
    assert found is not None
    assert found.is_forgotten


def test_a_machine_that_joins_takes_its_share_and_the_others_keep_no_copy_of_it() -> None:
    mesh = Mesh(4, started=3)
    for entity in range(12):
        assert mesh.keep(entity, row_of(entity), gateway=entity) == ""
    mesh.machines[3].start()
    mesh.pass_time(60.0)
    mesh.rest()
    mesh.check_replicas(12)
    assert mesh.rows(mesh.machines[3])
    assert {row_in(item.value) for item in mesh.rows(mesh.machines[3])} <= {
        row_of(each) for each in range(12)
    }


def test_only_rows_of_their_owner_and_their_time_are_taken_and_no_more_than_the_policy_says() -> None:
    mesh = Mesh(1, rules=EntityRules(days=40, rows_max=2))
    assert mesh.keep(1, row_of(2)) == UNTRUE
    assert mesh.keep(1, row_of(1, until_day=TODAY + 45)) == UNTRUE
    assert mesh.keep(1, row_of(1, until_day=TODAY - 1)) == UNTRUE
    assert mesh.keep(1, row_of(1)) == ""
    assert mesh.keep(2, row_of(2)) == ""
    assert mesh.keep(3, row_of(3)) == FULL
    assert mesh.keep(2, row_of(2, number=2)) == "", "a change of one that is there"
    assert mesh.keep(2, row_of(2, number=2)) == "", "the same once more"
    assert mesh.keep(2, row_of(2, number=1)) == OUTDATED


def test_a_peer_that_has_given_slots_away_has_room_at_once() -> None:
    """It counted rows of slots that had gone until its next sweep, and refused for up to an hour."""
    mesh = Mesh(3, started=1, rules=EntityRules(days=40, rows_max=12))
    for each in range(1, 13):
        assert mesh.keep(each, row_of(each)) == ""
    assert mesh.keep(13, row_of(13)) == FULL
    for machine in mesh.machines[1:]:
        machine.start()
    mesh.pass_time(60.0)
    mesh.rest()
    told = mesh.actor(mesh.machines[0])
    assert told._ownership is not None
    n_kept = sum(bool(told._ownership.kept[item.slot]) for item in mesh.rows(mesh.machines[0]))
    assert len(told._places) == n_kept < 12


def test_no_member_takes_the_places_of_others() -> None:
    """One gateway could fill all places of a peer, and one member send it rows without a bound of its own."""
    mesh = Mesh(2, rules=EntityRules(days=40, rows_max=20))
    owned = next(iter(mesh.running))
    actor = mesh.actor(owned)
    ownership = actor._ownership
    assert ownership is not None
    keys = [each for each in range(1, 400) if ownership.owner_of(_slot(each)) == owned.peer][:70]
    refusals = []
    for each in keys[:20]:
        actor._bringer = "liar"
        refusals.append(actor._keep(KeepSealed(1, key_of(each).public, row_of(each))))
    assert refusals.count("") == 10
    assert refusals[10:] == [FULL] * 10
    actor._bringer = "honest"
    assert actor._keep(KeepSealed(1, key_of(keys[30]).public, row_of(keys[30]))) == ""

    def accepts(each: int) -> bool:
        value = row_bytes(row_of(each))
        if is_taken := actor._accepts(_slot(each), name_of(key_of(each).public), value):
            actor._store.put(_slot(each), name_of(key_of(each).public), value)
        return is_taken

    actor._bringer = "another liar"
    assert sum(accepts(each) for each in keys[31:]) < 20
    actor._bringer = "honest"
    assert actor._keep(KeepSealed(1, key_of(keys[20]).public, row_of(keys[20]))) == FULL, "there are two"
    actor._bringer = owned.peer
    assert accepts(keys[21]), "a member that has brought nothing is believed"


def test_starting_anew_gives_nobody_more_places_without_end() -> None:
    mesh = Mesh(2, rules=EntityRules(days=40, rows_max=10))
    owned = next(iter(mesh.running))
    actor = mesh.actor(owned)
    ownership = actor._ownership
    assert ownership is not None
    actor._bringer = "liar"
    for each in [each for each in range(1, 400) if ownership.owner_of(_slot(each)) == owned.peer][:60]:
        if actor._keep(KeepSealed(1, key_of(each).public, row_of(each))) == FULL:
            for name in list(actor._places._member_of):
                actor._places.add(name, "")
    assert len(actor._places) == 20


def _slot(entity: int) -> int:
    return slot_of_key(key_of(entity).public, SLOTS)


def test_an_entity_is_changed_and_forgotten_after_a_policy_has_fewer_days() -> None:
    mesh = Mesh(1, rules=EntityRules(days=40))
    assert mesh.keep(1, row_of(1, until_day=TODAY + 40)) == ""
    mesh.obey(EntityRules(days=5))
    assert mesh.keep(1, row_of(1, number=2, until_day=TODAY + 41)) == UNTRUE, "and no day longer"
    assert mesh.keep(1, row_of(1, number=2, until_day=TODAY + 40)) == ""
    assert mesh.keep(1, key_of(1).forget(row_of(1, number=2, until_day=TODAY + 40))) == ""


def test_an_old_row_does_not_come_back_after_the_last_day_of_what_has_forgotten_it() -> None:
    """A member keeps the last of two changes, of which the owner has not heard when it forgets the first."""
    mesh = Mesh(1, rules=EntityRules(days=5))
    first, second = row_of(1, until_day=TODAY + 1), row_of(1, number=2, until_day=TODAY + 5)
    assert mesh.keep(1, second) == ""
    assert mesh.keep(1, key_of(1).forget(first, until_day=TODAY + 5)) == ""
    mesh.pass_time(2 * DAY_S)
    [machine] = mesh.running
    [item] = mesh.rows(machine)
    mesh.actor(machine)._store.put(item.slot, item.name, row_bytes(second))
    found = mesh.find(1)
    assert found is not None
    assert found.is_forgotten


def test_when_the_policy_wants_none_any_more_they_are_deleted() -> None:
    mesh = Mesh()
    for entity in range(6):
        assert mesh.keep(entity, row_of(entity)) == ""
    mesh.rest()
    mesh.obey(None)
    mesh.pass_time(60.0)
    assert [mesh.all_bytes(machine) for machine in mesh.running] == [b"", b"", b""]
    assert mesh.keep(1, row_of(1)) == OFF
    mesh.obey(EntityRules())
    mesh.rest()
    assert mesh.find(1) is None
    assert mesh.keep(1, row_of(1)) == ""


def test_what_was_forgotten_stays_so_when_the_policy_ends_entities_and_has_them_again() -> None:
    mesh = Mesh(3)
    for entity in range(6):
        assert mesh.keep(entity, row_of(entity)) == ""
    mesh.rest()
    down = mesh.running[1]
    old = mesh.rows(down)
    down.crash()
    mesh.pass_time(60.0)
    mesh.rest()
    for entity in range(6):
        assert mesh.keep(entity, key_of(entity).forget(row_of(entity))) == ""
    mesh.rest()
    mesh.obey(None)
    mesh.pass_time(60.0)
    for machine in mesh.running:
        assert all(row_in(item.value).is_forgotten for item in mesh.rows(machine))
    mesh.obey(EntityRules())
    down.start()  # with all that it had
    assert old
    mesh.pass_time(60.0)
    mesh.rest()
    for entity in range(6):
        found = mesh.find(entity, gateway=entity)
        assert found is not None
        assert found.is_forgotten


def test_without_the_policy_too_nothing_is_left_after_the_last_day_of_what_was_forgotten() -> None:
    mesh = Mesh(1)
    assert mesh.keep(1, row_of(1, until_day=TODAY + 1)) == ""
    assert mesh.keep(1, key_of(1).forget(row_of(1, until_day=TODAY + 1))) == ""
    mesh.obey(None)
    mesh.pass_time(60.0)
    [machine] = mesh.running
    assert mesh.rows(machine)
    mesh.pass_time(2 * DAY_S + 4_000.0)
    assert mesh.all_bytes(machine) == b""


def test_a_member_has_few_signatures_checked_at_a_time() -> None:
    mesh = Mesh(1)
    assert mesh.keep(1, row_of(1)) == ""
    store = mesh.actor(mesh.running[0])._store
    items = [Item(0, name_of(key_of(n).public), row_bytes(key_of(n).forget(row_of(n)))) for n in range(300)]
    with pytest.raises(RemoteProtocolError, match="too long"):
        store.merge_changes("other", msgspec.msgpack.encode(items), lambda slot: True, 0.0)


def test_what_a_member_makes_up_is_not_taken() -> None:
    mesh = Mesh()
    assert mesh.keep(1, row_of(1)) == ""
    mesh.rest()
    owner = next(machine for machine in mesh.running if mesh.rows(machine))
    [item] = mesh.rows(owner)
    actor = mesh.actor(owner)
    forged = key_of(2).forget(row_of(1))  # signed by another
    assert actor._accepts(item.slot, item.name, item.value)
    assert not actor._accepts(item.slot, item.name, b"x")
    assert not actor._accepts((item.slot + 1) % SLOTS, item.name, item.value)
    for row in (forged, row_of(1, until_day=100_000)):
        assert not actor._accepts(item.slot, item.name, row_bytes(row))
    assert actor._accepts(item.slot, item.name, row_bytes(row_of(1, number=2)))


@pytest.mark.parametrize("seed", range(6))
def test_through_crashes_and_losses_no_promise_about_an_entity_is_broken(seed: int) -> None:
    """Changes, ends, crashes and lost messages in an order drawn from a seed; then all of it is judged."""
    random = Random(seed)
    mesh = Mesh(4, seed=seed)
    kept: dict[int, SealedRow] = {}  # that a gateway has said is kept
    tried: dict[int, list[SealedRow]] = defaultdict(list)
    forgotten: set[int] = set()
    for step in range(1, 40):
        entity = random.randrange(8)
        ends = random.random() < 0.2 and entity in kept
        row = key_of(entity).forget(kept[entity]) if ends else row_of(entity, number=step)
        down = [machine for machine in mesh.machines if not machine.is_running]
        if random.random() < 0.25 and not down:
            random.choice(mesh.running).crash(is_power_loss=random.random() < 0.5)
        elif random.random() < 0.5 and down:
            down[0].start()
        mesh.network.set_loss(0.2 if random.random() < 0.5 else 0.0)
        answer = mesh.ask(KeepRow, key_of(entity).public, row, gateway=random.randrange(4), seconds=14.0)
        tried[entity].append(row)
        if isinstance(answer, RowAnswered) and not answer.refusal:
            assert entity not in forgotten or ends, "what was forgotten was taken again"
            kept[entity] = row
            forgotten |= {entity} if ends else set()
    mesh.network.set_loss(0.0)
    for machine in mesh.machines:
        if not machine.is_running:
            machine.start()
    mesh.pass_time(60.0)
    mesh.rest()
    assert kept
    for entity, row in kept.items():
        later = [each for each in tried[entity] if each.is_forgotten or each.number >= row.number]
        copies = [found for machine in mesh.machines if (found := row_at(mesh, machine, entity)) is not None]
        assert len(copies) == 2, "both of its team have it"
        assert copies[0] == copies[1]
        assert copies[0] in later, "it is the row that was promised, or a later one"
        assert copies[0].is_forgotten or entity not in forgotten
        if entity in forgotten:
            contents = [each.sealed for each in tried[entity] if each.sealed]
            everything = [mesh.all_bytes(machine) for machine in mesh.machines]
            assert not any(content in each for content in contents for each in everything)


def row_at(mesh: Mesh, machine: Machine, entity: int) -> SealedRow | None:
    """Return the row of an entity that a machine has, in any slot."""
    names = {item.name: item.value for item in mesh.rows(machine)}
    value = names.get(name_of(key_of(entity).public))
    return None if value is None else row_in(value)
