from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, settings

from peers.text.analysis import (
    COMPOUND_WEIGHT,
    EXACT_WEIGHT,
    FORM_WEIGHT,
    HAN_PAIR_WEIGHT,
    HAN_WORD_WEIGHT,
    HYPHENED_WEIGHT,
    OTHER_FORM_WEIGHT,
    PART_FACTOR,
    REGIONAL_WEIGHT,
    REPEATS_MAX,
    SPELLING_WEIGHT,
    EitherOf,
    analyse,
    atoms,
    frequency_entries,
    literal_of,
    query_terms,
)
from peers.text.runs import RunKind, kind_of
from peers.text.segmentation import JiebaSegmenter, available_segmenter
from tests.peers.engine.samples import found, page
from tests.peers.text.samples import any_text, signed_text


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("Ｆｕｌｌ　ｗｉｄｔｈ１２", ["full", "width12"]),
        ("Café NAÏVE Łódź Straße", ["cafe", "naive", "lodz", "strasse"]),
        ("cafe\u0301", ["cafe"]),
        ("Й Ω ΟΔΟΣ", ["й", "ω", "οδοσ"]),
        ("UTF-8 86x_64 3.14", ["utf", "8", "86x", "64", "3", "14"]),
        ("中华人民共和国", ["中华", "华人", "人民", "共和", "共和国", "中华人民共和国"]),
        ("GNU系统和T恤", ["gnu", "系统", "和", "t", "恤"]),
        (
            "カタカナ한국어",
            ["\x01カタ", "\x01タカ", "\x01カナ", "\x01ナ한", "\x01한국", "\x01국어", "\x01어"],
        ),
        ("ｶﾞ", ["\x01ガ"]),
        ("the of 的 了", ["the", "of", "的", "了"]),
        ("搜尋引擎與漢語拼音", ["搜寻", "引擎", "与", "汉语", "拼音", "汉语拼音"]),
        ("", []),
        ("…，。!\x00", []),
        ("x" * 100, ["x" * 64]),
    ],
)
def test_text_becomes_terms(text: str, terms: list[str]) -> None:
    assert analyse(text) == terms


@pytest.mark.parametrize(
    ("text", "required", "scoring"),
    [
        ("Searching", ["\x03search"], {"searching": EXACT_WEIGHT, "\x03search": FORM_WEIGHT}),
        ("the 86x 86x", ["86x"], {"the": 1.0, "86x": 2.0}),
        ("86x " * 20, ["86x"], {"86x": REPEATS_MAX}),
        # Three words, and the four of a sentence
        ("1x is as 2x of 3x", ["1x", "2x", "3x"], dict.fromkeys(["1x", "is", "as", "2x", "of", "3x"], 1.0)),
        ("1x is as 2x of 3x and 4x", ["1x", "2x", "3x", "4x"], dict.fromkeys(["1x", "2x", "3x", "4x"], 1.0)),
        (
            "wie man 1x und 2x mit 3x in 4x",
            ["1x", "2x", "3x", "4x"],
            dict.fromkeys(["1x", "2x", "3x", "4x"], 1.0),
        ),
        ("the of", ["the", "of"], {"the": 1.0, "of": 1.0}),
        ("C++", ["\x06c++"], {"c": EXACT_WEIGHT, "\x03c": FORM_WEIGHT, "\x06c++": COMPOUND_WEIGHT}),
        ("1,000", ["\x031000"], {"1": 1.0, "000": 1.0, "\x031000": COMPOUND_WEIGHT}),
        ("2004", ["\x032004"], {"2004": EXACT_WEIGHT, "\x032004": FORM_WEIGHT}),
        ("3.14", ["3", "14"], {"3": 1.0, "14": 1.0, "\x063.14": COMPOUND_WEIGHT}),
        ("天网", ["\x01天网"], {"天网": HAN_WORD_WEIGHT, "\x01天网": HAN_PAIR_WEIGHT}),
        (
            "搜索引擎的网页",
            ["\x01搜索", "\x01索引", "\x01引擎", "\x01网页"],
            dict.fromkeys(["搜索引擎", "的", "网页"], HAN_WORD_WEIGHT)
            | dict.fromkeys(
                ["\x01搜索", "\x01索引", "\x01引擎", "\x01擎的", "\x01的网", "\x01网页"], HAN_PAIR_WEIGHT
            )
            | {"\x01捜索": OTHER_FORM_WEIGHT},
        ),
        ("恤", ["恤"], {"恤": 1.0}),
        (
            "カタカナ",
            ["\x01カタ", "\x01タカ", "\x01カナ"],
            {"\x01カタ": 1.0, "\x01タカ": 1.0, "\x01カナ": 1.0},
        ),
        ("の", ["\x01の"], {"\x01の": 1.0}),
        ("학교에서", ["\x01학교"], dict.fromkeys(["\x01학교", "\x01교에", "\x01에서"], 1.0)),
        ("ภาษาไทย", ["ภาษา", "ษาไท", "ไทย"], dict.fromkeys(["ภาษา", "ษาไท", "ไทย"], 1.0)),
        ("เป็น", ["เป็น"], {"เป็น": 1.0}),
        ("芸", ["芸"], {"芸": 1.0, "艺": OTHER_FORM_WEIGHT}),
        (
            "芸術",
            ["\x01芸术"],
            {"芸术": HAN_WORD_WEIGHT, "\x01芸术": HAN_PAIR_WEIGHT, "\x01艺术": OTHER_FORM_WEIGHT},
        ),
        (
            "X-900",
            [],
            {
                "x": PART_FACTOR * EXACT_WEIGHT,
                "\x03x": PART_FACTOR * FORM_WEIGHT,
                "900": PART_FACTOR,
                "\x03x900": FORM_WEIGHT,
            },
        ),
        (
            "Résumé",
            ["\x03resum"],
            {"resume": EXACT_WEIGHT, "\x03resum": FORM_WEIGHT, "\x08résumé": SPELLING_WEIGHT},
        ),
        ("x900", ["\x03x900"], {"x900": EXACT_WEIGHT, "\x03x900": FORM_WEIGHT}),
        (
            "安裝軟體",
            ["\x01安装"],
            {
                "安装": HAN_WORD_WEIGHT,
                "软体": HAN_WORD_WEIGHT,
                "\x01安装": HAN_PAIR_WEIGHT,
                "\x01装软": HAN_PAIR_WEIGHT,
                "\x01软体": HAN_PAIR_WEIGHT,
                "\x01软件": REGIONAL_WEIGHT,
            },
        ),
        ("", [], {}),
    ],
)
def test_a_typed_text_is_searched_by_words_forms_and_compounds(
    text: str, required: list[str], scoring: dict[str, float]
) -> None:
    terms = query_terms(text)
    assert list(terms.required) == required
    assert dict(zip(terms.scoring, terms.weights, strict=True)) == scoring


@pytest.mark.parametrize(
    ("text", "entry", "weight"),
    [
        ("apt-get", "\x06apt-get", COMPOUND_WEIGHT),
        ("apt-get install", "\x06apt-get", HYPHENED_WEIGHT),
        ("git apply --no-cache", "\x06--no-cache", COMPOUND_WEIGHT),
        ("spectra of cross-section measured behind blunt bodies", "\x06cross-section", None),
        ("does pg_dump --no-sync flush written files", "\x06--no-sync", COMPOUND_WEIGHT),
    ],
)
def test_a_name_with_hyphens_counts_most_alone_and_nothing_in_a_sentence(
    text: str, entry: str, weight: float | None
) -> None:
    terms = query_terms(text)
    assert dict(zip(terms.scoring, terms.weights, strict=True)).get(entry) == weight


def test_a_regional_word_is_required_in_one_of_its_ways() -> None:
    database = ("\x01资料", "\x01料库"), ("\x01数据", "\x01据库")
    assert query_terms("資料庫").alternatives == (EitherOf(database),)
    assert query_terms("数据库").alternatives == (EitherOf(database[::-1]),)


def test_words_of_the_mainland_and_of_taiwan_find_each_other() -> None:
    pages = [page(text) for text in ("数据库软件", "資料庫軟體", "数据")]
    for query in "数据库软件", "資料庫軟體":
        assert found(pages, query) == {"数据库软件", "資料庫軟體"}


@settings(deadline=None)
@given(any_text | signed_text)
def test_who_types_something_is_searched_by_something(text: str) -> None:
    terms = query_terms(text)
    assert bool(terms.required or terms.alternatives) == bool(terms.scoring) == bool(analyse(text))
    assert len(set(terms.required)) == len(terms.required)
    assert len(set(terms.scoring)) == len(terms.scoring) == len(terms.weights)


@settings(deadline=None)
@given(any_text | signed_text, any_text | signed_text, any_text | signed_text)
def test_a_text_has_all_that_is_required_of_a_line_of_it(before: str, line: str, after: str) -> None:
    """Lines, since a stretch cut elsewhere may be segmented or joined by signs otherwise than in its text."""
    text = f"{before}\n{line}\n{after}"
    assert set(query_terms(line).required) <= {*atoms(text), *analyse(text), *frequency_entries(text)}


# A word of each, as it is written.
_WHOLE_WORDS = """
العربية עברית हिन्दी मराठी नेपाली বাংলা অসমীয়া ਪੰਜਾਬੀ ગુજરાતી ଓଡ଼ିଆ தமிழ் తెలుగు ಕನ್ನಡ മലയാളം සිංහල ދިވެހި བོད་ Ελληνικά
Русский Українська Հայերեն ქართული አማርኛ ᠮᠣᠩᠭᠣᠯ tiếng Việt Türkçe français ߒߞߏ 𞤆𞤵𞤤𞤢𞤪 ꦗꦮ ᮘᮞ ܣܘܪܝܝܐ فارسی اردو
कृष्ण ज़िन्दगी दुःख শুভেচ্ছা বিশ্ববিদ্যালয় ਸ੍ਰੀ સ્ત્રી ସ୍ୱାଗତ கற்றுக்கொள் క్షేత్రం ಕ್ಷಮಿಸಿ ന്‍റെ ක්‍රියා می‌خواهم کتاب‌ها
เป็น ได้ น้ำ ສັດ ເປັນ ໄດ້ ខ្ញុំ ស្ត្រី ရန်
"""


@pytest.mark.parametrize("word", _WHOLE_WORDS.split())
def test_marks_and_joiners_cut_no_word(word: str) -> None:
    (term,) = analyse(word)
    assert analyse(f"({word}) {word},{word}") == [term] * 3
    assert query_terms(word) == query_terms(f" {word}!")


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("ภาษาไทย", "เรียนภาษาไทยทุกวัน"),
        ("ລາວ", "ພາສາລາວ"),
        ("ខ្មែរ", "ភាសាខ្មែរ\u200bជាភាសា"),
        ("မြန်မာ", "မြန်မာဘာသာစကား"),
        ("हिंदी", "यह हिन्दी है"),
    ],
)
def test_words_of_unspaced_scripts_are_found_inside_sentences(phrase: str, text: str) -> None:
    assert set(query_terms(phrase).required) <= {*analyse(text), *frequency_entries(text)}
    wanted, found = literal_of(phrase)[0], literal_of(text)[0]
    places = range(len(found) - len(wanted) + 1)
    assert any(found[place : place + len(wanted)] == wanted for place in places)


def test_atoms_are_words_and_pairs() -> None:
    assert atoms("GNU系统, 東京タワー café") == [
        "gnu",
        *["\x01系统", "\x01统", "\x01东京", "\x01京", "\x01タワ", "\x01ワー", "\x01ー", "cafe"],
    ]


@settings(deadline=None)
@given(any_text)
def test_terms_are_analysed_to_themselves_or_their_parts(text: str) -> None:
    for term in analyse(text):
        assert analyse(term)[0] == term or kind_of(term) is RunKind.HAN


@settings(deadline=None)
@given(any_text)
def test_composed_and_decomposed_text_have_the_same_terms(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert analyse(unicodedata.normalize("NFC", unicodedata.normalize("NFD", composed))) == analyse(composed)


@settings(deadline=None)
@given(any_text, any_text)
def test_atoms_do_not_depend_on_context(left: str, right: str) -> None:
    assert atoms(f"{left} {right}") == atoms(left) + atoms(right)


@pytest.mark.parametrize(
    ("text", "entries", "distances"),
    [
        ("天网", ["\x01天网"], [0]),
        ("网", ["\x01网"], [0]),
        ("搜索引擎", ["\x01搜索", "\x01引擎"], [0, 2]),
        ("大搜索引擎", ["\x01大搜", "\x01索引", "\x01引擎"], [0, 2, 3]),
        ("T恤, 的の a b", ["t", "\x01恤", "\x01的", "\x01の", "a", "b"], [0, 1, 2, 3, 4, 5]),
        ("!", [], []),
    ],
)
def test_literals_are_said_by_every_second_pair(text: str, entries: list[str], distances: list[int]) -> None:
    assert literal_of(text) == (entries, distances)


@settings(deadline=None)
@given(any_text, any_text, any_text)
def test_what_a_literal_asks_for_is_in_every_text_with_it(before: str, literal: str, after: str) -> None:
    start, places = len(atoms(before)), atoms(f"{before}\n{literal}\n{after}")
    for entry, distance in zip(*literal_of(literal), strict=True):
        assert places[start + distance] == entry


def test_jieba_takes_over_where_rjieba_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "GNU系统与中华人民共和国，长春市长春药店。"
    expected = analyse(text)
    monkeypatch.setitem(sys.modules, "rjieba", None)
    segmenter = available_segmenter()
    assert isinstance(segmenter, JiebaSegmenter)
    monkeypatch.setattr("peers.text.segmentation._segmenter", lambda: segmenter)
    assert analyse(text) == expected


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("C++", {0}),
        ("c#", {1}),
        ("search engine", {2, 3}),
        ("漢語拼音", {4, 5}),
        ("汉语拼音", {4, 5}),
        ("1000", {6, 7}),
        ("1,000", {6, 7}),
        (".NET", {8}),
        ("カメラ", {9}),
    ],
)
def test_pages_are_found_by_any_form_of_what_is_typed(query: str, numbers: set[int]) -> None:
    texts = [
        "learn C++ well",
        "learn C# well",
        "searching engines",
        "a search engine",
        "汉语拼音",
        "漢語拼音",
    ]
    texts += ["1,000 pages", "1000 hosts", "使用.NET框架", "デジタルカメラの写真"]
    pages = [page(f"h/{number}", text) for number, text in enumerate(texts)]
    assert found(pages, query) == {f"h/{number}" for number in numbers}
