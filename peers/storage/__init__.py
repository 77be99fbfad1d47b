"""Pages on disk, on every peer of their team.

Actor: `cell` lets no page count as stored before its living team has it; its state is in `ledger`,
what it owes to standbys that were away in `creditors`, its messages in `messages`.

Port [io]: `archive_port` over `archive`, an append-only file of WARC records (`warc`, `extent`);
`archive_twin` and `memory_archive` stand in for them in simulations.
"""
