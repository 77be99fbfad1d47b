"""Ten thousand queries that nobody means, typed and sent: none may raise, and none may cost without bound."""

from __future__ import annotations

import random
from math import isfinite

import msgspec
import pytest

from peers.engine.excerpts.snippet import snippet_of
from peers.engine.queries.query import Mode, Query, Sort
from peers.engine.queries.query_language import REMARKS_MAX
from peers.engine.queries.query_parser import parse_query, read_query
from peers.engine.snapshot import View
from peers.index.answerer import QUERY_BYTES_MAX, query_of
from peers.index.wire_messages import TERMS_MAX
from tests.peers.engine.samples import index_of, random_documents
from tests.peers.text.samples import WORDS

TYPED = 10_000
DAMAGED = 5_000

PIECES = (
    *WORDS,
    *'"“”„「」『』＂()（）|｜-－−:：,，。 \t\n\0\x01\x02\x03\x04\x05\x06',
    *(
        "OR",
        "AND",
        "NOT",
        "or",
        "||",
        "--",
        "((",
        "))",
        '""',
        "C++",
        "AT&T",
        "1,000",
        "T恤",
        "X-900",
        "ﬀ",
        "\u0301",
        "\ud800",
    ),
    *("site:", "intitle:", "inurl:", "lang:", "type:", "after:", "before:", "site：", "SITE:", "xsite:"),
    *(
        "example1.org",
        "http://[",
        "2024",
        "2024-13",
        "2024-05-01",
        "0000",
        "9999-12-31",
        "zh",
        "x/y",
        "*.org",
    ),
    *("龘" * 40, "a" * 300, "\U0002070e", "カ", "각", "е́", "\u202e", "\ufeff", "🦊"),
)


def typed(chance: random.Random) -> str:
    """A text of pieces of the language, of words, or of any characters."""
    if chance.random() < 0.1:
        return "".join(chr(chance.randrange(0x3000)) for _ in range(chance.randrange(80)))
    glue = chance.choice(("", " ", " "))
    return glue.join(chance.choice(PIECES) for _ in range(int(chance.expovariate(0.12))))


@pytest.fixture(scope="module")
def view() -> View:
    return index_of(random_documents(21, 60)).snapshot().everything()


def found(view: View, query: Query) -> int:
    """Search, and return how many pages match."""
    total, _, hits = view.search(query, view.statistics(query.terms), 10)
    assert total >= len(hits)
    assert all(isfinite(hit.score) for hit in hits)
    return total


def test_ten_thousand_typed_queries_are_searched(view: View) -> None:
    chance = random.Random(4)
    text = "".join(WORDS) * 3
    n_found = n_remarked = 0
    for number in range(TYPED):
        reading = read_query(typed(chance), chance.choice(list(Sort)))
        query = reading.query.with_mode(chance.choice(list(Mode)))
        encoded = msgspec.msgpack.encode(query)
        assert query_of(encoded) == query
        assert len(encoded) <= QUERY_BYTES_MAX
        assert len(query.terms) <= TERMS_MAX
        assert len(reading.remarks) <= REMARKS_MAX
        n_found += found(view, query) > 0
        n_remarked += bool(reading.remarks)
        if number % 50 == 0:
            view.facets(query)
            snippet_of(text, query)
    assert min(n_found, n_remarked) > TYPED // 10


def test_thousands_of_damaged_encodings_are_refused_or_searched(view: View) -> None:
    chance = random.Random(5)
    encodings = [
        msgspec.msgpack.encode(parse_query(text, mode))
        for text in (
            "天网 search",
            '"search engine" -peer site:example1.org OR intitle:mesh',
            "(a OR b) lang:zh after:2004 before:2024-05",
            "X-900 天网",
        )
        for mode in Mode
    ]
    n_searched = 0
    for _ in range(DAMAGED):
        damaged = bytearray(chance.choice(encodings))
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(damaged)) :]
        query = query_of(bytes(damaged))
        if query is not None:
            n_searched += 1
            found(view, query)
    assert DAMAGED // 20 < n_searched < DAMAGED * 19 // 20


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1_000,
        "a OR " * 250,
        "-" * 1_000,
        "NOT " * 250,
        "(a OR (b " * 110,
        " ".join(f"x-{n}" for n in range(150)),
        "(x-1 OR (x-2 b " * 70,
        '("a" site:b.c) OR ' * 60,
        "-(" * 400 + "a",
        "龘" * 100_000,
        "(a b c) | " * 90,
        '"' * 999,
    ],
)
def test_queries_made_to_be_dear_are_bounded(text: str) -> None:
    read_query(text).query.check_limits()
