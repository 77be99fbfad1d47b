"""Posting lists: `format` defines and decodes them, the other modules work on whole lists.

`builder` makes them of occurrences, `merger` of those of several segments, `slicer` of ranges of
documents, `inspection` checks what nobody vouches for. These read with a `reader`, posting by posting, and
write with the `writer`, whose skip entries have what bounds scores (`bounds`). A search goes through
`peers.engine.native.lists`.
"""
