"""The sentence that says what something is."""

from __future__ import annotations

import pytest

from peers.engine.excerpts.definition import (
    BESIDE,
    DEFINED,
    DEFINITION_CHARS_MAX,
    MENTIONS_MAX,
    NAMED,
    NOTHING_SAID,
    SAID,
    TERM_CHARS_MAX,
    Definition,
    definition_in,
    mentions_in,
    strength_of,
    term_to_define,
)
from tests.processor import processor_seconds


@pytest.mark.parametrize(
    ("query", "term"),
    [
        ("define:index", "index"),
        ('DEFINE:"web  crawler" lang:en', "web crawler"),
        ("define：索引", "索引"),
        ("-define:index crawler", ""),
        ("define index", ""),
        ('"define:index"', ""),
        ("define:", ""),
        ("define:" + "x" * 200, "x" * TERM_CHARS_MAX),
    ],
)
def test_a_query_asks_for_one_definition(query: str, term: str) -> None:
    assert term_to_define(query) == term


@pytest.mark.parametrize(
    ("term", "sentence", "strength"),
    [
        ("index", "An index is a structure for finding rows.", DEFINED),
        ("index", "Indexes are structures that speed up finding rows.", DEFINED),
        ("index", "In databases, an index is a structure for finding rows.", DEFINED),
        ("index", "The term index refers to an ordered list of words.", DEFINED),
        ("URL", "A URL (Uniform Resource Locator) is a reference to a resource.", DEFINED),
        ("index", "Index: A list of words with the pages that have them.", SAID),
        ("ls", "ls - list the contents of a directory", SAID),
        ("index", "Index: These settings may be changed by hand.", NAMED),
        ("index", "Such a list of words is called an index.", NAMED),
        ("index", "The index is a copy of last week's.", NAMED),
        ("index", "The index is stale today, as of yesterday.", NAMED),
        ("index", "An index is not what is wanted here at all.", NOTHING_SAID),
        ("index", "An index is a list of what?", NOTHING_SAID),
        ("index", "We made an index of all that was there.", NOTHING_SAID),
        ("index", "Reindex is a command that makes it anew.", NOTHING_SAID),
        ("index", "A bitmap index is a kind of list of numbers.", NOTHING_SAID),
        ("index", "A document called index.html will be served for a folder.", NOTHING_SAID),
        ("index", "Such a list of all the words is called an index.", NAMED),
        ("https", "https://www.example.org/a-long-address.html", NOTHING_SAID),
        ("索引", "索引是一种帮助查找记录的数据结构。", DEFINED),
        ("索引", "所谓“索引”，就是按词语排列的网页列表。", DEFINED),
        ("搜索引擎", "搜索引擎（Search Engine）是指自动搜集网页并提供查询的系统。", DEFINED),
        ("网络爬虫", "网络爬虫，即自动浏览网页的程序。", DEFINED),
        ("天网", "在中国，天网是北京大学开发的搜索系统。", DEFINED),
        ("天网", "天网是中国早期的成果之一。", SAID),
        ("索引", "这样的列表称为索引。", NAMED),
        ("索引", "索引是否更新由用户决定。", NOTHING_SAID),
        ("索引", "索引是什么？", NOTHING_SAID),
        ("引擎", "搜索引擎是一种查询系统，使用广泛。", NOTHING_SAID),
    ],
)
def test_a_sentence_defines_more_or_less_surely(term: str, sentence: str, strength: int) -> None:
    assert strength_of(term, sentence) == strength


def test_the_strongest_sentence_of_a_page_is_taken_and_of_equals_the_first() -> None:
    text = (
        "Index of pages\nThe index is old now, but works.\nAn index is a list of words. An index is a book."
    )
    assert definition_in("index", text) == Definition("An index is a list of words.", DEFINED)
    assert definition_in("crawler", text) == Definition()


def test_a_line_alone_is_told_of_by_the_line_below() -> None:
    entry = "Atomic (adjective) ¶\nWhat cannot be taken apart, as a datum. More of it."
    text = f"Glossary\n{entry}\nBloat\nSee Vacuum and its use"
    assert definition_in("atomic", text) == Definition(
        "Atomic: What cannot be taken apart, as a datum.", BESIDE
    )
    assert definition_in("bloat", text).strength == NAMED
    assert strength_of("atomic", "Atomic: What cannot be taken apart, as a datum.") == BESIDE
    assert definition_in("vacuum", text) == Definition()


def test_abbreviations_do_not_end_a_sentence() -> None:
    text = "A tag is a mark, e.g. a word in brackets, of a text. It ends."
    assert definition_in("tag", text).sentence == "A tag is a mark, e.g. a word in brackets, of a text."


def test_a_definition_of_a_hostile_page_is_short_and_costs_linear_time() -> None:
    def seconds(n: int) -> float:
        text = ("index is a " * n + "\n") + "in " * n + "index (" * n
        found = definition_in("index", text)
        assert len(found.sentence) <= DEFINITION_CHARS_MAX + TERM_CHARS_MAX + 3
        return processor_seconds(lambda: definition_in("index", "x" * n + text.replace("a", "not")))

    assert len(list(mentions_in("a", "a " * 1_000))) == MENTIONS_MAX
    assert seconds(20_000) < 40 * max(seconds(2_000), 0.001)


def test_the_sentence_of_a_hostile_member_is_judged_in_no_time() -> None:
    """Sixty-four of them held the event loop of a gateway for .15 s."""
    sentences = ("a " * 500, "a:" * 500, "a is x " * 140, "in a " * 200, "a (" * 330)
    assert processor_seconds(lambda: [strength_of("a", each) for each in sentences * 13]) < 0.05
    assert strength_of("a", "x " * 60 + "is called a") == NOTHING_SAID


def test_text_whose_small_letters_are_longer_is_read_as_it_is() -> None:
    assert list(mentions_in("index", "İ index")) == [(2, 7)]
