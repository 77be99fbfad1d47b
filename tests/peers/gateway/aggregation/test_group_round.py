"""Groups of members, and what of an aggregator's report is taken."""

from __future__ import annotations

from collections import Counter
from math import inf, isqrt

import pytest

from mesh.actors.actor import Address
from peers.gateway.aggregation.group_round import (
    BEHIND_ALL,
    GroupRound,
    ReportedHits,
    common_question,
    end_of,
    groups_of,
)
from peers.gateway.aggregation.wire_messages import GROUP_MAX, AskGroup, GroupAnswered
from peers.gateway.errands.round import REPEAT_AFTER_S
from peers.index.wire_messages import CountTerms, Hit, HitsFound, ReadExcerpts, SearchSlots, TermsCounted

NAMES = tuple(f"p{number:02}" for number in range(25))
QUESTION = CountTerms(7, ("word",))
SEARCH = SearchSlots(7, b"", 0, (), (), (), 3)


def round_of(apart: frozenset[str] = frozenset(), now: float = 1.5) -> GroupRound:
    return GroupRound(QUESTION, NAMES, apart, frozenset(), now, 1.0)


def asked_groups(round_: GroupRound) -> dict[str, tuple[str, ...]]:
    """The members of each aggregator's group."""
    return {to.peer: message.members for to, message in round_.ask() if isinstance(message, AskGroup)}


def counted(missing: int = 0) -> TermsCounted:
    return TermsCounted(1, b"epoch", 1, 0, (0,) * 5, (0,), missing)


def found(*scores: float, generation: int = 1) -> HitsFound:
    hits = tuple(Hit(f"http://host.test/{score}", score) for score in scores)
    return HitsFound(1, b"epoch", generation, len(hits), hits)


@pytest.mark.parametrize("n", [0, 1, 3, 24, 200, 999, 4_095])
def test_every_peer_is_in_one_group_of_about_as_many_as_there_are_groups(n: int) -> None:
    peers = [f"p{number}" for number in range(n)]
    groups = groups_of(peers, 12_345)
    assert sorted(peer for group in groups for peer in group) == sorted(peers)
    assert all(len(group) <= min(isqrt(n) + 3, GROUP_MAX) for group in groups)


def test_all_take_turns_at_being_aggregators() -> None:
    turns = Counter(group[0] for turn in range(len(NAMES)) for group in groups_of(NAMES, turn))
    assert set(turns.values()) == {5}
    assert turns.keys() == set(NAMES)


def test_what_not_all_are_asked_alike_is_no_question_for_aggregators() -> None:
    assert common_question([QUESTION, QUESTION]) is QUESTION
    assert common_question([QUESTION, CountTerms(7, ("other",))]) is None
    assert common_question([CountTerms(7, (), mistyped=("wrod",))] * 2) is None
    assert common_question([ReadExcerpts(7, b"", ())] * 2) is None


def test_those_apart_are_asked_directly_and_one_member_both_ways() -> None:
    round_ = round_of(frozenset(NAMES[:3]))
    groups = asked_groups(round_)
    direct = {to.peer for to, message in round_.ask() if message is QUESTION}
    in_groups = {peer for group in groups.values() for peer in group}
    assert in_groups == set(NAMES[3:])
    assert direct > set(NAMES[:3])
    [compared] = direct - set(NAMES[:3])
    assert compared not in groups


def test_the_member_asked_both_ways_is_another_one_at_another_time() -> None:
    compared = Counter(
        to.peer for n in range(1_000) for to, message in round_of(now=n / 1e3).ask() if message is QUESTION
    )
    assert compared.keys() == set(NAMES)


def test_aggregators_that_say_nothing_have_their_members_asked_directly_once() -> None:
    round_ = round_of()
    [silent, *others] = (groups := asked_groups(round_))
    for aggregator in others:
        source = Address(aggregator, "searcher")
        assert round_.accepts_group(source, 7)
        told = GroupAnswered(7, tuple((peer, counted()) for peer in groups[aggregator]))
        answers, sends = round_.reported(aggregator, told)
        assert answers.keys() == set(groups[aggregator])
        assert sends == []
        for peer in answers:
            round_.settle(peer)
    direct = {to.peer for to, message in round_.ask() if message is QUESTION}
    assert {to.peer for to, _ in round_.ask_unheard()} == set(groups[silent]) - {silent} - direct
    assert round_.ask_unheard() == []
    assert {to.peer for to, _ in round_.wake(1.5 + REPEAT_AFTER_S)} == set(groups[silent])


def test_members_are_asked_directly_that_lack_slots_or_of_which_an_aggregator_can_tell_nothing() -> None:
    round_ = round_of()
    direct = {to.peer for to, message in round_.ask() if message is QUESTION}
    (one, of_one), (other, of_other), *_ = asked_groups(round_).items()
    answers, sends = round_.reported(
        one, GroupAnswered(7, ((of_one[1], counted(missing=2)), ("who", counted())))
    )
    assert answers == {}
    assert {to.peer for to, _ in sends} == {of_one[1]} - direct
    assert {to.peer for to, _ in round_.reported(other, GroupAnswered(7, ()))[1]} == set(of_other) - direct
    assert round_.reported(other, GroupAnswered(7, ()))[1] == []
    assert not round_.accepts_group(Address(one, "indexer"), 7)
    assert not round_.accepts_group(Address(one, "searcher"), 8)
    assert not round_.accepts_group(Address(of_one[1], "searcher"), 7)


def test_merged_hits_are_known_up_to_the_last_or_the_floor() -> None:
    assert end_of([found(3.0), found(1.0)], SEARCH) == BEHIND_ALL
    assert end_of([found(3.0, 2.0), found(1.0)], SEARCH) == (-1.0, "http://host.test/1.0")
    with_floor = SearchSlots(7, b"", 0, (), (), (), 3, floor=1.5)
    assert end_of([found(3.0), found(2.0)], with_floor)[0] == -1.5
    assert end_of([counted()], QUESTION) == BEHIND_ALL


def test_reports_differ_from_a_member_where_both_tell_all() -> None:
    reported = ReportedHits("agg", found(3.0, 2.0), (-2.0, "http://host.test/2.0"))
    assert not reported.differs_from(found(3.0, 2.0, 1.0))
    assert reported.differs_from(found(3.0, 2.5, 2.0))
    assert reported.differs_from(found(3.0))
    assert not reported.differs_from(found(3.0, generation=2))
    assert ReportedHits("agg", found(3.0), BEHIND_ALL).differs_from(found(3.0, 1.0))
    assert -inf < BEHIND_ALL[0]
