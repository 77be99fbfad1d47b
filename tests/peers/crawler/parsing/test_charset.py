from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.parsing.charset import codec_of, decode_text, meta_encoding
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
        (xml_in("gbk", "中文", "gbk").replace(b"<html>", b"<meta charset=big5>"), "中文", "gb18030"),
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


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Предлагаем вашему вниманию рассказы о гимназии и её учениках", "cp855"),
        ("Ledňáček říční je malý pták. Hnízdí v norách a v zimě přelétá k nezamrzajícím řekám", "cp852"),
        ("Południe jest stroną świata, na którą patrzy się w południe", "cp852"),
        ("Zygmunt został w kwietniu królem, a we wrześniu książę pisał do niego", "iso8859-16"),
        ("Das Zimmer kostet 80 € für zwei Nächte", "iso8859-15"),
        ("Ma sœur a mangé un œuf hier, et le cœur d'un bœuf l'été dernier à la campagne", "iso8859-15"),
        ("이야기 멀티는 통신 프로그램입니다. 사용자 설명서를 읽어 주십시오. 누구나 쓸 수 있습니다", "johab"),
        ("ログイン", "euc_jp"),
        ("<p>text, 日本, plain and wide", "utf-32-le"),
        ("<p>text, 日本, plain and wide", "utf-32-be"),
    ],
)
def test_sets_that_few_pages_are_in_are_read_without_a_label(text: str, codec: str) -> None:
    assert decode_text(text.encode(codec), "text/html")[:2] == (text, codec)


# Of no program whose texts the rule was measured on.
NATIONAL = (
    ("Zażółcone karty leżały na półce obok książki o żaglach", "iso-8859-2"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy", "iso-8859-2"),
    ("Kŕdeľ šťastných ďatľov učí koňa žrať kôru", "windows-1250"),
    ("Egy hűtőházból kértünk színhúst, és öt szörpöt a vendégeknek", "iso-8859-2"),
    ("Gojazni đačić s biciklom drži hmelj i finu vatu u džepu nošnje", "windows-1250"),
    ("Pijamalı hasta yağız şoföre çabucak güvendi", "windows-1254"),
    ("Įlinkdama fechtuotojo špaga sublykčiojusi pragręžė apvalų arbūzą", "windows-1257"),
    ("Glāžšķūņa rūķīši dzērumā čiepj Baha koncertflīģeļu vākus", "iso-8859-13"),
    ("Ти любиш їжу, але є ще й ґудзики, і їх треба пришити", "koi8-u"),
)


@pytest.mark.parametrize(("text", "label"), NATIONAL)
@pytest.mark.parametrize("named", ["", "iso-8859-1", "utf-8", "gb2312", "own"])
def test_a_text_is_read_in_the_set_that_has_the_letters_of_its_language(
    text: str, label: str, named: str
) -> None:
    codec = codec_of(label)
    assert codec is not None
    meta = f"<meta charset={label if named == 'own' else named}>" if named else ""
    page = f"<html>{meta}<title>{text}</title><p>{text}.</p></html>"
    assert decode_text(page.encode(codec), "text/html").text == page


@pytest.mark.parametrize("named", ["gb2312", "big5", "shift_jis", "euc-kr", "euc-jp"])
@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (KOREAN * 2, "cp949"),
        (CHINESE, "gb18030"),
        ("臺北市立圖書館今天開放，歡迎讀者前來。", "big5hkscs"),
        (JAPANESE * 2, "cp932"),
    ],
)
def test_a_text_of_east_asia_is_read_whatever_set_of_the_region_is_named(
    text: str, codec: str, named: str
) -> None:
    page = f"<html><meta charset={named}><title>{text}</title>"
    assert decode_text(page.encode(codec), "text/html").text == page


@pytest.mark.parametrize("label", ["windows-1252", "iso-8859-1", ""])
@pytest.mark.parametrize(
    "text",
    [
        "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich",
        "Voix ambiguë d'un cœur qui, au zéphyr, préfère les jattes de kiwis",
        "El veloz murciélago hindú comía feliz cardillo y kiwi. La cigüeña tocaba el saxofón",
        "Høj bly gom vandt fræk sexquiz på wc",
        "Kæmi ný öxi hér, ykist þjófum nú bæði víl og ádrepa",
        "½ cup, 20 °C, £12, ±5, m², “quoted” – and José’s résumé",
    ],
)
def test_what_is_western_stays_so(text: str, label: str) -> None:
    page = f"<meta charset={label}>{text}" if label else text
    assert decode_text(page.encode("cp1252"), "text/html").text == page


@pytest.mark.parametrize(
    "text",
    [
        "El català és una llengua romànica parlada per més de deu milions de persones, també a l’Alguer",
        "Ach, het moest al zo zijn…. Zij wist het – en ging",
        "It´s ¤ and ¨ among “signs”, £5 ½",
    ],
)
def test_signs_between_words_are_no_letters_of_rarer_sets(text: str) -> None:
    assert decode_text(text.encode("cp1252")).text == text


def test_escapes_and_nuls_are_what_they_are_whatever_the_label() -> None:
    assert decode_text(JAPANESE.encode("iso2022_jp"), "text/html; charset=utf-8").text == JAPANESE
    wide = f"<html><title>{JAPANESE}</title>".encode("utf-16-le")
    assert decode_text(wide, "text/html; charset=iso-8859-1").encoding == "utf-16-le"
    assert decode_text(b"a\0b" * 50).encoding == "utf-8", "NULs in all places are none of UTF-16"


# Text, its encoding, and how it is labelled in the place that is right.
WRITTEN = (
    ("北京市海淀区中关村的图书馆今天开放，欢迎读者。", "gbk"),
    ("臺北市立圖書館今天開放，歡迎讀者前來。", "big5"),
    (KOREAN, "euc-kr"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc-jp"),
    (RUSSIAN, "windows-1251"),
    (RUSSIAN, "koi8-r"),
    ("Η βιβλιοθήκη είναι ανοιχτή σήμερα.", "iso-8859-7"),
    ("הספרייה פתוחה היום לקוראים.", "windows-1255"),
)
WRONG = ("ISO-8859-1", "utf-8", "gb2312", "big5", "shift_jis", "windows-1251", "nonsense")


def page_in(text: str, codec: str, meta: str) -> bytes:
    return f'<html><head><meta charset="{meta}"><title>{text[:12]}</title></head><p>{text}</p>'.encode(codec)


@pytest.mark.parametrize(("text", "codec"), WRITTEN)
@pytest.mark.parametrize("wrong", WRONG)
def test_where_header_and_page_disagree_the_bytes_decide(text: str, codec: str, wrong: str) -> None:
    for header, meta in ((wrong, codec), (codec, wrong)):
        decoded = decode_text(page_in(text, codec, meta), f"text/html; charset={header}")
        assert text in decoded.text, (header, meta, decoded.encoding)


@pytest.mark.parametrize(("text", "codec"), WRITTEN)
def test_the_default_of_a_server_does_not_stand_against_the_bytes(text: str, codec: str) -> None:
    body = f"<html><title>{text[:12]}</title><p>{text * 3}</p>".encode(codec)
    assert text in decode_text(body, "text/html; charset=ISO-8859-1").text


@pytest.mark.parametrize(
    "text",
    [
        "été à Nîmes",
        "«Où?» – «là»",
        "ÉTÉ ©",
        "Öl für 5 €",
        "¿Qué? ¡Sí!",
        "pää, öö ja jäääär",
        "São João, nº 5",
    ],
)
def test_what_is_latin_stays_latin(text: str) -> None:
    body = f"<title>{text}</title>".encode("cp1252")
    assert decode_text(body, "text/html; charset=iso-8859-1").text == f"<title>{text}</title>"


@pytest.mark.parametrize("label", ["iso-8859-1", "windows-1251", "gbk", "shift_jis", "koi8-r"])
@pytest.mark.parametrize("text", ["Café", "Café dêjà vu", "© 2024", "naïve", "中文", "Ёж"])
def test_a_little_utf8_is_told_from_what_its_label_makes_of_it(text: str, label: str) -> None:
    body = f"<title>{text}</title>".encode()
    if label in ("gbk", "shift_jis") and text not in ("Café dêjà vu", "naïve", "中文"):
        return  # reads as well in both
    assert decode_text(body, f"text/html; charset={label}").text == f"<title>{text}</title>"


def test_a_pair_that_is_utf8_by_chance_is_what_its_label_says() -> None:
    assert "模" in decode_text("<title>模</title>".encode("gbk"), "text/html; charset=gbk").text


def test_a_mark_of_utf8_before_what_is_none_is_no_mark() -> None:
    body = b"\xef\xbb\xbf" + page_in(CHINESE, "gbk", "gbk")
    assert CHINESE in decode_text(body).text


def test_surrogates_in_utf8_are_the_characters_that_they_mean() -> None:
    halves = "a 😀 b 𠮷野家".encode("utf-16-le", "surrogatepass")
    cesu8 = b"".join(
        int.from_bytes(halves[at : at + 2], "little").to_bytes(2, "big").decode("utf-16-be", "surrogatepass")
        .encode("utf-8", "surrogatepass")
        for at in range(0, len(halves), 2)
    )  # fmt: skip
    for content_type in (None, "text/html; charset=utf-8", "text/html; charset=CESU-8"):
        decoded = decode_text(cesu8, content_type)
        assert (decoded.text, decoded.replacement_count) == ("a 😀 b 𠮷野家", 0)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>天网搜索引擎</p> ~user".encode("hz").replace(b"~~", b"~"), "<p>天网搜索引擎</p> ~user"),
        ("<p>검색 엔진</p>".encode("iso2022_kr"), "<p>검색 엔진</p>"),
        (b"<p>\x1b$)A\x0e\x56\x50\x4e\x44\x0f and</p>", "<p>中文 and</p>"),
    ],
)
@pytest.mark.parametrize("label", ["", "; charset=hz-gb-2312", "; charset=iso-2022-cn", "; charset=gbk"])
def test_sets_of_seven_bits_are_read(body: bytes, text: str, label: str) -> None:
    decoded = decode_text(body, f"text/html{label}")
    assert (decoded.text, decoded.is_noise) == (text, False)


def test_a_program_with_signs_of_hz_is_no_hz() -> None:
    body = b"if (x =~ /~{a,b~}/) { print '~{' }"
    assert decode_text(body).text == body.decode()


TAIWANESE = (
    bytes.fromhex("c4e3 c5c4 d9d7 e2f5 dcb8 c4a9 cab5 eac4 e6fb f6f0 efbe f3a1").replace(b" ", b"") * 8
)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<p>\x1b$)G\x0e\x44\x21\x0f", None),
        (b"<p>" + TAIWANESE, "text/html; charset=EUC-TW"),
        (b"<meta charset=x-euc-tw><p>" + TAIWANESE, None),
    ],
)
def test_what_no_encoding_here_reads_is_called_noise(body: bytes, content_type: str | None) -> None:
    assert decode_text(body, content_type).is_noise


@pytest.mark.parametrize(
    "text", [CHINESE, TRADITIONAL, KOREAN, JAPANESE, RUSSIAN, "déjà vu " * 9, "plain " * 9]
)
def test_what_wrongly_calls_itself_unreadable_is_read_if_it_is_utf8(text: str) -> None:
    decoded = decode_text(text.encode(), "text/html; charset=euc-tw")
    assert (decoded.text, decoded.is_noise) == (text, False)


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
