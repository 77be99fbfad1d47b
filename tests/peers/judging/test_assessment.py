from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from mesh.errors import ConfigError
from peers.application import app
from peers.judging.assessment import Assessment, judgements_path
from peers.judging.assessment_screen import judge_pool
from peers.judging.pool import Pool, PooledPage, PooledQuery, pool_of, write_pool
from peers.judging.trec import Ranked, read_qrels

RUN = {"1": [Ranked("http://h/a", 3.0), Ranked("http://h/b", 2.0)], "2": [Ranked("http://h/c", 1.0)]}
POOL = pool_of([RUN], [("1", "red"), ("2", "green")], 9, 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_pool(tmp_path / "pool.json", POOL)
    return tmp_path / "pool.json"


def judged(path: Path, keys: str) -> Result:
    return CliRunner().invoke(app, ["eval", "judge", str(path), "--assessor", "ann"], input=keys)


def grades(path: Path) -> dict[str, dict[str, int]]:
    return read_qrels(judgements_path(path, "ann"))


def test_each_key_is_a_judgement_of_the_page_that_is_shown(path: Path) -> None:
    result = judged(path, "021")
    assert grades(path) == {"1": {"http://h/a": 0, "http://h/b": 2}, "2": {"http://h/c": 1}}
    assert "3 of 3 pages judged" in result.output


def test_judging_goes_on_where_it_ended(path: Path) -> None:
    judged(path, "0q")
    assert grades(path) == {"1": {"http://h/a": 0}}
    assert "page 2 of 3, 1 judged" in judged(path, "1").output
    judged(path, "2")
    assert grades(path)["2"] == {"http://h/c": 2}


def test_back_corrects_and_later_leaves_for_later(path: Path) -> None:
    judged(path, "0b2sq")
    assert grades(path) == {"1": {"http://h/a": 2}}
    result = judged(path, "s1")
    assert grades(path) == {"1": {"http://h/a": 2}, "2": {"http://h/c": 1}}
    assert "2 of 3 pages judged" in result.output


def test_other_keys_do_nothing(path: Path) -> None:
    judged(path, "x39b\t1q")
    assert grades(path) == {"1": {"http://h/a": 1}}


@pytest.mark.parametrize("end", [KeyboardInterrupt, EOFError])
def test_nothing_is_lost_on_ctrl_c(tmp_path: Path, end: type[BaseException]) -> None:
    """At each place where it may come: the file has all grades whose keys were pressed before."""
    for n_keys in range(4):
        keys = iter("012"[:n_keys])

        def read_key(keys: Iterator[str] = keys) -> str:
            for key in keys:
                return key
            raise end

        path = tmp_path / f"{end.__name__}{n_keys}.qrels"
        judge_pool(POOL, Assessment(POOL, path), Console(file=io.StringIO()), read_key)
        assert Assessment(POOL, path).judged_count == n_keys


def test_a_grade_that_cannot_be_written_is_not_given(tmp_path: Path) -> None:
    assessment = Assessment(POOL, tmp_path / "none" / "ann.qrels")
    with pytest.raises(ConfigError, match="cannot write"):
        assessment.judge(POOL.pages[0], 1)
    assert assessment.judged_count == 0


def test_grades_of_pages_that_a_new_pool_lacks_are_kept(tmp_path: Path) -> None:
    Assessment(POOL, tmp_path / "q").judge(POOL.pages[0], 2)
    smaller = Pool(1, 0, POOL.queries[1:], POOL.pages[2:])
    assessment = Assessment(smaller, tmp_path / "q")
    assert assessment.judged_count == 0
    assessment.judge(smaller.pages[0], 1)
    assert read_qrels(tmp_path / "q") == {"1": {"http://h/a": 2}, "2": {"http://h/c": 1}}


def test_a_page_cannot_write_on_the_terminal_what_cannot_be_printed(tmp_path: Path) -> None:
    excerpt = "[red]not markup[/red]\x1b[2J end"
    page = PooledPage("1", "http://h/a", "\x1b]0;owned\x07title", excerpt, ((0, 5),))
    pool = Pool(1, 0, (PooledQuery("1", "red\x1b[31m"),), (page,))
    shown = io.StringIO()
    console = Console(file=shown, width=100)
    judge_pool(pool, Assessment(pool, tmp_path / "q"), console, lambda: "q")
    assert "\x1b" not in shown.getvalue()
    assert "\x07" not in shown.getvalue()
    assert "[red]not markup[/red]" in shown.getvalue()


def test_a_name_that_would_leave_the_folder_is_refused(path: Path) -> None:
    with pytest.raises(ConfigError, match="no name of an assessor"):
        judgements_path(path, "../ann")


def test_how_far_an_assessor_is_can_be_asked_for(path: Path) -> None:
    judged(path, "0q")
    told = CliRunner().invoke(app, ["eval", "judge", str(path), "--assessor", "ann", "--json"])
    assert '"judged": 1' in told.stdout
    assert '"pages": 3' in told.stdout
