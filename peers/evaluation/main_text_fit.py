"""Fitted weights by which main text is told from the rest (`peers.crawler.parsing.main_text`). [io]

    python -m peers.evaluation.main_text_fit FOLDER peers/crawler/parsing/main_text.weights

Fitted to the 1,476 pages of seven kinds that are for that, to every second of the English articles, which
count thrice, and to 20 pages of each of ten Chinese sites: FOLDER is as `main_text` says. A third of the
pages of kinds and of the articles are there once more without what is around their main text, as pages
written by hand are. Which blocks of a page are main text is found by looking for their tokens in the text
that is known. A block weighs as much as the share its tokens are of the main text, so that a long page counts
no more than a short one. The second network goes by what the first says of pages that it was not fitted to:
each half of the pages is judged by a network fitted to the other.

Networks of other seeds differ by a hundredth and more on pages of other sources: several, fitted in
different ways, stand side by side in one, which says their mean. Gradient descent (Adam), the same numbers
from the same pages, libraries and seeds; ten minutes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from html.entities import html5
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from resiliparse.parse.html import HTMLTree

from mesh.counts import counted
from peers.crawler.parsing._markup import FIRST_FEATURES, SECOND_FEATURES, UNITS, measure_blocks
from peers.crawler.parsing.charset import decode_text
from peers.evaluation.main_text import (
    KnownPage,
    chinese_sites,
    english_articles,
    pages_of_kinds,
    tokens_of,
)

Numbers: TypeAlias = NDArray[np.float32]

EPOCHS: Final = 20
FOLD_EPOCHS: Final = 14  # of the networks that only judge the other half
BATCH: Final = 4_096
STEP: Final = 3e-3  # falls to nothing as a cosine
SPREADS: Final = 6.0  # standard deviations from its mean, beyond which a feature counts no more
ARTICLE_WEIGHT: Final = 3.0
SITE_PAGES: Final = 20
BARE_SHARE: Final = 1 / 3  # of the pages, which stand there without what is around their main text, too
BARE_TOKENS: Final = 0.95  # of a main text, which the element has that is all of a bare page
BARE_TOKENS_MIN: Final = 20
_LIMITS: Final = (1_000_000, 500_000, 6_000, 100)  # as `read_markup` takes them

SHINGLE: Final = 3
LONG_TOKENS: Final = 6  # of a block: it is found by its shingles, others as they stand
MAIN_SHARE: Final = 0.5
NEAR_BLOCKS: Final = 6  # a short block so near to long ones is of the same text
BLOCK_TOKENS_MAX: Final = 300  # more of one block count no more
MAIN_TOKENS_MIN: Final = 60.0


class Way(NamedTuple):
    """A way to fit networks."""

    seed: int
    left_out: float  # share of the features, others for every block and time
    decay: float


WAYS: Final = (Way(1, 25 / 256, 1e-4), Way(1, 0.0, 1e-3))


class FitPage(NamedTuple):
    """A page to fit to."""

    markup: bytes
    is_main: Numbers  # of each block, 0 to 1
    weights: Numbers


def page_of(known: KnownPage, weight: float) -> FitPage:
    """Find the main text of a page among its blocks."""
    markup = decode_text(known.body).text.encode(errors="replace").replace(b"\0", b"")
    text, _ = measure_blocks(markup, html5, *_LIMITS, b"", b"")
    blocks = [tokens_of(line) for line in text.split("\n")] if text else []
    is_main = _shares(blocks, known.main_text)
    counts = np.array([len(block) for block in blocks], np.float32)
    whole = max(MAIN_TOKENS_MIN, float(counts[is_main >= MAIN_SHARE].sum()))
    return FitPage(markup, is_main, weight * np.minimum(counts + 0.5, BLOCK_TOKENS_MAX) / np.float32(whole))


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


def bare_of(known: KnownPage) -> KnownPage | None:
    """Return the bare page, its main text alone; None when it is bare already or has no main text."""
    tree: Any = HTMLTree.parse(decode_text(known.body).text)
    if tree.body is None:
        return None
    for tag in ("script", "style"):
        for element in tree.body.get_elements_by_tag_name(tag):
            element.parent.remove_child(element)
    main_text = Counter(tokens_of(known.main_text))
    inmost, least = tree.body, BARE_TOKENS * _common(tree.body, main_text)
    if least < BARE_TOKENS_MIN:
        return None
    while True:
        inner = (node for node in inmost.child_nodes if node.tag and not node.tag.startswith("#"))
        next_one = next((node for node in inner if _common(node, main_text) >= least), None)
        if next_one is None or next_one.tag in ("p", "span", "b", "i"):
            break
        inmost = next_one
    if inmost.tag == "body":
        return None
    html = f"<html><head><title>{tree.title or ''}</title></head><body>{inmost.html}</body></html>"
    return known._replace(body=html.encode(errors="replace"))


def _common(node: Any, main_text: Counter[str]) -> int:
    return (Counter(tokens_of(node.text or "")) & main_text).total()


class FittedNetwork(NamedTuple):
    """A fitted network; the features as they are measured."""

    into: Numbers  # a row of weights a unit
    bias: Numbers
    out: Numbers
    out_bias: Numbers
    least: Numbers  # of each feature
    greatest: Numbers


def side_by_side(networks: Sequence[FittedNetwork]) -> bytes:
    """Put networks into one that says their mean; return its weights as `read_markup` takes them."""
    columns = list(zip(*networks, strict=True))
    into, bias, out = (np.concatenate(column) for column in columns[:3])
    out_bias, least, greatest = (np.mean(column, axis=0) for column in columns[3:])
    parts = [bias, into.T.ravel(), out / len(networks), out_bias, least, greatest]
    return np.concatenate(parts).astype(np.float32).tobytes()


def features_of(pages: Sequence[FitPage], first: bytes) -> Numbers:
    """Return the features of all blocks: for the second pass where weights of the first are given."""
    n_features = SECOND_FEATURES if first else FIRST_FEATURES
    rows = (measure_blocks(page.markup, html5, *_LIMITS, first, b"")[1][bool(first)] for page in pages)
    return np.concatenate([np.frombuffer(row).astype(np.float32) for row in rows]).reshape(-1, n_features)


def fitted(features: Numbers, pages: Sequence[FitPage], epochs: int, way: Way) -> FittedNetwork:
    """Fit a network to blocks."""
    is_main = np.concatenate([page.is_main for page in pages])
    weights = np.concatenate([page.weights for page in pages])
    weights = weights / weights.mean()
    mean, spread = features.mean(0, dtype=np.float64).astype(np.float32), features.std(0)
    spread[spread < 1e-6] = 1e9
    rows = np.clip((features - mean) / spread, -SPREADS, SPREADS)
    random = np.random.default_rng(way.seed)
    n_features, n_units = rows.shape[1], UNITS // len(WAYS)
    network = [
        random.normal(0, n_features**-0.5, (n_units, n_features)).astype(np.float32),
        np.full(n_units, 0.1, np.float32),
        random.normal(0, n_units**-0.5, n_units).astype(np.float32),
        np.zeros(1, np.float32),
    ]
    descent = _Descent(network, epochs * -(-len(rows) // BATCH))
    for _ in range(epochs):
        order = random.permutation(len(rows))
        for start in range(0, len(rows), BATCH):
            chosen = order[start : start + BATCH]
            batch = rows[chosen]
            if way.left_out:
                batch *= random.integers(256, size=batch.shape, dtype=np.uint8) >= 256 * way.left_out
            descent.step(_slopes(network, batch, is_main[chosen], weights[chosen], way.decay))
    into, bias, out, out_bias = network
    bias = bias - (into * (mean / spread)).sum(1)
    return FittedNetwork(into / spread, bias, out, out_bias, mean - SPREADS * spread, mean + SPREADS * spread)


def _slopes(
    network: list[Numbers], rows: Numbers, is_main: Numbers, weights: Numbers, decay: float
) -> list[Any]:
    into, bias, out, out_bias = network
    sums = rows @ into.T + bias
    units = np.maximum(sums, 0)
    said = 1 / (1 + np.exp(-np.clip(units @ out + out_bias, -30, 30)))
    error = (said - is_main) * weights / np.float32(len(rows))
    back = np.outer(error, out) * (sums > 0)
    return [
        back.T @ rows + decay * into,
        back.sum(0),
        units.T @ error + decay * out,
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


def both_fitted(halves: tuple[list[FitPage], list[FitPage]], way: Way) -> tuple[FittedNetwork, FittedNetwork]:
    """Fit the networks of both passes."""
    features = features_of([*halves[0], *halves[1]], b"")
    first = fitted(features, [*halves[0], *halves[1]], EPOCHS, way)
    border = sum(len(page.is_main) for page in halves[0])
    parts = features[:border], features[border:]
    judges = [fitted(part, half, FOLD_EPOCHS, way) for part, half in zip(parts, halves, strict=True)]
    del features, parts
    weights = [side_by_side([judge] * len(WAYS)) for judge in reversed(judges)]
    judged = [features_of(half, judge) for half, judge in zip(halves, weights, strict=True)]
    return first, fitted(np.concatenate(judged), [*halves[0], *halves[1]], EPOCHS, way)


def known_pages(folder: Path) -> list[list[FitPage]]:
    """Return the pages to fit to, those together that are made of the same page."""
    known = [(page, 1.0) for page in pages_of_kinds(folder, "dev")]
    known += [(page, ARTICLE_WEIGHT) for page in english_articles(folder)[::2]]
    random, sites = Random(7), Random(5)
    pages = [[page_of(page, weight)] for page, weight in known]
    for (page, weight), group in zip(known, pages, strict=True):
        bare = bare_of(page)
        if bare and random.random() < BARE_SHARE:
            group.append(page_of(bare, weight))
    for site in chinese_sites(folder):
        pages += [[page_of(page, 1.0)] for page in sites.sample(site, SITE_PAGES)]
    return pages


def main(folder: Path, weights: Path) -> None:
    """Fit both networks in all ways and write them one after the other."""
    pages = known_pages(folder)
    halves = [[page for group in pages[half::2] for page in group] for half in (0, 1)]
    print(counted(sum(map(len, halves)), "page"))
    passes = zip(*(both_fitted((halves[0], halves[1]), way) for way in WAYS), strict=True)
    weights.write_bytes(b"".join(map(side_by_side, passes)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
