"""Pages on disk, on every peer of their team.

The actor is `cell`: no page counts as stored before its living team has it (`intake`, `replication`). Over
the `ledger`, the table of versions and their places, it has

- `indexing`, `marking`, `index_marks`, `slot_news`: what the indexer is still to be given
- `scrubber`, `repairs`, `dead_segments`: what is damaged; `compaction`, `host_bytes`, `disk_limit`: space
- `take_downs`: what is shown to nobody; `readings`: places being read back
- `teams`: which peers keep a page with us; `link_texts`: what others say of it

Whole slots go from cell to cell by `cell_store`, in parts (`part_content`). The port is `archive_port` [io],
over the `archive`: files of WARC records (`warc`); simulations have `archive_twin` and `memory_archive`.
"""
