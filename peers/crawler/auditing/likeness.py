"""How alike two texts of a page are, by a few hashes of each that peers can send each other.

What is alike are their *shingles*, two words or characters of Chinese one after the other. The least hashes
of all shingles of a text are a sample of them, and of two such samples the least of both are one of the
shingles that either text has: the share of those that stand in both estimates the share of common shingles.
Sketches of near copies (`peers.engine.pages.near_copies`) have one bit of each and tell copies from the rest;
here it matters whether two texts have anything in common, short ones too.

Sources: Broder 1997, On the resemblance and containment of documents, section 4 (the s smallest).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from heapq import nsmallest
from itertools import pairwise
from typing import Final

from xxhash import xxh32_intdigest

HASHES_MAX: Final = 64  # an estimate is off by .06 at most, twice in three times
TEXT_CHARS_MAX: Final = 16_384  # of a text, from its beginning: .8 ms of English, 5 ms of Chinese
HASHES_MIN: Final = 3  # texts with fewer shingles say nothing

# A character of Chinese, Japanese or Korean, or a word of other letters and digits: one pass over the text.
_TOKEN: Final = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]|[^\W_\u2e80-\u9fff\uac00-\ud7af]+")


def hashes_of(text: str) -> tuple[int, ...]:
    """Return the least hashes of the shingles of a text, in order; none where it has too little text."""
    tokens = _TOKEN.findall(text[:TEXT_CHARS_MAX].casefold())
    shingles = {xxh32_intdigest(f"{one} {other}".encode(errors="replace")) for one, other in pairwise(tokens)}
    return tuple(nsmallest(HASHES_MAX, shingles)) if len(shingles) >= HASHES_MIN else ()


def likeness(one: Sequence[int], other: Sequence[int]) -> float:
    """Estimate the share of the shingles of two texts that both have: 0.0 for nothing, 1.0 for all.

    |S and one and other| / |S|, S the least `HASHES_MAX` of both together; Broder 1997.
    """
    both = set(one) & set(other)
    least = nsmallest(HASHES_MAX, {*one, *other})
    return sum(each in both for each in least) / len(least) if least else 0.0
