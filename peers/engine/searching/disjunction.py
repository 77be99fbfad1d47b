"""The best documents that have any entry: block-max MaxScore.

Once k documents are known, what all of the weakest lists could give together may be too little to become one
of the best: such lists are looked up only for documents found in the others. The same is done again, with the
bounds of blocks, in every window: a stretch of documents in which none of the other lists changes its block;
and a window whose bounds are too low is skipped whole. So the number of documents that match is not known,
unless nothing was skipped.

Sources: Turtle, Flood, "Query evaluation: strategies and optimizations", 1995; Ding, Suel, "Faster top-k
document retrieval using block-max indexes", SIGIR 2011; Lucene's BlockMaxMaxScore scorer.
"""

from __future__ import annotations

from peers.engine.native.compiled import kernel
from peers.engine.native.lists import (
    Postings,
)
from peers.engine.postings.dictionary import Lexicon
from peers.engine.searching.batch import (
    Goal,
    Searched,
)
from peers.kernel import Strings


@kernel
def search_any(
    postings: Postings,
    lexicon: Lexicon,
    wanted: Strings,
    goal: Goal,
) -> Searched:
    """Find the best documents that have at least one entry; see `search_all`."""
