from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mesh.errors import ConfigError
from peers.judging import judgement_files
from peers.judging.judgement_files import CORRECTIONS_MAX, JudgementFiles, fault_of, is_name
from peers.judging.pool import Pool, PooledPage, PooledQuery, shuffled_for
from peers.judging.trec import read_qrels

QUERIES = (PooledQuery("1", "red"), PooledQuery("2", "green"))
POOL = Pool(9, 0, QUERIES, (PooledPage("1", "http://h/a"), PooledPage("1", "b"), PooledPage("2", "c")))


@pytest.fixture
def files(tmp_path: Path) -> JudgementFiles:
    kept = JudgementFiles(tmp_path / "judging")
    kept.keep_pool("fruit", POOL)
    return kept


@pytest.fixture
def path(files: JudgementFiles, tmp_path: Path) -> Path:
    return tmp_path / "judging" / "fruit.ann.qrels"


def test_a_pool_and_each_assessors_grades_are_kept_apart(files: JudgementFiles, path: Path) -> None:
    files.judge("fruit", "ann", "1", "http://h/a", 2)
    files.judge("fruit", "bob", "1", "http://h/a", 0)
    assert (files.pools(), files.pool("fruit"), files.pool("none")) == (["fruit"], POOL, None)
    assert files.assessors("fruit") == ["ann", "bob"]
    assert files.judgements("fruit", "ann") == {"1": {"http://h/a": 2}}
    assert files.judgements("fruit", "cho") == {}
    assert read_qrels(path) == {"1": {"http://h/a": 2}}  # as `eval agreement` reads it
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_last_grade_of_a_page_counts_and_the_same_again_writes_nothing(
    files: JudgementFiles, path: Path
) -> None:
    for grade in (0, 1, 1, 1):
        files.judge("fruit", "ann", "1", "b", grade)
    assert path.read_text() == "1 0 b 0\n1 0 b 1\n"
    assert read_qrels(path) == {"1": {"b": 1}}


def test_a_grade_is_on_the_disk_before_it_counts(
    files: JudgementFiles, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(os, "fsync", fsync)
    files.judge("fruit", "ann", "1", "b", 1)
    assert synced == [str(path), str(path.parent)]
    files.judge("fruit", "ann", "2", "c", 1)
    assert synced[2:] == [str(path)]


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_line_that_a_crash_cut_off_is_no_grade_and_does_no_harm(
    files: JudgementFiles, path: Path, cut: int
) -> None:
    files.judge("fruit", "ann", "1", "b", 1)
    path.write_bytes(path.read_bytes() + b"2 0 c 2\n"[:cut])
    assert files.judgements("fruit", "ann") == {"1": {"b": 1}}
    files.judge("fruit", "ann", "1", "http://h/a", 0)
    assert path.read_text() == "1 0 b 1\n1 0 http://h/a 0\n"


def test_who_corrects_for_ever_fills_no_disk(files: JudgementFiles, path: Path) -> None:
    for n in range(CORRECTIONS_MAX + 50):
        files.judge("fruit", "ann", "1", "b", n % 2)
    assert len(path.read_text().splitlines()) <= CORRECTIONS_MAX + 1
    assert files.judgements("fruit", "ann") == {"1": {"b": 1}}


def test_grades_given_at_once_are_all_kept(files: JudgementFiles) -> None:
    pairs = [(f"a{n}", page) for n in range(4) for page in POOL.pages]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: files.judge("fruit", each[0], each[1].query, each[1].document, 1), pairs))
    assert all(
        files.judgements("fruit", f"a{n}") == {"1": {"http://h/a": 1, "b": 1}, "2": {"c": 1}}
        for n in range(4)
    )


def test_a_new_pool_of_the_name_leaves_the_grades(files: JudgementFiles) -> None:
    files.judge("fruit", "ann", "1", "b", 1)
    files.keep_pool("fruit", Pool(9, 0, QUERIES[1:], POOL.pages[2:]))
    assert files.judgements("fruit", "ann") == {"1": {"b": 1}}


def test_there_is_an_end_to_pools_and_assessors(
    files: JudgementFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(judgement_files.POOLS_MAX - 1):
        files.keep_pool(f"p{n}", POOL)
    with pytest.raises(ValueError, match="100 pools"):
        files.keep_pool("more", POOL)
    files.keep_pool("fruit", POOL)  # one that is there may be replaced
    for n in range(judgement_files.ASSESSORS_MAX):
        files.judge("fruit", f"a{n}", "1", "b", 1)
    with pytest.raises(ValueError, match="100 people"):
        files.judge("fruit", "more", "1", "b", 1)
    files.judge("fruit", "a0", "2", "c", 1)


def test_a_file_of_something_else_is_not_written_over(files: JudgementFiles, path: Path) -> None:
    path.write_text("my diary\n")
    with pytest.raises(ConfigError, match="no file of judgements"):
        files.judge("fruit", "ann", "1", "b", 1)
    assert path.read_text() == "my diary\n"


@pytest.mark.parametrize(
    "name", ["", "../ann", "a/b", "a.b", "a b", "a\n", "x" * 41, "\U00020000" * 21, "\x00"]
)
def test_a_name_that_leaves_the_folder_or_fits_no_file_is_none(name: str) -> None:
    assert not is_name(name)
    assert is_name("王-芳_2")


@pytest.mark.parametrize(
    ("pool", "fault"),
    [
        (Pool(1, 0, (), ()), "has 1 to"),
        (Pool(1, 0, QUERIES, POOL.pages[:2]), "a query no page"),
        (Pool(1, 0, QUERIES[:1], POOL.pages), "has no query"),
        (Pool(1, 0, (*QUERIES, QUERIES[0]), POOL.pages), "twice"),
        (Pool(1, 0, QUERIES, (*POOL.pages, POOL.pages[0])), "twice"),
        (Pool(1, 0, QUERIES, (*POOL.pages, PooledPage("1", "x 0 y\n1"))), "blanks"),
        (Pool(1, 0, QUERIES, (*POOL.pages, PooledPage("1", " x"))), "blanks"),
        (Pool(1, 0, QUERIES, (*POOL.pages, PooledPage("1", "x\u2028y"))), "blanks"),
        (POOL, ""),
    ],
)
def test_a_pool_that_cannot_be_judged_has_a_fault(pool: Pool, fault: str) -> None:
    found = fault_of(pool)
    assert fault in found
    assert bool(found) == bool(fault)


def test_the_order_of_pages_is_the_assessors_own_and_stays() -> None:
    pages = tuple(PooledPage("1", f"d{n}") for n in range(40))
    pool = Pool(40, 5, QUERIES[:1], pages)
    ann = shuffled_for(pool, "ann")["1"]
    assert shuffled_for(pool, "ann")["1"] == ann
    assert {*ann} == {*pages}
    assert shuffled_for(pool, "bob")["1"] != ann
    assert shuffled_for(Pool(40, 6, pool.queries, pages), "ann")["1"] != ann
    more = Pool(40, 5, pool.queries, (PooledPage("1", "new"), *reversed(pages)))
    assert [each for each in shuffled_for(more, "ann")["1"] if each.document != "new"] == ann


def test_no_place_tells_a_rank() -> None:
    """Over many assessors the first page of the ranking stands anywhere equally often."""
    pages = tuple(PooledPage("1", f"d{n}") for n in range(10))
    pool = Pool(10, 0, QUERIES[:1], pages)
    places = [shuffled_for(pool, f"a{n}")["1"].index(pages[0]) for n in range(2_000)]
    assert all(abs(places.count(place) - 200) < 60 for place in range(10))  # 4.5 standard deviations


def test_a_look_and_a_grade_cost_no_pass_over_the_pool(tmp_path: Path) -> None:
    """Counted in calls of Python functions, as load does not change them."""
    queries = tuple(PooledQuery(str(number), "words") for number in range(300))
    pages = tuple(PooledPage(each.query, f"http://h/{at}") for each in queries for at in range(10))
    files = JudgementFiles(tmp_path / "judging")
    files.keep_pool("large", Pool(10, 0, queries, pages))
    files.judge("large", "ann", "1", "http://h/1", 1)
    n_calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal n_calls
        n_calls += event == "call"

    sys.setprofile(count)
    try:
        files.judge("large", "ann", "1", "http://h/2", 1)
        desk = files.desk("large", "ann")
    finally:
        sys.setprofile(None)
    assert desk is not None
    assert desk.judged_count == 2
    assert n_calls < 300


def test_files_that_another_hand_changes_are_read_again(files: JudgementFiles, path: Path) -> None:
    files.judge("fruit", "ann", "1", "b", 1)
    path.write_text("1 0 b 2\n2 0 c 0\n")
    desk = files.desk("fruit", "ann")
    assert desk is not None
    assert desk.judged_count == 2
    files.keep_pool("fruit", Pool(9, 0, QUERIES[:1], POOL.pages[:2]))
    desk = files.desk("fruit", "ann")
    assert desk is not None
    assert (desk.judged_count, desk.page_count) == (1, 2)
    with pytest.raises(ValueError, match="no such page"):
        files.judge("fruit", "ann", "2", "c", 1)
