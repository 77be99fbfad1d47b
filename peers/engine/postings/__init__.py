"""Posting lists: `format` says what they are and decodes them, the others are what is done with whole lists.

`building` makes them of occurrences, `merging` of those of several segments, `slicing` of ranges of
documents, `inspection` checks what nobody vouches for. These read with a `reader`, posting by posting, and
write with the `writer`, whose skip entries have what bounds scores (`bounds`). A search goes through
`peers.engine.lists`.
"""
