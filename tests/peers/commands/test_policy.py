"""`tianmesh policy`, `takedown`, `pause`, `resume` and the scope of `seed`, against a gateway in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.decree import Signer, appoint
from mesh.errors import ConfigError
from mesh.gateway_client import GatewayClient, GatewayError
from mesh.key_file import new_signing_key, save_administrator
from mesh.signing_key import SigningKey
from peers.policy import edits
from peers.policy.issuing import PolicyIssuer
from peers.policy.policy_file import read_policy
from peers.policy.rules import Action, Policy, policy_in
from tests.peers.commands.running import result_of, run
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
    assert read_policy(shown, "shown").rules == in_force(gateway).rules
    assert run(gateway, "policy", "diff", str(file)).strip() == ""
    file.write_text(shown.replace('"pku.edu.cn"', '"a.org"'))
    assert '+domains = ["a.org"]' in run(gateway, "policy", "diff", str(file))
    run(gateway, "policy", "set", str(file), "--from", "2020-01-01", "--until", "2020-02-01", "--key", key)
    assert gateway.decrees[-1].valid_until == 1_580_515_200.0
    assert "there is no policy" in run(gateway, "policy", "show"), "its time is over"


def test_file_that_does_not_know_a_takedown_does_not_undo_it_in_passing(
    gateway: FakeGateway, key: str, tmp_path: Path
) -> None:
    run(gateway, "seed", PAGE, "--key", key)
    file = tmp_path / "policy.toml"
    file.write_text(run(gateway, "policy", "show"))
    run(gateway, "takedown", PAGE, "--key", key)
    with pytest.raises(ConfigError, match=PAGE):
        run(gateway, "policy", "set", str(file), "--key", key)
    run(gateway, "policy", "set", str(file), "--undo-takedowns", "--key", key)
    assert not in_force(gateway).is_taken_down(PAGE)


def test_change_that_would_replace_a_policy_to_come_is_refused(
    gateway: FakeGateway, key: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[[rules]]\naction = "skip"\n')
    run(gateway, "policy", "set", str(file), "--from", "2100-01-01", "--key", key)
    with pytest.raises(GatewayError, match="is to come"):
        run(gateway, "pause", "--key", key)
    run(gateway, "policy", "set", str(file), "--key", key)


def test_policy_that_somebody_changes_meanwhile_is_not_overwritten(gateway: FakeGateway, key: str) -> None:
    with GatewayClient(gateway.url) as client:
        ours, theirs = PolicyIssuer(client, Path(key)), PolicyIssuer(client, Path(key))
        policy = ours.to_change()
        theirs.issue(edits.paused(theirs.to_change(), None))
        with pytest.raises(GatewayError, match="somebody has changed"):
            ours.issue(edits.taken_down(policy, edits.target(PAGE), ""))


def test_key_is_looked_for_in_the_folder_of_the_mesh(gateway: FakeGateway, key: str) -> None:
    run(gateway, "pause", "--data", str(Path(key).parent))
    assert in_force(gateway).pauses_all


def test_seed_that_the_policy_leaves_out_ends_with_1(gateway: FakeGateway, tmp_path: Path) -> None:
    gateway.left_out = [PAGE]
    assert result_of(gateway, "seed", PAGE, "--data", str(tmp_path)).exit_code == 1
