"""Segments: documents that were committed together, in one file that never changes.

`inversion` finds the occurrences in texts, `builder` makes a segment of them, by `segment_format`; `segment`
reads one, from its `segment_file`; `working_segment` and `live_segment` are its documents that are not
deleted, at the next commit and at the last; `manifest` says which segments count.
"""
