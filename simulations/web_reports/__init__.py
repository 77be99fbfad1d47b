"""Reports on crawls: `tianmesh report`.

`page_facts`    the facts of a page, taken from its records in worker processes
`page_columns`  facts of many pages as columns; `growth`: how much of the new the last of them brought
`web_report`    the figures of a crawl, beside those of the book; `web_tables` has them for people
`page_words`    pages as vectors of words; `locality`: how alike linked pages are, beside others
`sources`       pages of peers on this machine, or of files [io]; `commands`: `tianmesh report` [io]
"""
