"""Weights of main text are fitted; how well they do: `tests/benchmarks/bench_main_text.py`."""

from __future__ import annotations

from html.entities import html5
from math import log

import numpy as np
import pytest

from peers.crawler.parsing._markup import FIRST_FEATURES, SECOND_FEATURES, UNITS, read_markup
from peers.evaluation.main_text import KnownPage
from peers.evaluation.main_text_fit import WAYS, FittedNetwork, bare_of, fitted, page_of, side_by_side

SENTENCES = "The river was measured on Monday, and nobody has to fear for a house. " * 3
MENU = "<nav><a href=/1>Sections of this site</a> <a href=/2>Another of its sections</a></nav>"
PAGE = f"<title>A &amp; B</title>{MENU}<div><h1>River</h1><p>{SENTENCES}</p><p>{SENTENCES}</p></div>"
KNOWN = KnownPage("a", PAGE.encode(), f"River\n{SENTENCES}\n{SENTENCES}")


def logits(markup: bytes, network: bytes) -> list[float]:
    scores = read_markup(markup, html5, 1_000, 100, 100, 100, b"", network)[4]
    return [log(score / (1 - score)) for score in scores]


def network_of(seed: int) -> FittedNetwork:
    random = np.random.default_rng(seed)
    n_units = UNITS // len(WAYS)
    shapes = [(n_units, SECOND_FEATURES), (n_units,), (n_units,), (1,)]
    bounds = [np.full(SECOND_FEATURES, bound, np.float32) for bound in (-1.0, 1.0)]
    return FittedNetwork(*(random.normal(0, 0.2, shape).astype(np.float32) for shape in shapes), *bounds)


def test_networks_side_by_side_say_their_mean() -> None:
    one, other = network_of(1), network_of(2)
    means = logits(KNOWN.body, side_by_side([one, other] * (len(WAYS) // 2)))
    each = [logits(KNOWN.body, side_by_side([network] * len(WAYS))) for network in (one, other)]
    assert each[0] != pytest.approx(each[1], abs=0.01)
    assert means == pytest.approx(np.mean(each, axis=0), abs=0.01)


def test_a_bare_page_has_its_main_text_and_nothing_around_it() -> None:
    bare = bare_of(KNOWN)
    assert bare is not None
    title, _, _, text, *_ = read_markup(bare.body, html5, 1_000, 100, 100, 100, b"", b"")
    assert text.split("\n") == ["River", SENTENCES.strip(), SENTENCES.strip()]
    assert title == "A & B"
    assert bare_of(KnownPage("a", f"<p>{SENTENCES}</p>".encode(), "")) is None


def test_a_network_is_fitted_to_what_is_main_text() -> None:
    page = page_of(KNOWN, 1.0)
    assert page.is_main.tolist() == [0, 1, 1, 1]
    row = np.arange(FIRST_FEATURES, dtype=np.float32) % 3
    features = np.stack([-row, row, row, row])
    network = fitted(features, [page], 300, WAYS[0])
    out = np.maximum(features @ network.into.T + network.bias, 0) @ network.out + network.out_bias
    assert out[0] < -1 < 1 < min(out[1:])
