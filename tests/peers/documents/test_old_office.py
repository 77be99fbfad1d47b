"""What files of Office before 2007 say."""

from __future__ import annotations

import random
from struct import pack

import pytest

from peers.crawler.parsing.page_reader import read_markup
from peers.documents.compound_file import CompoundFile
from peers.documents.content import Content, Lack
from peers.documents.formats import Format
from peers.documents.reader import read_document
from tests.peers.documents import old_files
from tests.processor import processor_seconds


def read(body: bytes) -> Content:
    return read_document(Format.OLD, body, read_markup)


def test_documents_of_word_97_have_paragraphs_headings_fields_and_properties() -> None:
    heading = "Überschrift 一\r"
    pieces: list[str | bytes] = [
        heading,
        b"na\xefve \x93text\x94\x0bof a line\r",
        "one\x07two\x07\x07",
        'before \x13 HYPERLINK "http://b.test/" \x01\x14the \x13 PAGE \x147\x15 link\x15 after\r',
        b"semi\x1fcolon no\x1ebreak\x0c",
        "a header\r",
        b"an endnote\r",
    ]
    lengths = [len(piece) for piece in pieces]
    body = old_files.old_word(pieces, [sum(lengths[:5]), 0, lengths[5], 0, 0, lengths[6]], headings=[heading])
    assert read(body) == Content(
        title="Größe",
        headings="Überschrift 一",
        text="Überschrift 一\nnaïve “text” of a line\none\ntwo\nbefore the 7 link after\n"
        "semicolon no-break\nan endnote",
        links=(("http://b.test/", "the 7 link"),),
        dates=("2020-10-29T00:00:00Z",),
    )


def test_a_vector_of_properties_is_not_believed_how_long_it_is() -> None:
    """Each of its items, of no bytes, took the reader time and memory: minutes for some kilobytes."""
    vector = pack("<2I", 0x1000, 20_000_000)
    file = old_files.compound(
        {"\x05SummaryInformation": old_files.summary(b"Annual report", more=[(4, vector)])}
    )
    opened = CompoundFile(file)
    assert processor_seconds(opened.title) < 0.5
    assert (opened.title(), opened.dates()) == ("Annual report", ("2020-10-29T00:00:00Z",))


def test_documents_of_word_6_are_in_the_code_page_of_their_language() -> None:
    russian, chinese, german = 0x0419, 0x0804, 0x0407
    assert read(old_files.word_6("Привет, мир\r".encode("cp1251"), russian)).text == "Привет, мир"
    assert read(old_files.word_6("天网搜索引擎\r".encode("gbk"), chinese)).text == "天网搜索引擎"
    assert read(old_files.word_6("Größe\r".encode("cp1252"), german)).text == "Größe"


@pytest.mark.parametrize(
    ("text", "code_page", "charsets"),
    [
        ("Привет, мир", "cp1251", (0, 2, 204)),
        ("před 7 lety", "cp1250", (0, 238, 204)),
        ("天網搜尋引擎" * 4_000 + "y", "big5", (136, 0)),
        ("déjà vu, café", "cp1252", (0, 128)),  # which is no Japanese
        ("Größe", "cp1252", ()),
    ],
)
def test_documents_of_a_word_6_in_english_are_in_the_set_of_their_fonts(
    text: str, code_page: str, charsets: tuple[int, ...]
) -> None:
    body = old_files.word_6(f"{text}\r".encode(code_page), 0x0409, charsets)
    assert read(body).text == text


def test_a_field_that_never_ends_costs_its_paragraph() -> None:
    assert read(old_files.old_word(["lost \x13 TOC\rfound\r"])).text == "lost\nfound"


def test_a_document_of_word_with_a_password_says_so() -> None:
    assert read(old_files.old_word(["secret\r"], flags=0x100)).lack is Lack.ENCRYPTED


def test_presentations_have_what_is_valid_of_them_slide_by_slide() -> None:
    outlines = [
        old_files.text_of_slide("First", 0) + old_files.text_of_slide("one\rtwo\x0blines", 1),
        old_files.text_of_slide("第二", 0) + old_files.text_of_slide("*", 1),
    ]
    content = read(old_files.old_slides(outlines, ["a box", "naïve"], [("here", "http://b.test/")]))
    assert content == Content(
        headings="First\n第二",
        text="First\none\ntwo lines\na box\n第二\nnaïve",
        links=(("http://b.test/", "here"),),
    )


def test_a_compound_file_of_something_else_is_not_read() -> None:
    assert read(old_files.compound({"PowerPoint": b""})).lack is Lack.OLD
    assert read(old_files.compound({"EncryptedPackage": b""})).lack is Lack.ENCRYPTED
    assert read(old_files.compound({"Workbook": b"nonsense"})).lack is Lack.DAMAGED
    assert read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)).lack is Lack.DAMAGED


@pytest.mark.parametrize(
    "body",
    [
        old_files.old_word(["text \x13 HYPERLINK \x14of\x15 it\r"] * 9, headings=["text"]),
        old_files.old_slides([old_files.text_of_slide("text", 0)], ["box"], [("a", "b")]),
    ],
    ids=["word", "slides"],
)
def test_damage_costs_no_more_than_the_text(body: bytes) -> None:
    dice = random.Random(7)
    for _ in range(300):
        damaged = bytearray(body)
        for _ in range(dice.randrange(1, 30)):
            damaged[dice.randrange(512, len(damaged))] = dice.choice((0, 1, 127, 255))
        read(bytes(damaged))
        read(bytes(damaged[: dice.randrange(len(damaged))]))
