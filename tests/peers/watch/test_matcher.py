"""Entries are found as a searcher would read them, and no text is dear whatever the list says."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import ClassVar

import pytest

from peers.text.folding import fold
from peers.watch.list_file import entries_of
from peers.watch.matcher import Matcher, symbols_of
from peers.watch.watched import EXCERPT_CHARS_MAX, HITS_MAX, PageWatch


def matcher(*lines: str) -> Matcher:
    return Matcher(5, entries_of(lines))


def found(matcher: Matcher, text: str, title: str = "") -> dict[str, int]:
    watch = matcher.watch(title, text)
    return {} if watch is None else {hit.entry: hit.count for hit in watch.hits}


@pytest.mark.parametrize(
    ("entry", "text", "count"),
    [
        ("臺灣", "我在台湾，台灣", 2),  # either way of writing, as in a search
        ("台湾", "臺灣", 1),
        ("Ｈｅｌｌｏ", "HELLO, hello. helloo othello", 2),  # width and case; words as a whole
        ("straße", "STRASSE", 1),
        ("café", "cafe\u0301 CAFE", 2),
        ("中国", "我爱中。国家", 0),  # a sentence ends between
        ("中国", "中国，中国人", 2),
        ("climate change", "Climate\n  change, climate-change; climates change", 2),
        ("climate change", "climate and change", 0),
        ("5G手机", "买5G 手机吧，5g手机。4G手机", 2),
        ("中国 银行", "中国银行，中国，银行", 2),  # with something between, or nothing
        ("食べる", "私は食べる。食、べる", 1),
        ("ประเทศไทย", "ไปประเทศไทยกัน", 1),
        ("서울", "서울특별시", 1),
        ("哈哈", "哈哈哈", 2),  # those that overlap count each
        ("حرب", "الحرب حرب", 1),
    ],
)
def test_an_entry_is_found_as_a_searcher_reads_it(entry: str, text: str, count: int) -> None:
    assert found(matcher(entry), text) == ({entry: count} if count else {})


def test_entries_inside_of_others_are_found_too() -> None:
    entries = matcher("中国", "国", "中国银行", "银行", "new york", "york", "new york times")
    assert found(entries, "中国银行") == {"中国": 1, "国": 1, "中国银行": 1, "银行": 1}
    assert found(entries, "the New York Times of York") == {"new york": 1, "york": 2, "new york times": 1}


def test_nothing_goes_from_the_title_on_into_the_text() -> None:
    assert found(matcher("climate change"), "change of plans", "Climate") == {}
    assert found(matcher("plans"), "change of plans", "Plans") == {"plans": 2}


def test_an_excerpt_has_the_first_occurrence_as_it_was_written() -> None:
    watch = matcher("臺灣", "title").watch("A Title", f"{'x' * 80}\n我在台灣\n{'y' * 500}")
    assert watch is not None
    title, text = watch.hits
    assert (title.entry, title.excerpt[title.start : title.end]) == ("title", "Title")
    assert (text.entry, text.excerpt[text.start : text.end]) == ("臺灣", "台灣")
    assert len(text.excerpt) == EXCERPT_CHARS_MAX
    assert "\n" not in text.excerpt


def test_of_a_page_that_lets_nothing_be_shown_there_is_no_excerpt() -> None:
    watch = matcher("word").watch("", "a word", is_quotable=False)
    assert watch is not None
    assert [(hit.entry, hit.count, hit.excerpt) for hit in watch.hits] == [("word", 1, "")]


def test_halves_of_characters_leave_an_excerpt_that_can_be_sent() -> None:
    watch = matcher("word").watch("\ud800 title", "\ud83d a word \udfff")
    assert watch is not None
    assert watch.title == "? title"
    assert watch.hits[0].excerpt.encode() == b"? a word ?"


def test_a_page_with_the_whole_list_tells_of_the_first_entries_and_how_many_more() -> None:
    words = [f"word{n}" for n in range(3 * HITS_MAX)]
    watch = matcher(*words).watch("", " ".join(reversed(words)))
    assert watch is not None
    assert [hit.entry for hit in watch.hits] == words[: -HITS_MAX - 1 : -1]
    assert watch.left_out == 2 * HITS_MAX


def test_all_that_is_found_is_all_that_there_is() -> None:
    """Against counting each entry at each place of the symbols."""
    random = Random(3)
    letters = ("人", "大", "a", "bc")
    texts = [" ".join(words) for n in (1, 2, 3) for words in product(letters, repeat=n)]
    for _ in range(60):
        lines = sorted({text.replace("人 大", "人大") for text in random.sample(texts, 12)} - {"a"})
        chosen = {tuple(symbols_of(fold(line)).symbols): line for line in lines}
        text = " ".join(random.choice((*letters, "人大", "，")) for _ in range(30))
        symbols = symbols_of(fold(text)).symbols
        entries = entries_of(chosen.values())
        expected = dict.fromkeys(chosen.values(), 0)
        for entry, line in chosen.items():
            for way in {entry, tuple(symbol for symbol in entry if symbol != " ")}:
                expected[line] += sum(tuple(symbols[i : i + len(way)]) == way for i in range(len(symbols)))
        ways = [tuple(symbol for symbol in entry if symbol != " ") for entry in chosen]
        if len(set(ways)) == len(ways) and not set(ways) & {entry for entry in chosen if " " in entry}:
            assert found(Matcher(1, entries), text) == {line: n for line, n in expected.items() if n}


class CountedSymbol(str):
    """A symbol that counts how often it is looked up."""

    lookups: ClassVar[int] = 0

    def __hash__(self) -> int:
        CountedSymbol.lookups += 1
        return super().__hash__()


@pytest.mark.parametrize("unit", ["哈", "哈嘿", "a ", "哈，", "ab cd "])
def test_a_megabyte_of_repeats_costs_two_looks_a_symbol_with_the_worst_of_lists(unit: str) -> None:
    stripped = unit.strip()
    nested = {(unit * n)[:64].strip(" ，") for n in range(1, 64)} - {"a"}
    traps = {
        f"{(unit * n).strip(' ，')}{'终' if ord(stripped[0]) > 127 else ' end'}"[:64] for n in range(1, 20)
    }
    lines = {tuple(symbols_of(fold(line)).symbols): line for line in sorted(nested | traps)}
    worst = Matcher(1, entries_of(lines.values()))
    text = unit * ((1 << 20) // len(unit.encode()))
    symbols = [CountedSymbol(symbol) for symbol in symbols_of(fold(text)).symbols]
    CountedSymbol.lookups = 0
    assert worst.scan(symbols)
    assert CountedSymbol.lookups <= 2 * len(symbols)
    # Parts where entries may be do not overlap; between two of them there is an end.
    assert len(worst._parts_of(fold(text)).symbols) <= 2 * len(symbols)


def test_what_is_found_of_a_long_text_is_bounded() -> None:
    watch = matcher(*["哈" * n for n in range(1, 65)]).watch("哈" * 1_000, "哈" * 500_000)
    assert isinstance(watch, PageWatch)
    assert sum(len(hit.excerpt) for hit in watch.hits) <= HITS_MAX * EXCERPT_CHARS_MAX
    assert {hit.entry: hit.count for hit in watch.hits}["哈"] == 501_000
