from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from peers.gateway.site import pages
from peers.gateway.site.texts import TEXTS, language_of


def test_all_languages_have_the_same_texts() -> None:
    keys = {language: set(texts) for language, texts in TEXTS.items()}
    assert keys["en"] == keys["zh"]
    assert set(keys) == {"en", "zh"}


def test_all_languages_put_in_the_same_values() -> None:
    def fields(text: str) -> set[str | None]:
        return {name for _, name, _, _ in Formatter().parse(text) if name}

    for key, text in TEXTS["en"].items():
        assert fields(text) == fields(TEXTS["zh"][key]), key


def test_every_text_is_used_and_every_used_text_exists() -> None:
    site = Path(pages.__file__).parent
    modules = (
        "pages.py",
        "date_range.py",
        "history_page.py",
        "history_words.py",
        "bot_page.py",
        "versions_page.py",
    )
    others = (
        "model/member_lines.py",
        "why/why_page.py",
        "judging/compare_page.py",
        "judging/judgement_page.py",
        "live/live_page.py",
        "submitting/submission_page.py",
        "submitting/moderation_page.py",
        "backlinks/backlinks_page.py",
        "entities/entity_feed.py",
        "topics/topic_json.py",
        "topics/topic_page.py",
        "grouping/groups_page.py",
        "hubs/hubs_page.py",
    )
    sources = [*(site / each for each in modules), *(site.parent / each for each in others)]
    sources += [*site.parent.glob("*routes.py"), *site.glob("templates/*.html")]
    code = "\n".join(source.read_text() for source in sources)
    used = set(re.findall(r"say\(\s*[\"'](\w+)[\"']", code)) | set(re.findall(r"\"(\w+)\"\)$", code, re.M))
    mentioned = set(re.findall(r"[\"'](\w+)[\"']", code))
    assert set(re.findall(r"say\(\s*[\"'](\w+)[\"']", code)) <= set(TEXTS["en"])
    series = {f"{each}_{form}" for each in mentioned for form in ("number", "share")}  # titles of charts
    assert set(TEXTS["en"]) <= used | mentioned | series


@pytest.mark.parametrize(
    ("accept_language", "language"),
    [
        ("", "en"),
        ("*", "en"),
        ("fr-FR,fr;q=0.9", "en"),
        ("zh", "zh"),
        ("zh-Hant-TW", "zh"),
        ("ZH-cn", "zh"),
        ("en;q=0.4, zh;q=0.8", "zh"),
        ("zh;q=0.4, en", "en"),
        ("zh;q=0", "en"),
        ("zh;q=nonsense", "en"),
        (",;,;q=,", "en"),
        ("en," * 1_000 + "zh", "en"),
    ],
)
def test_language_is_the_one_preferred_most(accept_language: str, language: str) -> None:
    assert language_of(accept_language) == language


def test_language_chosen_by_hand_wins() -> None:
    assert language_of("zh", "en") == "en"
    assert language_of("zh", "klingon") == "zh"
