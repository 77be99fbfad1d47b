from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.charset import codec_of, decode_text, meta_encoding
from tests.shared_data import shared

CHINESE = "中文网页内容，测试编码检测。这是一个关于搜索引擎的页面，天网。" * 3
TRADITIONAL = "中文資料測試，關於搜尋引擎的頁面，內容使用繁體字。" * 3


def html5lib_cases() -> Iterator[tuple[bytes, str]]:
    for name in ("tests1.dat", "tests2.dat", "test-yahoo-jp.dat"):
        data = shared(f"suites/html5lib/encoding/{name}").read_bytes()
        for case in data.split(b"#data\n")[1:]:
            page, _, encoding = case.partition(b"\n#encoding\n")
            yield page, encoding.split()[0].decode()


@pytest.mark.parametrize(
    ("page", "codec"),
    [
        (b"<meta charset=utf-8>", "utf-8"),
        (b"<META CHARSET = 'windows-1251' >", "windows-1251"),
        (b"<!-- <meta charset=utf-8> --><meta charset=gbk>", "gbk"),
        (b'<meta http-equiv=content-type content="text/html; charset=shift_jis">', "shift_jis"),
        (b"<title><meta", None),
    ],
)
def test_what_a_page_says_of_its_encoding_is_heard(page: bytes, codec: str | None) -> None:
    assert meta_encoding(page) == (None if codec is None else codec_of(codec))


@pytest.mark.more
def test_html5lib_encoding_cases() -> None:
    cases = list(html5lib_cases())
    assert len(cases) == 82
    wrong = [
        (page[:80], expected)
        for page, expected in cases
        if not page.startswith(b"\xef\xbb\xbf") and (meta_encoding(page) or "cp1252") != codec_of(expected)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("gb2312", "gb18030"), ("GBK", "gb18030"), ("gb18030", "gb18030"), ("utf8", "utf-8"),
        ("UTF-8 ", "utf-8"),
        ("latin1", "cp1252"), ("ascii", "cp1252"), ("big5", "big5hkscs"), ("euc-kr", "cp949"),
        ("shift_jis", "cp932"), ("windows-1251", "cp1251"), ("x-user-defined", "cp1252"),
        ("nonsense", None), ("", None), ("hz-gb-2312", None), ("utf-7", None), ("rot13", None),
        ("x" * 100, None),
    ],
)  # fmt: skip
def test_labels_mean_what_browsers_take_them_for(label: str, codec: str | None) -> None:
    assert codec_of(label) == codec


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (CHINESE.encode(), None, "utf-8"),
        (CHINESE.encode("gb18030"), None, "gb18030"),
        (CHINESE.encode("gbk"), "text/html; charset=gb2312", "gb18030"),
        (b"<meta charset=gbk>" + CHINESE.encode("gbk"), None, "gb18030"),
        (CHINESE.encode("gbk"), "text/html; charset=utf-8", "gb18030"),  # wrong header
        (CHINESE.encode(), "text/html; charset=gb2312", "utf-8"),  # wrong header
        (b"<meta charset=gbk>" + CHINESE.encode(), None, "utf-8"),  # wrong meta
        (b"<meta charset=big5>" + CHINESE.encode("gbk"), 'text/html;charset="GBK"', "gb18030"),  # header wins
        (TRADITIONAL.encode("big5"), None, "big5hkscs"),
        (b"\xff\xfe" + CHINESE.encode("utf-16-le"), "text/html; charset=gbk", "utf-16-le"),
        (b"\xfe\xff" + CHINESE.encode("utf-16-be"), None, "utf-16-be"),
        (b"\xef\xbb\xbf" + CHINESE.encode(), "text/html; charset=gbk", "utf-8"),
        (CHINESE.encode("utf-16-le"), "text/html; charset=utf-16", "utf-16-le"),
        (b" " * 2000 + b"<meta charset=gbk>" + CHINESE.encode("gbk"), None, "gb18030"),  # after 1,024 bytes
    ],
)
def test_text_comes_out_whatever_the_label(body: bytes, content_type: str | None, encoding: str) -> None:
    decoded = decode_text(body, content_type)
    assert decoded.encoding == encoding
    assert decoded.replacement_count == 0
    assert decoded.text.endswith((CHINESE, TRADITIONAL))
    assert not decoded.text.startswith("\ufeff")


KOREAN = "안녕하세요. 이 문서는 한국어로 쓰였고, 검색 엔진은 여러 언어를 지원합니다. "
JAPANESE = "これは日本語の文書です。検索エンジンは多くの言語を知っています。"
RUSSIAN = "Поисковая машина знает много языков, и этот текст написан по-русски. "


def xml_in(label: str, text: str, codec: str) -> bytes:
    return f'<?xml version="1.0" encoding="{label}"?><html><p>{text}'.encode(codec)


@pytest.mark.parametrize(
    ("body", "text", "encoding"),
    [
        ((KOREAN * 4).encode("euc-kr"), KOREAN, "cp949"),
        ((RUSSIAN * 4).encode("mac-cyrillic"), RUSSIAN, "mac-cyrillic"),
        (JAPANESE.encode("iso2022_jp"), JAPANESE, "iso2022_jp"),
        (f"<html><title>{JAPANESE}</title>".encode("utf-16-le"), JAPANESE, "utf-16-le"),
        (f"<html><title>{JAPANESE}</title>".encode("utf-16-be"), JAPANESE, "utf-16-be"),
        (xml_in("windows-1254", "ağ, ışık", "cp1254"), "ağ, ışık", "cp1254"),
        (xml_in("gbk", "中文", "gbk").replace(b"<html>", b"<meta charset=big5>"), "笢恅", "big5hkscs"),
        (xml_in("utf-16", "é", "utf-8"), "é", "utf-8"),
        (xml_in("shift_jis", CHINESE, "utf-8"), CHINESE, "utf-8"),  # it lies
    ],
)
def test_what_no_header_and_no_meta_names_is_read_all_the_same(body: bytes, text: str, encoding: str) -> None:
    decoded = decode_text(body, "text/html")
    assert (decoded.encoding, decoded.replacement_count) == (encoding, 0)
    assert text in decoded.text


@pytest.mark.parametrize("codec", ["iso8859-7", "cp1253"])
def test_the_two_sets_of_greek_are_told_by_their_alpha(codec: str) -> None:
    text = "Οι Άνεμοι φυσούν σ’ένα νησί πάνω απ’τον ουρανό κι απ’την θάλασσα. " * 8
    assert decode_text(text.encode(codec)).text == text


def test_romanian_is_read_as_its_pages_are_written() -> None:
    text = "Ştiinţa şi tehnica au făcut progrese, iar oamenii şi-au schimbat viaţa în ţară. " * 12
    assert decode_text(text.encode("cp1250")).text == text


def test_who_says_utf8_is_believed_where_escapes_and_nuls_are_valid_in_it() -> None:
    body = JAPANESE.encode("iso2022_jp")
    assert decode_text(body, "text/html; charset=utf-8").encoding == "utf-8"
    assert decode_text(b"a\0b" * 50).encoding == "utf-8", "NULs in all places are none of UTF-16"


@pytest.mark.parametrize("content_type", [None, "text/html; charset=utf-8"])
def test_half_a_character_at_the_end_is_one_replacement(content_type: str | None) -> None:
    decoded = decode_text(CHINESE.encode()[:-1], content_type)
    assert decoded.encoding == "utf-8"
    assert decoded.replacement_count == 1
    assert decoded.text == CHINESE[:-1] + "\ufffd"


def test_replacement_characters_of_the_page_itself_are_not_counted() -> None:
    assert decode_text("\ufffd 中".encode() + b"\xe4", "text/html; charset=utf-8").replacement_count <= 1
    assert decode_text("\ufffd 中文".encode()).replacement_count == 0


def test_a_short_latin_page_is_read() -> None:
    assert decode_text("déjà vu, café, naïve".encode("cp1252"), "text/html; charset=iso-8859-1").text == (
        "déjà vu, café, naïve"
    )


@given(
    st.binary(max_size=400),
    st.sampled_from([None, "text/html; charset=gbk", "a; charset=utf-16", "charset=;"]),
)
def test_any_bytes_decode_to_text_that_encodes(body: bytes, content_type: str | None) -> None:
    decoded = decode_text(body, content_type)
    decoded.text.encode()
    assert decoded.replacement_count >= 0


@given(st.text(alphabet="<!->/ mMetaAcharset='\"=gbk;\t\n", max_size=200))
def test_any_markup_is_prescanned(markup: str) -> None:
    meta_encoding(b"<meta " + markup.encode())
