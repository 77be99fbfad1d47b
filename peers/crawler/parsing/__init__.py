"""Parsing: from the bytes of an answer to a document with its links, dates and language.

`parser_port` gives pages to the processes of a workshop, in turns (`parser_queue`). In each runs
`page_process`, which does the `extraction`: HTML by `parser` (the scanner `_markup` in C, `main_text` told
from boilerplate, `charset`, `language`, `dates`), sitemaps and feeds by `link_lists`, all other formats by
`page_reader` and `peers.documents`. Commands have documents read by `guarded_reader`. It knows no peer.
"""
