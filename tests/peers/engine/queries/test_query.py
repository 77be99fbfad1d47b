from __future__ import annotations

from collections.abc import Iterator
from math import inf

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peers.engine.queries.query import (
    ANY_FIELD,
    CLAUSES_MAX,
    REQUIRED_MAX,
    SCORING_MAX,
    TEXT_FIELD,
    URL_FIELD,
    Literal,
    LiteralKind,
    Mode,
    Query,
    Sort,
)
from peers.engine.queries.query_language import REMARK_CHARS_MAX, Oddity, Remark
from peers.engine.queries.query_parser import QUERY_CHARS_MAX, cut_at_word, parse_query, read_query
from peers.index.wire_messages import TERMS_MAX
from peers.text.analysis import REPEATS_MAX
from tests.peers.engine.plain_terms import plain_terms
from tests.peers.text.samples import any_text


@pytest.fixture(scope="module", autouse=True)
def _plain_terms() -> Iterator[None]:
    with plain_terms():
        yield


def words(*terms: str, clauses: tuple[tuple[Literal, ...], ...] = (), extra: tuple[str, ...] = ()) -> Query:
    """The query for terms that must occur and score, and `extra` ones that only score."""
    return Query(terms, terms + extra, (1.0,) * len(terms + extra), clauses)


def phrase(*entries: str, negated: bool = False) -> tuple[Literal, ...]:
    return (Literal(LiteralKind.PHRASE, entries, tuple(range(len(entries))), negated=negated),)


def site(*hosts: str, negated: bool = False) -> tuple[Literal, ...]:
    return (Literal(LiteralKind.SITE, tuple("\x02" + host for host in hosts), negated=negated),)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", Query()),
        ("Hello hello World", words("hello", "world")),
        ('"hello world" x', words("x", clauses=(phrase("hello", "world"),), extra=("hello", "world"))),
        ("“T恤”", words(clauses=(phrase("t", "\x01恤"),), extra=("t", "恤"))),
        ("“unclosed words", words(clauses=(phrase("unclosed", "words"),), extra=("unclosed", "words"))),
        ("a -b", words("a", clauses=(phrase("b", negated=True),))),
        ("a －中国", words("a", clauses=(phrase("\x01中国", negated=True),))),
        ('a -"b c"', words("a", clauses=(phrase("b", "c", negated=True),))),
        ("peer-to-peer", words("peer", "to")),
        ("- -- a", words("a")),
        ("a --b", words("a", "b")),
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


def of_words(*terms: str, negated: bool = False) -> Literal:
    return Literal(LiteralKind.WORDS, terms, negated=negated)


def one_of(kind: LiteralKind, *entries: str, negated: bool = False) -> tuple[Literal, ...]:
    return (Literal(kind, entries, negated=negated),)


HTML = ("\x05text/html", "\x05application/xhtml+xml")
DAY_S = 86_400.0
YEAR_2024_S = 1_704_067_200.0  # date -u -d 2024-01-01 +%s


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("a OR b", words(clauses=((of_words("a"), of_words("b")),), extra=("a", "b"))),
        ("x a | b", words("x", clauses=((of_words("a"), of_words("b")),), extra=("a", "b"))),
        ("x（a｜b）", words("x", clauses=((of_words("a"), of_words("b")),), extra=("a", "b"))),
        ("a AND b", words("a", "b")),
        ("a and b", words("a", "and", "b")),
        ("a NOT b", words("a", clauses=(phrase("b", negated=True),))),
        ("a NOT NOT b", words("a", "b")),
        ("(a b) OR c", words(clauses=((of_words("a", "b"), of_words("c")),), extra=("a", "b", "c"))),
        (
            'a -(b OR "c d")',
            words("a", clauses=(phrase("b", negated=True), phrase("c", "d", negated=True))),
        ),
        (
            "a -(b c)",
            words("a", clauses=(phrase("b", negated=True) + phrase("c", negated=True),)),
        ),
        (
            '("a b" site:c.org) OR d',
            words(
                clauses=((*phrase("a", "b"), of_words("d")), (*site("c.org"), of_words("d"))),
                extra=("a", "b", "d"),
            ),
        ),
        ("site:a.org a site:b.org", words("a", clauses=(site("a.org", "b.org"),))),
        ("site:a.org OR site:b.org", words(clauses=(site("a.org") + site("b.org"),))),
        ("lang:zh-CN a", words("a", clauses=(one_of(LiteralKind.LANGUAGE, "\x04zh"),))),
        ("a lang：中文", words("a", clauses=(one_of(LiteralKind.LANGUAGE, "\x04zh"),))),
        ("a -lang:EN", words("a", clauses=(one_of(LiteralKind.LANGUAGE, "\x04en", negated=True),))),
        ("a type:html", words("a", clauses=(one_of(LiteralKind.TYPE, *HTML),))),
        ("a TYPE:text/plain", words("a", clauses=(one_of(LiteralKind.TYPE, "\x05text/plain"),))),
        (
            'intitle:"a b" inurl:c',
            words(
                clauses=(
                    (Literal(LiteralKind.PHRASE, ("a", "b"), (0, 1), 0b1),),
                    (Literal(LiteralKind.PHRASE, ("c",), (0,), 0b10000),),
                ),
                extra=("a", "b", "c"),
            ),
        ),
        ("intext:a", words(clauses=((Literal(LiteralKind.PHRASE, ("a",), (0,), 0b1000),),), extra=("a",))),
        ("define:a", words(clauses=((Literal(LiteralKind.PHRASE, ("a",), (0,), 0b1101),),), extra=("a",))),
        ("a larger:1.5K", words("a", clauses=((Literal(LiteralKind.FILE, ("a",), low=1536, high=-inf),),))),
        (
            "a newer:2024 larger:2MB larger:1MB",
            words("a", clauses=((Literal(LiteralKind.FILE, ("a",), low=2 << 20, high=YEAR_2024_S),),)),
        ),
        (
            "a -larger:1GB",
            words("a", clauses=((Literal(LiteralKind.FILE, negated=True, low=1 << 30, high=-inf),),)),
        ),
        ("a after:2024", words("a", clauses=((Literal(LiteralKind.DATE, low=YEAR_2024_S),),))),
        (
            "a before:2024-01-03",
            words("a", clauses=((Literal(LiteralKind.DATE, high=YEAR_2024_S + 2 * DAY_S),),)),
        ),
        (
            "a after:2024年2月",
            words("a", clauses=((Literal(LiteralKind.DATE, low=YEAR_2024_S + 31 * DAY_S),),)),
        ),
        ("a -after:2024", words("a", clauses=((Literal(LiteralKind.DATE, negated=True, low=YEAR_2024_S),),))),
    ],
)
def test_operators_become_clauses(text: str, query: Query) -> None:
    assert read_query(text)[:2] == (query, ())


@pytest.mark.parametrize(
    ("text", "like", "oddity"),
    [
        ("(a b", "a b", Oddity.PARENTHESIS_OPEN),
        ("a) b", "a b", Oddity.PARENTHESIS_EXTRA),
        ('"a b', '"a b"', Oddity.QUOTE_OPEN),
        ("「a b", '"a b"', Oddity.QUOTE_OPEN),
        ("a OR", "a", Oddity.OR_ALONE),
        ("| a", "a", Oddity.OR_ALONE),
        ("a NOT", "a", Oddity.NOT_ALONE),
        ("(" * 20 + "a", "a", Oddity.TOO_DEEP),
        ("a lang:klingon", "a lang klingon", Oddity.NO_LANGUAGE),
        ("a type:nosuch", "a type nosuch", Oddity.NO_TYPE),
        ("a after:yesterday", "a after yesterday", Oddity.NO_DATE),
        ("a before:2024-13", "a before 2024 13", Oddity.NO_DATE),
        ("a site:[", "a site", Oddity.NO_HOST),
        ("site:", "site", Oddity.NO_VALUE),
        ("intitle: a", "intitle a", Oddity.NO_VALUE),
    ],
)
def test_malformed_queries_get_their_best_reading_and_a_remark(text: str, like: str, oddity: Oddity) -> None:
    reading = read_query(text)
    assert reading.query == parse_query(like)
    assert oddity in {remark.oddity for remark in reading.remarks}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("IS NOT NULL", "is not null"),
        ("AND OR", "and or"),
        ("OR", "or"),
        ("WAR AND PEACE", "war and peace"),
        ("NASA OR ESA missions", "nasa or esa missions"),
        ("is NOT NULL", "is not null"),
        ("to be OR NOT to be", "to be or not to be"),
        ("AND OR NOT in logic", "and or not in logic"),
    ],
)
def test_keywords_among_capitals_or_function_words_are_words(text: str, words: str) -> None:
    assert read_query(text)[:2] == (parse_query(words), ())


@pytest.mark.parametrize(
    ("text", "like"),
    [
        ("crawler OR NASA", "crawler | NASA"),
        ("天网 OR 搜索", "天网 | 搜索"),
        ('"B" OR "C"', '"B" | "C"'),
        ("软件 NOT 硬件", "软件 -硬件"),
        ("pages AND NOT NULL", "pages -null"),
    ],
)
def test_keywords_beside_small_letters_or_signs_are_operators(text: str, like: str) -> None:
    assert read_query(text)[:2] == read_query(like)[:2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'what are the uses of "information retrieval" (e.g. of text) in the law?',
            "what are the uses of information retrieval of text in the law?",
        ),
        ("谁最早提出“云计算”这个词？", "谁最早提出 云计算 这个词？"),
        ("什么是「软件（自由的）」。", "什么是 软件 自由的 。"),
    ],
)
def test_quotation_marks_and_parentheses_of_a_sentence_are_its_own(text: str, words: str) -> None:
    assert read_query(text)[:2] == (parse_query(words), (Remark(Oddity.SENTENCE),))


@pytest.mark.parametrize(
    "text",
    [
        "“云计算” 标准",
        'what is the use of "b c" in the law and -history of it',
        'what is the use of "b c" in the law site:a.org',
        '"a b" ' * 9,
    ],
)
def test_phrases_beside_operators_or_few_words_stay_phrases(text: str) -> None:
    assert any(each.kind is LiteralKind.PHRASE for clause in parse_query(text).clauses for each in clause)
    assert read_query(text).remarks == ()


@pytest.mark.parametrize(
    "text",
    [
        *("inanchor:a.org", "x Allintitle:b", "天网 info：c", "ip:1.2.3.4", "date:2024-05", "a (ip:b"),
        "what is the meaning of the word inanchor:foo",
    ],
)
def test_a_word_like_an_operator_that_is_none_is_remarked(text: str) -> None:
    typed = text.split()[-1].strip("(")
    assert Remark(Oddity.NO_OPERATOR, typed) in read_query(text).remarks


@pytest.mark.parametrize("value", ['"a b"', "“a b”", "(a b)", "「a」"])
def test_an_operator_that_is_none_is_remarked_with_its_value_in_signs(value: str) -> None:
    assert read_query(f"inanchor:{value}").remarks == (Remark(Oddity.NO_OPERATOR, "inanchor:"),)


@pytest.mark.parametrize(
    "text",
    [
        *("http://a.org/", "std::vector", "std::string", "c++::vector", "String::new"),
        *("localhost:8080", "at 12:30", "note: x", "see http://a.org/b now"),
    ],
)
def test_addresses_times_and_names_are_no_operators(text: str) -> None:
    assert read_query(text).remarks == ()


@pytest.mark.parametrize(
    "text",
    [
        *("http://a.org/b%20c", "https://A.org/b/c#d", " HTTP://a.org/b_c/\n", "http://a.org/b_(c)"),
        '"http://a.org/b c"',
    ],
)
def test_an_address_alone_is_a_phrase_without_its_scheme(text: str) -> None:
    reading = read_query(text)
    [[literal]] = reading.query.clauses
    assert (literal.entries, literal.fields) == (("a", "org", "b", "c"), ANY_FIELD)
    assert not reading.remarks
    assert reading.unquoted is not None
    assert not reading.unquoted.clauses


def test_cached_pages_are_asked_for_by_address_and_links_by_text() -> None:
    for value in ("a.org/b", "https://a.org/b", '"http://a.org/b"'):
        cached, linked = read_query(f"x cache:{value}"), read_query(f"x link:{value}")
        assert [e.fields for [e] in cached.query.clauses + linked.query.clauses] == [URL_FIELD, TEXT_FIELD]
        assert {e.entries for [e] in cached.query.clauses + linked.query.clauses} == {("a", "org", "b")}
        assert (cached.remarks, linked.remarks) == ((), (Remark(Oddity.NO_LINKS, f"link:{value}"),))


def test_pages_like_one_that_is_not_stored_are_remarked() -> None:
    assert read_query("x related:a.org").remarks == (Remark(Oddity.NO_COPY, "related:a.org"),)


def test_operators_with_two_names_are_the_same() -> None:
    assert parse_query("a host:b.org") == parse_query("a site:b.org")
    assert parse_query("a filetype:pdf") == parse_query("a type:pdf")


def test_remarks_quote_what_they_are_about() -> None:
    assert read_query("a after:Tuesday").remarks == (Remark(Oddity.NO_DATE, "after:Tuesday"),)
    [remark] = read_query("site:" + "[" * 500).remarks
    assert len(remark.text) <= REMARK_CHARS_MAX


def test_a_query_of_exclusions_only_is_remarked() -> None:
    assert read_query("-a").remarks == (Remark(Oddity.ONLY_EXCLUSIONS),)


@pytest.mark.parametrize("text", ["?!", "-", "*", "🎉", "👩\u200d👩\u200d👧 ❤️", "copies:all"])
def test_a_query_of_signs_only_is_remarked(text: str) -> None:
    assert read_query(text).remarks == (Remark(Oddity.NO_WORDS),)
    assert read_query(f"{text} word").remarks == read_query("").remarks == ()


def test_expressions_beyond_the_limits_are_read_as_any_of_their_words() -> None:
    pairs = [f'("a{n}" site:h{n}.org)' for n in range(8)]
    reading = read_query("x " + " OR ".join(pairs))
    assert {remark.oddity for remark in reading.remarks} == {Oddity.TOO_COMPLEX}
    assert reading.query.required == ("x",)
    assert reading.query.clauses == (tuple(of_words(f"a{n}") for n in range(8)),)
    many = read_query(" ".join(f'"a{n}"' for n in range(CLAUSES_MAX + 1)))
    assert {remark.oddity for remark in many.remarks} == {Oddity.TOO_COMPLEX}


def test_long_queries_are_cut_at_a_word_with_a_remark() -> None:
    reading = read_query("word " * (QUERY_CHARS_MAX // 5) + "beyond it")
    assert reading[:2] == (parse_query("word " * REPEATS_MAX), (Remark(Oddity.TOO_LONG, "beyond it"),))
    inside = read_query("word " * (QUERY_CHARS_MAX // 5 - 1) + "halfway over")
    assert inside[:2] == (parse_query("word " * REPEATS_MAX), (Remark(Oddity.TOO_LONG, "halfway over"),))
    assert read_query("word " * (QUERY_CHARS_MAX // 5) + "   ").remarks == ()


def test_a_text_without_spaces_is_cut_at_the_limit() -> None:
    assert cut_at_word("搜索引擎", 4) == "搜索引擎"
    assert cut_at_word("搜索引擎", 3) == "搜索引"
    assert cut_at_word("a " + "搜" * 500, 400) == "a " + "搜" * 398
    assert cut_at_word("天网 搜索引擎", 4) == "天网"
    assert cut_at_word("天网　搜索", 4) == "天网"


def test_a_query_of_too_many_words_is_searched_by_the_first_with_a_remark() -> None:
    reading = read_query(" ".join(f"w{n}" for n in range(REQUIRED_MAX + 1)))
    assert reading.remarks == (Remark(Oddity.TOO_MANY_WORDS),)
    assert len(reading.query.required) == REQUIRED_MAX


def test_order_is_kept() -> None:
    assert read_query("a", Sort.DATE).query.order is Sort.DATE


# The signs of the language in any order, with words between some.
SIGNS = 'a b 中文 OR | ｜ AND NOT - － ( ) （ ） " “ ” 「 ： site:a.org intitle: inurl:x lang:zh before:x'
typed_queries = st.lists(st.sampled_from([*SIGNS.split(), " ", "type:html", "after:2024"]), max_size=60).map(
    "".join
)


def test_mode_is_kept_and_changed() -> None:
    assert parse_query("a", Mode.OR).mode is Mode.OR
    assert parse_query("a").with_mode(Mode.OR) == parse_query("a", Mode.OR)


def test_only_exclusions_ask_for_nothing() -> None:
    assert parse_query("-a -site:b.org").is_empty
    assert not parse_query("site:b.org").is_empty


@settings(deadline=None)
@given(st.one_of(st.text(), any_text, st.text(alphabet='"-: site“”ab中\n\x00'), typed_queries))
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
