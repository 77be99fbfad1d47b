"""The policy that a decree carries."""

from __future__ import annotations

import logging

import msgspec

from mesh.decree import POLICY
from mesh.membership.messages import DecreesInForce
from peers.policy.rules import EVERYTHING, Policy, policy_in

logger = logging.getLogger(__name__)


def policy_of(message: DecreesInForce) -> Policy | None:
    """Return the policy that is in force; None when it is about something else, or cannot be read.

    What a newer version wrote may have rules that this one does not understand: the last policy that was
    understood goes on, since half of a policy may be the opposite of it.
    """
    if message.kind != POLICY:
        return None
    if not message.decrees:
        return EVERYTHING
    [decree] = message.decrees
    try:
        return policy_in(decree.body)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        logger.error(
            "policy not understood: install a newer tianmesh here number=%d error=%s", decree.number, error
        )
        return None
