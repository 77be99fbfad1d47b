"""A look at a page that is under way, and the answers it has had."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Final, NamedTuple

from mesh.actors.actor import Address
from peers.crawler.auditing.likeness import likeness

# Texts that have less in common are different pages, and with more they are the same one, changed or not.
DIFFERENT_MAX: Final = 0.1
ALIKE_MIN: Final = 0.4
# A page that shows so much less than its owner says shows nothing: it may want a script or a password.
SHOWN_MIN: Final = 0.25


class Observation(NamedTuple):
    """The answer of a server about a page."""

    text: tuple[int, ...]  # hashes of its text, see `likeness`; none when that is too short
    is_gone: bool = False  # it knows no such page
    is_unlent: bool = False  # nothing, as its host's turns are lent to nobody
    ip: str = ""


class AuditStage(Enum):
    """The answer that is waited for."""

    TURN = "turn"  # of the host
    ADDRESS = "address"  # which has other hosts, while the turn lasts
    ANSWER = "answer"  # of its server, or of the parser
    SECOND = "second"  # look, by another member


@dataclass(slots=True)
class PageAudit:
    """A look at a page: at one of the sample, or at one that another auditor wants to be looked at."""

    url: str
    visitor: str  # the member that says it has visited it; "" when another auditor knows
    began_s: float
    until_s: float  # when it is given up
    due_s: float  # when something is to be done
    said: tuple[int, ...] = ()  # hashes of the text by that one; none when another auditor has it
    asker: Address | None = None  # that one
    asker_number: int = 0
    stage: AuditStage = AuditStage.TURN
    number: int = 0  # of the last order for a turn
    ordered_s: float = -inf  # when that was given
    turn_ends_s: float = -inf
    delay_s: float = 0.0  # of the address after a question, as the owner of the host has it
    n_turns: int = 0  # that were used in vain
    n_visits: int = 0  # to its host, since it is waited for, by the member that lends none of its turns
    seen: Observation | None = None  # by us
    helper: str = ""  # who takes the second look


def is_alike(said: tuple[int, ...], seen: Observation) -> bool:
    """Is a page as its owner has said?"""
    return bool(seen.text) and likeness(said, seen.text) >= ALIKE_MIN


def differs(said: tuple[int, ...], seen: Observation) -> bool:
    """Is a page nothing like its owner has said, as far as it shows anything, or kept from others?"""
    if seen.is_gone or seen.is_unlent:
        return True
    return len(seen.text) >= max(1.0, SHOWN_MIN * len(said)) and likeness(said, seen.text) < DIFFERENT_MAX


def agree(one: Observation, other: Observation) -> bool:
    """Have two members seen the same?"""
    if one.is_gone or other.is_gone or one.is_unlent or other.is_unlent:
        return one[1:3] == other[1:3]
    return is_alike(one.text, other)
