from __future__ import annotations

import time

import pytest

from peers.text.query_class import QueryClass, query_class

NAVIGATIONAL, INFORMATIONAL, TRANSACTIONAL = QueryClass


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("www.pku.edu.cn", NAVIGATIONAL),
        ("ＷＷＷ．pku．ｅｄｕ．ｃｎ", NAVIGATIONAL),
        ("http://www.example.org/download", NAVIGATIONAL),  # an address, whatever it leads to
        ("example . com", NAVIGATIONAL),
        ("北京大学", NAVIGATIONAL),
        ("北京大學", NAVIGATIONAL),
        ("新浪", NAVIGATIONAL),
        ("淘宝网", NAVIGATIONAL),
        ("如何上网", INFORMATIONAL),
        ("无线上网", INFORMATIONAL),
        ("Stanford University", NAVIGATIONAL),
        ("university ranking", INFORMATIONAL),
        ("gmail login", NAVIGATIONAL),
        ("如何下载电影", INFORMATIONAL),  # a question, whatever it is about
        ("how to buy a house", INFORMATIONAL),
        ("show me", INFORMATIONAL),
        ("迅雷下载", TRANSACTIONAL),
        ("月亮+mp3", TRANSACTIONAL),
        ("Firefox Download", TRANSACTIONAL),
        ("downloading", INFORMATIONAL),  # a whole word or none
        ("汶川地震", INFORMATIONAL),
        ("node.js tutorial", INFORMATIONAL),
        ("me@example.com", INFORMATIONAL),
        ("", INFORMATIONAL),
    ],
)
def test_the_class_of_a_query_is_told_by_its_words(text: str, expected: QueryClass) -> None:
    assert query_class(text) is expected


def test_a_long_text_costs_no_more_than_its_length() -> None:
    """The gateway asks for every query, between others: what is pasted is read at its beginning alone."""
    begin = time.process_time()
    for unit in ("a", "a.", "a-", "www", "网", "a ", "-", ". "):
        query_class(unit * 100_000)
    assert time.process_time() - begin < 0.5
    assert query_class("x" * 300 + " www.example.org") is INFORMATIONAL
