"""Something that a look at a machine or a mesh has found. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class Grade(StrEnum):
    """How grave it is."""

    GOOD = "good"
    WARNING = "warning"  # it works, and will not for ever or not as well as it could
    FAULT = "fault"  # something does not work


class DoctorFinding(NamedTuple):
    """The result of one check: its subject, its grade, and the text for people."""

    about: str  # "machine", a folder, "mesh"
    subject: str  # a word or two: "disk", "certificate"
    grade: Grade
    said: str  # how it is
    advice: str = ""  # what to do; "" where nothing is, or where it is said already


def good(about: str, subject: str, said: str) -> DoctorFinding:
    return DoctorFinding(about, subject, Grade.GOOD, said)


def warning(about: str, subject: str, said: str, advice: str = "") -> DoctorFinding:
    return DoctorFinding(about, subject, Grade.WARNING, said, advice)


def fault(about: str, subject: str, said: str, advice: str = "") -> DoctorFinding:
    return DoctorFinding(about, subject, Grade.FAULT, said, advice)


def worst_of(findings: Iterable[DoctorFinding]) -> Grade:
    """Return the gravest of the grades; good when there is nothing."""
    order = list(Grade)
    return max((finding.grade for finding in findings), key=order.index, default=Grade.GOOD)
