from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peers.index.query import QUERY_PHRASES_MAX, QUERY_TERMS_MAX, Mode, Query, parse_query
from tests.peers.index.samples import any_text


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", Query()),
        ("Hello hello World", Query(words=("hello", "world"))),
        (
            '"hello world" x',
            Query(words=("x",), phrases=(("hello", "world"),), phrase_words=("hello", "world")),
        ),
        ("“T恤”", Query(phrases=(("t", "\x01恤"),), phrase_words=("t", "恤"))),
        ("“unclosed words", Query(phrases=(("unclosed", "words"),), phrase_words=("unclosed", "words"))),
        ("a -b", Query(words=("a",), excluded=(("b",),))),
        ("a －中国", Query(words=("a",), excluded=(("\x01中", "\x01国"),))),
        ('a -"b c"', Query(words=("a",), excluded=(("b", "c"),))),
        ("peer-to-peer", Query(words=("peer", "to"))),
        ("- -- a", Query(words=("a",))),
        ('"" a', Query(words=("a",))),
        ("a site:Example.ORG", Query(words=("a",), sites=("example.org",))),
        ("site:https://例子.中国:8080/x", Query(sites=("xn--fsqu00a.xn--fiqs8s",))),
        ("a -site:b.org", Query(words=("a",), excluded_sites=("b.org",))),
        ("天网site：b.org", Query(words=("天网", "site", "b", "org"))),
        ("天网 site：b.org", Query(words=("天网",), sites=("b.org",))),
        ("site:", Query(words=("site",))),
        ("website:x", Query(words=("website", "x"))),
    ],
)
def test_text_becomes_a_query(text: str, query: Query) -> None:
    assert parse_query(text) == query


def test_mode_is_kept_and_changed() -> None:
    assert parse_query("a", Mode.OR).mode is Mode.OR
    assert parse_query("a").with_mode(Mode.OR) == parse_query("a", Mode.OR)


def test_only_exclusions_ask_for_nothing() -> None:
    assert parse_query("-a -site:b.org").is_empty
    assert not parse_query("site:b.org").is_empty


@settings(deadline=None)
@given(st.one_of(st.text(), any_text, st.text(alphabet='"-: site“”ab中\n\x00')))
def test_no_text_is_an_error_and_every_query_travels(text: str) -> None:
    query = parse_query(text)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(query), type=Query) == query
    assert len(set(query.terms)) == len(query.terms)


def test_queries_are_bounded() -> None:
    query = parse_query(" ".join(f"a{i}" for i in range(300)))
    assert len(query.terms) == QUERY_TERMS_MAX
    assert len(parse_query('"a b" ' * 100).phrases) == 1
    assert len(parse_query(" ".join(f'"a{i}"' for i in range(100))).phrases) == QUERY_PHRASES_MAX
    assert len(parse_query("啊" * 100_000).terms) <= QUERY_TERMS_MAX
