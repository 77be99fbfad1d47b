"""Pages on disk, on every peer of their team.

Actor: `cell` lets no page count as stored before its living team has it. Its state is in `ledger`; what
others have still to answer is in `replication`, what the indexer has still to be given in `indexing`, what of
the archive is to be checked next in `scrubber`;
whole slots go from cell to cell by `cell_store`, in parts of `part_content`;
its messages are in `messages`.

Port [io]: `archive_port` over `archive`, files of WARC records (`warc`, `extent`); `archive_twin` and
`memory_archive` stand in for them in simulations.
"""
