"""How alike texts are is estimated well enough to tell a page that has changed from another one."""

from __future__ import annotations

import random

import pytest

from peers.crawler.auditing.likeness import HASHES_MAX, HASHES_MIN, TEXT_CHARS_MAX, hashes_of, likeness

WORDS = [f"w{number}" for number in range(5_000)]


def words(count: int, seed: int) -> list[str]:
    return random.Random(seed).choices(WORDS, k=count)


def test_a_text_is_like_itself_and_nothing_like_another_one() -> None:
    one, other = " ".join(words(300, 1)), " ".join(words(300, 2))
    assert likeness(hashes_of(one), hashes_of(one)) == 1.0
    assert likeness(hashes_of(one), hashes_of(other)) < 0.02


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_share_of_common_shingles_is_estimated_within_a_fifth(share: float) -> None:
    common, count = words(1_000, 3), 1_000
    kept = round(2 * share / (1 + share) * count)  # of each, so that the share of both together is right
    one = " ".join(common[:kept] + words(count - kept, 4))
    other = " ".join(common[:kept] + words(count - kept, 5))
    assert likeness(hashes_of(one), hashes_of(other)) == pytest.approx(share, abs=0.2)


def test_chinese_is_compared_by_its_characters() -> None:
    one = hashes_of("天网是由北京大学计算机系网络与分布式系统研究室开发的搜索引擎")
    other = hashes_of("天网是由北京大学计算机系网络与分布式系统研究室开发的新搜索引擎")
    assert likeness(one, other) > 0.8
    assert likeness(one, hashes_of("乒乓球拍卖完了，工信处女干事每月经过下属科室都要亲口交代")) < 0.1


def test_a_text_with_few_words_says_nothing() -> None:
    assert hashes_of("just a moment") == ()
    assert hashes_of("") == ()
    assert likeness((), ()) == 0.0
    assert len(hashes_of(" ".join(words(HASHES_MIN + 1, 6)))) == HASHES_MIN


def test_no_more_hashes_and_characters_count_than_their_limits() -> None:
    text = " ".join(words(20_000, 7))
    assert len(hashes_of(text)) == HASHES_MAX
    assert hashes_of(text) == hashes_of(text[:TEXT_CHARS_MAX] + "anything else")


def test_lone_surrogates_are_hashed_like_any_character() -> None:
    assert hashes_of("\ud800 " + " ".join(words(20, 8)))
