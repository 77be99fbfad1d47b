"""Where a URL that was found stands among the others of its host, and how far one may go on from it. Pure.

It is a part of the row of a URL (`url_rows`), and absent where it says nothing: breadth-first from seeds
without limits, which is nearly always.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

UNLIMITED: Final = 255  # levels or steps
RANK_MAX: Final = (1 << 16) - 1
_LAYOUT: Final = struct.Struct(">HBB?")
COURSE_BYTES: Final = _LAYOUT.size


class Course(NamedTuple):
    """The place and the limits that an order has given to a link; see `orders`."""

    rank: int  # the least of a host is visited first; its depth when visits go breadth-first
    levels: int = UNLIMITED  # clicks that may be made from it, as its seed wants
    steps: int = UNLIMITED  # clicks that may be made from it without meeting a relevant page
    is_ahead: bool = False  # it was reached from a seed that comes before what was known


def course_bytes(course: Course) -> bytes:
    """Return the stored form of a course, always `COURSE_BYTES`."""
    return _LAYOUT.pack(*course)


def course_in(data: bytes) -> Course:
    """Read the stored form of a course.

    Raises:
      ValueError: it is none.
    """
    try:
        return Course(*_LAYOUT.unpack(data))
    except struct.error as error:
        raise ValueError(str(error)) from error


def plain_course(depth: int) -> Course:
    """Return the course that a URL without one stands for."""
    return Course(min(depth, RANK_MAX))


def join_courses(one: Course, other: Course) -> Course:
    """Join two courses of one URL: the value that allows a sooner visit, or a further reach, counts."""
    return Course(
        min(one.rank, other.rank),
        max(one.levels, other.levels),
        max(one.steps, other.steps),
        one.is_ahead or other.is_ahead,
    )


def as_kept(course: Course, depth: int) -> Course | None:
    """Return the course to be kept: None where it is the plain one."""
    return None if course == plain_course(depth) else course
