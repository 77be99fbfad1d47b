"""Views of pages as they were in a span of time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mesh.slot_limits import SLOTS_MAX
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.pages.past import Lifetime, PastPage, TimeSpan
from peers.engine.past_index import Repeats, _common, _marks, settle, view_of_span

URL = "http://a.test/"


def found_in_span(before: Document, after: Document) -> int:
    """Return how many versions a span has of a page with these two."""
    present, past = Index(MemoryStorage()), Index(MemoryStorage())
    present.add([(1, after)])
    present.commit()
    page = PastPage(1, URL, (Lifetime(before.fetched_at, after.fetched_at),), (), (before,))
    assert settle(past, [page], present.snapshot()) == [()]
    slots = np.ones(SLOTS_MAX, np.bool_)
    span = TimeSpan(before.fetched_at, after.fetched_at + 1.0)
    return view_of_span(present.snapshot(), past.snapshot(), slots, span, None, Repeats()).document_count


@pytest.mark.parametrize("text", ["the same", ""])
def test_a_version_is_left_out_of_a_span_only_where_the_next_one_surely_repeats_it(text: str) -> None:
    """Of versions without a main text, which have no digest, all but the last were left out."""
    before = Document(URL, "Old", text=text, fetched_at=7.25, visit=1)
    for title, n_versions in (("Old", 1 if text else 2), ("New", 2)):
        after = Document(URL, title, text=text, fetched_at=9.5, visit=2)
        assert found_in_span(before, after) == n_versions


def test_repeats_are_looked_for_once_for_a_state_of_both_indexes() -> None:
    """Each new span sorted all versions, outside of the effort of its question."""
    present, past = Index(MemoryStorage()), Index(MemoryStorage())
    present.add([(1, Document(URL, "Title", text="a text", fetched_at=9.5, visit=2))])
    present.commit()
    before = Document(URL, "Title", text="a text", fetched_at=7.25, visit=1)
    settle(past, [PastPage(1, URL, (Lifetime(7.25, 9.5),), (), (before,))], present.snapshot())
    repeats = Repeats()
    found = repeats.of(present.snapshot(), past.snapshot())
    assert [each.tolist() for each in found] == [[1]]
    assert repeats.of(present.snapshot(), past.snapshot()) is found
    present.add([(1, Document(URL, "Title", text="another text", fetched_at=9.5, visit=2))])
    present.commit()
    assert [each.tolist() for each in repeats.of(present.snapshot(), past.snapshot())] == [[0]]


def test_a_thread_that_looks_at_another_state_meanwhile_changes_nothing_for_who_asked() -> None:
    """A thread returned not what it had found, but what another had put in its place by then."""
    nothing = Index(MemoryStorage()).snapshot()
    repeats = Repeats()
    found = repeats.of(nothing, nothing)

    class Meanwhile(int):
        def __eq__(self, other: object) -> bool:
            repeats._found = (7, 7), [np.zeros(1, np.uint8)]
            return super().__eq__(other)

        __hash__ = int.__hash__

    repeats._found = (Meanwhile(nothing.generation), nothing.generation), found
    assert repeats.of(nothing, nothing) is found


@pytest.mark.parametrize(
    ("n_begun", "n_ended", "n_both"), [(0, 0, 0), (500, 0, 0), (900, 700, 1), (700, 900, 600)]
)
def test_what_is_in_both_is_found_without_sorting_all(n_begun: int, n_ended: int, n_both: int) -> None:
    random = np.random.default_rng(n_both)
    marks = random.integers(-(1 << 63), (1 << 63) - 1, n_begun + n_ended)
    begun, ended = marks[:n_begun], marks[n_begun:]
    ended[:n_both] = begun[:n_both]
    assert _common(begun, ended).tolist() == sorted(set(begun.tolist()) & set(ended.tolist()))


def test_versions_of_one_content_at_whole_seconds_are_told_apart_without_sorting_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As an import of pages brings them that are all the same: a million took seconds."""
    n = 10_000
    seconds = 1.7e9 + np.arange(2.0 * n)
    same: Any = SimpleNamespace(
        live=np.ones(n, np.uint8), segment=SimpleNamespace(contents=np.full(n, 7, np.uint64))
    )
    begun, ended = (
        _marks(same, times)[1] for times in (seconds[::2], np.append(seconds[1:-1:2], seconds[0]))
    )
    sorted_ones: list[int] = []

    def intersect(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
        sorted_ones.append(len(one) + len(other))
        return np.array(sorted({*one.tolist()} & {*other.tolist()}), np.int64)

    monkeypatch.setattr(np, "intersect1d", intersect)
    assert len(_common(begun, ended)) == 1
    assert sorted_ones[0] < n
