"""`tianmesh policy`, `takedown`, `pause`, `resume` and the scope of `seed`, against a gateway in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.decree import Signer, appoint
from mesh.errors import ConfigError
from mesh.key_file import new_signing_key, save_administrator
from mesh.signing_key import SigningKey
from peers.policy.policy_file import read_policy
from peers.policy.rules import Action, Policy, policy_in
from tests.peers.commands.running import run
from tests.peers.fake_gateway import FakeGateway, fake_gateway

ROOT = SigningKey.of_secret(b"r" * 32)
PAGE = "http://www.pku.edu.cn/x"


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with fake_gateway() as gateway:
        yield gateway


@pytest.fixture
def key(tmp_path: Path) -> str:
    key = new_signing_key()
    path = tmp_path / "admin.key"
    save_administrator(path, Signer(key, b"mesh", appoint(ROOT, b"mesh", key.public)))
    return str(path)


def in_force(gateway: FakeGateway) -> Policy:
    return policy_in(gateway.decrees[-1].body)


def test_seed_keeps_the_crawl_on_its_domain(gateway: FakeGateway, key: str) -> None:
    said = run(gateway, "seed", PAGE, "--key", key)
    assert "the crawl stays on pku.edu.cn" in said
    policy = in_force(gateway)
    assert policy.has_room_for("http://lib.pku.edu.cn/")
    assert not policy.has_room_for("http://a.org/")


def test_seed_within_a_pattern_with_a_depth(gateway: FakeGateway, key: str) -> None:
    run(gateway, "seed", PAGE, "--within", "http://www.pku.edu.cn/x*", "--depth-max", "2", "--key", key)
    policy = in_force(gateway)
    assert policy.has_room_for(PAGE, 2)
    assert not policy.has_room_for(PAGE, 3)
    assert not policy.has_room_for("http://www.pku.edu.cn/y")


def test_seed_anywhere_opens_the_web(gateway: FakeGateway, key: str) -> None:
    run(gateway, "seed", PAGE, "--key", key)
    assert "anywhere" in run(gateway, "seed", PAGE, "--anywhere", "--key", key)
    assert in_force(gateway).has_room_for("http://a.org/")


def test_seed_of_a_mesh_that_goes_anywhere_takes_nothing_from_its_scope(
    gateway: FakeGateway, key: str
) -> None:
    run(gateway, "seed", PAGE, "--anywhere", "--key", key)
    assert "anywhere" in run(gateway, "seed", PAGE, "--key", key)
    assert in_force(gateway).has_room_for("http://a.org/")


def test_seed_without_a_key_leaves_the_policy_to_the_mesh(gateway: FakeGateway, tmp_path: Path) -> None:
    run(gateway, "seed", PAGE, "--key", str(tmp_path / "none"))
    assert gateway.decrees == []
    with pytest.raises(ConfigError, match="none"):
        run(gateway, "seed", PAGE, "--within", "a.org", "--key", str(tmp_path / "none"))


def test_takedown_and_its_undoing(gateway: FakeGateway, key: str) -> None:
    run(gateway, "takedown", PAGE, "--reason", "asked by its author", "--key", key)
    assert in_force(gateway).is_taken_down(PAGE)
    assert "asked by its author" in run(gateway, "policy", "show")
    run(gateway, "takedown", PAGE, "--undo", "--key", key)
    assert not in_force(gateway).is_taken_down(PAGE)
    history = json.loads(run(gateway, "policy", "show", "--history", "--json"))
    assert [each["number"] for each in history] == [7, 8]
    assert [each["is_in_force"] for each in history] == [False, True]
    assert history[0]["rules"][0]["reason"] == "asked by its author"


def test_pause_and_resume(gateway: FakeGateway, key: str) -> None:
    run(gateway, "pause", "--key", key)
    assert in_force(gateway).pauses_all
    run(gateway, "pause", "www.pku.edu.cn", "--key", key)
    run(gateway, "resume", "--key", key)
    rule = in_force(gateway).host_rule("www.pku.edu.cn")
    assert rule is not None
    assert rule.action is Action.PAUSE
    with pytest.raises(ConfigError, match="no host"):
        run(gateway, "pause", PAGE, "--key", key)


def test_policy_goes_round_as_a_file(gateway: FakeGateway, key: str, tmp_path: Path) -> None:
    run(gateway, "seed", PAGE, "--key", key)
    shown = run(gateway, "policy", "show")
    file = tmp_path / "policy.toml"
    file.write_text(shown)
    assert read_policy(shown, "shown") == in_force(gateway)
    assert run(gateway, "policy", "diff", str(file)).strip() == ""
    file.write_text(shown.replace('"pku.edu.cn"', '"a.org"'))
    assert '+domains = ["a.org"]' in run(gateway, "policy", "diff", str(file))
    run(gateway, "policy", "set", str(file), "--from", "2020-01-01", "--until", "2020-02-01", "--key", key)
    assert gateway.decrees[-1].valid_until == 1_580_515_200.0
    assert "there is no policy" in run(gateway, "policy", "show"), "its time is over"
