from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from peers.judging.team_draft import DRAWS, Team, coins_of, team_draft

ITEMS = "abcdefghij"


@given(st.permutations(ITEMS), st.permutations(ITEMS), st.text(max_size=5), st.integers(1, DRAWS))
def test_the_list_has_all_items_once_and_teams_never_differ_by_more_than_one(
    first: list[str], second: list[str], query: str, draw: int
) -> None:
    drafted = list(team_draft(first, second, coins_of(query, draw)))
    assert sorted(item for item, _ in drafted) == sorted(ITEMS)
    for end in range(len(drafted) + 1):
        counts = Counter(team for _, team in drafted[:end])
        assert abs(counts[Team.FIRST] - counts[Team.SECOND]) <= 1


@given(st.permutations(ITEMS), st.permutations(ITEMS), st.integers(1, DRAWS))
def test_each_team_picks_the_best_of_its_own_that_is_left(
    first: list[str], second: list[str], draw: int
) -> None:
    left = set(ITEMS)
    for item, team in team_draft(first, second, coins_of("q", draw)):
        ranking = (first, second)[team]
        assert item == next(each for each in ranking if each in left)
        left.discard(item)


@given(st.permutations(ITEMS), st.permutations(ITEMS), st.text(max_size=5))
def test_exchanging_rankings_and_the_coins_exchanges_the_teams_alone(
    first: list[str], second: list[str], query: str
) -> None:
    """So neither is favoured by its name: draws 2n - 1 and 2n are mirrors of each other."""
    for draw in range(1, DRAWS, 2):
        one = list(team_draft(first, second, coins_of(query, draw)))
        other = list(team_draft(second, first, coins_of(query, draw + 1)))
        assert [(item, 1 - team) for item, team in one] == other


def test_as_in_the_papers_figure() -> None:
    """First b c, second a c, where the second is first in both rounds: a b, and then c of the second."""
    drafted = list(team_draft("bc", "ac", lambda number: Team.SECOND))
    assert drafted == [("a", Team.SECOND), ("b", Team.FIRST), ("c", Team.SECOND)]


def test_what_one_ranking_lacks_the_other_picks() -> None:
    assert [item for item, _ in team_draft("ab", "", lambda number: Team.SECOND)] == ["a", "b"]


def test_each_team_is_first_in_half_of_the_draws_of_every_query() -> None:
    for query in ("red", "苹果", ""):
        for number in range(40):
            assert sum(coins_of(query, draw)(number) for draw in range(1, DRAWS + 1)) == DRAWS // 2


def test_coins_differ_by_query_and_round() -> None:
    sequences = {tuple(coins_of(f"q{n}", 1)(number) for number in range(16)) for n in range(100)}
    assert len(sequences) == 100
