"""Fitted weights by which main text is told from the rest (`peers.crawler.parsing.main_text`). [io]

    python -m peers.evaluation.main_text_fit FOLDER peers/crawler/parsing/main_text.weights

Fitted to the 1,476 pages of seven kinds that are for that, and to every second of the English articles,
which count thrice: FOLDER is as `main_text` says. Which blocks of a page are main text is found by looking
for their tokens in the text that is known. A block weighs as much as the share its tokens are of the main
text, so that a long page counts no more than a short one. The second network goes by what the first says of
pages that it was not fitted to: each half of the pages is judged by a network fitted to the other.

Gradient descent (Adam), the same numbers from the same pages, libraries and seed; ten minutes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from html.entities import html5
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peers.crawler.parsing._markup import FIRST_FEATURES, SECOND_FEATURES, UNITS, measure_blocks
from peers.crawler.parsing.charset import decode_text
from peers.evaluation.main_text import KnownPage, english_articles, pages_of_kinds, tokens_of

Numbers: TypeAlias = NDArray[np.float32]

EPOCHS: Final = 20
FOLD_EPOCHS: Final = 14  # of the networks that only judge the other half
BATCH: Final = 4_096
STEP: Final = 3e-3  # falls to nothing as a cosine
DECAY: Final = 1e-4
ARTICLE_WEIGHT: Final = 3.0
_LIMITS: Final = (1_000_000, 500_000, 6_000, 100)  # as `read_markup` takes them

SHINGLE: Final = 3
LONG_TOKENS: Final = 6  # of a block: it is found by its shingles, others as they stand
MAIN_SHARE: Final = 0.5
NEAR_BLOCKS: Final = 6  # a short block so near to long ones is of the same text
BLOCK_TOKENS_MAX: Final = 300  # more of one block count no more
MAIN_TOKENS_MIN: Final = 60.0


class Page(NamedTuple):
    """A page to fit to."""

    markup: bytes
    is_main: Numbers  # of each block, 0 to 1
    weights: Numbers


def page_of(known: KnownPage, weight: float) -> Page:
    """Find the main text of a page among its blocks."""
    markup = decode_text(known.body).text.encode(errors="replace").replace(b"\0", b"")
    text, _ = measure_blocks(markup, html5, *_LIMITS, b"", b"")
    blocks = [tokens_of(line) for line in text.split("\n")] if text else []
    is_main = _shares(blocks, known.main_text)
    counts = np.array([len(block) for block in blocks], np.float32)
    whole = max(MAIN_TOKENS_MIN, float(counts[is_main >= MAIN_SHARE].sum()))
    return Page(markup, is_main, weight * np.minimum(counts + 0.5, BLOCK_TOKENS_MAX) / np.float32(whole))


def _shares(blocks: Sequence[Sequence[str]], main_text: str) -> Numbers:
    """Return how much of each block is in the main text."""
    known = tokens_of(main_text)
    shingles = {tuple(known[i : i + SHINGLE]) for i in range(len(known) - SHINGLE + 1)}
    lines = Counter(" ".join(tokens_of(line)) for line in main_text.splitlines())
    joined = f" {' '.join(known)} "
    shares = np.zeros(len(blocks), np.float32)
    for i, block in enumerate(blocks):
        if len(block) >= LONG_TOKENS:
            found = [tuple(block[j : j + SHINGLE]) in shingles for j in range(len(block) - SHINGLE + 1)]
            shares[i] = sum(found) / len(found)
    sure = np.flatnonzero(shares >= MAIN_SHARE)
    first, last = (int(sure[0]), int(sure[-1])) if len(sure) else (0, len(blocks))
    for i, block in enumerate(blocks):
        if 0 < len(block) < LONG_TOKENS:
            text = " ".join(block)
            if lines[text]:
                shares[i] = 1.0 if first - NEAR_BLOCKS <= i <= last + NEAR_BLOCKS else 0.5
            elif f" {text} " in joined:
                shares[i] = (1.0 if len(block) > 1 else 0.6) if first <= i <= last else 0.3
    return shares


def features_of(pages: Sequence[Page], first: bytes) -> Numbers:
    """Return the features of all blocks: for the second pass where weights of the first are given."""
    n_features = SECOND_FEATURES if first else FIRST_FEATURES
    rows = [measure_blocks(page.markup, html5, *_LIMITS, first, b"")[1][bool(first)] for page in pages]
    return np.concatenate([np.frombuffer(row).astype(np.float32) for row in rows]).reshape(-1, n_features)


def fitted(features: Numbers, pages: Sequence[Page], epochs: int, seed: int = 1) -> bytes:
    """Fit a network to blocks; return its weights as `read_markup` takes them."""
    is_main = np.concatenate([page.is_main for page in pages])
    weights = np.concatenate([page.weights for page in pages])
    weights = weights / weights.mean()
    mean, spread = features.mean(0), features.std(0)
    spread[spread < 1e-6] = 1e9
    rows = np.clip((features - mean) / spread, -6, 6)
    random = np.random.default_rng(seed)
    n_features = rows.shape[1]
    network = [
        random.normal(0, n_features**-0.5, (UNITS, n_features)).astype(np.float32),
        np.full(UNITS, 0.1, np.float32),
        random.normal(0, UNITS**-0.5, UNITS).astype(np.float32),
        np.zeros(1, np.float32),
    ]
    descent = _Descent(network, epochs * -(-len(rows) // BATCH))
    for _ in range(epochs):
        order = random.permutation(len(rows))
        for start in range(0, len(rows), BATCH):
            chosen = order[start : start + BATCH]
            descent.step(_slopes(network, rows[chosen], is_main[chosen], weights[chosen]))
    into, bias, out, out_bias = network
    bias = bias - (into * (mean / spread)).sum(1)
    parts = [bias, (into / spread).T.ravel(), out, out_bias]
    return np.concatenate(parts).astype(np.float32).tobytes()


def _slopes(network: list[Numbers], rows: Numbers, is_main: Numbers, weights: Numbers) -> list[Any]:
    into, bias, out, out_bias = network
    sums = rows @ into.T + bias
    units = np.maximum(sums, 0)
    said = 1 / (1 + np.exp(-np.clip(units @ out + out_bias, -30, 30)))
    error = (said - is_main) * weights / np.float32(len(rows))
    back = np.outer(error, out) * (sums > 0)
    return [
        back.T @ rows + DECAY * into,
        back.sum(0),
        units.T @ error + DECAY * out,
        error.sum(keepdims=True),
    ]


class _Descent:
    """Adam (Kingma, Ba 2015), on arrays that it changes in place."""

    def __init__(self, network: list[Numbers], n_steps: int) -> None:
        self._network = network
        self._n_steps = n_steps
        self._done = 0
        self._means = [np.zeros_like(each) for each in network]
        self._squares = [np.zeros_like(each) for each in network]

    def step(self, slopes: list[Any]) -> None:
        self._done += 1
        step = STEP * 0.5 * (1 + np.cos(np.pi * self._done / self._n_steps))
        for each, slope, mean, square in zip(self._network, slopes, self._means, self._squares, strict=True):
            mean *= 0.9
            mean += 0.1 * slope
            square *= 0.999
            square += 0.001 * slope**2
            scaled = mean / (1 - 0.9**self._done)
            each -= (step * scaled / (np.sqrt(square / (1 - 0.999**self._done)) + 1e-8)).astype(np.float32)


def main(folder: Path, weights: Path) -> None:
    """Fit both networks and write them one after the other."""
    pages = [page_of(known, 1.0) for known in pages_of_kinds(folder, "dev")]
    pages += [page_of(known, ARTICLE_WEIGHT) for known in english_articles(folder)[::2]]
    print(f"{len(pages)} pages, {sum(len(page.is_main) for page in pages):,} blocks")
    first = fitted(features_of(pages, b""), pages, EPOCHS)
    halves = pages[::2], pages[1::2]
    judges = [fitted(features_of(half, b""), half, FOLD_EPOCHS) for half in halves]
    judged = np.concatenate(
        [features_of(half, judge) for half, judge in zip(halves, judges[::-1], strict=True)]
    )
    second = fitted(judged, [*halves[0], *halves[1]], EPOCHS)
    weights.write_bytes(first + second)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
