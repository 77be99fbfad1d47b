"""A peer that is slow, dead or incomplete holds up no search and hides no page."""

from __future__ import annotations

from collections import Counter
from math import inf
from random import Random

import pytest

from mesh.actors.actor import Message
from mesh.urls import host_of
from peers.engine.rescoring.model import MODEL_DEPTH
from peers.gateway.errands.round import REPEAT_AFTER_S
from peers.gateway.model.messages import Coverage, PagesFound
from peers.gateway.search.deduplication import needed_for
from peers.gateway.search.punctuality import HEDGE_S_MAX, HEDGE_S_MIN, HEDGES_SAVED_MAX
from peers.gateway.search.search_task import HEDGES_MAX
from peers.gateway.search.stage import COUNTING_S_MAX, READING_S_MAX, SEARCHING_S_MAX
from peers.index.wire_messages import CountTerms, ReadExcerpts, SearchSlots
from tests.peers.gateway.late_mesh import ANSWER_S, SCORE_UNIT, SLOT_COUNT, URLS, LateMesh, score_of, shown

WHOLE = Coverage(SLOT_COUNT, SLOT_COUNT, 0)
ROUND_TRIPS_S = 3 * ANSWER_S  # of a search that nobody holds up


@pytest.fixture
def mesh() -> LateMesh:
    mesh = LateMesh()
    mesh.warm_up()
    return mesh


def is_right(found: PagesFound, k: int = 10) -> bool:
    """Is every page in it, once, with the statistics of all?"""
    scores = [(url, score_of(number, len(URLS))) for number, url in enumerate(URLS[:k])]
    return found.coverage == WHOLE and shown(found) == (len(URLS), scores)


def test_nobody_is_bridged_while_all_are_in_time(mesh: LateMesh) -> None:
    for _ in range(100):
        found, took = mesh.search()
        assert is_right(found)
        assert took <= ROUND_TRIPS_S + 1e-9
    assert mesh.statistics.hedges == 0


# --- Late ---


def test_peer_that_is_a_second_late_holds_up_one_search_for_the_hedge_time(mesh: LateMesh) -> None:
    mesh.indexers["cyd"].delay_s = 1.0
    found, took = mesh.search()
    assert is_right(found)
    assert took <= HEDGE_S_MIN + 2 * ROUND_TRIPS_S
    for number in range(50):
        found, took = mesh.search(f"word{number}")
        assert is_right(found)
        assert took <= ROUND_TRIPS_S + 1e-9
    assert mesh.statistics.hedges == 1
    assert mesh.statistics.tardy_peers == 1


def test_killed_peer_is_bridged_and_no_page_is_missed(mesh: LateMesh) -> None:
    for word in ("counted before", "counted never"):
        mesh.search("counted before")
        mesh.indexers["bob"].is_dead = True
        found, took = mesh.search(word)
        assert is_right(found)
        assert took <= HEDGE_S_MIN + 2 * ROUND_TRIPS_S
        assert "bob" not in {hit.peer for hit in found.hits}


def test_bridged_peer_is_asked_and_taken_in_again_when_it_is_in_time(mesh: LateMesh) -> None:
    mesh.indexers["cyd"].is_dead = True
    mesh.search()
    mesh.search()
    assert mesh.statistics.tardy_peers == 1
    mesh.indexers["cyd"].is_dead = False
    mesh.search()  # its answer comes with the others'
    assert mesh.statistics.tardy_peers == 0
    found, _ = mesh.search(k=100)
    assert is_right(found, k=100)
    assert "cyd" in {hit.peer for hit in found.hits}


def test_peer_that_is_late_every_time_stays_bridged(mesh: LateMesh) -> None:
    mesh.indexers["cyd"].delay_s = 1.0
    mesh.search()
    mesh.rest(2.0)
    assert mesh.statistics.tardy_peers == 1
    assert mesh.search()[1] <= ROUND_TRIPS_S + 1e-9


def test_answer_of_the_late_peer_wins_when_it_comes_before_that_of_the_others(mesh: LateMesh) -> None:
    mesh.search()

    def slow_stand_ins(peer: str, question: Message) -> None:
        is_instead = isinstance(question, SearchSlots | CountTerms) and question.absent
        mesh.indexers[peer].delay_s = 0.1 if is_instead else HEDGE_S_MIN + 0.01 if peer == "cyd" else 0.0

    mesh.before_answer = slow_stand_ins
    found, took = mesh.search(k=100)
    assert mesh.statistics.hedges == 1
    assert mesh.statistics.bridged == 0
    assert took < 0.1
    assert is_right(found, k=100)
    assert "cyd" in {hit.peer for hit in found.hits}


@pytest.mark.parametrize("k", [10, 40])
def test_stand_ins_are_told_the_score_that_they_have_to_beat(mesh: LateMesh, k: int) -> None:
    all_there, _ = mesh.search(k=k)
    mesh.indexers["cyd"].delay_s = 1.0
    found, _ = mesh.search(k=k)
    assert shown(found) == shown(all_there)
    questions = [
        question
        for indexer in mesh.indexers.values()
        for question in indexer.asked
        if isinstance(question, SearchSlots)
    ]
    assert {question.floor for question in questions if not question.absent} == {-inf}
    known = sorted(n for n, url in enumerate(URLS) if mesh.answerer_of(url) != "cyd")
    to_beat = score_of(known[max(needed_for(k), MODEL_DEPTH)], len(URLS))
    assert {question.floor for question in questions if question.absent} == {to_beat}


def test_hits_of_the_late_peer_and_of_its_stand_ins_are_never_mixed(mesh: LateMesh) -> None:
    random = Random(4)
    for number in range(300):
        for indexer in mesh.indexers.values():
            indexer.delay_s = random.choice((0.0, 0.0, 0.0, 0.02, 0.04, 0.2))
        found, _ = mesh.search(f"word{number % 7}")
        assert is_right(found)


def use_up_hedges(mesh: LateMesh) -> int:
    """Have one peer or another be late in one of six searches; return how many it took."""
    random = Random(5)
    searches = 0
    while not mesh.statistics.hedges_denied:
        for delay_s in (0.1, 0.0, 0.0, 0.0, 0.0, 0.0):
            mesh.indexers[random.choice(list(mesh.indexers))].delay_s = delay_s
            mesh.search("word")
            mesh.rest(1.0)
            for indexer in mesh.indexers.values():
                indexer.delay_s = 0.0
            searches += 1
    return searches


def test_hedges_are_a_small_part_of_the_searches_when_all_are_late_now_and_then(mesh: LateMesh) -> None:
    searches = use_up_hedges(mesh)
    assert 0 < mesh.statistics.hedges <= HEDGES_SAVED_MAX + 0.05 * searches + 1
    assert mesh.statistics.hedge_s == HEDGE_S_MIN


@pytest.mark.parametrize("seed", range(20))
def test_whatever_goes_wrong_each_page_is_shown_once_or_said_to_be_missing_and_all_is_well_after(
    seed: int,
) -> None:
    random = Random(seed)
    mesh = LateMesh(("ann", "bob", "cyd", "dan", "eve")[: random.choice((3, 4, 5))], random.choice((1, 2, 3)))
    mesh.warm_up()
    pages = Counter(mesh.ownership.slot_of(host_of(url)) for url in URLS)
    for number in range(60):
        indexer = random.choice(list(mesh.indexers.values()))
        indexer.is_dead = random.random() < 0.3
        indexer.delay_s = random.choice((0.0, 0.0, 0.01, 0.04, 0.2, 2.0))
        if random.random() < 0.2:
            indexer.generation += 1
            indexer.incomplete = frozenset(random.sample(range(SLOT_COUNT), random.choice((0, 5))))
        found, took = mesh.search(f"word{number % 5}", k=100)
        assert took <= COUNTING_S_MAX + SEARCHING_S_MAX + REPEAT_AFTER_S + READING_S_MAX + 1e-9
        assert found.coverage.answered + found.coverage.missing == SLOT_COUNT
        assert len({hit.url for hit in found.hits}) == len(found.hits) == min(found.total, 100)
        least = sum(sorted(pages[slot] for slot in range(SLOT_COUNT))[: found.coverage.answered])
        assert least <= found.total <= len(URLS)
        if not found.coverage.missing:
            assert is_right(found, k=100)
    for indexer in mesh.indexers.values():
        indexer.is_dead, indexer.delay_s, indexer.incomplete = False, 0.0, frozenset()
    mesh.rest(3.0)
    for _ in range(3):
        found, took = mesh.search("word0", k=100)
    assert (found.coverage, found.total) == (WHOLE, len(URLS))
    assert took <= ROUND_TRIPS_S + 1e-9
    assert mesh.statistics.tardy_peers == 0


def test_the_slowest_of_many_searches_is_fast_although_a_peer_is_a_second_late(mesh: LateMesh) -> None:
    mesh.indexers["cyd"].delay_s = 1.0
    took = [mesh.search(f"word{number % 100}")[1] for number in range(300)]
    assert sorted(took)[296] <= ROUND_TRIPS_S + 1e-9
    assert max(took) < 0.15


def test_dead_peer_is_bridged_although_all_hedges_are_used_up(mesh: LateMesh) -> None:
    use_up_hedges(mesh)
    mesh.indexers["cyd"].is_dead = True
    found, took = mesh.search()
    assert is_right(found)
    assert took <= REPEAT_AFTER_S + HEDGE_S_MIN + 2 * ROUND_TRIPS_S


# --- More than one ---


def test_peer_that_is_merely_slow_does_not_keep_a_dead_one_from_being_bridged(mesh: LateMesh) -> None:
    """Found with real peers: without both of them some slots have no copy, so that plan is never whole."""
    mesh.search()
    mesh.indexers["bob"].is_dead = True
    mesh.indexers["cyd"].delay_s = HEDGE_S_MIN + 0.01
    found, took = mesh.search()
    assert is_right(found)
    assert took <= 3 * HEDGE_S_MIN + 3 * ROUND_TRIPS_S + REPEAT_AFTER_S


def test_however_many_are_late_at_other_times_all_are_asked_a_few_times() -> None:
    mesh = LateMesh(["ann", *(f"p{number}" for number in range(30))])
    for number in range(2):
        mesh.indexers[f"p{number}"].is_dead = True
    for number in range(2, 10):
        mesh.indexers[f"p{number}"].delay_s = 0.05 + 0.03 * number
    for text in ("one", "two", "three"):
        here = mesh.indexers["ann"]
        here.asked.clear()
        found, took = mesh.search(text)
        asked = {each.request for each in here.asked if isinstance(each, CountTerms | SearchSlots)}
        # For themselves, for those known to be late, for others that turn out to be: count, then search.
        assert len(asked) <= 2 * (2 + HEDGES_MAX), text
        assert found.coverage.answered > 0.9 * found.coverage.slots, text
        assert took < COUNTING_S_MAX + SEARCHING_S_MAX, text


def test_two_dead_peers_of_a_mesh_with_three_copies_are_bridged() -> None:
    mesh = LateMesh(("ann", "bob", "cyd", "dan", "eve"), replicas=3)
    mesh.warm_up()
    mesh.indexers["bob"].is_dead = mesh.indexers["eve"].is_dead = True
    for _ in range(3):
        found, took = mesh.search()
        assert is_right(found)
        assert took <= HEDGE_S_MIN + 2 * ROUND_TRIPS_S


def test_stand_in_that_dies_too_is_bridged_in_turn() -> None:
    mesh = LateMesh(("ann", "bob", "cyd", "dan", "eve"), replicas=3)
    mesh.warm_up()
    mesh.indexers["bob"].is_dead = True

    def die(peer: str, question: Message) -> None:
        if isinstance(question, SearchSlots) and question.absent:
            mesh.indexers["cyd"].is_dead = True

    mesh.before_answer = die
    found, took = mesh.search()
    assert is_right(found)
    assert took <= 2 * HEDGE_S_MIN + 4 * ROUND_TRIPS_S


def test_slots_whose_whole_team_is_dead_are_missing_and_nobody_waits_twice(mesh: LateMesh) -> None:
    mesh.indexers["bob"].is_dead = mesh.indexers["cyd"].is_dead = True
    teams = [set(mesh.ownership.serving.team_of(slot)) for slot in range(SLOT_COUNT)]
    lost = sum(team == {"bob", "cyd"} for team in teams)
    assert lost > 0
    found, took = mesh.search("warm1")
    assert found.coverage == Coverage(SLOT_COUNT, SLOT_COUNT - lost, lost)
    assert took <= SEARCHING_S_MAX + ROUND_TRIPS_S
    found, took = mesh.search()
    assert found.coverage == Coverage(SLOT_COUNT, SLOT_COUNT - lost, lost)
    assert took <= 2 * REPEAT_AFTER_S + ROUND_TRIPS_S


def test_slow_peers_that_share_slots_are_waited_for_rather_than_left_out(mesh: LateMesh) -> None:
    mesh.indexers["bob"].delay_s = mesh.indexers["cyd"].delay_s = 0.3
    for _ in range(5):
        found, took = mesh.search()
        assert is_right(found)
        assert took <= 3 * (0.3 + ANSWER_S) + REPEAT_AFTER_S


@pytest.mark.parametrize("slow_s", [HEDGE_S_MIN, 0.05, 0.08])
def test_load_that_made_all_late_once_is_not_kept_up_by_asking_others_instead(slow_s: float) -> None:
    """Found with real peers: asked for too much once, they did half of their work twice from then on."""
    mesh = LateMesh(("ann", "bob", "cyd"))
    mesh.warm_up()
    for late, slow in (("bob", "cyd"), ("cyd", "bob")) * 2:
        mesh.indexers[late].delay_s, mesh.indexers[slow].delay_s = 0.4, slow_s
        mesh.search("warm1")
    mesh.indexers["cyd"].delay_s = slow_s
    for number in range(100):
        mesh.search(f"word{number % 5}")
    for indexer in mesh.indexers.values():
        indexer.asked.clear()
    assert is_right(mesh.search("word1")[0])
    asked = [each for indexer in mesh.indexers.values() for each in indexer.asked]
    assert not any(isinstance(each, SearchSlots) and each.absent for each in asked)
    assert mesh.statistics.tardy_peers == 0


def test_without_copies_there_is_nobody_to_ask_instead() -> None:
    mesh = LateMesh(replicas=1)
    mesh.warm_up()
    mesh.indexers["cyd"].delay_s = 0.3
    found, took = mesh.search()
    assert is_right(found)
    assert took >= 0.3
    assert mesh.statistics.hedges == 0


def test_two_that_were_late_are_asked_at_once_and_taken_in_again(mesh: LateMesh) -> None:
    """Found with real peers: the question to all was left unsent when others were asked in their place."""
    mesh.indexers["bob"].delay_s = mesh.indexers["cyd"].delay_s = 0.4
    for _ in range(3):
        mesh.search("warm1")
    mesh.rest(1.0)
    mesh.indexers["bob"].delay_s = mesh.indexers["cyd"].delay_s = 0.0
    for number in range(3):
        found, took = mesh.search(f"word{number}")
        assert is_right(found)
        assert took <= 2 * ROUND_TRIPS_S
    assert mesh.statistics.tardy_peers == 0


# --- Incomplete ---


def some_slots_of(mesh: LateMesh, peer: str, n: int) -> frozenset[int]:
    mask = mesh.ownership.answered_by(peer)
    return frozenset([slot for slot in range(SLOT_COUNT) if mask[slot]][:n])


def test_peer_that_lacks_slots_is_bridged_until_it_has_them(mesh: LateMesh) -> None:
    mesh.indexers["cyd"].incomplete = some_slots_of(mesh, "cyd", 3)
    mesh.indexers["cyd"].generation = 2
    for _ in range(3):
        found, took = mesh.search()
        assert is_right(found)
        assert took <= 2 * ROUND_TRIPS_S + 1e-9
    assert mesh.statistics.tardy_peers == 1
    mesh.indexers["cyd"].incomplete = frozenset()
    for _ in range(2):
        assert is_right(mesh.search()[0])
    assert mesh.statistics.tardy_peers == 0


def test_peer_that_lacks_slots_is_heard_when_the_others_lack_more(mesh: LateMesh) -> None:
    few = some_slots_of(mesh, "cyd", 2)
    for indexer in mesh.indexers.values():
        indexer.generation = 2
        indexer.incomplete = few if indexer.peer == "cyd" else some_slots_of(mesh, "cyd", 9)
    for _ in range(3):
        found, _ = mesh.search()
        assert found.coverage == Coverage(SLOT_COUNT, SLOT_COUNT - 2, 2)


# --- Exactness ---


def test_statistics_are_those_of_the_stand_ins_when_they_answer(mesh: LateMesh) -> None:
    mesh.search()
    cyd = mesh.indexers["cyd"]
    has_page = [
        url for url in URLS if mesh.ownership.answerer_of(mesh.ownership.slot_of(host_of(url))) == "cyd"
    ]
    for indexer in mesh.indexers.values():
        if indexer is not cyd:
            indexer.lost = frozenset(has_page[:1])  # the page came while it was being written elsewhere
    cyd.is_dead = True
    for _ in range(2):
        found, _ = mesh.search()
        assert found.coverage == WHOLE
        assert found.total == len(URLS) - 1
        assert {int(hit.score / SCORE_UNIT) for hit in found.hits} == {len(URLS) - 1}


def test_counts_of_stand_ins_are_asked_for_once(mesh: LateMesh) -> None:
    mesh.indexers["cyd"].is_dead = True
    mesh.search()
    mesh.search()
    for indexer in mesh.indexers.values():
        indexer.asked.clear()
    mesh.search()
    assert not any(isinstance(each, CountTerms) for each in mesh.indexers["bob"].asked)


# --- Excerpts ---


def test_excerpts_of_a_peer_that_dies_after_its_hits_come_from_its_standbys(mesh: LateMesh) -> None:
    def die(peer: str, question: Message) -> None:
        if isinstance(question, ReadExcerpts):
            mesh.indexers["cyd"].is_dead = True

    mesh.before_answer = die
    found, took = mesh.search(k=100)
    assert {hit.title for hit in found.hits} <= {f"title by {peer}" for peer in ("ann", "bob", "dan")}
    assert "cyd" in {hit.peer for hit in found.hits}
    assert took <= HEDGE_S_MIN + 2 * ROUND_TRIPS_S < READING_S_MAX


# --- How long one waits ---


def test_hedge_time_is_long_until_something_has_been_measured() -> None:
    mesh = LateMesh()
    mesh.indexers["cyd"].delay_s = 0.5
    assert HEDGE_S_MAX <= mesh.search()[1] <= HEDGE_S_MAX + 2 * ROUND_TRIPS_S


def test_hedge_time_follows_the_slowest_twentieth_of_answers() -> None:
    mesh = LateMesh()
    for indexer in mesh.indexers.values():
        indexer.delay_s = 0.06
    mesh.warm_up()
    assert mesh.statistics.hedge_s == pytest.approx(0.06 + ANSWER_S)
