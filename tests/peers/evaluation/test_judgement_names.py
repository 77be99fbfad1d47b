"""The names that judgements give to documents."""

from __future__ import annotations

from peers.evaluation.judgement_names import by_suffix, condensed
from peers.judging.trec import Ranked


def named(url: str, *names: str) -> str:
    judged = {"q": dict.fromkeys(names, 1)}
    return by_suffix({"q": [Ranked(url, 1.0)]}, judged)["q"][0].document


def test_judgements_may_name_the_end_of_a_path() -> None:
    assert named("http://h:80/zh/text/a.html", "text/a.html") == "text/a.html"
    assert named("http://h/text/a.html", "http://h/text/a.html") == "http://h/text/a.html"


def test_the_longest_name_that_fits_is_taken() -> None:
    assert named("http://h/x/a.html", "a.html", "x/a.html") == "x/a.html"


def test_a_name_fits_whole_segments_only() -> None:
    assert named("http://h/data.html", "a.html") == "http://h/data.html"


def test_a_query_in_the_url_does_not_keep_a_name_from_fitting() -> None:
    assert named("http://h/x/a.html?Lang=zh#top", "x/a.html") == "x/a.html"
    assert named("http://h/x/a%20b.html", "x/a b.html") == "x/a b.html"


def test_a_page_under_two_urls_counts_once() -> None:
    hits = [Ranked("http://one/a", 3.0), Ranked("http://two/a", 2.0), Ranked("http://two/b", 1.0)]
    renamed = by_suffix({"q": hits}, {"q": {"a": 1, "b": 1}})["q"]
    assert renamed == [Ranked("a", 3.0), Ranked("b", 1.0)]


def test_hits_without_a_judgement_are_left_out_and_the_rest_moves_up() -> None:
    run = {"q": [Ranked(f"http://h/{name}", 1.0) for name in ("x", "a", "y", "b")], "r": [Ranked("a", 1.0)]}
    found = condensed(run, {"q": {"a": 0, "b": 1}})
    assert {query: [hit.document for hit in hits] for query, hits in found.items()} == {
        "q": ["a", "b"],
        "r": [],
    }
