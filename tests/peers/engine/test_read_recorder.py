"""Recorded reads of posting lists: those of the real kernels, of real segments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.native.lists import NOT_RECORDED
from peers.engine.pages.document import Document
from peers.engine.queries.query_parser import read_query
from peers.engine.read_recorder import ReadRecorder, RecordedRead
from peers.engine.searching.effort import Effort
from peers.engine.snapshot import Snapshot
from peers.evaluation.engines import ViewRanker

DOCUMENTS = 2_000


def rare_word_of(number: int) -> str:
    """A word of letters: qhq is 7."""
    return f"q{''.join(chr(97 + int(digit)) for digit in str(number))}q"


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    """Every page has `common`, every tenth `tenth`, each its own number."""
    with Index.open(MemoryStorage()) as index:
        for first in (0, DOCUMENTS // 2):  # two segments
            index.add(
                [
                    (
                        n % 2,
                        Document(
                            f"http://a.test/{n}",
                            text=f"common {'tenth ' * (n % 10 == 0)}{rare_word_of(n)} 搜索引擎",
                        ),
                    )
                    for n in range(first, first + DOCUMENTS // 2)
                ]
            )
            index.commit()
        yield index


@pytest.fixture
def recorder(index: Index) -> Iterator[ReadRecorder]:
    recorder = ReadRecorder(index.snapshot())
    yield recorder
    recorder.close()


def search(snapshot: Snapshot, text: str, effort: Effort) -> None:
    view = snapshot.everything()
    reading = read_query(text)
    statistics = view.statistics(reading.terms)
    view.search(reading.with_native_forms(statistics.doc_freqs), statistics, 10, effort=effort)


def places(reads: list[RecordedRead]) -> list[tuple[str, int, int]]:
    return [(read.segment, read.offset, read.length) for read in reads]


@pytest.mark.parametrize("text", ["common", "common tenth", "qhq", "qhq OR qiq OR common", "搜索引擎"])
def test_recorded_bytes_are_those_that_a_search_counts_itself(
    index: Index, recorder: ReadRecorder, text: str
) -> None:
    effort = Effort()
    reads = recorder.reads_of(text, lambda asked: search(index.snapshot(), asked, effort))
    assert effort.postings_read > 0
    assert sum(read.length for read in reads if read.part == "postings") == effort.postings_read


def test_a_read_names_its_term_and_where_it_is_in_the_file(index: Index, recorder: ReadRecorder) -> None:
    reads = recorder.reads_of("qhq", lambda text: search(index.snapshot(), text, Effort()))
    (read,) = (read for read in reads if read.term == "qhq")  # its form has another
    assert (read.term, read.part, read.query, read.first) == ("qhq", "postings", 0, 0)
    (segment,) = (each.segment for each in index.snapshot().segments if each.segment.name == read.segment)
    known = segment.look_up(["qhq"])
    start = segment.place_of("postings").start + int(known.starts[0])
    assert (read.offset, read.length) == (start, int(known.ends[0] - known.starts[0]))


def test_a_phrase_reads_positions_of_its_words_too(index: Index, recorder: ReadRecorder) -> None:
    reads = recorder.reads_of('"common tenth"', ViewRanker(index.snapshot().everything()).rank)
    wanted = {("common", "positions"), ("tenth", "positions"), ("common", "postings"), ("tenth", "postings")}
    assert {(read.term, read.part) for read in reads} >= wanted  # forms are read too


def test_what_a_query_reads_again_counts_once_and_the_next_query_anew(
    index: Index, recorder: ReadRecorder
) -> None:
    rank = ViewRanker(index.snapshot().everything()).rank
    once = recorder.reads_of("tenth", rank)
    assert len(set(places(once))) == len(once) > 1
    again = recorder.reads_of("tenth", rank)
    assert places(again) == places(once)
    assert {(read.query, read.first) for read in once + again} == {(0, 0), (1, 0)}


def test_a_query_with_more_reads_than_have_room_is_asked_again(index: Index) -> None:
    asked = []

    def ask(text: str) -> None:
        asked.append(text)
        search(index.snapshot(), text, Effort())

    def recorded(room: int) -> list[tuple[str, int, int]]:
        recorder = ReadRecorder(index.snapshot(), room)
        try:
            return places(recorder.reads_of("common tenth", ask))
        finally:
            recorder.close()

    narrow = recorded(1)
    assert len(asked) == 2
    assert narrow == recorded(1_000)
    assert len(asked) == 3


def test_a_recorder_that_is_closed_leaves_nothing_behind(index: Index) -> None:
    recorder = ReadRecorder(index.snapshot())
    recorder.close()
    assert all(each.segment.lists.reads is NOT_RECORDED for each in index.snapshot().segments)


def test_a_statistic_over_some_of_the_slots_reads_whole_lists(index: Index, recorder: ReadRecorder) -> None:
    snapshot = index.snapshot()
    slots = np.zeros(1 << 16, np.bool_)
    slots[0] = True
    of_all, of_half = snapshot.everything(), snapshot.responsible(slots)
    assert recorder.reads_of("common", lambda text: of_all.statistics((text,))) == []
    reads = recorder.reads_of("common", lambda text: of_half.statistics((text,)))
    known = [each.segment.look_up(["common"]) for each in snapshot.segments]
    assert [read.length for read in reads] == [int(each.ends[0] - each.starts[0]) for each in known]
