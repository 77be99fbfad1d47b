from __future__ import annotations

from pathlib import Path

import pytest

from mesh.errors import ConfigError
from peers.evaluation.runs import Ranked, by_suffix, read_run, write_run

RUN = {
    "q1": [Ranked("http://h/a", 2.5), Ranked("http://h/b", 2.5)],
    "q2": [Ranked("http://h/c?x=1", 0.1)],
}


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_run(tmp_path / "run", RUN)
    assert read_run(tmp_path / "run") == RUN


def test_a_run_has_the_columns_of_trec(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"q": [Ranked("http://h/a b", 1.0)]}, "tag")
    assert (tmp_path / "run").read_text() == "q Q0 http://h/a%20b 1 1.0 tag\n"


def test_the_order_of_a_run_is_that_of_its_ranks(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 b 2 9.0 t\nq Q0 a 1 1.0 t\n")
    assert [hit.document for hit in read_run(tmp_path / "run")["q"]] == ["a", "b"]


@pytest.mark.parametrize("text", ["q Q0 a 1 1.0", "q Q0 a first 1.0 t"])
def test_what_is_no_run_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run").write_text(text)
    with pytest.raises(ConfigError, match="no run"):
        read_run(tmp_path / "run")


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
