"""Sketches of main texts, which are alike for near copies of a page and by which these are found.

Theory of operation. How alike two texts are is the share of their shingles, four words or characters of
Chinese one after the other, that both have (Jaccard). A hash of each shingle says which of SKETCH_BINS bins
it belongs to, and the least hash of a bin is the same in both texts as often as they are alike; of it one bit
is kept. So texts of which the share J is common differ in about (1 - J) / 2 of the bits. Bins in which there
is nothing take the bit of another, chosen by the bin alone.

Sources: Broder 1997, resemblance; Li, König 2010, b-bit minwise hashing; Li, Owen, Zhang 2012, one
permutation; Shrivastava 2017, empty bins. SimHash finds less (`tests/benchmarks/bench_near_copies.py`, to
which the limits below are fitted).

Pages of one layout are alike though they are about different things: `operator<` and `operator>`, sets and
multisets. So titles count, of which a sketch has a hash: under other titles texts have to be long, and
nearly the same. Short texts are alike by accident, and have no sketch.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from peers.engine.native.compiled import kernel
from peers.engine.pages.document import Document
from peers.kernel import Bytes, Codes, Sums

SHINGLE_TOKENS: Final = 4
SKETCH_BINS: Final = 240  # and as many bits
TITLE_BITS: Final = 15  # of the hash of the title: others are the same once in 32,768
# Bins with a shingle, of a text that has a sketch and of a long one: some 32 and 80 different shingles.
KEPT_FILLED: Final = 30
LONG_FILLED: Final = 68
# Bits in which near copies differ at most: about .83, .88 and .95 of their shingles are common.
LONG_BITS_MAX: Final = 21
SHORT_BITS_MAX: Final = 15
OTHER_TITLE_BITS_MAX: Final = 6

SKETCH_WORDS: Final = 4
SKETCH_BYTES: Final = 8 * SKETCH_WORDS
# The bits of the bins, then those of the title, then one of whether it is long.
Sketch: TypeAlias = NDArray[np.uint64]
Sketches: TypeAlias = NDArray[np.uint64]  # a row each

_TITLE_SHIFT: Final = SKETCH_BINS % 64  # in the last number
_LONG: Final = 1 << 63


def sketch_of(document: Document) -> Sketch:
    """Return the sketch of a page; zeros where its text is too short to have one."""
    sketch = np.zeros(SKETCH_WORDS, np.uint64)
    # Lone surrogates are stored as "?".
    codes = np.frombuffer(document.text.encode("utf-32-le", "replace"), np.uint32)
    n_filled = _sketch_text(codes, sketch)
    if n_filled < KEPT_FILLED:
        return np.zeros(SKETCH_WORDS, np.uint64)
    title = title_hash(document.title)
    sketch[-1] |= np.uint64(title << _TITLE_SHIFT | (_LONG if n_filled >= LONG_FILLED else 0))
    return sketch


def title_hash(title: str) -> int:
    """Return the hash of a title that sketches have."""
    return xxhash.xxh3_64_intdigest(title.encode(errors="replace")) >> (64 - TITLE_BITS)


def title_hashes(sketches: Sketches) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return the hashes of titles that sketches have, and which of these are sketches."""
    last = sketches[:, -1]
    return last >> np.uint64(_TITLE_SHIFT) & np.uint64((1 << TITLE_BITS) - 1), last != 0


def sketches_of(encoded: list[bytes]) -> Sketches:
    """Return an array of sketches that were sent, zeros in place of any that has the wrong length."""
    blob = b"".join([each if len(each) == SKETCH_BYTES else bytes(SKETCH_BYTES) for each in encoded])
    return np.frombuffer(blob, np.uint64).reshape(-1, SKETCH_WORDS)


def near_copies(sketches: Sketches) -> NDArray[np.bool_]:
    """Return which pages are near copies of which: a row and a column each; nothing is one of itself."""
    found = np.zeros((len(sketches), len(sketches)), np.bool_)
    _compare_sketches(sketches, found.view(np.uint8))
    return found


@kernel
def _sketch_text(codes: Codes, sketch: Sums) -> int:
    """Set the bits of the bins of a text; return how many bins have a shingle."""


@kernel
def _compare_sketches(sketches: Sketches, found: Bytes) -> int:
    """Set which are near copies of which, as `near_copies`; return how many pairs are."""
