"""Runs with all stores that a policy switches on: they pass, and bugs planted in a store are noticed."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address
from peers.crawler import pages_in_progress
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.model.revisit_policies import Finding
from peers.crawler.model.web_request import PageFetched
from peers.crawler.pages_in_progress import PagesInProgress
from peers.engine.matching.listed_files import FileColumns
from peers.engine.pages.class_model import ClassModel
from peers.entities import sealed_row
from peers.entities.sealed_row import SealedRow
from peers.index.index_reader import IndexReader
from peers.link_graph.page_ranks import PageRanks
from peers.link_graph.source_row import SourceRow
from peers.query_log.query_log import OwnQueryLog
from peers.query_log.wire_messages import ToldRow
from peers.storage import replaced_versions
from peers.storage.take_downs import TakeDowns
from peers.topics.topics import Topics
from peers.topics.wire_messages import ToldVisit
from peers.watch.messages import PageWatched
from peers.watch.notices import Notices
from simulations.faults.fault_run import FaultRun
from simulations.faults.faults import plan_of
from simulations.faults.stores.all_uses import ALL
from simulations.faults.stores.sealed_rows import EntityUse


@pytest.mark.parametrize(("seed", "peers"), [(1, 3), (102, 3), (103, 5)])
def test_all_stores_keep_their_promises_through_all_faults(seed: int, peers: int) -> None:
    run = FaultRun(plan_of(seed, peers), has_everything=True)
    outcome = run.run()
    assert outcome.violations == ()
    assert outcome.replay.endswith("--everything --verbose")
    assert [type(use) for use in run.uses] == list(ALL)
    [entities] = [use for use in run.uses if isinstance(use, EntityUse)]
    assert {row.is_forgotten for row in entities.kept.values()} == {False, True}
    assert run.hidden != ()


def violations() -> str:
    """Return those of a small run in which nothing goes wrong but a planted bug."""
    plan = replace(plan_of(3, 3), pages=30, hosts=6, healed_s=100.0, faults=())
    return "\n".join(FaultRun(plan, has_everything=True).run().violations)


def test_old_classes_unnoticed_changes_and_files_of_another_date_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(IndexReader, "take_classes", take_first_classes)
    monkeypatch.setattr(pages_in_progress, "NEW_TEXT", (Finding.FIRST,))
    monkeypatch.setattr(
        FileColumns, "fitting", lambda files, wanted: np.flatnonzero(files.sizes >= wanted.low)
    )
    found = violations()
    assert "counts pages of classes" in found
    assert "a search for class:physics is wrong" in found
    assert "has noticed" in found
    assert "newer:2024-01-21 is wrong about" in found


def take_first_classes(reader: IndexReader, classes: ClassModel | None) -> None:
    reader._classes = reader._classes or classes


def test_a_match_that_is_said_again_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    add = Notices.add

    def add_anew(notices: Notices, page: PageWatched, now: float) -> int:
        n_new = add(notices, page, now)
        notices._digests.clear()
        return n_new + add(notices, page, now)

    monkeypatch.setattr(Notices, "add", add_anew)
    assert "is new" in violations()


def test_what_stores_have_too_much_and_what_is_left_out_of_ranks_and_the_past_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A log of which others tell, too; entities that come back; visits of pages not to be indexed."""

    def order(row: SealedRow) -> tuple[int, bool, bytes]:
        return row.number, row.is_forgotten, row.sealed

    leave, note_page, lifetimes_of = (
        PagesInProgress.leave,
        PageRanks.note_page,
        replaced_versions.lifetimes_of,
    )

    def count_all(
        pages: PagesInProgress, state: HostState, taken: QueuedUrl, fetched: PageFetched, now: float
    ) -> None:
        before = 0 if pages.counted is None else len(pages.counted)
        leave(pages, state, taken, fetched, now)
        if pages.counted is not None and len(pages.counted) == before:
            pages.counted.add_unchanged(taken.url, state.slot, fetched.started_at)

    def leave_out(ranks: PageRanks, slot: int, mark: bytes, row: SourceRow) -> None:
        if mark[0] % 5:
            note_page(ranks, slot, mark, row)

    monkeypatch.setattr(OwnQueryLog, "_is_told", lambda log, item: log._keeps(item.name))
    monkeypatch.setattr(sealed_row, "_order", order)
    monkeypatch.setattr(PagesInProgress, "leave", count_all)
    monkeypatch.setattr(PageRanks, "note_page", leave_out)
    monkeypatch.setattr(replaced_versions, "lifetimes_of", lambda places: lifetimes_of(places)[1:])
    found = violations()
    assert "members tell of" in found
    assert "is back, which was forgotten" in found
    assert "still has something of entity" in found
    assert "which no server knows of" in found
    assert "away from those of power iteration" in found
    assert "in the past did not find the version" in found


def test_what_is_lost_and_what_is_shown_though_taken_down_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    take_rows, take_visits = OwnQueryLog._take, Topics._take

    def lose_rows(log: OwnQueryLog, source: Address, rows: tuple[ToldRow, ...]) -> bool:
        return take_rows(log, source, tuple(row for row in rows if row.name[-1] % 5))

    def lose_visits(topics: Topics, source: Address, visits: tuple[ToldVisit, ...]) -> bool:
        return take_visits(topics, source, tuple(visit for visit in visits if visit.name[0] % 5))

    monkeypatch.setattr(OwnQueryLog, "_take", lose_rows)
    monkeypatch.setattr(Topics, "_take", lose_visits)
    monkeypatch.setattr(TakeDowns, "hides", lambda *_: False)
    found = violations()
    assert "is not in the log" in found
    assert "is not counted" in found
    assert "of which it keeps none to show" in found
