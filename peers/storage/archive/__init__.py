"""The archive: pages as WARC records in segments, which are only appended to. [io]

`archive_port` is the port of the cell, over `archive`; `warc` packs and reads records. In simulations
`archive_twin` and `memory_archive` stand in for both.
"""
