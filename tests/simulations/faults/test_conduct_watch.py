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
    INVENTED_MIN,
    SEARCHES_MIN,
    ConductWatch,
)
from simulations.faults.false_answers import DeniedTwice
from simulations.faults.false_texts import FalseTexts
from simulations.faults.machine import Machine
from simulations.faults.watch import Looked
from simulations.webs.web import Served

LOOKS = int(HEARD_S / CONDUCT_LOOK_S) + 1


@dataclass(frozen=True)
class Crawl:
    links_received: int


@dataclass(eq=False)
class FakeMachine:
    name: str
    is_running: bool = True
    links_received: int = 0
    changed_s: float = 0.0
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


def denied(*answerers: str, n_searches: int = SEARCHES_MIN) -> dict[str, DeniedTwice]:
    return {
        f"http://{each}.test/{n}": DeniedTwice(each, n % n_searches)
        for n in range(DENIED_MIN)
        for each in answerers
    }


def test_who_denies_pages_of_two_members_must_be_found_out(lab: Lab) -> None:
    lab.watch.judge_denials(lambda asker: denied("a", "b") if asker == "other" else {})
    assert lab.violations == ["other was denied 12 pages by one member, and blames nobody"]


def test_who_is_found_out_or_denies_pages_of_one_member_only_need_not_be(lab: Lab) -> None:
    lab.watch.judge_denials(lambda asker: denied("a", "other", "liar"))
    lab.watch.judge_denials(lambda asker: denied("a", "b", n_searches=SEARCHES_MIN - 1))
    own = {f"http://liar.test/{n}": DeniedTwice("liar", n) for n in range(SEARCHES_MIN)}
    lab.watch.judge_denials(lambda asker: denied("a", "b", n_searches=SEARCHES_MIN - 1) | own)
    of_b = {"http://b.test/": DeniedTwice("b", 1)}  # by an answer that nobody has heard, maybe
    lab.watch.judge_denials(lambda asker: denied("a") | of_b)
    lab.other.offences = {Offence.CONTRADICTED: 1}
    lab.watch.judge_denials(lambda asker: denied("a", "b"))
    assert lab.violations == []


def looks_at_invented_texts(lab: Lab, texts: FalseTexts, n_domains: int, body: bytes = b"") -> list[Looked]:
    """Looks of two honest members at pages of which the first was told invented texts."""
    third = cast(Machine, FakeMachine("third"))
    looks = []
    for number in range(n_domains):
        url = f"http://h{number}s1.test/"
        texts.told_s("other")[url] = 1.0
        looks.append(Looked(cast(Machine, lab.other), url, 2.0, Served(200, 0.1, 100)))
        looks.append(Looked(third, url, 3.0, Served(200, 0.1, 100, body=body)))
    return looks


def test_who_sees_invented_texts_of_many_domains_has_to_blame_somebody() -> None:
    lab, texts = Lab(), FalseTexts(1, lambda: 0.0, lambda line: None)
    lab.watch.judge_inventions(texts, looks_at_invented_texts(lab, texts, INVENTED_MIN - 1))
    assert lab.violations == []
    looks = looks_at_invented_texts(lab, texts, INVENTED_MIN)
    lab.watch.judge_inventions(texts, looks)
    assert len(lab.violations) == 1
    lab.other.offences[Offence.INVENTED] = 1
    lab.watch.judge_inventions(texts, looks)
    assert len(lab.violations) == 1


def test_who_has_lost_its_memory_or_saw_a_page_that_changed_need_not_blame_anybody() -> None:
    lab, texts = Lab(), FalseTexts(1, lambda: 0.0, lambda line: None)
    lab.watch.judge_inventions(texts, looks_at_invented_texts(lab, texts, INVENTED_MIN, b"changed"))
    looks = looks_at_invented_texts(lab, texts, INVENTED_MIN)
    lab.other.changed_s = 2.5
    lab.watch.judge_inventions(texts, looks)
    assert lab.violations == []
