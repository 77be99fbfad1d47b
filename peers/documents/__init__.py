"""Documents of other formats than HTML: their content, read within limits. It knows no web and no index.

`reader` is asked; `formats` tells by the first bytes which format a file is of, and `content` is what it
says, how much of that is kept, and why there may be nothing. Readers, each loaded with the first file of its
format:

    `pdf`            by PDFium, page by page as long as its `budget` [io] lasts
    `word`, `sheets`, `slides`  Office Open XML, which have an `office_package` in common
    `open_document`  texts, spreadsheets and presentations of OpenDocument
    `epub`           books
    `rtf`
    `old_word`, `old_slides`, `old_excel`  of Office before 2007, each a `compound_file`; workbooks by xlrd
    `xml_document`   other XML, and feeds

`zip_file` and `xml_events` read what most of them are made of, so that no bomb grows. `titles` repairs
titles.

All of it runs in the processes of the workshop, which have limits of time and memory; a document that ends
one is kept all the same, without its text (`crawler.parsing.parser_port`).

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
