"""The policy in force, by the decrees that a member has heard of."""

from __future__ import annotations

from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from peers.policy.decreed import policy_of
from peers.policy.rules import EVERYTHING, OF_SEEDS, policy_bytes


def decree(subject: str) -> Decree:
    return Decree(POLICY, subject, 1, 0.0, float("inf"), policy_bytes(EVERYTHING), b"", b"")


def test_policy_is_that_of_the_mesh_whatever_else_was_signed() -> None:
    assert policy_of(DecreesInForce(POLICY, ())) == OF_SEEDS
    assert policy_of(DecreesInForce(POLICY, (decree(""),))) == EVERYTHING
    assert policy_of(DecreesInForce(POLICY, (decree("ann"),))) == OF_SEEDS
    assert policy_of(DecreesInForce(POLICY, (decree("ann"), decree("")))) == EVERYTHING
