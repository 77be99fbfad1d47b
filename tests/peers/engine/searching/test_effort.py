"""A search that may cost only so much: it is cut at the same place every time, and says so."""

from __future__ import annotations

import random
from collections.abc import Iterator
from threading import Thread
from time import sleep, thread_time

import numpy as np
import numpy.typing as npt
import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.queries.query import Literal, LiteralKind, Mode, Query, Sort
from peers.engine.queries.query_parser import read_query
from peers.engine.searching.effort import LEFT, UNLIMITED, Effort, EffortSpentError
from peers.engine.snapshot import View
from tests.peers.engine.plain_terms import plain_terms

WORDS = [f"w{n}" for n in range(60)]


@pytest.fixture(scope="module", autouse=True)
def _plain_terms() -> Iterator[None]:
    with plain_terms():
        yield


@pytest.fixture(scope="module")
def view() -> View:
    """Two segments, in which words are everywhere."""
    chance = random.Random(5)
    index = Index(MemoryStorage())
    for first in (0, 3_000):
        index.add(
            [
                (n % 7, Document(f"http://a.test/{n}", text=" ".join(chance.choices(WORDS, k=25))))
                for n in range(first, first + 3_000)
            ]
        )
        index.commit()
    return index.snapshot().everything()


def query(text: str, mode: Mode = Mode.AND, order: Sort = Sort.SCORE) -> Query:
    return read_query(text, order).query.with_mode(mode)


EITHER = (Literal(LiteralKind.WORDS, ("w1",)), Literal(LiteralKind.PHRASE, ("w2", "w3"), (0, 1)))
QUERIES = [
    query(" ".join(WORDS[:20]), Mode.OR),
    query("w1 w2"),
    query('"w1 w2"'),
    query('w1 "w2 w3"'),
    query("w1 (w2 OR w3) -w4"),
    query("w1 w2", order=Sort.DATE),
    Query(("w5",), ("w1",), (1.0,), alternatives=(EITHER,)),
    Query((), ("w1",), (1.0,), alternatives=(EITHER, EITHER[:1])),
    query("w1 -w2", Mode.OR),
]


def visits_of(view: View, query: Query) -> int:
    effort = Effort()
    view.search(query, view.statistics(query.terms), 10, effort=effort)
    return int(UNLIMITED - effort.cells[LEFT])


@pytest.mark.parametrize("query", QUERIES)
def test_enough_effort_changes_nothing(view: View, query: Query) -> None:
    statistics = view.statistics(query.terms)
    effort = Effort(visits_of(view, query) + 1)
    assert view.search(query, statistics, 10, effort=effort) == view.search(query, statistics, 10)
    assert not effort.is_spent


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_search_with_too_little_effort_is_cut_alike_every_time_and_says_so(
    view: View, query: Query, share: float
) -> None:
    statistics = view.statistics(query.terms)
    visits = int(visits_of(view, query) * share)
    answers = []
    for _ in range(2):
        effort = Effort(visits)
        answers.append(view.search(query, statistics, 10, effort=effort))
        assert effort.is_spent
    total, is_exact, hits = answers[0]
    assert answers[1] == answers[0]
    assert not is_exact
    whole_total, _, _ = view.search(query, statistics, 6_000)
    whole = {hit.url: hit.score for hit in view.search(query, statistics, 6_000)[2]}
    assert total <= whole_total
    assert all(whole[hit.url] == hit.score for hit in hits)


def test_no_work_goes_far_beyond_what_was_granted(view: View) -> None:
    query = QUERIES[0]
    effort = Effort(20_000)
    view.search(query, view.statistics(query.terms), 10, effort=effort)
    assert -20_000 < effort.cells[LEFT] <= 0


def test_facets_and_counts_are_all_or_nothing(view: View) -> None:
    with pytest.raises(EffortSpentError):
        view.facets(query("w1"), Effort(100))
    part = Index(MemoryStorage())
    part.add([(n, Document(f"http://a.test/{n}", text="common")) for n in range(200)])
    part.commit()
    some = part.snapshot().responsible(_slots(200, 100))
    with pytest.raises(EffortSpentError):
        some.statistics(("common",), Effort(100))
    assert some.statistics(("common",), Effort(1_000)).doc_freqs == {"common": 100}


def _slots(n: int, first: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(n, np.bool_)
    mask[:first] = True
    return mask


def test_a_kernel_at_work_is_stopped_by_another_thread(view: View) -> None:
    """Kernels hold no interpreter lock, so a thread that wants to stop one gets to run."""
    entries = tuple(f"w{n}" for n in range(60))
    long = Query(scoring=entries, weights=(1.0,) * 60, mode=Mode.OR)
    statistics = view.statistics(entries)
    whole = Effort()

    began = thread_time()
    for _ in range(20):
        view.search(long, statistics, 2_000, effort=whole)
    alone_s = thread_time() - began

    def stop_soon(effort: Effort) -> None:
        sleep(alone_s / 20 / 10)
        effort.stop()

    for _ in range(100):  # on a busy machine the thread may come too late
        stopped = Effort()
        thread = Thread(target=stop_soon, args=[stopped])
        thread.start()
        _, is_exact, _ = view.search(long, statistics, 2_000, effort=stopped)
        thread.join()
        assert stopped.is_spent
        if not is_exact:
            break
    assert not is_exact
    assert UNLIMITED - stopped.cells[LEFT] < (UNLIMITED - whole.cells[LEFT]) / 20
