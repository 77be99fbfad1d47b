"""Whatever happens to the peers of a mesh: no page is lost or fetched twice, and no answer is wrong.

One mesh meets all of it, in the order of this file; each step can be run by itself (`pytest -k kill`) and
names itself when it fails. The books of `Chaos` go through all steps, and every step holds the web server's
log of all that has happened so far against them.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient
from mesh.membership.model.swim_settings import SwimSettings
from tests.live.access_log import Access, page_counts
from tests.live.campaign import GUEST, NEWCOMER, PEERS, SPARE, Campaign, campaign
from tests.live.chaos import script
from tests.live.known_pages import KnownPage
from tests.live.lab_process import node, search, tianmesh, wait_for
from tests.live.mesh_processes import Mesh
from tests.live.namespaces import SmallInternet, why_impossible
from tests.live.place import Place
from tests.live.searching import failures, misses, searching, told
from tests.live.truth import Truth

pytestmark = pytest.mark.live

SEED: Final = int(os.environ.get("TIANMESH_CHAOS_SEED", "1"))  # of the order in which things happen
NEXT: Final = (sys.executable, "-m", "tests.live.next_version")
PAUSE_S: Final = 15.0  # long enough to be held for dead
SLACK_S: Final = 1.5  # a fetch that was begun in time, on a busy machine
MOVED_MAX: Final = 1.02  # of the share that a newcomer must get
OVERLOAD_S: Final = 4.0
OVERLOAD_PER_S: Final = 200.0  # ten times as many as the other steps ask
GROWTH_BYTES_MAX: Final = 100e6
SHOWN_AGAIN_S: Final = 5.0  # for which a page must stay away


@pytest.fixture(scope="module")
def founded(
    request: pytest.FixtureRequest, truth: Truth, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Campaign]:
    with campaign(tmp_path_factory.mktemp("campaign"), truth) as founded:
        founded.mesh.commands = {0: NEXT}  # the bootstrap node is upgraded first
        founded.chaos.meet(PEERS)
        yield founded


@pytest.fixture
def step(founded: Campaign, request: pytest.FixtureRequest) -> Iterator[Campaign]:
    """The mesh, whole; a step that fails leaves one that is of no use to those after it."""
    if founded.broken_by:
        pytest.fail(f"{founded.broken_by} failed before and left the mesh as it was then", pytrace=False)
    founded.chaos.say(f"--- {request.node.name}")
    failed = request.session.testsfailed
    yield founded
    if request.session.testsfailed > failed:
        founded.broken_by = request.node.name


# --- while the mesh crawls ---


def test_a_crawling_mesh_is_upgraded_peer_by_peer(step: Campaign) -> None:
    """To an invented next version of the protocol; peers that are started later are of this one again."""
    mesh, chaos = step.mesh, step.chaos
    peers = range(1, PEERS + 1)
    step.crawl("upgrade")
    with chaos.watched():
        for number in peers:
            mesh.commands[number] = NEXT
            chaos.restart(number)
            mesh.wait_until_balanced()
            _wait_until_behind(mesh, number, PEERS - number)
        chaos.wait_until_whole()
    assert [_behind(mesh, number) for number in peers] == [0] * PEERS
    for number in peers:
        assert "protocol version" not in mesh.log(number), mesh.log(number)
    mesh.commands.clear()
    step.audit()


def test_killed_peers_hosts_are_crawled_and_searched_by_the_others(step: Campaign) -> None:
    mesh, chaos = step.mesh, step.chaos
    step.crawl("kill")
    with chaos.watched():
        victim, hosts = chaos.busiest(step.web.accesses)
        killed_s = chaos.kill(victim)
        wait_for(
            lambda: all(_asked_by_others(host, killed_s, [victim], step.web.accesses()) for host in hosts),
            f"request by another peer for each of {hosts}",
        )
        chaos.wait_until_whole()  # the others have two copies of everything
    n_asked = len(step.web.accesses())
    mesh.empty(victim)
    with chaos.watched():
        mesh.start(victim)
        chaos.say(f"peer-{victim} is back with an empty disk")
        chaos.wait_until_whole()
    assert len(step.web.accesses()) == n_asked  # nothing of this made them fetch
    step.audit()


def test_paused_peer_does_not_go_on_with_what_others_have_taken(step: Campaign) -> None:
    chaos = step.chaos
    step.crawl("pause")
    with chaos.watched():
        number, hosts = chaos.busiest(step.web.accesses)
        paused_s = time.time()
        chaos.pause(number, PAUSE_S)
        for host in hosts:
            assert _asked_by_others(host, paused_s, [number], step.web.accesses()), host
        chaos.mesh.wait_until_met()
        chaos.wait_until_whole()
    step.audit()


def test_only_the_majority_crawls_and_both_sides_answer(step: Campaign) -> None:
    """A fetch by who is cut off is read from the web server's log, by address: he could, and must not."""
    internet, mesh, chaos = step.internet, step.mesh, step.chaos
    if internet is None:
        pytest.skip(why_impossible())
    mesh.wait_until_balanced()
    step.crawl("partition")
    with chaos.watched():
        busy, _ = chaos.busiest(step.web.accesses)
        minority = [busy, next(number for number in mesh.running() if number != busy)]
        _cut(step, internet, minority)
        chaos.wait_until_whole()
    step.audit()


def test_drained_and_restarted_peers_cost_no_page_and_no_second_fetch(step: Campaign) -> None:
    mesh, chaos = step.mesh, step.chaos
    step.crawl("drain")
    with chaos.watched():
        for number in (2, 3):
            chaos.restart(number)
            mesh.wait_until_balanced()
    before = len(chaos.excuses)
    with chaos.watched():
        chaos.join(GUEST)
        mesh.wait_until_balanced()
        chaos.drain(GUEST)
        chaos.wait_until_whole()
    assert len(chaos.excuses) == before
    step.audit()


def test_whatever_happens_in_an_order_drawn_from_a_seed(step: Campaign) -> None:
    mesh, chaos = step.mesh, step.chaos
    random = Random(SEED)
    chaos.say(f"seed {SEED}")
    step.crawl("chaos")
    with chaos.watched():
        for action in script(chaos, random):
            action()
            time.sleep(random.uniform(0.0, 2.0))
        chaos.wait_until_whole()
        chaos.lose_disk(random.choice(mesh.running()))
        chaos.wait_until_whole()
    step.audit()


# --- at rest ---


def test_newcomer_takes_its_share_and_no_search_misses_anything(step: Campaign) -> None:
    web, mesh, chaos = step.web, step.mesh, step.chaos
    step.crawl_the_rest()
    mesh.wait_until_balanced()
    counts = page_counts(web.accesses())
    with chaos.watched(40) as asked:
        chaos.join(NEWCOMER)
        mesh.wait_until_balanced()
        chaos.wait_until_whole()
    assert not misses(asked.answers)
    assert all(answer.missing == 0 for answer in asked.answers)
    moved = mesh.row(NEWCOMER)["slots"]["owned"]
    chaos.say(f"{moved} of {mesh.slot_count} slots moved, {mesh.row(NEWCOMER)['bytes_moved'] / 1e6:.1f} MB")
    assert 0 < moved <= MOVED_MAX * mesh.slot_count / len(mesh.running())
    assert page_counts(web.accesses()) == counts  # no page fetched again
    step.audit()


def test_second_process_with_the_same_key_ends_and_does_no_lasting_harm(
    step: Campaign, tmp_path: Path
) -> None:
    mesh, chaos = step.mesh, step.chaos
    step.crawl_the_rest()
    running = mesh.running()
    twin = tmp_path / "twin"
    twin.mkdir()
    shutil.copy(mesh.folder / "peer-2" / "peer.key", twin / "peer.key")
    place = _write_twin(step, mesh.folder / "peer-2" / "config.toml", twin / "config.toml")
    with chaos.watched(), chaos.trouble(2):
        with node("peer", twin / "config.toml", place.command):
            log = twin / "log"
            wait_for(lambda: "another process" in log.read_text(), "the second process to end")
        mesh.wait_until_met()
        mesh.wait_until_balanced()
        chaos.wait_until_whole()
    assert mesh.running() == running
    step.audit()


def test_ten_times_the_searches_are_answered_or_refused(step: Campaign) -> None:
    mesh, chaos = step.mesh, step.chaos
    step.crawl_the_rest()
    before = {row["id"]: row["rss_bytes"] for row in mesh.report()["peers"]}
    with searching(lambda: mesh.gateways()[:1], chaos.truth.known, OVERLOAD_PER_S) as asked:
        time.sleep(OVERLOAD_S)
    refused = failures(asked.answers)
    chaos.say(f"overload: {told(asked.answers)}, {asked.left_out} not asked")
    assert {answer.status for answer in refused} <= {503}
    assert len(refused) < len(asked.answers)
    assert not misses(asked.answers)
    after = {row["id"]: row["rss_bytes"] for row in mesh.report()["peers"]}
    assert all(after[peer] - before[peer] < GROWTH_BYTES_MAX for peer in before)
    chaos.assert_all_found()


def test_answers_say_it_while_all_copies_of_a_host_are_down(step: Campaign) -> None:
    mesh, chaos = step.mesh, step.chaos
    step.crawl_the_rest()
    mesh.wait_until_balanced()
    host = chaos.truth.known[0].host
    team = mesh.team_of(host)
    with chaos.watched(hosts=[host]) as asked:
        _wait_for_answers(asked.answers, with_page=True)
        chaos.kill(*team)
        _wait_for_answers(asked.answers, with_page=False)
        mesh.start(*team)
        chaos.wait_until_whole()
        _wait_for_answers(asked.answers, with_page=True)
    assert misses(asked.answers)
    assert all(miss.is_said for miss in misses(asked.answers)), misses(asked.answers)
    step.audit()


def test_page_that_is_taken_down_is_gone_everywhere_also_at_a_peer_that_was_away(
    step: Campaign, tmp_path: Path
) -> None:
    mesh, chaos = step.mesh, step.chaos
    step.crawl_the_rest()
    mesh.wait_until_balanced()
    page = chaos.truth.known[0]
    assert all(_shows(gateway, page) for gateway in mesh.gateways())
    away = mesh.team_of(page.host)[1]
    chaos.kill(away)
    _order(mesh, "takedown", page.url, "--reason", "asked by its author")
    wait_for(lambda: not any(_shows(each, page) for each in mesh.gateways()), "the take-down")

    mesh.start(away)
    until = time.monotonic() + SHOWN_AGAIN_S
    while time.monotonic() < until:  # not in its first answer, and not later
        assert not _shows(mesh.gateway(away), page)
    mesh.wait_until_balanced()
    owner = mesh.team_of(page.host)[0]
    with chaos.trouble(owner):
        mesh.stop(owner)  # so that another copy answers
        mesh.wait_until_balanced()
    assert not any(_shows(gateway, page) for gateway in mesh.gateways())
    assert page.url not in _exported(mesh, tmp_path)

    mesh.start(owner)
    mesh.wait_until_balanced()
    _order(mesh, "takedown", page.url, "--undo")
    wait_for(lambda: all(_shows(each, page) for each in mesh.gateways()), "the page again")
    assert page.url in _exported(mesh, tmp_path)
    step.audit()
    mesh.assert_logs_are_clean()


def test_expelled_peer_is_gone_everywhere_and_who_was_away_never_takes_it_for_a_member(
    step: Campaign,
) -> None:
    mesh, chaos = step.mesh, step.chaos
    step.crawl_the_rest()
    mesh.wait_until_balanced()
    expelled, away = mesh.team_of(chaos.truth.known[0].host)
    with chaos.trouble(away):
        assert mesh.stop(away) == 0
    chaos.wait_until_whole()  # without that one, too

    options = ["--gateway", mesh.gateways()[0], "--data", str(mesh.folder)]
    done = tianmesh("expel", mesh.peer_id(expelled), "--reason", "it lies", *options)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: not mesh.is_running(expelled), "end of the expelled peer")
    assert "was expelled from the mesh" in mesh.log(expelled)
    mesh.wait_until_balanced()
    chaos.wait_until_whole()
    chaos.assert_all_found()

    mesh.start(away)
    wait_for(lambda: _takes_part_without(mesh, away, expelled), "the peer that was away")
    mesh.wait_until_balanced()
    step.audit()
    for number in mesh.running():
        assert _takes_part_without(mesh, number, expelled)
        errors = [line for line in mesh.log(number).splitlines() if " ERROR " in line or "Traceback" in line]
        assert not errors, f"{number}: {errors}"


# --- details ---


def _behind(mesh: Mesh, number: int) -> int:
    """Return how many members a peer knows to speak an older version than itself only."""
    request = Request(f"{mesh.gateway(number)}/metrics")
    request.add_header("Authorization", f"Bearer {tokens_for(mesh.folder)()}")
    with urlopen(request, timeout=100.0) as answer:
        body = answer.read().decode()
    found = re.search(r"^tianmesh_runtime_behind (\d+)", body, re.MULTILINE)
    assert found is not None, body
    return int(found[1])


def _wait_until_behind(mesh: Mesh, number: int, count: int) -> None:
    wait_for(lambda: _behind(mesh, number) == count, f"{count} peers behind peer-{number}")


def _asked_by_others(host: str, since_s: float, but: Collection[int], accesses: Collection[Access]) -> bool:
    return any(a.host == host and a.began_s > since_s and a.peer not in but for a in accesses)


def _cut(step: Campaign, internet: SmallInternet, minority: Sequence[int]) -> None:
    """Cut, see that only the majority goes on, with all there is to do, and heal."""
    mesh, chaos = step.mesh, step.chaos
    majority = [number for number in range(1, len(internet.peers) + 1) if number not in minority]
    _, hosts = chaos.busiest(step.web.accesses, minority)
    # What only those on the other side know waits for them: else it would be fetched again.
    known = [host for host in hosts if set(mesh.team_of(host)) & set(majority)]
    internet.split(majority, minority)
    cut_s = time.time()
    chaos.say(f"{majority} | {minority}, who crawled {hosts}")
    wait_for(lambda: set(minority) <= _down(mesh, majority[0]), "the majority to hold the others for dead")
    wait_for(
        lambda: all(_asked_by_others(host, cut_s, minority, step.web.accesses()) for host in known),
        f"request of the majority for each of {known}",
    )
    for number in minority:
        coverage = search(mesh.gateway(number), "debian")["coverage"]
        assert coverage["answered"] + coverage["missing"] == coverage["slots"]
    healed_s = time.time()
    internet.heal()
    chaos.say("healed")
    licensed_s = cut_s + SwimSettings().licence_s + SLACK_S
    during = [access for access in step.web.accesses() if cut_s < access.began_s < healed_s]
    late = [access for access in during if access.peer in minority and access.began_s > licensed_s]
    assert not late, f"{len(late)} fetches without a licence: {late[:3]}"
    foreign = [access for access in during if access.peer in majority and access.host in {*hosts} - {*known}]
    assert not foreign, f"{len(foreign)} fetches of what only the others know: {foreign[:3]}"
    for number in minority:
        chaos.excuse(number, cut_s, licensed_s)
    mesh.wait_until_met()
    mesh.wait_until_balanced()
    chaos.say("all have met again, and know the same")


def _write_twin(step: Campaign, source: Path, target: Path) -> Place:
    """Configure a peer like another one, but at an address of its own; return where it is to run."""
    text = source.read_text(encoding="utf-8")
    place = Place()
    if step.internet is not None:
        original, place = step.internet.peers[1], step.internet.peers[SPARE - 1]
        text = text.replace(f'"{original.listen}"', f'"{place.listen}"')
        text = text.replace(f'"{original.gateway}:', f'"{place.gateway}:')
    target.write_text(text, encoding="utf-8")
    return place


def _down(mesh: Mesh, seen_by: int) -> set[int]:
    """The peers that one of them holds for dead."""
    states = {each["id"]: each["state"] for each in mesh.report(seen_by)["members"]}
    return {number for number in range(1, PEERS + 1) if states.get(mesh.peer_id(number)) == "down"}


def _wait_for_answers(answers: Sequence[Any], *, with_page: bool) -> None:
    """Wait for two rounds of answers that all have their page, or all have not."""
    before = len(answers)

    def are_so() -> bool:
        latest = answers[before:][-20:]
        return len(latest) == 20 and all(answer.is_found == with_page for answer in latest)

    wait_for(are_so, f"answers {'with' if with_page else 'without'} the pages")


def _takes_part_without(mesh: Mesh, number: int, expelled: int) -> bool:
    """Has it a slot table? Once it has, it counts those that run and the bootstrap node, and no more."""
    report = mesh.report(number)
    own = _row(report, mesh.peer_id(number))
    if not own.get("epoch"):
        return False
    assert own["members"] <= len(mesh.running()) + 1, own
    assert not _row(report, mesh.peer_id(expelled))
    return True


def _row(report: Mapping[str, Any], peer: str) -> dict[str, Any]:
    return next((row for row in report["peers"] if row["id"] == peer), {})


def _shows(gateway: str, page: KnownPage) -> bool:
    """Is it among the answers to its rarest word, or is there a stored copy?"""
    with GatewayClient(gateway) as client:
        hits = client.search(page.word, 10)["hits"]
    if page.url in [hit["url"] for hit in hits]:
        return True
    try:
        with urlopen(f"{gateway}/page?{urlencode({'url': page.url})}", timeout=100):
            return True
    except HTTPError:
        return False


def _order(mesh: Mesh, *arguments: str) -> None:
    key = str(mesh.folder / "admin.key")
    options = ["--gateway", mesh.gateways()[0], "--key", key, "--data", str(mesh.folder)]
    done = tianmesh(*arguments, *options)
    assert done.returncode == 0, done.stderr


def _exported(mesh: Mesh, folder: Path) -> set[str]:
    out = folder / f"export-{time.monotonic_ns()}"
    done = tianmesh("export", "jsonl", "--config", str(mesh.folder), "--out", str(out))
    assert done.returncode == 0, done.stderr
    with gzip.open(out / "pages.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {json.loads(line)["url"] for line in lines}
