"""The ledger: which versions of pages a peer has, each with its place in the archive. Pure, over a table.

`ledger` is the way in; `ledger_keys` has the shape of its keys, a `place` is a row, an `extent` a range of a
segment. Beside the rows are counted `segment_counts`, `host_bytes` and `totals`; `index_marks` tell what the
index has of each version. Others of the peer read the ledger by `stored_versions`.
"""
