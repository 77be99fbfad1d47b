"""Read a document, of any format; each reader is loaded with the first document of its format. Pure.

What is read was made by strangers, and the libraries that read it are large: nothing that is raised here
leaves. What cannot be raised (a crash, a loop, memory without end) ends the process, which is one that may.

Why these libraries. PDF, 60 files of 630 pages, words of pdftotext's that are found, pages per CPU-second and
memory: PDFium (pypdfium2, BSD and Apache) .995, 306, 33 MiB; pypdf .993, 38, 109 MiB; pdfminer.six .990, 21,
61 MiB; PyMuPDF is under the AGPL. Office files, up to 60 of each format, read here and by a library: DOCX
.23 s and .37 by python-docx; XLSX .09 and .61 by openpyxl; PPTX .26 and .68 by python-pptx; ODT .02 and .22
by odfpy; their words are found here but for what they write otherwise (.99, .88 for moments with seconds,
.98, .98), and no file less is read. So they are read as what they are, ZIP files of XML, by Python's own
modules. DOC and PPT, 215 and 158 files of the suites of Apache POI and Tika, words on which antiword and
catdoc agree, distinct words of catppt: .999 and .983 here, over olefile; office-oxide .988 and .894,
sharepoint-to-text .910 and .823, legacy-doc .608; others start programs or a Java machine.
"""

from __future__ import annotations

import logging

from peers.documents.budget import Budget
from peers.documents.content import Content, Lack, ReadMarkup, Unreadable
from peers.documents.formats import Format

logger = logging.getLogger(__name__)


def read_document(document_format: Format, body: bytes, read_markup: ReadMarkup) -> Content:
    """Read a document; of one that cannot be read, the answer says why.

    Args:
      read_markup: reads pages of HTML that are inside.
    """
    try:
        return _read(document_format, body, read_markup)
    except Unreadable as error:
        return Content(lack=error.lack)
    except MemoryError:
        return Content(lack=Lack.EXHAUSTING)
    except Exception as error:  # a fault of what reads it: it costs its text, and not the document
        logger.warning("document not read format=%s error=%r", document_format, error)
        return Content(lack=Lack.DAMAGED)


def _read(document_format: Format, body: bytes, read_markup: ReadMarkup) -> Content:
    match document_format:
        case Format.PDF:
            from peers.documents.pdf import read_pdf

            return read_pdf(body, Budget())
        case Format.WORD:
            from peers.documents.word import read_word

            return read_word(body, Budget())
        case Format.SHEETS:
            from peers.documents.sheets import read_sheets

            return read_sheets(body, Budget())
        case Format.SLIDES:
            from peers.documents.slides import read_slides

            return read_slides(body, Budget())
        case Format.ODT | Format.ODS | Format.ODP:
            from peers.documents.open_document import read_open_document

            return read_open_document(body, Budget())
        case Format.RTF:
            from peers.documents.rtf import read_rtf

            return read_rtf(body, Budget())
        case Format.EPUB:
            from peers.documents.epub import read_epub

            return read_epub(body, Budget(), read_markup)
        case Format.XML | Format.FEED:
            from peers.documents.xml_document import read_xml_document

            return read_xml_document(body, Budget(), read_markup)
        case Format.OLD:
            return _read_old(body)


def _read_old(body: bytes) -> Content:
    """Read a compound file: of Office before 2007, or with a password."""
    from peers.documents.compound_file import CompoundFile

    file = CompoundFile(body)
    if "EncryptedPackage" in file:  # [MS-OFFCRYPTO] 2.3.4.1
        raise Unreadable(Lack.ENCRYPTED)
    if "WordDocument" in file:
        from peers.documents.old_word import read_old_word

        return read_old_word(file)
    if "PowerPoint Document" in file or "PP97_DUALSTORAGE" in file:
        from peers.documents.old_slides import read_old_slides

        return read_old_slides(file)
    if "Workbook" in file or "Book" in file:  # [MS-XLS] 2.1.2, and before
        from peers.documents.old_excel import read_old_excel

        return read_old_excel(body, file, Budget())
    raise Unreadable(Lack.OLD)
