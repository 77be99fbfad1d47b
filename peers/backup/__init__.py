"""Copies of peers that run or do not, and peers made from them again.

A backup is a folder with one manifest, which says what of the folder counts and how it has to look:

    manifest.json        the last whole backup; renamed into its place when all that it names is on disk
    unfinished.json      segments of the archive that a backup which was cut off has copied already
    archive/             segments of archives, which only grow: a manifest counts the beginning that it knows
    state-000007/        all else as it was at the seventh backup: tables, configurations, keys

It is consistent because a cell puts a page into its table after its records are on the disk: what a copy of
the table names is in the archive that is copied after it (again, should a segment be gone by then). The index
is left out: a restored peer makes it from its archive, by the means that repair a damaged one.
`contents`, `manifest` and `checked_files` serve both directions, `backup_writer` and `restoration`;
`commands` are for users.
"""
