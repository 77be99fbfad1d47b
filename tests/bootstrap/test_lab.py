"""What a lab writes for its peers, at its first start and at later ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from bootstrap.lab import POLL_S, REST_POLL_S_MAX, SECOND_LOOK_S, Lab, LabOptions, NoReport, Report
from bootstrap.provision import write_bootstrap
from mesh.config import DoorConfig, load_config
from peers.config import PeerConfig

DOOR = DoorConfig(endpoint="tcp://127.0.0.1:7402", key="k" * 40)
REPORTS = 8  # of a mesh at rest, until something happens in it


def configured(folder: Path, peers: int = 2, door: DoorConfig = DOOR, **options: Any) -> list[PeerConfig]:
    """Start a lab as far as its configurations."""
    lab = Lab(LabOptions(folder, peers, 2, **options))
    write_bootstrap(lab.mesh_folder)
    return [load_config(folder / name / "config.toml", PeerConfig) for name in lab.configure(door)]


def test_what_a_person_wrote_stays_at_the_next_start(tmp_path: Path) -> None:
    configured(tmp_path, settings={"crawl.delay_s": 0.5})
    edited = tmp_path / "peer-1" / "config.toml"
    agent = 'user_agent = "ours/2.0 (+https://lab.example/bot)"  # agreed with our network people'
    lines = [agent if line.startswith("user_agent") else line for line in edited.read_text().splitlines()]
    edited.write_text("\n".join(lines) + "\n")
    moved = msgspec.structs.replace(DOOR, endpoint="tcp://127.0.0.1:9999")
    first, second = configured(tmp_path, door=moved)
    assert agent in edited.read_text()
    assert first.crawl.user_agent == "ours/2.0 (+https://lab.example/bot)"
    assert second.crawl.user_agent != first.crawl.user_agent
    assert first.crawl.delay_s == second.crawl.delay_s == 0.5
    assert first.member.doors == (moved,)


def test_what_the_command_line_names_wins_and_holds_from_then_on(tmp_path: Path) -> None:
    configured(tmp_path, settings={"crawl.delay_s": 0.5, "web.resolver": "/hosts.json"})
    configured(tmp_path, settings={"crawl.delay_s": 3.0})
    for config in configured(tmp_path):
        assert (config.crawl.delay_s, config.web.resolver) == (3.0, "/hosts.json")


def test_gateways_count_up_and_stay_where_they_are(tmp_path: Path) -> None:
    def gateways(**options: Any) -> list[str]:
        return [config.gateway.listen for config in configured(tmp_path, **options)]

    assert gateways() == ["127.0.0.1:8017", "127.0.0.1:8018"]
    assert gateways(gateway="127.0.0.1:9000") == ["127.0.0.1:9000", "127.0.0.1:9001"]
    assert gateways(peers=3) == ["127.0.0.1:9000", "127.0.0.1:9001", "127.0.0.1:8019"]
    assert gateways(peers=3, gateway="[::1]:0") == ["[::1]:0"] * 3


def test_first_settings_are_only_for_new_peers(tmp_path: Path) -> None:
    configured(tmp_path, peers=1, first_settings={"crawl.backoff_s": 1.0})
    old, new = configured(tmp_path, peers=2, first_settings={"crawl.backoff_s": 2.0})
    assert (old.crawl.backoff_s, new.crawl.backoff_s) == (1.0, 2.0)


def test_recording_ends_with_the_start_that_asked_for_it(tmp_path: Path) -> None:
    (config,) = configured(tmp_path, peers=1, is_traced=True)
    assert config.web.trace == str(tmp_path / "peer-1" / "trace")
    (config,) = configured(tmp_path, peers=1)
    assert config.web.trace == ""


def test_a_trace_of_a_persons_own_goes_on(tmp_path: Path) -> None:
    configured(tmp_path, peers=1, settings={"web.trace": "mine"})
    (config,) = configured(tmp_path, peers=1)
    assert config.web.trace == "mine"


async def test_a_status_that_does_not_come_is_a_line_on_the_screen(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(LabOptions(tmp_path, 1, 1))
    silence = NoReport("no peer answers")
    first, second = ({"n": n, "total": {"idle": True, "fetch_status": {}}} for n in (1, 2))
    polls: Iterator[Report | NoReport] = iter([silence, silence, first, silence, second])

    async def report() -> Report:
        poll = next(polls, None)
        if poll is None:
            raise KeyboardInterrupt
        if isinstance(poll, NoReport):
            raise poll
        return poll

    monkeypatch.setattr(lab, "report", report)
    monkeypatch.setitem(lab._nodes.descriptions, "peer-1", {})
    shown: list[Report] = []
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        await lab.watch(shown.append, told.append)
    assert shown == [first, second]
    assert len(told) == 2
    assert told[0].startswith("no peer answers")


async def test_peers_at_rest_are_asked_less_and_less_often(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(LabOptions(tmp_path, 1, 1))
    asked: list[float] = []

    async def report() -> Report:
        asked.append(trio.current_time())
        activity = 1 if len(asked) < REPORTS else 2  # something happens at last
        if len(asked) == REPORTS + 2:
            raise KeyboardInterrupt
        peer = {"id": "ann", "idle": True, "activity": activity}
        return {"peers": [peer], "total": {"idle": True, "fetch_status": {}}}

    monkeypatch.setattr(lab, "report", report)
    monkeypatch.setitem(lab._nodes.descriptions, "peer-1", {})
    with pytest.raises(KeyboardInterrupt):
        await lab.watch(lambda report: None, lambda text: None)
    *at_rest, after, _ = [then - before for before, then in pairwise(asked)]
    assert at_rest == sorted(at_rest)
    assert at_rest[0] == after == pytest.approx(POLL_S)
    assert at_rest[-1] == pytest.approx(REST_POLL_S_MAX)


async def test_a_mesh_that_has_come_to_rest_is_looked_at_again_soon(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(LabOptions(tmp_path, 1, 1))
    asked: list[float] = []

    async def report() -> Report:
        asked.append(trio.current_time())
        is_idle = len(asked) > 2
        peer = {"id": "ann", "idle": is_idle, "activity": min(len(asked), 3)}
        return {"peers": [peer], "total": {"idle": is_idle, "fetch_status": {}}}

    monkeypatch.setattr(lab, "report", report)
    monkeypatch.setitem(lab._nodes.descriptions, "peer-1", {})
    await lab.wait_until_done(lambda report: None, lambda text: None, 0.0)
    pauses = [then - before for before, then in pairwise(asked)]
    assert pauses == pytest.approx([POLL_S, POLL_S, SECOND_LOOK_S])
