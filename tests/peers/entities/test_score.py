"""The score of a page: its six steps, namesakes, relations within a sentence, and hostile pages."""

from __future__ import annotations

import time

import msgspec
import pytest

from peers.entities.mentions import PAGE_CHARS_MAX, PageText, mentions_in, spans_in
from peers.entities.profile import Profile, profile_bytes, profile_in
from peers.entities.relations import CLOSE, LOOSE, organisations_in, posts_in, relation
from peers.entities.score import FEATURES, PRIOR, PageScore, content_words, score_page
from peers.entities.tone import own_model

PROFILE = Profile(
    label="李晓明",
    names=("李晓明", "Li Xiaoming"),
    employers=("北京大学",),
    posts=("教授",),
    features=("天网",),
    works=("搜索引擎",),
    excluded=("足球",),
)


def scored(text: str, title: str = "", profile: Profile = PROFILE) -> PageScore:
    found = score_page(profile, PageText("http://a.test/", title, text), own_model())
    assert found is not None
    return found


def values(text: str, title: str = "", profile: Profile = PROFILE) -> dict[str, float]:
    return dict(zip(FEATURES, scored(text, title, profile).values, strict=True))


def test_a_page_without_a_name_has_no_score() -> None:
    assert score_page(PROFILE, PageText("http://a.test/", "", "北京大学教授研究天网。"), own_model()) is None
    assert score_page(PROFILE, PageText("http://a.test/", "", "Li Xiaomingson spoke."), own_model()) is None


@pytest.mark.parametrize("name", ["李晓明", "李曉明", "LI XIAOMING", "Ｌｉ Ｘｉａｏｍｉｎｇ"])
def test_names_are_found_in_traditional_characters_any_case_and_width(name: str) -> None:
    assert scored(f"昨天{name}，来了。").score > 0


def test_the_score_is_the_sum_of_its_parts() -> None:
    found = scored("北京大学教授李晓明研究天网。他写了搜索引擎。", "李晓明")
    assert found.score == round(sum(part.points for part in found.parts))
    assert [part.name for part in found.parts] == list(PRIOR)
    assert all(0.0 <= part.value <= 1.0 for part in found.parts)
    assert -(1 << 31) < found.score < 1 << 31


def test_each_step_raises_what_it_is_about() -> None:
    plain = values("昨天李晓明来了。天气很好。")
    assert plain["name"] == 1.0
    assert values("昨天李晓明来了。李晓明走了。天气很好。")["mentions"] > plain["mentions"]
    assert values("北京大学的李晓明来了。")["employed_by"] == CLOSE
    assert values("李晓明教授来了。")["post_of"] == CLOSE
    assert values("昨天李晓明来了。天网很快。")["features"] == 1.0
    assert plain["features"] == 0.0
    assert values("昨天李晓明来了。", "李晓明来访")["title"] == 1.0
    assert values("李晓明来了。" + "天气很好。" * 100)["focus"] < plain["focus"]
    assert values("李晓明和国务院总理、教育部部长、清华大学校长开会。")["others"] > 0.0


def test_words_of_a_field_count_half_where_the_whole_is_not_there() -> None:
    profile = msgspec.structs.replace(PROFILE, works=("搜索引擎技术",))
    assert content_words("搜索引擎技术") == ("技术", "搜索引擎")
    assert values("李晓明谈搜索引擎技术。", profile=profile)["works"] == 1.0
    assert values("李晓明谈技术。搜索引擎很难。", profile=profile)["works"] == 0.5
    assert values("李晓明谈技术。", profile=profile)["works"] == 0.25


@pytest.mark.parametrize(
    ("sentence", "closeness"),
    [
        ("北京大学计算机系教授李晓明介绍了系统", CLOSE),
        ("李晓明现任北京大学副校长", CLOSE),
        ("李晓明（北京大学）发言", CLOSE),
        ("北京大学今天举行了盛大的开学典礼，很多人都来了，李晓明说", LOOSE),
        ("李晓明昨天来了", 0.0),
    ],
)
def test_a_relation_is_close_where_only_titles_stand_between(sentence: str, closeness: float) -> None:
    names, employers = spans_in(("李晓明",), sentence), spans_in(("北京大学",), sentence)
    assert relation(sentence, names, employers) == closeness


def test_a_relation_ends_with_the_sentence() -> None:
    assert values("昨天李晓明来了。北京大学很大。")["employed_by"] == 0.0


def test_posts_and_organisations_are_told_by_titles_and_endings() -> None:
    sentence = "中国银行副行长和北京大学教授、新华社记者"
    assert [sentence[slice(*each)] for each in posts_in(sentence)] == ["副行长", "教授", "记者"]
    assert [sentence[slice(*each)] for each in organisations_in(sentence)] == ["中国银行", "北京大学"]


def test_pages_of_namesakes_are_dropped_unless_a_relation_is_ours() -> None:
    page = PageText("http://a.test/", "", "足球运动员李晓明进了球。李晓明很高兴。")
    assert score_page(PROFILE, page, own_model()) is None
    titled = PageText("http://a.test/", "足球新闻", "李晓明很高兴。")
    assert score_page(PROFILE, titled, own_model()) is None
    ours = scored("北京大学教授李晓明说话。李晓明喜欢足球。")
    assert ours.tone.sentences == 1, "a sentence with an excluded word is not counted"
    assert score_page(msgspec.structs.replace(PROFILE, excluded=()), page, own_model()) is not None


def test_sentences_end_where_they_do_and_names_in_one_are_one_mention() -> None:
    mentions = mentions_in(("王刚",), "前面。王刚见到王刚！后面王刚\n再来? 王刚; 完")
    assert [mention.text for mention in mentions] == ["王刚见到王刚！", "后面王刚\n", " 王刚;"]
    assert [len(mention.names) for mention in mentions] == [2, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "李晓明" * (PAGE_CHARS_MAX // 3),
        "李晓明。" * (PAGE_CHARS_MAX // 4),
        "李晓明" + "教授北京大学" * (PAGE_CHARS_MAX // 6),
        "副原总" * 50_000 + "李晓明",
        "大" * PAGE_CHARS_MAX,
        ("李晓明" + "中" * 290 + "。") * 600,
    ],
)
def test_hostile_pages_cost_little_more_than_their_length(text: str) -> None:
    before = time.process_time()
    score_page(PROFILE, PageText("http://a.test/", "", text), own_model())
    assert time.process_time() - before < 5.0


def test_profiles_come_back_as_they_were_and_others_are_refused() -> None:
    assert profile_in(profile_bytes(PROFILE)) == PROFILE
    with pytest.raises(ValueError, match="format 2"):
        profile_in(profile_bytes(msgspec.structs.replace(PROFILE, format=2)))
    for content in (b"", b"x", b"\x91" * 5_000, msgspec.msgpack.encode({"label": "a", "names": [" "]})):
        with pytest.raises(ValueError, match="no entity"):
            profile_in(content)
