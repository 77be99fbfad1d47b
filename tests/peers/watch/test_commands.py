"""`tianmesh watch`: from words to the decree of a mesh, and its notices, against a gateway in memory."""

from __future__ import annotations

import json
import time
from math import inf
from pathlib import Path
from typing import Any

import pytest

from mesh.client.gateway_client import GatewayClient, GatewayError, GatewayUnreachable
from mesh.errors import ConfigError
from mesh.keys.decree import WATCH, Decree, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signing_key import SigningKey
from peers.watch.list_file import entries_of
from peers.watch.watch_list import list_body, list_in
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway

ROOT = SigningKey.of_secret(b"r" * 32)
NOTICE: dict[str, Any] = {
    "url": "http://a.test/",
    "mark": "0102",
    "entry": "台湾",
    "at_s": 1_800_000_000.0,
    "excerpt": "我在台灣",
}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    key, path = new_signing_key(), tmp_path / "admin.key"
    save_administrator(path, Signer(key, b"mesh", appoint(ROOT, b"mesh", key.public)))
    return path


def in_force(gateway: FakeGateway) -> list[str]:
    return [entry.name for entry in list_in(gateway.decrees[-1].body).entries]


def test_words_are_set_added_removed_and_listed_with_their_signer(
    gateway: FakeGateway, key: Path, tmp_path: Path
) -> None:
    by = ("--key", key)
    words = tmp_path / "words.txt"
    words.write_text("台湾\n# a remark\nTW\t海峽 兩岸\n", encoding="utf-8")
    assert "nothing is watched for" in run(gateway, "watch", "list", "--data", tmp_path)
    assert "with 2 entries" in run(gateway, "watch", "set", words, *by)
    assert (gateway.decrees[-1].kind, gateway.decrees[-1].valid_until) == (WATCH, inf)
    assert json.loads(run(gateway, "watch", "add", "Slow  Glass", "--json", *by))["entries"] == 3
    assert in_force(gateway) == ["台湾", "TW", "Slow Glass"]
    run(gateway, "watch", "remove", "TW", *by)
    assert in_force(gateway) == ["台湾", "Slow Glass"]
    listed = run(gateway, "watch", "list", "--data", tmp_path)
    assert gateway.decrees[-1].signer.hex()[:16] in listed
    assert [entry.name for entry in entries_of(listed.splitlines())] == ["台湾", "Slow Glass"]
    history = run(gateway, "watch", "list", "--history", "--data", tmp_path)
    assert history.count("signed by") == 3
    assert history.count("in force") == 1
    assert "nothing is watched for any more" in run(gateway, "watch", "remove", "台湾", "Slow Glass", *by)
    assert gateway.decrees[-1].valid_until < inf


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("add", "臺灣"), "is watched for already, as '台湾'"),
        (("add", "C++"), "signs do not count"),
        (("remove", "iron"), "not in the list"),
        (("set", "/nowhere"), "cannot read"),
    ],
)
def test_what_cannot_be_watched_for_changes_nothing(
    gateway: FakeGateway, key: Path, words: tuple[str, ...], reason: str
) -> None:
    run(gateway, "watch", "add", "台湾", "--key", key)
    result = result_of(gateway, "watch", *words, "--key", key)
    assert isinstance(result.exception, ConfigError)
    assert reason in str(result.exception)
    assert len(gateway.decrees) == 1


def test_a_list_that_somebody_changes_meanwhile_is_not_replaced(gateway: FakeGateway, key: Path) -> None:
    body = list_body(entries_of(["iron"]), 1.0)
    gateway.decreed_next = [Decree(WATCH, "", 7, 0.0, inf, body, b"", b"")]
    result = result_of(gateway, "watch", "add", "台湾", "--key", key)
    assert isinstance(result.exception, GatewayError)
    assert "somebody has changed the list" in str(result.exception)


def test_counts_and_notices_are_shown_the_newest_at_the_end(gateway: FakeGateway, tmp_path: Path) -> None:
    gateway.watch = {
        "entries": [{"entry": "台湾", "notices": 2}],
        "notices": [{**NOTICE, "url": "http://b.test/"}, NOTICE],
        "silent": ["mill (ann)"],
    }
    lines = run(gateway, "watch", "show", "--data", tmp_path).splitlines()
    assert lines[0] == "       2  台湾"
    assert [line.split("  ")[2] for line in lines[1:]] == ["http://a.test/", "http://b.test/"]
    assert json.loads(run(gateway, "watch", "show", "--json", "--data", tmp_path)) == gateway.watch


def test_a_follower_goes_on_behind_the_last_notice_that_it_had(
    gateway: FakeGateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.watch_events = [
        b"id: ann.1\n\n",
        b"id: ann.2\ndata: " + json.dumps(NOTICE).encode() + b"\n\n",
        b"id: ann.3\n\n",
    ]

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", stop)
    place = tmp_path / "last"
    result = result_of(gateway, "watch", "follow", "--after", f"@{place}", "--data", tmp_path)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [{"id": "ann.2", **NOTICE}]
    assert place.read_text() == "ann.3"
    result_of(gateway, "watch", "follow", "--after", f"@{place}", "--data", tmp_path)
    assert gateway.followed_from == ["", "ann.3"]
    result = result_of(
        gateway, "watch", "follow", "--after", f"@{tmp_path / 'no' / 'last'}", "--data", tmp_path
    )
    assert isinstance(result.exception, ConfigError)
    assert "No such file or directory; give another file" in str(result.exception)


def test_a_client_tells_a_refusal_from_a_gateway_that_is_away(gateway: FakeGateway) -> None:
    gateway.watch_events = [b"id: \xff\n\n"]
    with GatewayClient(gateway.url) as client, pytest.raises(GatewayUnreachable):
        list(client.watch_events())
