"""Documents of other formats than HTML: what they say, within limits. It knows no web and no index.

`reader` is asked; `formats` tells by the first bytes which format a file is of, and `content` is what it
says, how much of that is kept, and why there may be nothing. Readers, each loaded with the first file of its
format:

    `pdf`            by PDFium, page by page as long as its `budget` [io] lasts
    `word`, `sheets`, `slides`  Office Open XML, which have an `office_package` in common
    `open_document`  texts, spreadsheets and presentations of OpenDocument
    `epub`           books
    `rtf`            by striprtf
    `old_excel`      workbooks before 2007, by xlrd
    `xml_document`   other XML, and feeds

`zip_file` and `xml_events` read what most of them are made of, so that no bomb grows. `titles` repairs
titles.

All of it runs in the processes of the workshop, which have limits of time and memory; a document that ends
one is kept all the same, without its text (`crawler.parser_port`).
"""
