"""The tone of sentences with a name: own words, and lexicons with negation and degree."""

from __future__ import annotations

from pathlib import Path

import pytest

from mesh.errors import ConfigError
from peers.entities.mentions import mentions_in
from peers.entities.tone import Tone, ToneModel, own_model, read_lexicon, sum_of, tone_of

LEXICON = ToneModel({"优秀": 1.0, "失望": -1.0}, is_lexicon=True)


@pytest.mark.parametrize(
    ("sentence", "total"),
    [
        ("他优秀", 1.0),
        ("他不优秀", -1.0),
        ("他非常优秀", 1.5),
        ("他有点失望", -0.7),
        ("他不是不优秀", 1.0),
        ("他没有令人失望", 1.0),
        ("他不来，优秀", 1.0),
        ("他不知道今天为什么会议上优秀", 1.0),
        ("优秀 失望", 0.0),
    ],
)
def test_a_lexicon_knows_negation_and_degree_within_reach(sentence: str, total: float) -> None:
    assert sum_of(sentence, LEXICON) == pytest.approx(total)


@pytest.mark.parametrize(
    ("sentence", "sign"),
    [
        ("王刚的服务非常差，令人失望。", -1),
        ("大家都喜欢王刚，讲得很精彩。", 1),
        ("王刚昨天到达上海。", 0),
    ],
)
def test_own_words_tell_good_from_bad(sentence: str, sign: int) -> None:
    assert tone_of(mentions_in(("王刚",), sentence), own_model()).sign == sign


def test_the_tone_of_a_page_is_that_of_most_sentences_with_the_name() -> None:
    good, bad, neither = "王刚优秀。", "王刚令人失望。", "王刚来了。"
    model = ToneModel({"优秀": 2.0, "失望": -2.0}, is_lexicon=True)

    def tone(text: str) -> Tone:
        return tone_of(mentions_in(("王刚",), text), model)

    assert tone(good * 3 + bad) == Tone(1, 0.75, 4)
    assert tone(good + bad) == Tone(0, 0.0, 2)
    assert tone(bad + neither) == Tone(-1, 0.5, 2)
    assert tone(neither + "别人优秀。") == Tone(0, 1.0, 1)
    assert tone("") == Tone(0, 0.0, 0)


def test_the_own_table_is_whole() -> None:
    weights = own_model().weights
    assert len(weights) == 2_000
    assert weights["不错"] > 0 > weights["失望"]


def test_lexicons_are_read_with_weights_or_by_sides_and_folded(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("# remark\n優秀\t1.5\n+\n喜歡\n-\nBAD\n", encoding="utf-8")
    assert read_lexicon(path) == ToneModel({"优秀": 1.5, "喜欢": 1.0, "bad": -1.0}, is_lexicon=True)


@pytest.mark.parametrize("text", ["", "优秀", "优秀\tx", "优秀\tnan", "优秀\t0", "优秀\t1e9", "\xff"])
def test_what_is_no_lexicon_is_refused_by_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(text.encode("latin-1") if text == "\xff" else text.encode())
    with pytest.raises(ConfigError, match=r"words\.txt"):
        read_lexicon(path)
