from __future__ import annotations

from pathlib import Path

import pytest

from mesh.errors import ConfigError
from peers.judging.trec import Ranked, read_qrels, read_run, read_topics, write_run

RUN = {
    "q1": [Ranked("http://h/a", 2.5), Ranked("http://h/b", 2.5)],
    "q2": [Ranked("http://h/c?x=1", 0.1)],
}


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_run(tmp_path / "run", RUN.items())
    assert read_run(tmp_path / "run") == RUN


def test_a_run_that_finds_no_space_ends_with_a_sentence() -> None:
    with pytest.raises(ConfigError, match="cannot write /dev/full: No space left on device"):
        write_run(Path("/dev/full"), RUN.items())


def test_a_run_has_the_columns_of_trec(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [("q", [Ranked("http://h/a b", 1.0)])], "tag")
    assert (tmp_path / "run").read_text() == "q Q0 http://h/a%20b 1 1.0 tag\n"


def test_the_order_of_a_run_is_that_of_its_ranks(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("q Q0 b 2 9.0 t\nq Q0 a 1 1.0 t\n")
    assert [hit.document for hit in read_run(tmp_path / "run")["q"]] == ["a", "b"]


@pytest.mark.parametrize("text", ["q Q0 a 1 1.0", "q Q0 a first 1.0 t"])
def test_what_is_no_run_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run").write_text(f"q Q0 a 1 1.0 t\n\n{text}\n")
    with pytest.raises(ConfigError, match="no run: line 3 is not `query Q0 page rank score name`"):
        read_run(tmp_path / "run")
    with pytest.raises(ConfigError, match="cannot read"):
        read_run(tmp_path / "absent")


def test_qrels_of_trec_and_those_with_a_header_are_read(tmp_path: Path) -> None:
    (tmp_path / "trec").write_text("q1 0 a/b.html 1\nq1 0 c 0\n")
    (tmp_path / "tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta/b.html\t1\nq1\tc\t0\n")
    expected = {"q1": {"a/b.html": 1, "c": 0}}
    assert read_qrels(tmp_path / "trec") == read_qrels(tmp_path / "tsv") == expected


@pytest.mark.parametrize("text", ["q1 0 a one", "q1", ""])
def test_what_is_no_file_of_judgements_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(ConfigError, match="judgements"):
        read_qrels(tmp_path / "qrels")


def test_queries_are_ids_and_texts(tmp_path: Path) -> None:
    (tmp_path / "topics").write_text("1\tone two\n\n2\t天网\n", encoding="utf-8")
    assert read_topics(tmp_path / "topics") == [("1", "one two"), ("2", "天网")]


@pytest.mark.parametrize("text", ["1 one", "", "a b\tone"])
def test_what_is_no_file_of_queries_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "topics").write_text(text)
    with pytest.raises(ConfigError, match="queries"):
        read_topics(tmp_path / "topics")
