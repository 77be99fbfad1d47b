"""Small files of every format, made by hand: as much of each as its readers look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from struct import pack, unpack_from
from zipfile import ZIP_DEFLATED, ZipFile

RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CORE = """<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t">
<dc:title>{title}</dc:title><dcterms:created>2023-01-02T03:04:05Z</dcterms:created>
<dcterms:modified>2024-01-02T03:04:05Z</dcterms:modified></cp:coreProperties>"""


def packed(members: Mapping[str, str | bytes], first: str = "") -> bytes:
    """A ZIP file; `first` is an unpacked member `mimetype` at its beginning."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        if first:
            archive.writestr("mimetype", first, 0)
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_zip64_end(body: bytes, padding: bytes = b"") -> bytes:
    """The same ZIP file, whose end hides the size of its directory: that is in the ZIP64 record before it.

    Args:
      padding: between that record and its locator.
    """
    at = body.rindex(b"PK\x05\x06")
    n_members, directory_bytes, start = unpack_from("<H2I", body, at + 10)
    record = pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, n_members, n_members, directory_bytes, start)
    locator = pack("<4sIQI", b"PK\x06\x07", 0, at, 1)
    end = pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, 46, 0, 0)
    return body[:at] + record + padding + locator + end


def relations(*targets: tuple[str, str]) -> str:
    """A part of relations, `rId1` and so on: of a kind, to a target; links lead outside."""
    lines = (
        f'<Relationship Id="rId{number}" Type="{OFFICE}/{kind}" Target="{target}"'
        f"{' TargetMode=' + chr(34) + 'External' + chr(34) if kind == 'hyperlink' else ''}/>"
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{RELATIONS}">{"".join(lines)}</Relationships>'


def word(body: str, *links: str, title: str = "A title", styles: str = "") -> bytes:
    """A DOCX with this inside of its body."""
    return packed(
        {
            "_rels/.rels": relations(("officeDocument", "word/document.xml")),
            "docProps/core.xml": CORE.format(title=title),
            "word/styles.xml": f"<w:styles>{styles}</w:styles>",
            "word/charts/chart1.xml": CHART,
            "word/document.xml": f"<w:document><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(
                ("styles", "styles.xml"),
                *(("hyperlink" if "//" in link else "chart", link) for link in links),
            ),
        }
    )


def paragraph(text: str, more: str = "") -> str:
    return f"<w:p>{more}<w:r><w:t>{text}</w:t></w:r></w:p>"


def sheets(rows: str, strings: Sequence[str] = (), book: str = "") -> bytes:
    """An XLSX with one sheet, of these rows."""
    shared = "".join(f"<si><t>{each}</t></si>" for each in strings)
    return packed(
        {
            "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
            "docProps/core.xml": CORE.format(title="Workbook1"),
            "xl/workbook.xml": f"<workbook>{book}"
            '<sheets><sheet name="Prices" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(
                ("worksheet", "worksheets/sheet1.xml"),
                ("sharedStrings", "sharedStrings.xml"),
                ("styles", "styles.xml"),
            ),
            "xl/styles.xml": "<styleSheet>"
            '<numFmts><numFmt numFmtId="164" formatCode="d\\.m\\.yyyy"/></numFmts>'
            '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
            '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="20"/></cellXfs>'
            "</styleSheet>",
            "xl/sharedStrings.xml": f"<sst>{shared}</sst>",
            "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>",
            "xl/worksheets/_rels/sheet1.xml.rels": relations(("hyperlink", "http://b.test/")),
        }
    )


_NAMES = "<c:strCache><c:pt><c:v>{}</c:v></c:pt><c:pt><c:v>{}</c:v></c:pt></c:strCache>"
_SERIES = f"<c:ser>{_NAMES}<c:val><c:numCache><c:pt><c:v>21.5</c:v></c:pt></c:numCache></c:val></c:ser>"
CHART = (
    "<c:chartSpace><c:title><a:p><a:r><a:t>Gro</a:t></a:r><a:r><a:t>wth</a:t></a:r></a:p></c:title>"
    f"{_SERIES.format('North', '2003')}{_SERIES.format('South', '2003')}</c:chartSpace>"
)


def slides(more: str = "") -> bytes:
    """A PPTX of two slides, which do not stand in the order of their names; the first has `more`."""
    shape = '<p:sp><p:nvPr><p:ph type="{}"/></p:nvPr><p:txBody>{}</p:txBody></p:sp>'
    line = "<a:p><a:r>{}<a:t>{}</a:t></a:r></a:p>"
    return packed(
        {
            "_rels/.rels": relations(("officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": '<p:presentation><p:sldIdLst><p:sldId r:id="rId2" id="256"/>'
            '<p:sldId r:id="rId1" id="257"/></p:sldIdLst></p:presentation>',
            "ppt/_rels/presentation.xml.rels": relations(
                ("slide", "slides/slide1.xml"), ("slide", "slides/slide2.xml")
            ),
            "ppt/slides/slide1.xml": "<p:sld>"
            + shape.format("title", line.format("", "Second"))
            + shape.format("sldNum", line.format("", "99"))
            + f"<p:graphicFrame><a:tc>{line.format('', 'cell')}</a:tc></p:graphicFrame></p:sld>",
            "ppt/slides/slide2.xml": "<p:sld>"
            + shape.format("title", line.format("", "First"))
            + shape.format("body", line.format('<a:rPr><a:hlinkClick r:id="rId2"/></a:rPr>', "here"))
            + f"{more}</p:sld>",
            "ppt/slides/_rels/slide2.xml.rels": relations(
                ("notesSlide", "../notesSlides/notesSlide1.xml"),
                ("hyperlink", "http://b.test/"),
                ("diagramData", "../diagrams/data1.xml"),
                ("chart", "../charts/chart1.xml"),
            ),
            "ppt/charts/chart1.xml": CHART,
            "ppt/diagrams/data1.xml": f"<dgm:dataModel>{line.format('', 'in a diagram')}</dgm:dataModel>",
            "ppt/notesSlides/notesSlide1.xml": f"<p:notes>{line.format('', 'said')}</p:notes>",
        }
    )


def open_document(
    body: str,
    kind: str = "text",
    meta: str = "",
    manifest: str = "",
    embedded: Mapping[str, str] | None = None,  # bodies of documents inside, by their places
) -> bytes:
    """An OpenDocument file with this inside of its body."""
    objects = {
        f"{place}/content.xml": f"<office:document-content><office:body>{inside}</office:body>"
        "</office:document-content>"
        for place, inside in (embedded or {}).items()
    }
    return packed(
        {
            "META-INF/manifest.xml": f"<manifest:manifest>{manifest}</manifest:manifest>",
            "meta.xml": f"<office:document-meta><office:meta>{meta}</office:meta></office:document-meta>",
            "content.xml": f"<office:document-content><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>",
            **objects,
        },
        f"application/vnd.oasis.opendocument.{kind}",
    )


def book(chapter: str) -> bytes:
    """An EPUB of one chapter."""
    return packed(
        {
            "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
            "OPS/book.opf": """<package><metadata><dc:title>A book</dc:title><dc:language>de-AT</dc:language>
<dc:date>2020-05-06</dc:date></metadata><manifest>
<item id="one" href="text/one%20a.xhtml" media-type="application/xhtml+xml"/>
<item id="css" href="a.css" media-type="text/css"/></manifest>
<spine><itemref idref="css"/><itemref idref="one"/></spine></package>""",
            "OPS/text/one a.xhtml": chapter,
        },
        "application/epub+zip",
    )


def pdf(
    *pages: str,
    info: str = "",
    link: str = "",
    note: str = "",
    encrypt: bytes = b"",
    catalogue: str = "",
    head: bytes = b"",
) -> bytes:
    """A PDF with these lines of its pages, each a stream of drawing operators in Helvetica.

    Args:
      link: a URI, under a rectangle of the first page.
      note: what is written over the first page.
    """
    count = len(pages)
    kids = " ".join(f"{5 + 2 * index} 0 R" for index in range(count))
    fonts = "/Resources << /Font << /F1 3 0 R >> >>"
    annotations = [
        f"<< /Type /Annot /Subtype /Link /Rect [40 680 400 720] /A << /S /URI /URI ({link}) >> >>"
        for _ in range(bool(link))
    ] + [
        f"<< /Type /Annot /Subtype /FreeText /F 4 /Rect [40 600 400 640] /AP << /N {5 + 2 * count} 0 R >> >>"
        for _ in range(bool(note))
    ]
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalogue} >>".encode(),
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< {info} >>".encode(),
    ]
    for index, stream in enumerate(pages):
        more = f"/Annots [{' '.join(annotations)}]" if index == 0 else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {6 + 2 * index} 0 R "
            f"{fonts} {more} >>".encode()
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream".encode())
    if note:
        shape = f"/Type /XObject /Subtype /Form /BBox [0 0 360 40] {fonts} /Length {len(note)}"
        objects.append(f"<< {shape} >>\nstream\n{note}\nendstream".encode())
    body = head + b"%PDF-1.5\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(body) - len(head))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(body) - len(head)
    body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    body += b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"<< /Size %d /Root 1 0 R /Info 4 0 R %s >>" % (len(objects) + 1, encrypt)
    return body + b"trailer\n%s\nstartxref\n%d\n%%%%EOF\n" % (trailer, table)


def line(text: str, size: int = 12, y: int = 700) -> str:
    return f"BT /F1 {size} Tf 50 {y} Td ({text}) Tj ET"
