"""Tables: ordered rows of bytes that actors keep their state in. [io]

`table` is the interface; `lmdb_table` keeps it on disk, with checksums (`sealed_rows`), `memory_table` in
memory (`sorted_map`). `lmdb_reader` reads beside a running peer; `table_check` and `table_compaction` come
before a start. `layout` says which code may read a table, `lives` counts the lives of a peer. `disk_space`
is what is left, `private_files` can be read by their user alone.
"""
