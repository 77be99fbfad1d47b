"""Runs of Chinese characters that are like a typed one but for a character that sounds nearly alike.

A run is taken to be in the pages that have all pairs of its characters (`analysis`), so neither a dictionary
nor the cut into words matters: names and new words are found as others are. Only lookups are needed, some
seventy for each side of each character that may be wrong, which the pairs that are nowhere tell.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from peers.engine.searching.effort import Effort
from peers.engine.segments.segment import Segment
from peers.text.analysis import pair_atoms
from peers.text.pinyin import sounding_like

RUN_CHARS: Final = range(2, 9)
_LOOKED_UP_VISITS: Final = 4  # entries that are looked up in the time of a visit


def similar_runs(segment: Segment, typed: str, effort: Effort) -> dict[str, int]:
    """Return runs like a folded one whose pairs are all in a segment. EffortSpentError.

    With each the number of documents that have the rarest of its pairs; the run itself is among them.
    """
    doc_freqs = segment.look_up(pairs_of(typed)).doc_freqs
    lacking = np.flatnonzero(doc_freqs == 0).tolist()
    runs = {} if lacking else {typed: int(doc_freqs.min())}
    for place, character in enumerate(typed):
        if any(pair not in (place - 1, place) for pair in lacking):
            continue  # another character is wrong, too
        others = list(sounding_like(character))
        rarest = np.full(len(others), np.iinfo(np.int64).max)
        for pair in range(max(place - 1, 0), min(place + 1, len(typed) - 1)):
            effort.spend(len(others) // _LOOKED_UP_VISITS)
            changed = [
                pairs_of(f"{typed[pair:place]}{other}{typed[place + 1 : pair + 2]}")[0] for other in others
            ]
            rarest = np.minimum(rarest, segment.look_up(changed).doc_freqs)
        kept = np.delete(doc_freqs, [pair for pair in (place - 1, place) if 0 <= pair < len(doc_freqs)])
        for other, n in zip(others, rarest.tolist(), strict=True):
            if n:
                runs[typed[:place] + other + typed[place + 1 :]] = min([n, *kept.tolist()])
    return runs


def pairs_of(run: str) -> list[str]:
    """Return the entries that pages have in which a run of two characters or more stands."""
    return pair_atoms(run)[:-1]
