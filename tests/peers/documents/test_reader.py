"""What documents of every format say, and what they cannot do to us."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from html import escape

import pytest

from peers.crawler.parsing.page_reader import read_markup, read_page
from peers.documents import content as contents
from peers.documents import zip_file
from peers.documents.budget import Budget
from peers.documents.content import Content, Lack, TextLimit, Unreadable
from peers.documents.formats import Format
from peers.documents.pdf import iso_date
from peers.documents.reader import read_document
from peers.documents.word import read_word
from peers.documents.xml_events import DEPTH_MAX, ELEMENTS_MAX, TOKEN_BYTES_MAX
from tests.peers.documents import files

LAUGHS = '<!DOCTYPE a [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)
ABROAD = '<!DOCTYPE a [<!ENTITY file SYSTEM "file:///etc/passwd">]>'


def read(document_format: Format, body: bytes) -> Content:
    return read_document(document_format, body, read_markup)


def test_documents_of_word_have_paragraphs_headings_links_and_properties() -> None:
    body = (
        files.paragraph("Überschrift", '<w:pPr><w:pStyle w:val="berschrift1"/></w:pPr>')
        + '<w:p><w:r><w:t xml:space="preserve">one </w:t><w:tab/><w:t>two</w:t></w:r>'
        '<w:hyperlink r:id="rId2"><w:r><w:t>a link</w:t></w:r></w:hyperlink></w:p>'
        "<w:p><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>HYPERLINK "http://c.test/"</w:instrText>'
        '<w:fldChar w:fldCharType="separate"/><w:t>a field</w:t><w:fldChar w:fldCharType="end"/></w:r></w:p>'
        "<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>"
        "<mc:Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
    )
    styles = '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    assert read(Format.WORD, files.word(body, "http://b.test/", styles=styles)) == Content(
        title="A title",
        headings="Überschrift",
        text="Überschrift\none twoa link\na field\nbox",
        links=(("http://b.test/", "a link"), ("http://c.test/", "a field")),
        dates=("2024-01-02T03:04:05Z", "2023-01-02T03:04:05Z"),
    )


def test_rows_of_a_workbook_are_lines() -> None:
    rows = (
        '<row><c t="s"><v>1</v></c><c><v>3.5</v></c><c t="inlineStr"><is><t>in line</t></is></c></row>'
        '<row><c t="s"><v>7</v></c><c t="str"><f>A1</f><v>made</v></c><c t="b"><v>1</v></c></row>'
        '<row><c s="1"><v>45292</v></c><c s="2"><v>45292.5</v></c><c s="0"><v>45292</v></c>'
        '<c s="1"><v>1e99</v></c></row>'
    )
    content = read(Format.SHEETS, files.sheets(rows, ["zero", "one"]))
    assert content.text == "Prices\none 3.5 in line\nmade TRUE\n2024-01-01 2024-01-01 12:00 45292 1e99"
    assert (content.headings, content.links) == ("Prices", (("http://b.test/", ""),))


def test_slides_come_in_their_order_with_their_notes() -> None:
    content = read(Format.SLIDES, files.slides())
    assert content.text == "First\nhere\nin a diagram\nGrowth\nNorth\n2003\nSouth\nsaid\nSecond\ncell"
    assert (content.headings, content.links) == ("First\nSecond", (("http://b.test/", "here"),))


def test_texts_of_open_document_are_read_without_what_was_deleted() -> None:
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Head</text:h>"
        '<text:p>one<text:s/>two <text:a xlink:href="http://b.test/">link</text:a></text:p>'
        "<text:p>around<draw:text-box><text:p>box</text:p></draw:text-box></text:p>"
    )
    meta = "<dc:title>Title</dc:title><dc:date>2024-02-03T00:00:00</dc:date><dc:language>pt-BR</dc:language>"
    assert read(Format.ODT, files.open_document(body, meta=meta)) == Content(
        title="Title",
        headings="Head",
        text="Head\none two link\naround\nbox",
        links=(("http://b.test/", "link"),),
        language="pt",
        dates=("2024-02-03T00:00:00",),
    )


def test_a_chart_of_word_says_its_title_and_names_once() -> None:
    body = files.word(files.paragraph("sales"), "charts/chart1.xml")
    assert read(Format.WORD, body).text == "sales\nGrowth\nNorth\n2003\nSouth"


def test_documents_inside_of_open_document_come_at_its_end() -> None:
    row = (
        '<table:table-row><table:table-cell office:value-type="string"><text:p>Peking</text:p>'
        "</table:table-cell>"
        '<table:table-cell office:value-type="float"><text:p>21</text:p></table:table-cell></table:table-row>'
    )
    sheet = f'<office:spreadsheet><table:table table:name="Cities">{row}</table:table></office:spreadsheet>'
    chart = (
        "<office:chart><chart:chart><chart:title><text:p>Growth</text:p></chart:title>"
        f'<table:table table:name="local-table">{row}</table:table></chart:chart></office:chart>'
    )
    frame = '<draw:frame><draw:object xlink:href="./{}"/></draw:frame>'
    frames = "".join(map(frame.format, ("Object 1", "Object 2", "Object 1", "Object 3")))
    body = f"<text:p>before{frames}</text:p><text:p>after</text:p>"
    document = files.open_document(body, embedded={"Object 1": sheet, "Object 2": chart})
    assert read(Format.ODT, document).text == "before\nafter\nCities\nPeking 21\nGrowth\nPeking"


def test_rows_of_open_document_are_lines_however_often_they_are_repeated() -> None:
    body = (
        '<table:table table:name="Prices"><table:table-row table:number-rows-repeated="1000000">'
        "<table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p>"
        "</table:table-cell></table:table-row></table:table>"
    )
    assert read(Format.ODS, files.open_document(body, "spreadsheet")).text == "Prices\na b"


@pytest.mark.parametrize("kind", ["epub+zip", "rss+xml"])
def test_readings_in_chapters_and_entries_are_found_as_those_of_pages_are(kind: str) -> None:
    markup = "<p><ruby>東京<rt>とうきょう</rt></ruby>へ</p>"
    feed = f"<rss><channel><item><description>{escape(markup)}</description></item></channel></rss>"
    body = files.book(f"<html><body>{markup}</body></html>") if kind == "epub+zip" else feed.encode()
    page = read_page("http://a.test/a", body, f"application/{kind}").page
    assert (page.text, page.boilerplate) == ("東京へ", "とうきょう")


def test_chapters_of_a_book_are_read_as_pages_are() -> None:
    chapter = (
        '<html><body><h1>One&nbsp;!</h1><p>text <a href="http://b.test/">out</a>'
        '<a href="two.xhtml">in</a><script/>x</p></body></html>'
    )
    content = read(Format.EPUB, files.book(chapter))
    assert (content.title, content.language, content.dates) == ("A book", "de", ("2020-05-06",))
    assert (content.headings, content.links) == ("One !", (("http://b.test/", "out"),))
    assert content.text.startswith("One !\ntext out")


def test_rtf_has_text_title_date_and_links() -> None:
    body = rb"""{\rtf1\ansi{\info{\title A report}{\creatim\yr2021\mo3\dy4\hr1}}
{\fonttbl{\f0 Arial;}}one \u22825?\'e9\par {\field{\*\fldinst HYPERLINK "http://b.test/"}{\fldrslt link}}}"""
    content = read(Format.RTF, body)
    assert (content.title, content.dates) == ("A report", ("2021-03-04",))
    assert (content.text, content.links) == ("one 天é\nlink", (("http://b.test/", "link"),))


def test_pdf_has_text_outline_links_and_properties() -> None:
    body = files.pdf(
        files.line("Hello under a link"),
        files.line("second page"),
        info="/Title (A manual) /CreationDate (D:20230102030405+01'00') /ModDate (D:2024)",
        link="http://b.test/",
        catalogue="/Lang (de-DE)",
    )
    assert read(Format.PDF, body) == Content(
        title="A manual",
        text="Hello under a link\nsecond page",
        links=(("http://b.test/", "Hello under a link"),),
        language="de",
        dates=("2024-01-01", "2023-01-02T03:04:05+01:00"),
    )


@pytest.mark.parametrize("title", ["", "untitled", "Microsoft Word - draft 3.doc", "report.dvi", "0x1"])
def test_a_title_of_a_pdf_that_says_nothing_is_replaced_by_its_largest_line(title: str) -> None:
    page = files.line("small print", 8, 760) + files.line("The real title", 24, 700) + files.line("text", 10)
    assert read(Format.PDF, files.pdf(page, info=f"/Title ({title})")).title == "The real title"


def test_accents_that_old_fonts_of_tex_set_before_their_letters_are_joined_with_them() -> None:
    body = files.pdf(files.line("instrucci\\302on f\\310ur p\\301ere \\301code \\3021"))
    assert read(Format.PDF, body).text == "instrucción für père `code ´1"


def test_what_was_written_into_the_form_of_a_pdf_is_its_text() -> None:
    body = files.pdf(
        files.line("Name:"), files.line("end"), link="http://b.test/", note=files.line("Smith", y=10)
    )
    content = read(Format.PDF, body)
    assert content.text.split() == ["Name:", "Smith", "end"]
    assert content.links == (("http://b.test/", "Name:"),)
    assert read(Format.PDF, files.pdf("", note=files.line("Smith", y=10))).text == "Smith"


def test_pdf_without_text_is_said_to_be_scanned_and_with_a_password_to_be_encrypted() -> None:
    scanned = read(Format.PDF, files.pdf("0 0 10 10 re f", info="/Title (An old book)"))
    assert (scanned.title, scanned.text, scanned.lack) == ("An old book", "", Lack.SCANNED)
    key = b"41" * 32
    encrypt = b"/Encrypt << /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >> /ID [<00> <00>]" % (key, key)
    assert read(Format.PDF, files.pdf(files.line("secret"), encrypt=encrypt)).lack is Lack.ENCRYPTED


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("D:20090401163925-07'00'", "2009-04-01T16:39:25-07:00"),
        ("D:20090401163925Z00'00'", "2009-04-01T16:39:25Z"),
        ("2009", "2009-01-01"),
        ("D:200904", "2009-04-01"),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_iso32000_7_9_4_dates(text: str, date: str) -> None:
    assert iso_date(text) == date


def test_open_document_with_a_password_says_so() -> None:
    body = files.open_document("", manifest="<manifest:encryption-data/>")
    assert read(Format.ODT, body).lack is Lack.ENCRYPTED


def test_feeds_have_entries_with_what_they_say_as_markup() -> None:
    body = b"""<?xml version="1.0"?><rss><channel><title>News</title><language>en-us</language>
<link>http://a.test/</link><item><title>First</title><description>&lt;p&gt;it &lt;b&gt;says&lt;/b&gt;
&lt;a href="http://b.test/"&gt;more&lt;/a&gt;</description><link>http://a.test/1</link></item></channel></rss>"""
    content = read(Format.FEED, body)
    assert (content.title, content.headings, content.language) == ("News", "First", "en")
    assert content.text == "News\nFirst\nit says more"
    assert [target for target, _ in content.links] == ["http://a.test/", "http://b.test/", "http://a.test/1"]


# --- What they cannot do ---


@pytest.mark.parametrize("prologue", [f"{LAUGHS}]>", ABROAD], ids=["laughs", "abroad"])
def test_no_entity_is_expanded(prologue: str) -> None:
    name = "j" if prologue.startswith(LAUGHS) else "file"
    markup = f'{prologue}<a title="x"><p>before</p><p>&{name};</p><p>after</p></a>'
    content = read(Format.XML, markup.encode())
    assert content.text == "before\nafter"
    document = files.packed(
        {
            "_rels/.rels": files.relations(("officeDocument", "word/document.xml")),
            "word/document.xml": f"{prologue}<w:document>{files.paragraph(f'&{name};')}</w:document>",
        }
    )
    assert read(Format.WORD, document) == Content(is_cut=True)


def test_entities_in_attributes_end_the_reading_before_they_are_large() -> None:
    content = read(Format.XML, f'{LAUGHS}]><a><p>before</p><p title="&j;">after</p></a>'.encode())
    assert content.text == "before"
    assert content.is_cut


def test_elements_are_counted_and_so_are_those_that_are_open() -> None:
    assert read(Format.XML, b"<a>" * (DEPTH_MAX + 2)).is_cut
    many = read(Format.XML, b"<a>" + b"<b/>" * ELEMENTS_MAX + b"<c>text</c></a>")
    assert (many.text, many.is_cut) == ("", True)


@pytest.mark.parametrize(
    ("begin", "pump", "end"),
    [
        ('<a b="', "x", '"/>'),
        ("<!--", "x", "-->"),
        ("<?a ", "x", "?>"),
        ("<", "x", "/>"),
        ("<a></a", " ", ">"),
    ],
    ids=["attribute", "comment", "instruction", "name", "end"],
)
def test_a_long_token_is_not_read_again_and_again(begin: str, pump: str, end: str) -> None:
    """One of 30 MB, 31 kB in a file, took 7 s."""
    document = files.word(files.paragraph("before") + begin + pump * (30 << 20) + end)
    began = time.process_time()
    content = read(Format.WORD, document)
    assert time.process_time() - began < 2.0
    assert (content.text, content.is_cut) == ("before", True)


def test_a_token_below_the_bound_is_read() -> None:
    picture = f'<v:shape o:gfxdata="{"x" * (TOKEN_BYTES_MAX - 100_000)}"/>'
    content = read(Format.WORD, files.word(picture + files.paragraph("behind")))
    assert (content.text, content.is_cut) == ("behind", False)


def test_the_instruction_of_a_field_is_looked_at_once() -> None:
    """Each mark of its end had all of it looked at: 70 kB took minutes."""
    instruction = f"<w:instrText>{'x' * 3_999}</w:instrText>" * 3_000
    mark = '<w:fldChar w:fldCharType="{}"/>'
    body = f"<w:p>{mark.format('begin')}{instruction}{mark.format('separate') * 20_000}</w:p>"
    document = files.word(body + files.paragraph("behind"))
    began = time.process_time()
    content = read(Format.WORD, document)
    assert time.process_time() - began < 2.0
    assert (content.text, content.is_cut) == ("behind", False)


def test_a_document_is_read_as_far_as_there_is_time() -> None:
    content = read_word(files.word(files.paragraph("text")), Budget(0.0))
    assert (content.text, content.is_cut) == ("", True)


def test_a_bomb_in_a_zip_file_is_unpacked_to_a_limit_only() -> None:
    bomb = files.packed({"word/document.xml": b"<a>" + bytes(4 << 20).replace(b"\0", b" ")})
    assert len(zip_file.ZipMembers(bomb, Budget()).read("word/document.xml")) == (4 << 20) + 3
    large = files.packed({"a": bytes(zip_file.MEMBER_BYTES_MAX + 1)})
    members = zip_file.ZipMembers(large, Budget())
    sizes = [len(members.read("a")) for _ in range(4)]
    assert sizes == [zip_file.MEMBER_BYTES_MAX] * 3 + [0]
    assert sum(sizes) == zip_file.ALL_BYTES_MAX


@pytest.mark.parametrize(
    "as_told",
    [bytes, files.with_zip64_end, partial(files.with_zip64_end, padding=bytes(8))],
    ids=["plainly", "by a ZIP64 record", "by a ZIP64 record further before"],
)
def test_a_directory_that_is_itself_a_bomb_is_not_read(as_told: Callable[[bytes], bytes]) -> None:
    body = as_told(files.packed({"a" * 60_000 + str(number): b"" for number in range(20)}))
    began = time.process_time()
    assert read(Format.WORD, body).lack is Lack.EXHAUSTING
    assert time.process_time() - began < 5.0


def test_a_small_file_with_a_zip64_end_is_read() -> None:
    body = files.with_zip64_end(files.word(files.paragraph("text")))
    assert read(Format.WORD, body).text == "text"


@pytest.mark.parametrize("length", range(0, 100, 7))
def test_a_zip64_end_that_is_cut_is_damaged_at_worst(length: int) -> None:
    tail = files.with_zip64_end(files.packed({"a": b""}))[-98:]
    with pytest.raises(Unreadable):
        zip_file.ZipMembers(tail[98 - length :], Budget())


@pytest.mark.parametrize("document_format", Format)
@pytest.mark.parametrize(
    "body", [b"", b"PK\x05\x06", b"%PDF-1.5", b"{\\rtf", b"<", bytes(600), b"PK\x03\x04" * 99]
)
def test_what_is_nothing_says_so(document_format: Format, body: bytes) -> None:
    content = read(document_format, body)
    assert content.text == ""
    assert content.lack is not None or document_format is Format.XML or document_format is Format.FEED or body


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.99])
def test_what_is_cut_off_yields_what_there_is_or_says_that_it_is_damaged(cut: float) -> None:
    for document_format, body in (
        (Format.PDF, files.pdf(files.line("text"))),
        (Format.WORD, files.word(files.paragraph("text"))),
        (Format.EPUB, files.book("<p>text</p>")),
    ):
        content = read(document_format, body[: int(cut * len(body))])
        assert content.text == "text" or content.lack in (Lack.DAMAGED, Lack.SCANNED)


def test_a_pdf_of_a_hundred_thousand_pages_is_read_as_far_as_there_is_time() -> None:
    page = b"5 0 R "
    body = files.pdf(files.line("again")).replace(
        b"/Kids [5 0 R] /Count 1", b"/Kids [%s] /Count 100000" % (page * 100_000)
    )
    began = time.process_time()
    content = read(Format.PDF, body)
    assert time.process_time() - began < 40
    assert content.is_cut
    assert content.text.startswith("again\nagain")


@pytest.mark.parametrize(
    "body",
    [
        rb"{\rtf1 {\fonttbl " + rb"\f1" * 100_000 + b"}}",
        rb"{\rtf1 " + rb'{\field{\*\fldinst{HYPERLINK "a"}}{x y}}' * 10_000 + b"}",
        rb"{\rtf1 " + (b"a" * 2_047 + b"z") * 200 + b"}",
    ],
    ids=["fonts", "links", "digits"],
)
def test_rtf_is_read_in_a_time_that_its_length_bounds(body: bytes) -> None:
    began = time.process_time()
    assert read(Format.RTF, body).lack is None
    assert time.process_time() - began < 20


def test_a_text_is_kept_to_a_limit() -> None:
    lines = TextLimit(10)
    lines.add("  one\t two ")
    lines.add("")
    assert (lines.text(), lines.is_cut, lines.is_full) == ("one two", False, False)
    lines.add("three")
    assert (lines.text(), lines.is_cut, lines.is_full) == ("one two\nth", True, True)
    many = files.word(files.paragraph("x" * 1_000) * (contents.TEXT_CHARS_MAX // 900))
    content = read(Format.WORD, many)
    assert len(content.text) <= contents.TEXT_CHARS_MAX
    assert content.is_cut


def test_halves_of_characters_have_a_form_in_utf8() -> None:
    assert contents.sound("a\ud800b\ud83d\ude00\0") == "a\ufffdb\U0001f600 "


def test_what_reads_a_format_is_loaded_with_its_first_file() -> None:
    program = "import sys, peers.crawler.parsing.page_process; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(printed.stdout.split()).isdisjoint(
        {"pypdfium2", "xlrd", "pyexpat", "zipfile", "peers.documents.pdf"}
    )
