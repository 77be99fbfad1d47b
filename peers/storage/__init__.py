"""Pages on disk, on every peer of their team.

Actor: `cell` lets no page count as stored before its living team has it. It has `intake` (pages on their way
into the archive, with `replication`: what others have still to answer), `readings` (places being read back),
`indexing` (what the indexer has still to be given), `marking` (slots to be indexed anew), `slot_news` (what
is told when they are), `scrubber` (what of the archive is to be checked next), `compaction` (what gives space
back, `host_bytes` counted), `repairs` (what was found damaged) and `dead_segments`, and `take_downs` (what is
shown to nobody), all over the `ledger`: which versions there are, each a `place`; with `index_marks` (what
the index has of them), `segment_counts` and `totals`. The shape of its keys is in `ledger_keys`; others of
the peer read it by `stored_versions`. Who keeps a page with us is said by `teams`, what others tell of it by
`link_texts`; limits are `settings`, and of the whole disk `disk_limit`; its messages are `messages`, and
`wire_messages` to other cells and to gateways.

Whole slots go from cell to cell by `cell_store`, in parts whose content is in `part_content`.

Port [io]: `archive_port` over `archive`, files of WARC records (`warc`, `extent`); `archive_twin` and
`memory_archive` stand in for them in simulations.
"""
