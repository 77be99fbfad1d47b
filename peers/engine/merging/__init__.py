"""Segments made of others: merged, cut out for other peers, taken over from them, with other link texts.

`merge` chooses which ones, `segment_merge` does it; `link_updates` gives documents other link texts, `copies`
marks those for which others stand; `export` cuts out the documents of some slots, `adoption` checks such
parts.
"""
