"""The best documents that have all entries.

It goes through the rarest list; the documents of each of its blocks are located in the other lists. All of
them are counted, but frequencies are read only where the bounds of the blocks that a document's postings are
in could make it one of the best.
"""

from __future__ import annotations

from typing import NamedTuple

from peers.engine.native.compiled import kernel
from peers.engine.native.lists import (
    Postings,
)
from peers.engine.postings.dictionary import Lexicon
from peers.engine.searching.batch import (
    Goal,
    Searched,
)
from peers.kernel import Numbers, Strings

# Positions of an atom in a document are read for about as much as so many visits.
PHRASE_VISITS = 8


class Atoms(NamedTuple):
    """A phrase; without any atom there is none."""

    rows: Numbers  # of each atom which entry it is
    distances: Numbers  # from a common place
    fields: int  # in which it may be, a bit each


@kernel
def search_all(
    postings: Postings,
    lexicon: Lexicon,
    wanted: Strings,
    is_required: Numbers,
    phrase: Atoms,
    goal: Goal,
) -> Searched:
    """Find the best documents that have all required entries, at least one, and a phrase, if there is one.

    Args:
      lexicon: of the segment. wanted: the entries.
      is_required: 1 for those that must occur; the others only score.
      phrase: its atoms are required.
    """
