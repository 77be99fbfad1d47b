from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from peers.text.segmentation import words_of
from peers.text.word_discovery import DiscoverySettings, discover_words
from tests.peers.text.samples import any_text, han_text

# A name that the dictionary lacks, in surroundings of all kinds.
TEXTS = [
    "逻辑节点的数目",
    "主控分配逻辑节点",
    "移动逻辑节点",
    "逻辑节点与物理节点",
    "什么是逻辑节点",
    "天网的逻辑节点",
    "增加主机",
    "增加网页",
    "减少主机",
    "节点",
    "逻辑",
]


def words(texts: list[str], **limits: float) -> list[str]:
    return [found.word for found in discover_words(texts, DiscoverySettings(**limits))]  # type: ignore[arg-type]


def test_a_name_is_found() -> None:
    assert words_of("逻辑节点") == ["逻辑", "节点"]
    (found,) = discover_words(TEXTS, DiscoverySettings(mutual_information_min=1.0))
    assert (found.word, found.text_count) == ("逻辑节点", 6)


def test_the_same_text_counts_once() -> None:
    assert words([TEXTS[0]] * 100, mutual_information_min=1.0) == []


def test_traditional_text_counts_as_simplified() -> None:
    assert words([*TEXTS[:5], "天網的邏輯節點"], mutual_information_min=0.5, text_count_min=6) == ["逻辑节点"]


def test_what_forms_no_words_is_in_none() -> None:
    assert words([f"{start}我的节点{end}" for start in "甲乙丙丁戊" for end in "甲乙丙丁戊"]) == []


def test_what_is_always_in_the_same_surroundings_is_no_word() -> None:
    texts = [f"{start}的逻辑节点图{end}" for start in "甲乙丙丁" for end in ("", "，")]
    assert "逻辑节点" not in words(texts, mutual_information_min=0.0)


def test_parts_of_a_longer_word_are_left_out() -> None:
    texts = [f"{start}，逻辑节点分配，{start}" for start in "甲乙丙丁戊己庚辛"]
    assert words(texts, mutual_information_min=0.0) == ["逻辑节点分配"]


@settings(deadline=None)
@given(st.lists(any_text | han_text, max_size=20))
def test_what_is_found_is_in_the_texts_in_one_piece(texts: list[str]) -> None:
    limits = DiscoverySettings(text_count_min=2, mutual_information_min=-100.0, entropy_min=0.0)
    for found in discover_words(texts, limits):
        assert len(words_of(found.word)) >= 1
        assert found.text_count >= 2
