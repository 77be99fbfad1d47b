"""Groups of results by words, by kinds and by sites."""

from __future__ import annotations

from random import Random

from peers.gateway.grouping.groups import GroupedBy, grouped
from peers.gateway.grouping.groups_json import groups_json
from peers.gateway.grouping.word_groups import GROUPS_MAX, WordGroup, groups_by_words
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound
from tests.processor import processor_seconds

CATS, CARS = ("jaguar", "cat", "rainforest", "prey"), ("jaguar", "engine", "sedan", "dealer")


def found(*hits: FoundPage, terms: tuple[str, ...] = ("jaguar",)) -> PagesFound:
    return PagesFound(1, terms, len(hits), 0.0, Coverage(8, 8, 0), hits)


def page(
    number: int, words: tuple[str, ...] = (), kind: str = "text/html", host: str = "a.test"
) -> FoundPage:
    url = f"http://{host}/{number}"
    return FoundPage(url, f"title {number}", "", (), (), 1.0, host, 7.0, "ann", type=kind, words=words)


def test_pages_about_the_same_are_a_group_called_by_what_tells_it_from_the_others() -> None:
    groups, others = groups_by_words([CATS, CARS, CATS, CARS, CARS, ("jaguar", "macos")])
    assert [each.places for each in groups] == [(1, 3, 4), (0, 2)]
    assert [set(each.words) for each in groups] == [
        {"engine", "sedan", "dealer"},
        {"cat", "rainforest", "prey"},
    ]
    assert others == (5,)


def test_words_keep_their_spelling_and_are_the_same_in_small_letters() -> None:
    groups, _ = groups_by_words(
        [("Linux", "Kernel"), ("linux", "kernel"), ("天网", "北大"), ("天网", "北大")]
    )
    assert groups == [WordGroup(("Linux", "Kernel"), (0, 1)), WordGroup(("天网", "北大"), (2, 3))]


def test_pages_without_words_or_alone_are_in_no_group() -> None:
    assert groups_by_words([]) == ([], ())
    assert groups_by_words([(), ("a",), ("b",)]) == ([], (0, 1, 2))
    assert groups_by_words([("a",)] * 3) == ([], (0, 1, 2)), "what all have tells nothing"


def test_groups_are_few_and_are_made_in_bounded_time() -> None:
    random = Random(3)
    pages = [tuple(random.sample([f"w{n}" for n in range(40)], 12)) for _ in range(60)]
    groups, others = groups_by_words(pages)
    assert 1 <= len(groups) <= GROUPS_MAX
    assert sorted([*others, *(place for each in groups for place in each.places)]) == list(range(60))
    assert processor_seconds(lambda: groups_by_words(pages)) < 0.5


def test_words_of_the_query_name_no_group_in_any_form() -> None:
    words = [("errors", "disk"), ("error", "disk"), ("errors", "network"), ("error", "network")]
    groups = grouped(
        found(*(page(n, each) for n, each in enumerate(words)), terms=("error",)), GroupedBy.WORDS
    )
    assert [each.names for each in groups] == [("disk",), ("network",)]
    assert [each.narrowed_by for each in groups] == ["disk", "network"]


def test_kinds_and_sites_are_groups_the_largest_first() -> None:
    hits = (
        page(1, kind="application/pdf"),
        page(2, host="b.test"),
        page(3, kind="application/xhtml+xml"),
        page(4, kind=""),
        page(5, kind="image/odd"),
    )
    by_kind = grouped(found(*hits), GroupedBy.KIND)
    assert [(each.names, each.narrowed_by, len(each.hits)) for each in by_kind] == [
        (("html",), "type:html", 2),
        (("pdf",), "type:pdf", 1),
        (("image/odd",), "type:image/odd", 1),
        ((), "", 1),
    ]
    by_site = grouped(found(*hits), GroupedBy.SITE)
    assert [(each.names, len(each.hits)) for each in by_site] == [(("a.test",), 4), (("b.test",), 1)]


def test_programs_are_told_the_places_of_the_results_and_how_to_narrow_the_search() -> None:
    answer = found(page(1, host="b.test"), page(2), page(3))
    told = groups_json("jaguar", GroupedBy.SITE, answer)
    assert [(each.query, [hit.rank for hit in each.hits]) for each in told.groups] == [
        ("jaguar site:a.test", [2, 3]),
        ("jaguar site:b.test", [1]),
    ]
    assert (told.n_grouped, told.total) == (3, 3)


def test_a_group_is_narrowed_by_no_operator_that_a_member_gives_for_a_word() -> None:
    words = [("site:evil.test", "-cat"), ("site:evil.test", "-cat"), CARS, CARS]
    groups = grouped(found(*(page(n, each) for n, each in enumerate(words))), GroupedBy.WORDS)
    assert [each.narrowed_by for each in groups] == ["", "engine"]
    assert set(groups[0].names) == {"site:evil.test", "-cat"}
