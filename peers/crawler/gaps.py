"""How long hosts and addresses were left alone between two questions, judged afterwards. Pure.

The judge knows when questions began and, where that was noted, ended; whoever asks it says what pause was
promised. A pause is from the end of a question to the beginning of the next; where ends are not known, from
beginning to beginning, which is longer: so what is found too short is so in any case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

CLOCK_S: Final = 0.005  # a server may read its clock once per turn of its event loop, and log milliseconds


class LoggedFetch(msgspec.Struct, frozen=True):
    """One request that a host was sent."""

    began_s: float  # seconds since the epoch
    ended_s: float  # the same as it began, when that is not known
    name: str  # of the host; "" when it is not known
    address: str  # that was asked; "" when it is not known
    url: str
    resolution_s: float = CLOCK_S  # of these times


class Gap(msgspec.Struct, frozen=True):
    """The shortest pause between two questions to the same."""

    of: str
    questions: int
    smallest_s: float | None  # None when there was only one; negative when they overlapped
    before: str = ""  # the URL before it
    after: str = ""  # the URL after it
    at_s: float = 0.0  # when that began
    is_too_short: bool = False


class Audit(msgspec.Struct, frozen=True):
    """The result of an audit: the shortest pauses by host name and by address."""

    allowed_s: float
    questions: int
    names: tuple[Gap, ...]  # the shortest first
    addresses: tuple[Gap, ...]

    @property
    def too_short(self) -> tuple[Gap, ...]:
        return tuple(gap for gap in (*self.names, *self.addresses) if gap.is_too_short)


def audit(questions: Iterable[LoggedFetch], allowed_s: float) -> Audit:
    """Find the shortest pauses of every name and of every address.

    Args:
      allowed_s: the pause that was promised; one is too short that is shorter, the clock taken into account.
    """
    names: dict[str, list[LoggedFetch]] = defaultdict(list)
    addresses: dict[str, list[LoggedFetch]] = defaultdict(list)
    count = 0
    for question in questions:
        count += 1
        if question.name:
            names[question.name].append(question)
        if question.address:
            addresses[question.address].append(question)
    return Audit(allowed_s, count, _gaps(names, allowed_s), _gaps(addresses, allowed_s))


def _gaps(groups: dict[str, list[LoggedFetch]], allowed_s: float) -> tuple[Gap, ...]:
    gaps = (_smallest(of, questions, allowed_s) for of, questions in groups.items())
    return tuple(sorted(gaps, key=lambda gap: (gap.smallest_s is None, gap.smallest_s or 0.0, gap.of)))


def _smallest(of: str, questions: list[LoggedFetch], allowed_s: float) -> Gap:
    ordered = sorted(questions, key=lambda each: (each.began_s, each.ended_s))
    smallest: tuple[float, LoggedFetch, LoggedFetch] | None = None
    before = ordered[0]  # of those so far the one that ended last
    for question in ordered[1:]:
        pause_s = question.began_s - before.ended_s
        if smallest is None or pause_s < smallest[0]:
            smallest = pause_s, before, question
        before = max(before, question, key=lambda each: each.ended_s)
    if smallest is None:
        return Gap(of, len(ordered), None)
    pause_s, before, question = smallest
    is_too_short = pause_s < allowed_s - max(before.resolution_s, question.resolution_s)
    return Gap(of, len(ordered), round(pause_s, 6), before.url, question.url, question.began_s, is_too_short)
