"""Submitted sites in runs with faults: limits hold, nothing taken is lost, and what goes wrong is noticed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address
from peers.crawler.site_watch import SiteWatch
from peers.link_graph.link_graph import MeshGraph
from peers.link_graph.wire_messages import GraphTold
from peers.submissions.submissions import Submissions
from simulations.faults.fault_run import FaultRun, run_faults
from simulations.faults.faults import plan_of
from simulations.faults.stores.submitter import RULES, Submitter
from simulations.webs.submitted_web import SITES, SubmittedWeb
from tests.simulations.violations import missed


@pytest.mark.parametrize(
    ("seed", "peers", "has_liar", "has_pins"),
    [
        (1, 4, False, False),
        (3, 3, False, False),
        (8, 5, False, True),
        (12, 3, True, False),
        (18, 3, True, True),
    ],
)
def test_submitted_sites_are_crawled_up_to_their_limit_through_all_faults(
    seed: int, peers: int, has_liar: bool, has_pins: bool
) -> None:
    run = FaultRun(plan_of(seed, peers), has_sites=True, has_liar=has_liar, has_pins=has_pins)
    outcome = run.run()
    assert outcome.violations == ()
    assert outcome.replay.endswith("--sites --verbose")
    web, submitter = run.web, run.uses[0]
    assert isinstance(web, SubmittedWeb)
    assert isinstance(submitter, Submitter)
    assert set(submitter.promised.values()) == set(web.sites)
    asked = {url for url in run.watch.last if url.startswith(tuple(web.sites))}
    assert len(asked) == (SITES - 1) * RULES.pages_per_site


def is_noticed(sentence: str, seed: int = 3, *, has_liar: bool = False) -> bool:
    """Does a run tell of a violation?"""
    return not missed(
        lambda tell: run_faults(seed, 3, tell=tell, has_sites=True, has_liar=has_liar), sentence
    )


def test_a_crawl_that_goes_beyond_a_limit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SiteWatch, "may_ask", lambda *_: True)
    assert is_noticed("page 8 of a site with a proof")


def test_a_submission_that_is_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    row_of = Submissions.row_of
    monkeypatch.setattr(
        Submissions, "row_of", lambda actor, code: None if code[-1] & 1 else row_of(actor, code)
    )
    assert is_noticed("is not the same at all of its team")


def test_a_link_that_goes_and_stays_at_its_target_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    take = MeshGraph._take

    def forget_the_gone(graph: MeshGraph, source: Address, told: GraphTold) -> None:
        take(graph, source, replace(told, gone=()))

    monkeypatch.setattr(MeshGraph, "_take", forget_the_gone)
    assert is_noticed("is said to link to")


def test_links_that_are_not_told_by_who_takes_over_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MeshGraph, "_tell", lambda *_: None)
    assert is_noticed("are not told")


def test_a_peer_that_dies_of_what_a_member_calls_a_site_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peers.submissions.submission.is_canonical", lambda url: True)
    assert is_noticed("IndexError", seed=12, has_liar=True)
