"""Documents of other formats than HTML: their content, read within limits. It knows no web and no index.

`reader` is asked; `formats` tells by the first bytes which format a file is of, and `content` is what it
says, how much of that is kept, and why there may be nothing. Readers, each loaded with the first file of its
format: `pdf`, as long as its `budget` [io] lasts; `word`, `sheets`, `slides`, over an `office_package`;
`open_document`; `epub`; `rtf`; `old_word`, `old_slides`, `old_excel` of before 2007, over a `compound_file`;
`xml_document` for other XML and feeds. `zip_file` and `xml_events` read what most of them are made of, so
that no bomb grows; `titles` repairs titles. `icon_image` tells which images may be icons of sites.

All of it runs in the processes of the workshop, which have limits of time and memory; a document that ends
one is kept all the same, without its text (`crawler.parsing.parser_port`).
"""
