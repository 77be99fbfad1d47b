"""Three peers hold the dev web: a fourth joins, a fifth claims to be one of them, too many people ask."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.live.access_log import page_counts
from tests.live.chaos import Chaos, assert_answers_are_right, watched
from tests.live.lab_process import node, wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.searching import failures, misses, percentile_s, searching, told, wrong
from tests.live.truth import Truth
from tests.live.web import DEV_HOSTS, ServedWeb, served_web

pytestmark = [pytest.mark.live, pytest.mark.timed]

MOVED_MAX = 1.02  # of the share that a newcomer must get
OVERLOAD_S = 6.0
OVERLOAD_PER_S = 200.0  # ten times as many as the other tests issue
TWIN_S_MAX = 40.0
P99_S_MAX = 3.0
RSS_GROWTH_MAX = 100e6


class Held(NamedTuple):
    """The dev web, and a mesh that holds it."""

    web: ServedWeb
    mesh: Mesh
    chaos: Chaos


@pytest.fixture(scope="module")
def held(packages: Path, dev_truth: Truth, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    with (
        served_web(packages, DEV_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path_factory.mktemp("join") / "mesh", web, 4) as mesh,
    ):
        chaos = Chaos(mesh, dev_truth)
        chaos.found(3)
        chaos.wait_until_whole()
        mesh.wait_until_balanced()
        yield Held(web, mesh, chaos)
        mesh.assert_logs_are_clean()


def test_fourth_peer_takes_a_quarter_and_no_search_misses_anything(held: Held) -> None:
    web, mesh, chaos = held
    counts = page_counts(web.accesses())
    assert max(counts.values()) == 1
    with watched(mesh, chaos.truth, 40) as asked:
        time.sleep(2.0)
        began = time.monotonic()
        chaos.join(4)
        joined = time.monotonic()
        mesh.wait_until_balanced()
        took_s = time.monotonic() - joined
        chaos.wait_until_whole()
        time.sleep(2.0)
    chaos.tell(asked)
    assert_answers_are_right(asked)
    assert not misses(asked.answers)
    assert all(answer.missing == 0 for answer in asked.answers)

    row = mesh.row(4)
    megabytes = row["bytes_moved"] / 1e6
    chaos.say(
        f"peer-4 started in {joined - began:.1f} s, then balanced in {took_s:.1f} s: "
        f"{row['documents']} documents, {megabytes:.1f} MB, {megabytes / took_s:.1f} MB/s"
    )
    moved = row["slots"]["owned"]
    chaos.say(f"{moved} of {mesh.slot_count} slots moved")
    assert 0 < moved <= MOVED_MAX * mesh.slot_count / 4
    assert page_counts(web.accesses()) == counts  # no page fetched again
    chaos.assert_all_found()
    chaos.assert_archived()


def test_second_process_with_the_same_key_ends_and_does_no_lasting_harm(held: Held, tmp_path: Path) -> None:
    web, mesh, chaos = held
    counts, running = page_counts(web.accesses()), mesh.running()
    home = mesh.folder / "peer-2"
    twin = tmp_path / "twin"
    twin.mkdir()
    for name in ("config.toml", "peer.key"):
        shutil.copy(home / name, twin / name)
    with watched(mesh, chaos.truth) as asked:
        with node("peer", twin / "config.toml"):
            log = twin / "log"
            wait_for(lambda: "another process" in log.read_text(), "the second process to end", TWIN_S_MAX)
        mesh.wait_until_met()
        mesh.wait_until_balanced()
        chaos.wait_until_whole()
        wait_for(lambda: all(miss.is_over for miss in misses([*asked.answers])), "pages that were missing")
    chaos.tell(asked)
    assert mesh.running() == running
    assert not wrong(asked.answers)
    assert page_counts(web.accesses()) == counts
    chaos.assert_all_found()


def test_ten_times_the_searches_are_answered_or_refused_in_time(held: Held) -> None:
    _, mesh, chaos = held
    before = {row["id"]: row["rss_bytes"] for row in mesh.report()["peers"]}
    with searching(lambda: mesh.gateways()[:1], chaos.truth.known, OVERLOAD_PER_S) as asked:
        time.sleep(OVERLOAD_S)
    refused = failures(asked.answers)
    chaos.say(f"overload: {told(asked.answers)}, {asked.left_out} not asked")
    assert {answer.status for answer in refused} <= {503}
    answered = len(asked.answers) - len(refused)
    assert answered >= 0.8 * OVERLOAD_S * OVERLOAD_PER_S / 10  # at least what the other tests ask
    assert percentile_s(asked.answers, 99) <= P99_S_MAX
    assert not misses(asked.answers)
    after = {row["id"]: row["rss_bytes"] for row in mesh.report()["peers"]}
    assert all(after[peer] - before[peer] < RSS_GROWTH_MAX for peer in before)
    chaos.assert_all_found()
