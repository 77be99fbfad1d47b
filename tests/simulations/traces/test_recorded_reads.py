"""Files of recorded reads, their locality, and the studies that take them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from mesh.errors import ConfigError
from peers.engine.read_recorder import RecordedRead
from simulations.model.caches import ListAccess
from simulations.model.locality import NO_SLOPE, distinct_strings, interval_slope, pages_of, reads_of
from simulations.studies import cache, plan, postings
from simulations.traces.recorded_reads import bytes_of, queries_of, read_reads


def read(
    query: int, offset: int, length: int, *, first: int | None = None, part: str = "postings"
) -> RecordedRead:
    return RecordedRead(
        query, query if first is None else first, "segment-1", part, f"t{offset}", offset, length
    )


def written(path: Path, reads: list[RecordedRead]) -> str:
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in reads))
    return str(path)


@pytest.fixture
def few(tmp_path: Path) -> str:
    """Three queries, the last as the first; the second reads half of it, and positions."""
    return written(
        tmp_path / "reads",
        [read(0, 0, 100), read(1, 50, 100), read(1, 900, 40, part="positions"), read(2, 0, 100, first=0)],
    )


def test_reads_of_the_same_bytes_are_the_same_thing(few: str) -> None:
    reads = read_reads(Path(few))
    assert [each.thing for each in reads] == [0, 1, 2, 0]
    assert [each.has_positions for each in reads] == [False, False, True, False]
    assert [len(query) for query in queries_of(reads)] == [1, 2, 1]
    assert bytes_of(reads) == 150 + 40


def test_pages_of_two_segments_are_never_the_same(tmp_path: Path) -> None:
    reads = [read(0, 0, 100), msgspec.structs.replace(read(0, 0, 100), segment="segment-2")]
    numbers = read_reads(Path(written(tmp_path / "reads", reads)))
    accesses = [ListAccess(each.thing, each.start, each.n_bytes) for each in numbers]
    assert len(set(pages_of(accesses).tolist())) == len(set(reads_of(accesses).tolist())) == 2


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        msgspec.json.encode(read(0, -1, 5)),
        msgspec.json.encode(read(0, 0, 0)),
        msgspec.json.encode(read(0, 0, 1 << 40)),  # as many pages take all memory
        msgspec.json.encode(read(0, 1 << 50, 1)),
        msgspec.json.encode(read(1, 0, 1, first=2)),
    ],
)
def test_a_line_that_is_no_read_is_named(line: bytes, few: str) -> None:
    path = Path(few)
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(ConfigError, match="line 5 is no recorded read"):
        read_reads(path)


def test_a_file_without_reads_or_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no reads"):
        read_reads(Path(written(tmp_path / "reads", [])))
    with pytest.raises(ConfigError, match="give what --record-reads wrote"):
        read_reads(tmp_path / "none")


def test_book_8_5_distinct_strings_are_counted() -> None:
    things = np.array([0, 1, 0, 1, 0, 2])
    assert distinct_strings(things, range(1, 5)) == [3, 3, 3, 3]
    counts = distinct_strings(things)
    naive = [
        len({tuple(things[i : i + n].tolist()) for i in range(len(things) - n + 1)}) for n in range(1, 10)
    ]
    assert counts == naive


def test_book_8_5_the_slope_is_that_of_intervals() -> None:
    # Intervals of 1, 3, 5 ... references; of each as many as a power law of slope 2 has.
    wanted = 1.5
    things: list[int] = []
    for group in range(8):
        for _ in range(round(10_000 * (group + 0.5) ** -wanted)):
            thing = len(things)
            things += [thing, *range(10**9 + thing, 10**9 + thing + 2 * group), thing]
    assert interval_slope(np.array(things), group=2) == pytest.approx(wanted, abs=0.02)
    assert interval_slope(np.arange(100)) == NO_SLOPE


def test_caches_keep_recorded_reads_that_results_do_not_answer(few: str) -> None:
    small = {"count": 1_000, "distinct": 50, "sizes": "10", "shares": "1.0", "documents": 10}
    (outcome, without) = (
        cache.STUDY.repeat(cache.CacheParameters(reads=few, results=results, **small), [1])  # type: ignore[arg-type]
        for results in (1, 2)
    )
    strings = {
        (row["policy"], row["size"]): row["strings"]
        for row in outcome.summary()
        if row["of"] == cache.LOCALITY
    }
    assert strings[cache.READS, 1] == 3
    assert strings[cache.READS, 4] == 1, (
        "the third query is asked when the first is out of the cache of results"
    )
    kept = {(r["policy"], r["size"]): r["strings"] for r in without.summary() if r["of"] == cache.LOCALITY}
    assert kept[cache.READS, 4] == 0, "and here it is not"


def test_postings_at_once_read_what_they_share_once(few: str) -> None:
    outcome = postings.STUDY.repeat(
        postings.PostingsParameters(reads=few, at_once="1,3,100", documents=50, drawn=1_000), [1]
    )
    rows = {
        (row["at_once"], row["read"]): row["real_kb"]
        for row in outcome.summary()
        if row["asked"] == postings.RECORDED
    }
    assert rows[1, "documents"] == pytest.approx(0.1)
    assert rows[3, "documents"] == pytest.approx(0.15)
    assert rows[3, "and positions"] == pytest.approx(0.19)
    assert (100, "documents") not in rows, "there are no 100 queries"


def test_a_plan_takes_reads_of_a_search_from_a_file(few: str) -> None:
    assert plan.disk_searches_s(5, 200e3, 100, 20) == pytest.approx(10.0)
    outcome = plan.STUDY.repeat(
        plan.PlanParameters(pages=1e5, hosts=2_000, draws=20, reads=few, iops=50), [1]
    )
    usual = outcome.summary()[0]["disk_searches_s"]
    assert usual == pytest.approx(plan.disk_searches_s(4 / 3, 85.0, 50, 20))
    assert f"allows {usual:.3g} searches a second" in plan.in_words(outcome)
