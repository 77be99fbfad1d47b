"""The policy that a decree carries, and the classes that another one does."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from mesh.keys.decree import POLICY, Decree, of_the_mesh, read_in_force
from mesh.membership.model.messages import DecreesInForce
from mesh.slots import slot_of
from peers.policy.rules import OF_SEEDS, Policy, policy_in

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel

logger = logging.getLogger(__name__)


def number_of(message: DecreesInForce) -> int | None:
    """Return the number of the policy that is in force, 0 for none; None when it is about something else."""
    if message.kind != POLICY:
        return None
    return max((decree.number for decree in message.decrees), default=0)


def policy_of(message: DecreesInForce) -> Policy | None:
    """Return the policy that is in force; None when it is about something else, or cannot be read.

    What a newer version wrote may have rules that this one does not understand: the last policy that was
    understood goes on, since half of a policy may be the opposite of it.
    """
    if message.kind != POLICY:
        return None
    decree = of_the_mesh(message.decrees)
    return OF_SEEDS if decree is None else _understood(decree)


def pins_of(decree: Decree, slot_count: int) -> Mapping[int, str] | None:
    """Return which peers are to crawl which slots by a policy; None when it cannot be read."""
    policy = _understood(decree)
    return None if policy is None else policy.pinned(partial(slot_of, slot_count=slot_count))


def classes_of(decrees: Sequence[Decree], last: ClassModel | None) -> ClassModel | None:
    """Return the classes that are in force, None where there are none.

    Args:
      decrees: of their kind, in force. last: what was in force before, which goes on where these cannot be
        read, as with a policy.
    """
    return read_in_force(decrees, last, _classes_in, "classes")


def _classes_in(decree: Decree) -> ClassModel:
    # Loaded by peers of a mesh that has classes.
    from peers.engine.pages.class_model import model_in

    return model_in(decree.body)


def _understood(decree: Decree) -> Policy | None:
    try:
        return policy_in(decree.body)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        logger.error(
            "policy not understood: install a newer tianmesh here number=%d error=%s", decree.number, error
        )
        return None
