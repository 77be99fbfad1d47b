"""The main text of a page, and the text around it: menus, headers, lists of links. Pure.

Every block of a page, as `_markup.c` cuts it, has a score: how much of it is main text, by a small network
over the features of `main_text.h` (length, links, ends of sentences, tags and names of classes around it,
neighbours and containers, phrases such as "all rights reserved" or 责任编辑, words of the title). Here is
what follows from the scores. What is around the main text is kept apart, to be found and hardly to count: it
is never dropped.

The weights are in `main_text.weights`, made by `peers.evaluation.main_text_fit`, which says of what.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from peers.crawler.parsing._markup import FIRST_FEATURES, SECOND_FEATURES, UNITS

SCORE_MIN: Final = 0.52  # of .45 to .55, where no set of `bench_main_text.py` loses much
# A text shorter than this many bytes is all taken as main text: there is too little of it to go by. A page
# with less main text is a portal, a list, a form: what comes next to main text is taken as that.
BYTES_MIN: Final = 500
NEXT_TO_BEST: Final = 0.4  # of the best score of the page


def network_bytes(n_features: int) -> int:
    """Return the size of the weights, float32, of the network over so many features."""
    return 4 * (UNITS * (n_features + 2) + 1 + 2 * n_features)


def parted(text: str, scores: Sequence[float]) -> tuple[str, str]:
    """Part a page's text, a block a line with a score each, into main text and the text around it."""
    if _size(text) < BYTES_MIN:
        return text, ""
    lines = text.split("\n")
    body = _chosen(lines, scores, SCORE_MIN)
    least = SCORE_MIN
    if _size(body) < BYTES_MIN:
        least = min(SCORE_MIN, NEXT_TO_BEST * max(scores))
        body = _chosen(lines, scores, least)
    rest = [line for line, score in zip(lines, scores, strict=True) if score < least]
    return body, "\n".join(rest)


def _chosen(lines: Sequence[str], scores: Sequence[float], least: float) -> str:
    return "\n".join([line for line, score in zip(lines, scores, strict=True) if score >= least])


def _size(text: str) -> int:
    """Return how many bytes a text has, about, when these are few."""
    return len(text) if len(text) >= BYTES_MIN else len(text.encode(errors="replace"))


def _networks() -> tuple[bytes, bytes]:
    weights = Path(__file__).with_suffix(".weights").read_bytes()
    first = network_bytes(FIRST_FEATURES)
    assert len(weights) == first + network_bytes(SECOND_FEATURES), "the weights are for other features"
    return weights[:first], weights[first:]


# Of the two passes.
NETWORKS: Final = _networks()
