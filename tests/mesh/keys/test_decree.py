"""Decrees: who may issue them, and which one is in force."""

from __future__ import annotations

from hashlib import blake2b
from math import inf, nan
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.keys.decree import POLICY, REVOCATION, Authority, Decree, Signer, appoint
from mesh.keys.signing_key import SigningKey
from mesh.membership.model.decrees import PAST_MAX, PENDING_MAX, Decrees
from mesh.tables.memory_table import MemoryTable

MESH = b"m" * 16
ROOT = SigningKey.of_secret(b"r" * 32)
ANN = SigningKey.of_secret(b"a" * 32)
AUTHORITY = Authority(ROOT.public, MESH)
BY_ROOT = Signer(ROOT, MESH)
BY_ANN = Signer(ANN, MESH, appoint(ROOT, MESH, ANN.public))


def policy(number: int, signer: Signer = BY_ANN, **times: float) -> Decree:
    return signer.decree(POLICY, "", number, f"rules {number}".encode(), **times)


def bodies(decrees: Decrees, now: float, kind: str = POLICY) -> dict[str, bytes]:
    return {subject: decree.body for subject, decree in decrees.in_force(kind, now).items()}


# --- Who may ---------------------------------------------------------------------------------------


def test_the_root_and_those_whom_it_has_appointed_may_decree() -> None:
    assert AUTHORITY.refusal_of(policy(1)) == ""
    assert AUTHORITY.refusal_of(policy(1, BY_ROOT)) == ""
    assert AUTHORITY.refusal_of(BY_ROOT.decree(REVOCATION, "eve", 1, b"")) == ""


@pytest.mark.parametrize(
    "signer",
    [
        Signer(ANN, MESH),
        Signer(ANN, MESH, appoint(ANN, MESH, ANN.public)),
        Signer(ANN, MESH, appoint(ROOT, b"another mesh", ANN.public)),
        Signer(ANN, MESH, appoint(ROOT, MESH, ROOT.public)),
    ],
    ids=["no warrant", "own warrant", "of another mesh", "of another key"],
)
def test_nobody_else_may(signer: Signer) -> None:
    assert "neither the root" in AUTHORITY.refusal_of(policy(1, signer))


def test_an_administrator_expels_nobody() -> None:
    assert "neither the root" in AUTHORITY.refusal_of(BY_ANN.decree(REVOCATION, "bob", 1, b""))


@pytest.mark.parametrize(
    "change",
    [
        {"number": 2},
        {"subject": "x"},
        {"body": b"other"},
        {"effective_from": 1.0},
        {"valid_until": 1.0},
        {"signature": b""},
        {"signature": bytes(64)},
        {"signer": ROOT.public},
        {"kind": "unheard-of"},
        {"effective_from": nan},
        {"effective_from": inf},
        {"valid_until": nan},
    ],
)
def test_a_changed_decree_is_none(change: dict[str, Any]) -> None:
    assert AUTHORITY.refusal_of(replace(policy(1), **change))


def test_a_decree_of_another_mesh_is_none_here() -> None:
    elsewhere = Signer(ROOT, b"another mesh").decree(POLICY, "", 1, b"")
    assert AUTHORITY.refusal_of(elsewhere)


# --- Which one rules -------------------------------------------------------------------------------


def test_the_highest_number_rules_and_an_older_one_never_returns() -> None:
    decrees = Decrees(MemoryTable())
    assert decrees.add(policy(2), 5.0)
    assert not decrees.add(policy(1), 5.0)
    assert not decrees.add(policy(2), 5.0)
    assert bodies(decrees, 5.0) == {"": b"rules 2"}
    assert decrees.add(policy(3), 5.0)
    assert bodies(decrees, 5.0) == {"": b"rules 3"}
    assert not decrees.is_wanted(policy(2).name, 5.0)
    assert [decree.number for decree in decrees.past(POLICY, "")] == [2]


def test_one_for_later_leaves_the_present_one_in_force_until_then() -> None:
    decrees = Decrees(MemoryTable())
    decrees.add(policy(1), 0.0)
    decrees.add(policy(2, effective_from=10.0), 0.0)
    assert bodies(decrees, 9.0) == {"": b"rules 1"}
    assert decrees.changes_at(0.0) == 10.0
    assert bodies(decrees, 10.0) == {"": b"rules 2"}
    decrees.clear_replaced(10.0)
    assert [decree.number for decree in decrees] == [2]


def test_after_its_end_none_is_in_force_and_not_an_older_one() -> None:
    decrees = Decrees(MemoryTable())
    decrees.add(policy(1), 0.0)
    decrees.add(policy(2, valid_until=10.0), 0.0)
    assert decrees.changes_at(0.0) == 10.0
    assert bodies(decrees, 10.0) == {}
    assert not decrees.add(policy(1), 11.0)


def test_what_a_revoked_administrator_has_signed_is_void_whatever_its_number() -> None:
    decrees = Decrees(MemoryTable())
    decrees.add(policy(2**63 - 1), 0.0)
    decrees.add(BY_ROOT.decree(REVOCATION, ANN.public.hex(), 1, b""), 0.0)
    assert bodies(decrees, 0.0) == {}
    assert not decrees.add(policy(2**63 - 1), 0.0)
    assert decrees.add(policy(1, BY_ROOT), 0.0)
    assert bodies(decrees, 0.0) == {"": b"rules 1"}


def test_all_of_it_is_there_after_a_restart() -> None:
    table = MemoryTable()
    decrees = Decrees(table)
    decrees.add(policy(1), 0.0)
    decrees.add(policy(2, effective_from=10.0), 0.0)
    decrees.add(BY_ROOT.decree(REVOCATION, "eve", 1, b""), 0.0)
    again = Decrees(table)
    assert sorted(again.names()) == sorted(decrees.names())
    assert bodies(again, 10.0) == {"": b"rules 2"}


def test_what_is_to_come_and_what_was_stay_few() -> None:
    table = MemoryTable()
    decrees = Decrees(table)
    for number in range(200):
        decrees.add(policy(number, effective_from=1e6 + number), 0.0)
    assert [decree.number for decree in decrees] == list(range(200 - PENDING_MAX, 200))
    for number in range(200, 400):
        decrees.add(policy(number), 0.0)
    assert len(decrees.past(POLICY, "")) == PAST_MAX
    assert len(list(table.scan_prefix(b""))) == PAST_MAX + 1


def test_however_many_are_to_come_the_one_in_force_stays_so() -> None:
    table = MemoryTable()
    decrees = Decrees(table)
    decrees.add(policy(1), 0.0)
    for number in range(2, 30):
        decrees.add(policy(number, effective_from=1e6 + number), 0.0)
    assert bodies(decrees, 0.0) == {"": b"rules 1"}
    assert [decree.number for decree in decrees.of(POLICY, "")] == [1, *range(30 - PENDING_MAX, 30)]
    assert bodies(Decrees(table), 0.0) == {"": b"rules 1"}
    assert bodies(decrees, 2e6) == {"": b"rules 29"}


def test_what_is_held_is_not_hashed_again_for_each_that_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 that were held made each further one take 21 ms."""
    decrees = Decrees(MemoryTable())
    for number in range(100):
        decrees.add(BY_ROOT.decree(REVOCATION, f"eve{number}", 1, b""), 0.0)
    hashed: list[bytes] = []

    def counting(data: bytes, *, digest_size: int) -> object:
        hashed.append(data)
        return blake2b(data, digest_size=digest_size)

    monkeypatch.setattr("mesh.keys.decree.blake2b", counting)
    decrees.add(policy(1), 0.0)
    decrees.add(policy(2), 0.0)
    decrees.clear_replaced(0.0)
    assert len(hashed) <= 2 * 2


@pytest.mark.parametrize("seed", range(20))
def test_in_whatever_order_decrees_come_the_same_is_in_force(seed: int) -> None:
    random = Random(seed)
    issued = [policy(number, effective_from=random.uniform(0.0, 20.0)) for number in range(6)]
    issued.append(policy(3, BY_ROOT))
    outcomes = set()
    for _ in range(10):
        decrees, now = Decrees(MemoryTable()), 0.0
        for decree in random.sample(issued, len(issued)):
            decrees.add(decree, now)
            now += random.uniform(0.0, 3.0)
        outcomes.add(tuple(bodies(decrees, 25.0).items()))
    assert len(outcomes) == 1
