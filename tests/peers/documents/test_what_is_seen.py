"""What a reader of a document sees, and nothing that is hidden, no more there, or said a second time."""

from __future__ import annotations

import json
from io import BytesIO
from zipfile import ZipFile

import pytest

from peers.documents.formats import Format, format_of
from peers.documents.office_package import unescaped
from peers.documents.titles import title_of
from tests.peers.documents import files
from tests.peers.documents.test_reader import read
from tests.shared_data import shared


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


BOX = f"<w:txbxContent><w:p>{run('box')}</w:p></w:txbxContent>"
NOT_HIDDEN = "<w:vanish w:val='0'/>"
SECRET, SHOWN = "<w:rStyle w:val='Secret'/>", "<w:rStyle w:val='Shown'/>"
MARK = "<w:pPr><w:rPr><w:{}/></w:rPr></w:pPr>"
ALTERNATE = "<mc:AlternateContent>{}</mc:AlternateContent>"
CHOICE = '<mc:Choice Requires="wps">{}</mc:Choice>'
FALLBACK = "<mc:Fallback>{}</mc:Fallback>"
STYLES = (
    '<w:style w:styleId="Base"><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:styleId="Secret"><w:basedOn w:val="Base"/></w:style>'
    '<w:style w:styleId="Shown"><w:basedOn w:val="Base"/><w:rPr><w:vanish w:val="0"/></w:rPr></w:style>'
    '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<w:p>{run('a')}<w:del>{run('gone')}</w:del>{run('b')}</w:p>", "ab"),
        (f"<w:p><w:moveFrom>{run('m')}</w:moveFrom></w:p><w:p><w:moveTo>{run('m')}</w:moveTo></w:p>", "m"),
        (
            f"<w:p>{MARK.format('del')}{run('one')}</w:p><w:p>{run('word')}</w:p><w:p>{run('two')}</w:p>",
            "oneword\ntwo",
        ),
        (f"<w:p>{MARK.format('moveFrom')}</w:p><w:p>{run('a')}</w:p>", "a"),
        (f"<w:p>{MARK.format('del')}{run('the last')}</w:p>", "the last"),
        (f"<w:p>{run('a')}{run('b', '<w:vanish/>')}{run('c', NOT_HIDDEN)}</w:p>", "ac"),
        (f"<w:p>{run('a', '<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>')}</w:p>", "a"),
        (f"<w:p>{run('a')}{run('b', SECRET)}</w:p>", "a"),
        (f"<w:p>{run('a', SHOWN)}</w:p>", "a"),
        (f"<w:p><w:pPr><w:pStyle w:val='Secret'/></w:pPr>{run('b')}</w:p><w:p>{run('a')}</w:p>", "a"),
        (
            (
                f"<w:p>{run('東')}<w:r><w:ruby><w:rt>{run('とう')}</w:rt><w:rubyBase>{run('京')}</w:rubyBase></w:ruby></w:r>"
                f"{run('都')}</w:p>"
            ),
            "東京都\nとう",
        ),
        (f"<w:p>{run('wo')}<w:r>{BOX}</w:r>{run('rd')}</w:p><w:p>{run('b')}</w:p>", "word\nbox\nb"),
        (f"<w:p><w:r>{ALTERNATE.format(CHOICE.format(BOX) + FALLBACK.format(BOX))}</w:r></w:p>", "box"),
        (f"<w:p><w:r>{ALTERNATE.format(CHOICE.format(BOX) * 2 + FALLBACK.format(BOX))}</w:r></w:p>", "box"),
        (
            f"<w:p><w:r>{ALTERNATE.format(CHOICE.format('<w:drawing/>') + FALLBACK.format(BOX))}</w:r></w:p>",
            "box",
        ),
        (f"<w:p>{run('a')}<w:r>{ALTERNATE.format(FALLBACK.format(BOX))}</w:r></w:p>", "a\nbox"),
        (
            f"<w:p>{ALTERNATE.format(CHOICE.format(BOX + ALTERNATE.format(CHOICE.format(BOX))))}</w:p>",
            "box\nbox",
        ),
    ],
)
def test_documents_of_word_say_what_is_seen(body: str, text: str) -> None:
    assert read(Format.WORD, files.word(body, styles=STYLES)).text == text


def test_a_style_that_a_paragraph_had_before_makes_no_heading() -> None:
    change = "<w:pPrChange><w:pPr><w:pStyle w:val='berschrift1'/></w:pPr></w:pPrChange>"
    body = f"<w:p><w:pPr>{change}</w:pPr>{run('text')}</w:p>"
    assert read(Format.WORD, files.word(body, styles=STYLES)).headings == ""


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            (
                "<text:p>word<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p>"
                "</text:note-body></text:note>s go on</text:p><text:p>b</text:p>"
            ),
            "words go on\nnote\nb",
        ),
        (
            (
                "<text:p>wo<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box><svg:title>unseen"
                "</svg:title><svg:desc>nor this</svg:desc></draw:frame>rd</text:p>"
            ),
            "word\nbox",
        ),
        ("<text:p>by <text:title>Name</text:title></text:p>", "by Name"),
        (
            (
                "<text:p><text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby>"
                "都</text:p>"
            ),
            "東京都\nとうきょう",
        ),
        (
            (
                "<text:p>a<text:hidden-text text:is-hidden='true'>b</text:hidden-text>"
                "<text:hidden-text text:is-hidden='false'>c</text:hidden-text></text:p>"
            ),
            "ac",
        ),
        (
            (
                "<text:section text:display='none'><text:p>a</text:p></text:section>"
                "<text:section text:is-hidden='true'><text:p>a</text:p></text:section>"
                "<text:section text:display='true'><text:p>b</text:p></text:section>"
            ),
            "b",
        ),
        (
            (
                "<text:p>a<text:span text:style-name='T1'>b</text:span></text:p>"
                "<text:h text:style-name='P1'>d</text:h>"
            ),
            "a",
        ),
        (
            (
                "<table:table-row><table:table-cell><text:p>a</text:p><table:table-row><text:p>in</text:p></table:table-row>"
                "</table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row>"
            ),
            "a b\nin",
        ),
        (
            (
                "<draw:frame><table:table-row><text:p>a</text:p><text:p>b</text:p></table:table-row></draw:frame>"
                "<draw:frame><text:p>c</text:p></draw:frame>"
            ),
            "a b\nc",
        ),
    ],
)
def test_texts_of_open_document_say_what_is_seen(body: str, text: str) -> None:
    styles = (
        "<office:automatic-styles><style:style style:name='T1'><style:text-properties text:display='none'/>"
        "</style:style><style:style style:name='P1' style:parent-style-name='T1'/></office:automatic-styles>"
    )
    assert read(Format.ODT, files.open_document(styles + body)).text == text


def test_styles_that_all_of_a_text_have_in_common_may_hide_it() -> None:
    body = "<text:p text:style-name='Own'>a</text:p><text:p>b</text:p>"
    common = (
        "<office:document-styles><style:style style:name='Own'><style:text-properties text:display=\"none\"/>"
        "</style:style><style:footer><text:p>on every page</text:p></style:footer></office:document-styles>"
    )
    packed = BytesIO(files.open_document(body))
    with ZipFile(packed, "a") as archive:
        archive.writestr("styles.xml", common)
    assert read(Format.ODT, packed.getvalue()).text == "b"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (rb"a {\deleted gone} b", "a b"),
        (rb"a \deleted gone\deleted0 b", "a b"),
        (rb"a {\v hid\b den}\v x\v0 b {\v c\plain d}", "a b d"),
        (rb"a \mvf b\mvf0 c", "a c"),
        (rb"one{\deleted\par}word\par two", "oneword\ntwo"),
        (rb"wo{\footnote \chftn the note\par two}rd\par b", "word\nthe note\ntwo\nb"),
        (rb"wo{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt box\par}}{\shprslt box}}rd", "word\nbox"),
        (rb"{\*\unknown no}{\header no}{\pict 0102}{\*\bkmkstart no}a{\xe{no}}", "a"),
        (rb"{\upr{ansi ?}{\*\ud{\u22825 ?}}} a", "天 a"),
        (rb"{\pict\bin6 }{\v }}ab", "ab"),
        (rb"\uc2\u22825\'cc\'eca\uc0\u-10179\u-8704 b", "天a😀b"),
        (rb"\ansicpg936 \'d3\'a1\'cb\'a2", "印刷"),
        (rb"\ansicpg936 \'d3\'a1" + "刷".encode("gbk"), "印刷"),  # written as it is
        (rb"\ansicpg936 \'89~ \'81\'40", "墌 丂"),  # the second byte is a letter
        (
            rb"{\fonttbl{\f0\fcharset204 A}{\f1\fcharset128{\*\falt b}}}\f0 \'e0\f1 \'93\'fa\'96\'7b",
            "а日本",
        ),
        (
            rb"\ansicpg936{\fonttbl{\f0\fcharset0 A}{\f1\fcharset134 B}}\loch\af0\hich\af0\dbch\af1 \'d3\'a1",
            "印",
        ),
        (rb"\mac \'8e \pca \'82", "é é"),
        (rb"\trowd a\cell b\cell\row c", "a b\nc"),
        (rb"\{\}\\\~\_\-\rquote\emdash x", "{}\\ -’—x"),
        (rb"a}b", "a"),
    ],
)
def test_rtf_says_what_is_seen(markup: bytes, text: str) -> None:
    content = read(Format.RTF, b"{\\rtf1\\ansi " + markup + b"}")
    assert (content.text, content.is_cut) == (text, False)


def test_a_star_within_a_group_of_rtf_hides_nothing() -> None:
    body = rb"{\rtf1\ansi {\f2\*\cs7 shown }{\*\unknown hidden}{" + b"\r\n" + rb"\*\unknown hidden}too}"
    assert read(Format.RTF, body).text == "shown too"


def test_rtf_is_read_to_a_depth_only() -> None:
    assert read(Format.RTF, b"{\\rtf1 a" + b"{" * 1_000_000).is_cut


def test_titles_of_rtf_are_in_its_code_page() -> None:
    body = rb"{\rtf1\ansi\ansicpg1251{\info{\title \'cf\'f0\'e8{\b \'e2}\u1077 ?\'f2}}a}"
    assert read(Format.RTF, body).title == "Привет"


def test_what_a_slide_says_twice_is_taken_once() -> None:
    shape = (
        "<p:sp><p:nvSpPr><p:cNvPr id='1' name='x'{}/></p:nvSpPr><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:sp>"
    )
    twice = ALTERNATE.format(
        CHOICE.format(shape.format("", "x_x000B_y")) + FALLBACK.format(shape.format("", "x y"))
    )
    hidden = shape.format(" hidden='1'", "nobody")
    body = files.slides(twice + hidden + shape.format("", "last"))
    assert read(Format.SLIDES, body).text.startswith(
        "First\nhere\nx y\nlast\nin a diagram\nGrowth\nNorth\n2003\nSouth\nsaid\n"
    )


CELLS = "<row>{}</row>"


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ("<c t='s'><v>0</v></c>", "line1 line2 中"),
        ("<c t='inlineStr'><is><t>東京</t><rPh sb='0' eb='2'><t>トウキョウ</t></rPh></is></c>", "東京"),
        (
            "<c t='inlineStr'><is><r><t>_x0041_</t></r><r><t>_x005F_x0041__x00Zz_</t></r></is></c>",
            "A_x0041__x00Zz_",
        ),
        ("<c t='str'><v>_xD83D__xDE00_</v></c>", "😀"),
        (
            "<c><v>3.1400000000000001</v></c><c><v>12345678901234567</v></c><c><v>1E-3</v></c>",
            "3.14 1.23456789012346e+16 1E-3",
        ),
        (
            "<c s='1'><v>45292.520833333336</v></c><c s='1'><v>45292.000011574073</v></c>",
            "2024-01-01 12:30 2024-01-01 00:00:01",
        ),
        (
            "<c s='3'><v>.5</v></c><c s='3'><v>1.5000115740740742</v></c><c s='3'><v>nan</v></c>",
            "12:00 36:00:01 nan",
        ),
    ],
)
def test_cells_say_what_is_seen(cells: str, text: str) -> None:
    body = files.sheets(CELLS.format(cells), ["line1_x000D_\nline2 _x4E2D_"])
    assert read(Format.SHEETS, body).text == f"Prices\n{text}"


def test_books_may_count_their_days_from_1904() -> None:
    rows = CELLS.format("<c s='1'><v>43830</v></c>")
    assert (
        read(Format.SHEETS, files.sheets(rows, book="<workbookPr date1904='1'/>")).text
        == "Prices\n2024-01-01"
    )


def test_escapes_are_undone_once() -> None:
    assert unescaped("_x005F_x000D_ _x000d_ _x00_ _x") == "_x000D_ \r _x00_ _x"


def test_names_of_files_may_have_the_other_slash_and_other_letters() -> None:
    windows = BytesIO()
    with ZipFile(BytesIO(files.word(files.paragraph("text")))) as found, ZipFile(windows, "w") as archive:
        for name in found.namelist():
            member = found.read(name).replace(b'"word/document.xml"', b'"\\word\\document.xml"')
            archive.writestr(name.replace("document", "Document").replace("/", "\\"), member)
    body = windows.getvalue()
    assert b"word\\Document.xml" in body
    assert format_of(body, "") is Format.WORD
    content = read(Format.WORD, body)
    assert (content.text, title_of(content)) == ("text", "A title")


@pytest.mark.more
def test_documents_of_public_reports_say_what_they_must() -> None:
    cases = [json.loads(path.read_bytes()) for path in shared("suites/public-reports").glob("*/case.json")]
    wrong = {}
    for case in (case for case in cases if case["kind"] == "document"):
        body = shared(f"suites/public-reports/{case['id']}/{case['input']}").read_bytes()
        text = read(Format[case["format"]], body).text
        is_right = all(each in text for each in case["text_has"])
        if not is_right or any(each in text for each in case["text_lacks"]):
            wrong[case["id"]] = text
    assert wrong == {}
