"""Copies of peers that run or do not, and peers made from them again.

A backup is a folder with one manifest, which says what of the folder counts and how it has to look:

    manifest.json        the last whole backup; renamed into its place when all that it names is on disk
    unfinished.json      segments of the archive that a backup which was cut off has copied already
    archive/             segments of archives; as those only grow, their copies do: a manifest counts the
                         beginning that it knows
    state-000007/        all else as it was at the seventh backup: tables, configurations, keys

Why that is consistent. A cell puts a page into its table after its records are on the disk, and a segment
that anything refers to is neither changed nor removed. So whatever a copy of the table names is in the
archive when that copy is whole, and is copied after it; should a segment have become needless meanwhile and
be gone, the table is copied again. The index is left out: a restored peer makes it from its archive, by the
very means that repair a damaged one, while its files change with every merge and would be copied every time.

`contents` says what belongs to a backup, `manifest` what a backup is, `copying` writes and checks files,
`saving` makes a backup and `restoring` peers from it; `commands` are for users.
"""
