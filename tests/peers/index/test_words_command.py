from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from typer.testing import CliRunner

from mesh.errors import ConfigError
from peers.application import app
from peers.index.words_command import Layout, print_dictionary
from peers.policy.policy_file import read_policy
from peers.policy.rules import USER_WORDS_MAX
from peers.text.query_words import QueryWord
from tests.peers.text.test_word_discovery import TEXTS

HAN = [chr(0x4E00 + n) for n in range(200)]


def test_the_command_prints_what_it_finds(tmp_path: Path) -> None:
    file = tmp_path / "titles.txt"
    # Among many other words a pair is no chance.
    others = [f"{a}{b}" for a in "天地玄黄宇宙洪荒寒来暑往" for b in "日月盈昃辰宿列张云腾致雨秋收冬藏"]
    file.write_text("\n".join(TEXTS + others), "utf-8")
    shown = CliRunner().invoke(app, ["words", "discover", str(file)])
    assert [line.split("\t")[:2] for line in shown.stdout.splitlines()] == [["逻辑节点", "6"]]
    as_json = CliRunner().invoke(app, ["words", "discover", "--json", str(file)])
    assert [found["word"] for found in json.loads(as_json.stdout)] == ["逻辑节点"]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["words", "discover", str(tmp_path / "none")])
    assert isinstance(result.exception, ConfigError)


def test_words_of_a_log_are_those_that_enough_clients_asked_for(tmp_path: Path) -> None:
    """One client that asks a hundred times is one."""
    asked = [*[(client, "爱心社+地震") for client in range(5)], *[(9, "何炅")] * 100]
    lines = [f"00:00:0{client}\t{client}\t[{query}]\t1 1\tb.test/" for client, query in asked]
    (tmp_path / "log").write_text("\n".join(lines), "gbk")
    words = ["words", "discover", "--queries", str(tmp_path / "log")]
    assert CliRunner().invoke(app, words).stdout == "爱心社\t5\n"
    told = CliRunner().invoke(app, [*words, "--min-clients", "1", "--json"]).stdout
    assert json.loads(told) == [
        {"word": "爱心社", "client_count": 5},
        {"word": "何炅", "client_count": 1},
    ]


def test_words_are_printed_as_a_dictionary_and_as_a_policy_has_them(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("何炅\n爱心社\n爱心社\n", "utf-8")
    words = ["words", "discover", "--queries", str(tmp_path / "log"), "--min-clients", "1", "--as"]
    told = CliRunner().invoke(app, [*words, "jieba"]).stdout
    assert told == "爱心社 2\n何炅 1\n"
    line = CliRunner().invoke(app, [*words, "policy"]).stdout
    policy = read_policy(line + '[[rules]]\naction = "crawl"\n', "policy.toml")
    assert policy.user_words == tuple(told.splitlines())
    none = CliRunner().invoke(app, [*words[:-2], "9", "--as", "policy"]).stdout
    assert read_policy(none + '[[rules]]\naction = "crawl"\n', "policy.toml").user_words == ()


def test_no_more_words_are_printed_than_a_policy_may_have(tmp_path: Path) -> None:
    names = [f"{a}{b}" for a in HAN[:60] for b in HAN[:60]]
    found = [QueryWord(name, 9) for name in names]
    assert len(found) > USER_WORDS_MAX + 1_000
    with redirect_stdout(StringIO()) as printed:
        print_dictionary(found, Layout.POLICY)
    policy = read_policy(printed.getvalue() + '[[rules]]\naction = "crawl"\n', "policy.toml")
    assert len(policy.user_words) == USER_WORDS_MAX
    assert f"# {len(found) - USER_WORDS_MAX:,} more are left out" in printed.getvalue()


def test_either_texts_or_a_log_are_given(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["words", "discover"]).exit_code == 2
    assert CliRunner().invoke(app, ["words", "discover", "a", "--queries", "b"]).exit_code == 2
