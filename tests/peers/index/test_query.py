from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.messages import TERMS_MAX
from peers.index.query import CLAUSES_MAX, REQUIRED_MAX, SCORING_MAX, Kind, Literal, Mode, Query, parse_query
from tests.peers.index.samples import any_text


def words(*terms: str, clauses: tuple[tuple[Literal, ...], ...] = (), extra: tuple[str, ...] = ()) -> Query:
    """The query for terms that must occur and score, and `extra` ones that only score."""
    return Query(terms, terms + extra, (1.0,) * len(terms + extra), clauses)


def phrase(*entries: str, negated: bool = False) -> tuple[Literal, ...]:
    return (Literal(Kind.PHRASE, entries, tuple(range(len(entries))), negated=negated),)


def site(*hosts: str, negated: bool = False) -> tuple[Literal, ...]:
    return (Literal(Kind.SITE, tuple("\x02" + host for host in hosts), negated=negated),)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", Query()),
        ("Hello hello World", words("hello", "world")),
        ('"hello world" x', words("x", clauses=(phrase("hello", "world"),), extra=("hello", "world"))),
        ("“T恤”", words(clauses=(phrase("t", "\x01恤"),), extra=("t", "恤"))),
        ("“unclosed words", words(clauses=(phrase("unclosed", "words"),), extra=("unclosed", "words"))),
        ("a -b", words("a", clauses=(phrase("b", negated=True),))),
        ("a －中国", words("a", clauses=(phrase("\x01中", "\x01国", negated=True),))),
        ('a -"b c"', words("a", clauses=(phrase("b", "c", negated=True),))),
        ("peer-to-peer", words("peer", "to")),
        ("- -- a", words("a")),
        ('"" a', words("a")),
        ("a site:Example.ORG", words("a", clauses=(site("example.org"),))),
        ("site:https://例子.中国:8080/x", words(clauses=(site("xn--fsqu00a.xn--fiqs8s"),))),
        ("a -site:b.org", words("a", clauses=(site("b.org", negated=True),))),
        ("天网site：b.org", words("天网", "site", "b", "org")),
        ("天网 site：b.org", words("天网", clauses=(site("b.org"),))),
        ("site:", words("site")),
        ("website:x", words("website", "x")),
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
    query.check_limits()


def test_queries_are_bounded() -> None:
    query = parse_query(" ".join(f"a{i}" for i in range(300)))
    assert len(query.required) == REQUIRED_MAX
    assert len(query.scoring) <= SCORING_MAX
    assert len(parse_query('"a b" ' * 100).clauses) == 1
    assert len(parse_query(" ".join(f'"a{i}"' for i in range(100))).clauses) == CLAUSES_MAX
    assert len(parse_query("啊" * 100_000).terms) <= TERMS_MAX
