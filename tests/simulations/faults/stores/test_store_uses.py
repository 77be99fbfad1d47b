"""Runs with all stores that a policy switches on: they pass, and bugs planted in a store are noticed."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address
from mesh.urls import host_of
from peers.crawler import pages_in_progress
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.model.revisit_policies import Finding
from peers.crawler.model.web_request import PageFetched
from peers.crawler.pages_in_progress import PagesInProgress
from peers.engine.matching.listed_files import FileColumns
from peers.engine.pages.class_model import ClassModel
from peers.entities import entities, sealed_row
from peers.entities.sealed_row import SealedRow
from peers.gateway.errands import notice_roundup
from peers.gateway.hubs import neighbour_roundup
from peers.index.index_reader import IndexReader
from peers.link_graph.link_graph import MeshGraph
from peers.link_graph.page_ranks import PageRanks
from peers.link_graph.source_row import SourceRow
from peers.link_graph.wire_messages import GraphTold, PageNeighbours
from peers.policy.log_rules import QueryLogRules
from peers.query_log.query_log import OwnQueryLog
from peers.query_log.wire_messages import ToldRow
from peers.storage import replaced_versions
from peers.storage.take_downs import TakeDowns
from peers.topics.topic_list import TopicsInForce
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


def violations(*, has_liar: bool = False, seconds: float = 100.0) -> str:
    """Return those of a small run in which nothing goes wrong but a planted bug."""
    # A liar that is in quarantine soon is heard by nobody: that of this seed is not.
    plan = replace(plan_of(6 if has_liar else 3, 3), pages=30, hosts=6, healed_s=seconds, faults=())
    lines: list[str] = []  # of which an outcome has but the first ones
    FaultRun(plan, lines.append, has_everything=True, has_liar=has_liar).run()
    return "\n".join(line for line in lines if " VIOLATION " in line)


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


def test_a_log_that_others_tell_of_too_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnQueryLog, "_is_told", lambda log, item: log._keeps(item.name))
    assert "members tell of" in violations()


def test_searches_and_visits_that_are_lost_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    take_rows, take_visits = OwnQueryLog._take, Topics._take

    def lose_rows(log: OwnQueryLog, source: Address, rows: tuple[ToldRow, ...]) -> bool:
        return take_rows(log, source, tuple(row for row in rows if row.name[-1] % 5))

    def lose_visits(topics: Topics, source: Address, visits: tuple[ToldVisit, ...]) -> bool:
        return take_visits(topics, source, tuple(visit for visit in visits if visit.name[0] % 5))

    monkeypatch.setattr(OwnQueryLog, "_take", lose_rows)
    monkeypatch.setattr(Topics, "_take", lose_visits)
    found = violations()
    assert "is not in the log" in found
    assert "is not counted" in found


def test_an_entity_that_comes_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def order(row: SealedRow) -> tuple[int, bool, bytes]:
        return row.number, row.is_forgotten, row.sealed

    monkeypatch.setattr(sealed_row, "_order", order)
    found = violations()
    assert "is back, which was forgotten" in found
    assert "still has something of entity" in found


def test_a_page_that_asks_not_to_be_indexed_and_counts_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    leave = PagesInProgress.leave

    def count_all(
        pages: PagesInProgress, state: HostState, taken: QueuedUrl, fetched: PageFetched, now: float
    ) -> None:
        before = 0 if pages.counted is None else len(pages.counted)
        leave(pages, state, taken, fetched, now)
        if pages.counted is not None and len(pages.counted) == before:
            pages.counted.add_unchanged(taken.url, state.slot, fetched.started_at)

    monkeypatch.setattr(PagesInProgress, "leave", count_all)
    assert "which no server knows of" in violations(seconds=240.0), "pages are to be visited again"


def test_ranks_without_some_pages_and_a_past_without_some_versions_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    note_page, lifetimes_of = PageRanks.note_page, replaced_versions.lifetimes_of

    def leave_out(ranks: PageRanks, slot: int, mark: bytes, row: SourceRow) -> None:
        if mark[0] % 5:
            note_page(ranks, slot, mark, row)

    monkeypatch.setattr(PageRanks, "note_page", leave_out)
    monkeypatch.setattr(replaced_versions, "lifetimes_of", lambda places: lifetimes_of(places)[1:])
    found = violations()
    assert "away from those of power iteration" in found
    assert "in the past did not find the version" in found


def test_a_page_that_is_shown_though_taken_down_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TakeDowns, "hides", lambda *_: False)
    assert "of which it keeps none to show" in violations()


def test_a_member_that_lies_about_stores_goes_no_further_than_is_said() -> None:
    assert violations(has_liar=True) == ""


def test_rows_of_a_liar_that_nobody_may_take_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QueryLogRules, "keeps", lambda *_: True)
    monkeypatch.setattr(TopicsInForce, "keeps", lambda *_: True)
    monkeypatch.setattr(entities, "is_row", lambda *_: True)
    monkeypatch.setattr(MeshGraph, "_take", take_of_anybody)
    found = violations(has_liar=True)
    assert "nobody made the search" in found
    assert "which no server knows of" in found
    assert "was kept" in found
    assert "is said to link to" in found


def test_lists_and_notices_of_a_liar_that_nobody_confirms_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(neighbour_roundup, "_both", longer_of)
    monkeypatch.setattr(notice_roundup, "is_canonical", lambda url: True)
    found = violations(has_liar=True)
    assert "a title that no page has" in found
    assert "links that there are not" in found
    assert "notices of what is no page" in found


def longer_of(one: PageNeighbours, other: PageNeighbours | None) -> PageNeighbours:
    """Believe the member that tells more."""
    return one if other is None else max(one, other, key=lambda each: len(each.sources))


def take_of_anybody(graph: MeshGraph, source: Address, told: GraphTold) -> None:
    """Take links as if a member had told them that keeps the page."""
    ownership = graph._ownership
    assert ownership is not None
    peer = ownership.owner_of(ownership.slot_of(host_of(told.url))) or source.peer
    _take(graph, source._replace(peer=peer), told)


_take = MeshGraph._take
