"""Who looks at how members behave, with machines that are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from mesh.actors.conduct import ConductStatistics, MemberConduct, Offence
from simulations.faults.conduct_watch import (
    CONDUCT,
    CONDUCT_LOOK_S,
    DENIED_MIN,
    HEARD_S,
    HONEST_LINKS,
    ConductWatch,
)
from simulations.faults.machine import Machine

LOOKS = int(HEARD_S / CONDUCT_LOOK_S) + 1


@dataclass(frozen=True)
class Crawl:
    links_received: int


@dataclass(eq=False)
class FakeMachine:
    name: str
    is_running: bool = True
    links_received: int = 0
    quarantined: list[str] = field(default_factory=list)
    offences: dict[str, int] = field(default_factory=dict)

    @property
    def peer(self) -> str:
        return self.name

    def crawl(self) -> Crawl:
        return Crawl(self.links_received)

    def conduct(self) -> ConductStatistics:
        members = tuple(MemberConduct(peer, 100.0, True, {}) for peer in self.quarantined)
        return ConductStatistics(self.offences, {}, len(members), len(members), 0, members)


@dataclass
class Lab:
    """Two members, one of which is malicious, and who looks at them."""

    liar: FakeMachine = field(default_factory=lambda: FakeMachine("liar"))
    other: FakeMachine = field(default_factory=lambda: FakeMachine("other"))
    violations: list[str] = field(default_factory=list)
    is_cut: bool = False

    def __post_init__(self) -> None:
        machines = [cast(Machine, each) for each in (self.liar, self.other)]
        self.watch = ConductWatch(self, lambda: machines, self.violations.append, lambda line: None)
        self.watch.liar = machines[0]

    def passes(self, source: str, target: str) -> bool:
        return not self.is_cut

    def look(self, times: int = LOOKS) -> None:
        for _ in range(times):
            self.watch.look()


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_who_is_heard_lying_for_long_must_be_found_out(lab: Lab) -> None:
    lab.look()
    lab.watch.judge(60.0)
    assert len(lab.violations) == 1
    assert "nobody put it into quarantine" in lab.violations[0]


def test_who_was_found_out_at_any_time_is(lab: Lab) -> None:
    lab.other.quarantined = ["liar"]
    lab.look(1)
    lab.other.quarantined = []
    lab.look()
    lab.watch.judge(60.0)
    assert lab.violations == []


def test_who_was_cut_off_or_down_was_not_heard(lab: Lab) -> None:
    lab.is_cut = True
    lab.look()
    lab.is_cut, lab.liar.is_running = False, False
    lab.look()
    lab.watch.judge(60.0)
    assert lab.violations == []


def test_who_has_been_down_since_has_forgotten_what_it_heard(lab: Lab) -> None:
    lab.look(LOOKS - 2)
    lab.other.is_running = False
    lab.look(1)
    lab.other.is_running = True
    lab.look(2)
    lab.watch.judge(60.0)
    assert lab.violations == []


def test_nobody_honest_may_be_in_quarantine(lab: Lab) -> None:
    lab.liar.quarantined = ["other"]
    lab.watch.judge(60.0)
    assert len(lab.violations) == 1
    assert "which is honest" in lab.violations[0]


def test_no_more_may_be_taken_in_than_quotas_allow(lab: Lab) -> None:
    lab.other.links_received = HONEST_LINKS + 2 * CONDUCT.links_per_minute + 1
    lab.look(1)
    lab.watch.judge(60.0)
    assert len(lab.violations) == 1
    assert "more than quotas allow" in lab.violations[0]


def test_it_is_said_once_that_who_is_honest_is_in_quarantine(lab: Lab) -> None:
    lab.other.quarantined = ["third"]
    lab.look()
    lab.watch.judge(60.0)
    assert len([line for line in lab.violations if "third, which is honest" in line]) == 1


def denied(*answerers: str) -> dict[str, str | None]:
    return {f"http://{each}.test/{n}": each for n in range(DENIED_MIN) for each in answerers}


def test_who_denies_pages_of_two_members_must_be_found_out(lab: Lab) -> None:
    lab.watch.judge_denials(lambda asker: denied("a", "b") if asker == "other" else {})
    assert lab.violations == ["other was denied 12 pages by one member, and blames nobody"]


def test_who_is_found_out_or_denies_pages_of_one_member_only_need_not_be(lab: Lab) -> None:
    lab.watch.judge_denials(lambda asker: denied("a", "other", "liar"))
    lab.other.offences = {Offence.CONTRADICTED: 1}
    lab.watch.judge_denials(lambda asker: denied("a", "b"))
    assert lab.violations == []
