"""The JSON of /readyz and /healthz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from peers.gateway.model.sentences import Put, in_english

if TYPE_CHECKING:  # commands read this JSON, and know no messages
    from peers.gateway.model.messages import Lacking, ReadinessTold

NAMED_MAX: Final = 10  # peers that are waited for; the rest is counted


class HealthJson(msgspec.Struct, frozen=True):
    """Whether this peer lives."""

    status: str = "ok"


class ReadinessJson(msgspec.Struct, frozen=True):
    """Whether a search speaks for every slot."""

    status: str  # "ready" or "waiting"
    slots: int = 0  # of the mesh; 0 while this peer does not know it
    answered: int = 0
    missing: int = 0
    waits_for: tuple[str, ...] = ()  # sentences


def readiness_json(told: ReadinessTold, put: Put = in_english) -> ReadinessJson:
    """Put the readiness of a mesh into words: the reasons for waiting, the most important first."""
    coverage = told.coverage
    status = "waiting" if coverage.missing else "ready"
    return ReadinessJson(
        status, coverage.slots, coverage.answered, coverage.missing, tuple(_reasons(told, put))
    )


def _reasons(told: ReadinessTold, put: Put) -> Iterator[str]:
    if told.unserved:
        yield put("nobody answers for {slots:slot} yet", slots=told.unserved)
    lacking = sorted(told.lacking, key=lambda each: (-each.slots, each.peer))
    yield from (_reason(each, put) for each in lacking[:NAMED_MAX])
    if len(lacking) > NAMED_MAX:
        yield put("{peers:more peer}", peers=len(lacking) - NAMED_MAX)


def _reason(each: Lacking, put: Put) -> str:
    if each.has_answered:
        return put("{peer} brings or compares what belongs to {slots:slot}", peer=each.peer, slots=each.slots)
    return put("{peer} with {slots:slot} has not answered", peer=each.peer, slots=each.slots)
