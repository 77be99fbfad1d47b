"""What is said of a machine, by what its system tells."""

from __future__ import annotations

import resource

import pytest

from bootstrap.doctor.finding import Grade, worst_of
from bootstrap.doctor.machine import (
    clock_finding,
    confinement_finding,
    descriptors_finding,
    machine_findings,
    memory_finding,
    python_finding,
)

GB = 1 << 30


def test_this_machine_is_looked_at_and_can_run_a_peer() -> None:
    found = {finding.subject: finding for finding in machine_findings()}
    assert {"python", "memory", "descriptors"} <= found.keys()
    assert worst_of(found.values()) is not Grade.FAULT


@pytest.mark.parametrize(
    ("total", "available", "grade"),
    [
        (8 * GB, 4 * GB, Grade.GOOD),
        (8 * GB, GB // 8, Grade.WARNING),
        (GB // 4, GB // 4, Grade.WARNING),
    ],
)
def test_memory_is_to_be_there_and_free(total: int, available: int, grade: Grade) -> None:
    assert memory_finding(total, available).grade is grade


@pytest.mark.parametrize(
    ("soft", "hard", "grade", "advice"),
    [
        (1_048_576, 1_048_576, Grade.GOOD, ""),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, Grade.GOOD, ""),
        (256, resource.RLIM_INFINITY, Grade.WARNING, "ulimit -n 8192"),
        (256, 512, Grade.WARNING, "ulimit -n 512"),
    ],
)
def test_few_descriptors_are_told_with_the_command(soft: int, hard: int, grade: Grade, advice: str) -> None:
    finding = descriptors_finding(soft, hard)
    assert finding.grade is grade
    assert advice in finding.advice


def test_the_usual_limit_of_descriptors_is_good_and_says_when_it_is_not() -> None:
    finding = descriptors_finding(1_024, 524_288)
    assert finding.grade is Grade.GOOD
    assert "ulimit -n 8192" in finding.said


def test_an_old_python_is_a_fault_and_a_clock_of_its_own_a_warning() -> None:
    assert python_finding((3, 10, 2), "CPython").grade is Grade.FAULT
    assert python_finding((3, 11, 0), "CPython").grade is Grade.GOOD
    assert clock_finding(is_synchronised=False).grade is Grade.WARNING
    assert clock_finding(is_synchronised=True).grade is Grade.GOOD


def test_what_a_process_cannot_give_up_is_a_warning() -> None:
    assert confinement_finding([]).grade is Grade.GOOD
    found = confinement_finding(["files of the user can be read: no Landlock (Function not implemented)"])
    assert found.grade is Grade.WARNING
    assert "newer kernel" in found.advice
