"""Stores that a policy switches on, in runs with faults: how each is used meanwhile, and judged in the end.

`store_use` says what a store may declare, each other file declares one: `submitter` (sites), `links` and
`ranks` (the link graph), `past` (versions that were replaced), `searches` (the log with clicks),
`sealed_rows` (entities), `topic_visits` (topics), `taken_down` (pages that the policy hides), `page_classes`,
`notices` (the watch), `directories` (files that are listed). `all_uses` has them in one table; `versions` are
those of pages on the disk of a peer, `asked` is what uses have in common that search.
"""
