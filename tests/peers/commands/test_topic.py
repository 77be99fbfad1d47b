"""`tianmesh topic`: from strings to the decree of a mesh, and its counts, against a gateway in memory."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from mesh.errors import ConfigError
from mesh.keys.decree import TOPICS, Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signing_key import SigningKey
from peers import application
from peers.topics.topic_list import TopicList, list_in
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway

ROOT = SigningKey.of_secret(b"r" * 32)
STRENGTH: dict[str, Any] = {"absolute": {"total": 12.0, "mean": 6.0, "deviation": 1.0, "values": [5.0, 7.0]}}
STRENGTH["share"] = {"total": 0.12, "mean": 0.12, "deviation": 0.01, "values": [0.1, 0.14]}
SLICE = {"pages": 50, "related": 8, "topic": 5, "contents": 40, "related_contents": 4, "topic_contents": 3}
TOPIC = {"name": "flood", "title": "洪水", "strings": ["洪水", "flood"], "related": [], "sites": ["a.test"]}


@pytest.fixture
def key(tmp_path: Path) -> Path:
    key, path = new_signing_key(), tmp_path / "admin.key"
    save_administrator(path, Signer(key, b"mesh", appoint(ROOT, b"mesh", key.public)))
    return path


def in_force(gateway: FakeGateway) -> TopicList:
    return list_in(gateway.decrees[-1].body)


def test_topics_are_set_changed_and_ended_by_decrees(gateway: FakeGateway, key: Path, tmp_path: Path) -> None:
    by = ("--key", key)
    chosen, near, sites = (tmp_path / name for name in ("chosen.txt", "near.txt", "sites.txt"))
    chosen.write_text(
        "# string, occurrences, pages\n高水位\t7\t3\n\nHigh  Water\t5\t2\n洪水\t9\t4\n", encoding="utf-8"
    )
    near.write_text("rain\n", encoding="utf-8")
    sites.write_text("News.Example.ORG\nexample.cn\n", encoding="utf-8")
    files = ("--strings", chosen, "--related", near, "--sites", sites, "--title", "洪水")
    assert "on its way" in run(gateway, "topic", "set", "flood", "洪水", *files, "--begins", "22:00", *by)
    (topic,) = in_force(gateway).topics
    assert (gateway.decrees[-1].kind, gateway.decrees[-1].valid_until) == (TOPICS, inf)
    assert topic.strings == ("洪水", "高水位", "High Water")
    assert (topic.related, topic.sites, topic.title) == (
        ("rain",),
        ("news.example.org", "example.cn"),
        "洪水",
    )
    assert (in_force(gateway).slice_s, in_force(gateway).starts_s) == (86_400, 79_200)
    assert json.loads(run(gateway, "topic", "set", "fire", "火", "fires", "--json", *by))["strings"] == 2
    assert [each.name for each in in_force(gateway).topics] == ["flood", "fire"]
    run(gateway, "topic", "end", "flood", *by)
    assert [each.name for each in in_force(gateway).topics] == ["fire"]
    run(gateway, "topic", "end", "fire", *by)
    assert gateway.decrees[-1].valid_until < inf


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("set", "Flood", "洪水"), "Flood"),
        (("set", "flood"), "needs a string"),
        (("set", "flood", "!!"), "no word"),
        (("set", "flood", "洪水", "--begins", "25:00"), "no time of a day"),
        (("set", "flood", "洪水", "--slice", "2s"), "a slice lasts 60 seconds to 31 days"),
        (("set", "flood", "洪水", "--slice", "12h"), "end kept before they change"),
        (("end", "nothing"), "not counted"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_what_to_do(
    gateway: FakeGateway, key: Path, words: tuple[str, ...], reason: str
) -> None:
    run(gateway, "topic", "set", "kept", "词语", "--key", key)
    result = result_of(gateway, "topic", *words, "--key", key)
    assert result.exit_code != 0
    assert reason in f"{result.output}{result.exception}"
    assert len(gateway.decrees) == 1


def test_a_site_that_is_none_is_refused(gateway: FakeGateway, key: Path, tmp_path: Path) -> None:
    sites = tmp_path / "sites.txt"
    sites.write_text("http://a.test/\n", encoding="utf-8")
    result = result_of(gateway, "topic", "set", "flood", "洪水", "--sites", sites, "--key", key)
    assert isinstance(result.exception, ConfigError)


def test_counts_are_shown_listed_and_exported(gateway: FakeGateway, tmp_path: Path) -> None:
    assert "no topic is counted" in run(gateway, "topic", "list", "--data", tmp_path)
    gateway.topics = {"number": 3, "topics": [TOPIC]}
    assert "flood  洪水: 洪水; flood (1 site)" in run(gateway, "topic", "list", "--data", tmp_path)
    slices = [
        {**SLICE, "begins_at": 1_700_000_000.0, "is_lost": False},
        {**SLICE, "begins_at": 1_700_086_400.0, "pages": 0, "is_lost": True},
    ]
    gateway.topic = {"topic": TOPIC, "open_until": 1_700_200_000.0, "slices": slices, "pages": STRENGTH}
    gateway.topic |= {"contents": STRENGTH, "related_pages": None, "related_contents": None}
    shown = run(gateway, "topic", "show", "flood", "--data", tmp_path)
    assert "2023-11-14 22:13 UTC        50         5   10.00%" in shown
    assert shown.count("lost") == 1
    assert "pages: total 12  mean 6  deviation 1; shares: total 12.0000%" in shown
    assert json.loads(run(gateway, "topic", "show", "flood", "--json", "--data", tmp_path)) == gateway.topic
    assert run(gateway, "topic", "export", "flood", "--data", tmp_path) == "slice,pages\n"


def strings_of(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application.app, ["topic", "strings", *map(str, arguments)])


def test_strings_are_proposed_from_pages_and_texts(tmp_path: Path) -> None:
    page = "<html><title>大洪水</title><body><p>今年长江洪水水位很高，{} 的居民撤离。</p></body></html>"
    for number, place in enumerate(("武汉", "九江")):
        (tmp_path / f"{number}.html").write_text(page.format(place), encoding="utf-8")
    (tmp_path / "3.txt").write_text("长江洪水又来了", encoding="utf-8")
    proposed = strings_of(tmp_path).stdout
    assert "长江洪水\t3\t3" in proposed.splitlines()
    told = json.loads(strings_of(tmp_path, "--json", "--in", "3").stdout)
    assert {"text": "长江洪水", "occurrences": 3, "texts": 3} in told
    assert all(each["texts"] >= 3 for each in told)
    assert isinstance(strings_of(tmp_path / "nowhere.html").exception, ConfigError)


def test_what_no_topic_can_have_is_refused_with_the_limit(gateway: FakeGateway, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="small letters, digits and -"):
        run(gateway, "topic", "set", "High Water", "洪水")
    many = tmp_path / "many.txt"
    many.write_text("\n".join(f"string{number}" for number in range(300)), encoding="utf-8")
    with pytest.raises(ConfigError, match="64 strings at most, and these are 300"):
        run(gateway, "topic", "set", "flood", "--strings", many)
    with pytest.raises(ConfigError, match="256 related strings at most, and these are 300"):
        run(gateway, "topic", "set", "flood", "洪水", "--related", many)
    with pytest.raises(ConfigError, match="64 characters of its title at most"):
        run(gateway, "topic", "set", "flood", "洪水", "--title", "t" * 65)
    with pytest.raises(ConfigError, match="there is no such file: give another one"):
        run(gateway, "topic", "set", "flood", "洪水", "--related", tmp_path / "missing")
    assert gateway.decrees == []
