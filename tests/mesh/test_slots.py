"""The two-level mapping: balance, weights, minimal movement, and the same bits everywhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_ranking import NOBODY, WEIGHT_MAX
from mesh.slots import _RECENT, RECENT_MAX, SlotTable, slot_of, slot_table

SLOTS = 5_000
PEERS = {f"peer{i}": weight for i, weight in enumerate((100, 100, 50, 200, 1, WEIGHT_MAX, 0))}

# The known member list above, over 50,000 slots with two replicas. A change of this digest moves slots in
# every mesh that exists: it needs a new protocol version, not a new value here.
GOLDEN = "605865360a96190bb0724ce50ae3adc0"
CROWD = {f"peer{i:03}": 1 + i * i % 977 for i in range(300)}
GOLDEN_OF_CROWD = "c999eba6e3fe76dedb00349309a0f50a"
GOLDEN_SLOTS = {"http://example.org": 13204, "https://example.org:8443": 18547, "http://xn--fiq228c.cn": 5196}

weights_of_meshes = st.dictionaries(
    st.text("abcdefgh0123", min_size=1, max_size=8), st.integers(0, WEIGHT_MAX), min_size=1, max_size=8
)


def digest_of(table: SlotTable) -> str:
    return blake2b(table.ranking.astype("<i2").tobytes(), digest_size=16).hexdigest()


def named(table: SlotTable) -> npt.NDArray[np.str_]:
    """The ranking by id instead of position, "" for nobody."""
    return np.array([*table.peers, ""])[table.ranking]


def assert_equal(one: SlotTable, other: SlotTable) -> None:
    assert (one.peers, one.weights) == (other.peers, other.weights)
    assert (one.ranking == other.ranking).all()
    assert (one._scores == other._scores).all()


def test_known_members_have_the_known_table() -> None:
    assert digest_of(SlotTable(PEERS, 50_000, 2)) == GOLDEN


def test_many_known_members_have_the_known_table() -> None:
    assert digest_of(SlotTable(CROWD, 50_000, 2)) == GOLDEN_OF_CROWD


def test_known_hosts_have_their_known_slots() -> None:
    assert {host: slot_of(host, 50_000) for host in GOLDEN_SLOTS} == GOLDEN_SLOTS


# What a peer is started as: another process, another order of the members, perhaps another Python.
ELSEWHERE = f"""
from hashlib import blake2b
from mesh.slots import SlotTable, slot_of
def digest(weights):
    ranking = SlotTable(dict(reversed(weights.items())), 50_000, 2).ranking
    return blake2b(ranking.astype("<i2").tobytes(), digest_size=16).hexdigest()
print(digest({PEERS!r}), digest({CROWD!r}), slot_of("http://a", 50_000))
"""


def printed_by(python: str, **environment: str) -> list[str]:
    return subprocess.run(
        [python, "-c", ELSEWHERE],
        env=os.environ | environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_table_is_the_same_bits_in_a_process_with_another_hash_seed(hash_seed: str) -> None:
    expected = [GOLDEN, GOLDEN_OF_CROWD, str(slot_of("http://a", 50_000))]
    assert printed_by(sys.executable, PYTHONHASHSEED=hash_seed) == expected


def test_table_is_the_same_bits_on_processors_without_vector_units() -> None:
    # NumPy takes other code for the approximate logarithm there, with other last bits.
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    assert printed_by(sys.executable, NPY_DISABLE_CPU_FEATURES=" ".join(found))[:2] == [
        GOLDEN,
        GOLDEN_OF_CROWD,
    ]


def others_with_numpy() -> list[str]:
    """Other versions of Python on this machine that have what the table needs."""
    found = {shutil.which(f"python3.{minor}") for minor in range(11, 20) if minor != sys.version_info.minor}
    probe = ["-c", "import numpy, xxhash"]
    return [
        python
        for python in sorted(filter(None, found))
        if subprocess.run([python, *probe], capture_output=True).returncode == 0
    ]


def test_table_is_the_same_bits_in_other_versions_of_python() -> None:
    pythons = others_with_numpy()
    if not pythons:
        pytest.skip("no other Python with NumPy and xxhash here")
    assert [printed_by(python)[:2] for python in pythons] == [[GOLDEN, GOLDEN_OF_CROWD]] * len(pythons)


@settings(deadline=None)
@given(st.text(max_size=60), st.integers(1, SLOTS_MAX))
def test_every_host_has_a_slot(host: str, slot_count: int) -> None:
    assert 0 <= slot_of(host, slot_count) < slot_count


def test_hosts_spread_evenly_over_slots() -> None:
    counts = np.bincount([slot_of(f"http://host{i}.example", 100) for i in range(20_000)], minlength=100)
    chi_square = float(((counts - 200) ** 2 / 200).sum())
    assert chi_square < 149  # 99 degrees of freedom: exceeded once in 1,000 uniform samples


@given(weights_of_meshes, st.integers(1, 4), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_order_of_joining_is_irrelevant_and_growing_equals_rebuilding(
    weights: dict[str, int], replicas: int, random: object
) -> None:
    order = list(weights)
    random.shuffle(order)  # type: ignore[attr-defined]
    grown = SlotTable({}, 300, replicas)
    for peer in order:
        grown = grown.with_peer(peer, weights[peer])
    anew = SlotTable(weights, 300, replicas)
    assert grown.peers == anew.peers
    assert grown.weights == anew.weights
    assert (grown.ranking == anew.ranking).all()


@given(weights_of_meshes, st.integers(1, WEIGHT_MAX))
@settings(max_examples=30, deadline=None)
def test_a_peer_without_weight_may_take_some_up_later(weights: dict[str, int], weight: int) -> None:
    before = SlotTable(weights | {"later": 0}, 300, 2)
    after = before.with_peer("later", weight)
    assert (after.ranking == SlotTable(weights | {"later": weight}, 300, 2).ranking).all()
    assert not before.slots_of("later").any(), "the table before is unchanged"


@given(weights_of_meshes, st.integers(0, WEIGHT_MAX), st.integers(1, 4), st.data())
@settings(max_examples=60, deadline=None)
def test_a_table_after_a_change_of_weight_is_that_of_its_weights(
    weights: dict[str, int], weight: int, replicas: int, data: st.DataObject
) -> None:
    peer = data.draw(st.sampled_from(sorted(weights)))
    before = SlotTable(weights, 300, replicas)
    ranking = before.ranking.copy()
    assert_equal(before.with_peer(peer, weight), SlotTable(weights | {peer: weight}, 300, replicas))
    assert (before.ranking == ranking).all(), "the table before is unchanged"


@given(weights_of_meshes, st.integers(1, 4), st.data())
@settings(max_examples=60, deadline=None)
def test_a_table_after_a_peer_has_gone_is_that_of_the_others(
    weights: dict[str, int], replicas: int, data: st.DataObject
) -> None:
    peer = data.draw(st.sampled_from(sorted(weights)))
    rest = {name: weight for name, weight in weights.items() if name != peer}
    assert_equal(SlotTable(weights, 300, replicas).without_peer(peer), SlotTable(rest, 300, replicas))


@given(st.lists(weights_of_meshes, min_size=1, max_size=6), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_a_table_made_from_another_is_that_of_its_weights(
    meshes: list[dict[str, int]], replicas: int
) -> None:
    near = None
    for weights in meshes:
        near = slot_table(weights, 300, replicas, near)
        assert_equal(near, SlotTable(weights, 300, replicas))


def test_the_last_tables_of_a_process_are_shared_and_no_more_than_those() -> None:
    table = slot_table({"a": 1, "b": 2}, 40, 2)
    assert slot_table({"b": 2, "a": 1}, 40, 2) is table
    assert slot_table({"b": 2, "a": 1}, 40, 1) is not table
    for i in range(RECENT_MAX):
        slot_table({"a": 1, "b": 3 + i}, 40, 2)
    assert len(_RECENT) == RECENT_MAX
    assert slot_table({"a": 1, "b": 2}, 40, 2) is not table


@given(weights_of_meshes, st.integers(0, WEIGHT_MAX), st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_a_newcomer_takes_slots_for_itself_and_moves_nothing_between_others(
    weights: dict[str, int], weight: int, replicas: int
) -> None:
    before, after = (
        named(SlotTable(members, 300, replicas)) for members in (weights, weights | {"new": weight})
    )
    owner_moved = before[0] != after[0]
    assert (after[0][owner_moved] == "new").all()
    for slot in range(300):
        others = [peer for peer in after[:, slot] if peer != "new"]
        assert others == list(before[: len(others), slot])


@given(weights_of_meshes, st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_a_leaver_gives_up_its_slots_and_moves_nothing_else(weights: dict[str, int], replicas: int) -> None:
    leaver = min(weights)
    rest = {peer: weight for peer, weight in weights.items() if peer != leaver}
    before, after = (named(SlotTable(members, 300, replicas)) for members in (weights, rest))
    for slot in range(300):
        remain = [peer for peer in before[:, slot] if peer != leaver]
        assert remain == list(after[: len(remain), slot])


def test_a_newcomer_among_equals_takes_its_part() -> None:
    nine = SlotTable({f"p{i}": 100 for i in range(9)}, 50_000, 2)
    ten = nine.with_peer("p9", 100)
    moved = float((named(nine)[0] != named(ten)[0]).mean())
    assert moved == pytest.approx(1 / 10, rel=0.05)  # 3.7 standard deviations of 50,000 draws


def test_slots_are_shared_by_weight() -> None:
    weights = {"a": 100, "b": 200, "c": 300, "d": 400}
    table = SlotTable(weights, 50_000, 1)
    for peer, weight in weights.items():
        share = float(table.slots_of(peer).mean())
        assert share == pytest.approx(weight / 1_000, abs=4 * (0.25 / 50_000) ** 0.5)


@given(weights_of_meshes)
@settings(max_examples=30, deadline=None)
def test_weight_zero_holds_no_slot_and_no_peer_holds_a_slot_twice(weights: dict[str, int]) -> None:
    table = SlotTable(weights, 300, 3)
    holders = [peer for peer, weight in weights.items() if weight > 0]
    for slot in range(300):
        team = table.team_of(slot)
        assert len(set(team)) == len(team) == min(3, len(holders))
        assert set(team) <= set(holders)
        assert table.owner_of(slot) == (team[0] if team else None)


def test_masks_of_a_rank_partition_the_slots() -> None:
    table = SlotTable(PEERS, SLOTS, 2)
    for rank in range(2):
        masks = np.array([table.slots_of(peer, rank) for peer in PEERS])
        assert (masks.sum(axis=0) == 1).all()
    assert not table.slots_of("stranger").any()


@given(weights_of_meshes, st.data())
@settings(max_examples=30, deadline=None)
def test_the_best_ranked_live_peer_answers(weights: dict[str, int], data: st.DataObject) -> None:
    table = SlotTable(weights, 100, 3)
    alive = frozenset(data.draw(st.sets(st.sampled_from(sorted(weights)))))
    answering = table.answering(alive)
    for slot in range(100):
        expected = next((peer for peer in table.team_of(slot) if peer in alive), None)
        position = int(answering[slot])
        assert (None if position == NOBODY else table.peers[position]) == expected


@given(weights_of_meshes, st.integers(1, 4), st.data())
@settings(max_examples=60, deadline=None)
def test_a_pinned_peer_is_first_and_all_that_were_in_the_team_follow(
    weights: dict[str, int], replicas: int, data: st.DataObject
) -> None:
    peers = st.sampled_from([*sorted(weights), "stranger"])
    pins = data.draw(st.dictionaries(st.integers(0, 310), peers, max_size=20))
    table = SlotTable(weights, 300, replicas)
    pinned = table.pinned(pins)
    assert pinned.unpinned is table
    assert pinned.pins == {s: p for s, p in sorted(pins.items()) if s < 300 and weights.get(p, 0) > 0}
    for slot in range(300):
        team, before = pinned.team_of(slot), table.team_of(slot)
        who = pinned.pins.get(slot)
        assert team == (before if who is None else (who, *(peer for peer in before if peer != who)))


def test_pins_that_come_to_nothing_leave_the_table_as_it_is() -> None:
    table = SlotTable({"a": 1, "b": 0}, 40, 2)
    assert table.pinned({}) is table
    assert table.pinned({3: "b", 4: "stranger", 40: "a"}) is table
