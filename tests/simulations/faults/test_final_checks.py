"""The rules for a mesh at rest: which answer a page is to be shown by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mesh.stamp import Stamp
from peers.storage.ledger.place import Place
from simulations.faults.final_checks import last_by_clocks, last_not_lost
from simulations.faults.watch import AnsweredRequest

URL = "http://a.test/"


@dataclass
class FakeMachine:
    """One to which something may have happened."""

    changed_s: float = 0.0


def answers(*stamps: tuple[int, float]) -> list[AnsweredRequest]:
    """Answers to requests of different machines, the first first, 10 s apart."""
    made: list[AnsweredRequest] = []
    for number, (visit, dated_s) in enumerate(stamps):
        machine: Any = FakeMachine()
        at, before = 10.0 * number, made[-1] if made else None
        made.append(AnsweredRequest(machine, at, at + 1.0, b"%d" % number, before, Stamp(visit, dated_s)))
    return made


def version(answered: AnsweredRequest) -> Place:
    visit, fetched_at = answered.stamp
    return Place(URL, fetched_at, 200, 1, 0, 100, visit, True, 1)


def test_of_two_visits_that_knew_nothing_of_each_other_the_clock_that_is_ahead_rules() -> None:
    first, ahead, behind = answers((2, 100.0), (3, 149.4), (3, 145.0))
    assert last_by_clocks(behind, version(ahead)) is ahead
    assert last_by_clocks(behind, version(behind)) is behind
    assert last_by_clocks(behind, version(first)) is behind, "which is lost, whatever clocks say"
    assert last_by_clocks(behind, None) is behind


def test_who_knew_of_a_visit_rules_whatever_its_clock_says() -> None:
    _, ahead, knowing = answers((2, 100.0), (3, 149.4), (4, 145.0))
    assert last_by_clocks(knowing, version(ahead)) is knowing


def test_an_older_version_by_the_same_clock_is_no_excuse() -> None:
    _, older, newer = answers((2, 100.0), (3, 145.0), (3, 149.4))
    assert last_by_clocks(newer, version(older)) is newer


def test_an_answer_counts_until_its_peer_loses_it() -> None:
    known, unknown = answers((5, 1.0), (6, 2.0))
    assert last_not_lost(unknown, 5) is unknown, "nothing has happened to its machine"
    unknown.machine.changed_s = unknown.at + 0.5
    assert last_not_lost(unknown, 5) is known
    assert last_not_lost(unknown, 6) is unknown
