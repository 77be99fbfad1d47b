"""Read lists posting by posting, positions too: the code that merging and slicing share.

A reader stands at a posting, or behind the last one. What is read has been checked: what nobody vouches for
is read by `inspection`, and a search, which skips, goes through `lists`.
"""

from __future__ import annotations

from typing import NamedTuple

from peers.kernel import (
    Bytes,
    Words,
)


class Inverted(NamedTuple):
    """Lists of entries as they are read."""

    postings: Bytes
    words: Words  # another view of these bytes
    positions: Bytes
