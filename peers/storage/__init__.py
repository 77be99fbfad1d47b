"""Pages on disk, on every peer of their team.

The actor is `cell`: no page counts as stored before its living team has it. `intake` sends standbys each page
(`ReplicatePage` in `wire_messages`), `replication` has the answers that are missing. Besides there are

- `indexing`, `reindexing`, `slot_news`: what the indexer is still to be given
- `scrubber`, `repairs`: what is damaged; `compaction`, `disk_limit`: space
- `take_downs`: what is shown to nobody; `readings`: places being read back
- `teams`: which peers keep a page with us; `link_texts`: what others say of it
- `ledger`, a room: which versions there are, and where
- `archive`, a room: WARC files, and the port that writes them

Whole slots go from cell to cell by `cell_store`, in parts (`part_content`).
"""
