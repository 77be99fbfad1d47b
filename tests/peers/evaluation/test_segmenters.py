"""Ways to cut Chinese into words, on sentences of the book and a text cut by hand."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from mesh.errors import ConfigError
from peers.evaluation.commands import eval_app
from peers.evaluation.segmenters import (
    LINE_BYTES_MAX,
    compare_segmenters,
    fewer_words,
    forward_matching,
    jieba_words,
    read_segmented,
    reverse_matching,
)

WORDS = frozenset(["研究", "研究生", "生命", "起源", "学历", "学", "历史", "知识", "学历史"])


def test_book_4_3_matching_from_the_front_and_from_the_back() -> None:
    assert forward_matching("研究生命起源", WORDS, 4) == ["研究生", "命", "起源"]
    assert reverse_matching("研究生命起源", WORDS, 4) == ["研究", "生命", "起源"]
    assert fewer_words("研究生命起源", WORDS, 4) == ["研究", "生命", "起源"]  # as many, none of one character
    assert forward_matching("学历史知识", WORDS, 2) == ["学历", "史", "知识"]
    assert reverse_matching("学历史知识", WORDS, 2) == ["学", "历史", "知识"]
    assert forward_matching("学历史知识", WORDS, 4) == ["学历史", "知识"]


@given(st.text("研究生命起源学历史知识", max_size=30), st.integers(1, 5))
def test_words_cover_what_is_cut(run: str, chars_max: int) -> None:
    for cut in (forward_matching, reverse_matching, fewer_words):
        found = cut(run, WORDS, chars_max)
        assert "".join(found) == run
        assert all(len(word) == 1 or (word in WORDS and len(word) <= chars_max) for word in found)


@pytest.mark.parametrize(
    "text",
    [
        "研究/v  生命/n  起源/n  ，/w  １２月/t  历史/n\n[中国/ns  大学/n]nt\n",
        "研究 生命  起源 ， １２月 历史\n中国 大学\n",
    ],
)
def test_tagged_and_plain_texts_are_read_as_runs_of_words(tmp_path: Path, text: str) -> None:
    (tmp_path / "text").write_text(text)
    runs = [["研究", "生命", "起源"], ["历史"], ["中国", "大学"]]
    assert read_segmented(tmp_path / "text") == runs


def test_what_is_no_segmented_text_is_refused(tmp_path: Path) -> None:
    for data, reason in (
        (b"no words\n", "no Chinese words"),
        ("研究 生命\n".encode("gbk"), "line 1 is not UTF-8"),
        (b"a" * (LINE_BYTES_MAX + 2), "line 1 has more than"),
    ):
        (tmp_path / "text").write_bytes(data)
        with pytest.raises(ConfigError, match=reason):
            read_segmented(tmp_path / "text")
    with pytest.raises(ConfigError, match="cannot read"):
        read_segmented(tmp_path / "none")


def test_the_longest_line_costs_no_more_than_its_length(tmp_path: Path) -> None:
    begin = time.process_time()
    for unit in ("/n", "/a]", "[", "研/"):
        (tmp_path / "text").write_text("研究\n" + unit * (LINE_BYTES_MAX // 4))
        read_segmented(tmp_path / "text")
    assert time.process_time() - begin < 3.0


def test_a_method_is_measured_by_words_with_both_ends_right() -> None:
    scores = compare_segmenters([["研究", "生命", "起源"], ["研究生"]], frozenset(["研究生"]))
    found = {(each.method, each.dictionary): (each.precision, each.recall) for each in scores}
    assert found["RMM", "of the text"] == (1.0, 1.0)
    assert found["FMM", "of the text"] == (2 / 4, 2 / 4)
    assert found["FMM", "jieba's"] == (1 / 5, 1 / 4)
    assert found["the product's", "jieba's"] == found["jieba", "jieba's"] == (1.0, 1.0)
    assert {"研究", "起源"} <= jieba_words()


def test_the_command_prints_both_columns(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("研究/v  生命/n  起源/n\n")
    output = CliRunner().invoke(eval_app, ["segmenters", str(tmp_path / "text"), "--json"]).output
    assert [each["dictionary"] for each in json.loads(output)].count("of the text") == 3
    assert "fewer words" in CliRunner().invoke(eval_app, ["segmenters", str(tmp_path / "text")]).output
