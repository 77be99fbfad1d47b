"""Whether PageRank, in-links or out-links of the graph rank the help of LibreOffice better than it is ranked.

    python -m tests.benchmarks.bench_link_features FOLDER_OF_UNPACKED_PACKAGES

Each is added to the model's features as one more, between 0 and 1, and weighted on two of three languages;
the third, which had no part in that, judges. The pages of all three have the same author and structure, so
that a gain here would still want a second source; a loss needs none. [io]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from peers.crawler.parsing.parser import parse_page
from peers.evaluation.judged import HELP_HOST, HELP_LANGUAGES, HELP_PAGES, Collection, read_collection
from peers.evaluation.weight_fit import FitSample, features_now, point_now
from peers.kernel import Floats
from simulations.link_graphs.graph import LinkGraph
from simulations.link_graphs.hubs import hub_scores
from simulations.link_graphs.ranks import exact_ranks

WEIGHTS: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
SHARED: Final = Path(__file__).parents[3] / "shared"


def links_here(graph: LinkGraph) -> Floats:
    return np.bincount(graph.target, minlength=graph.page_count).astype(np.float64)


def links_from_here(graph: LinkGraph) -> Floats:
    return np.bincount(graph.source, minlength=graph.page_count).astype(np.float64)


def authority(graph: LinkGraph) -> Floats:
    return hub_scores(graph).authorities


QUANTITIES: Final[Mapping[str, Callable[[LinkGraph], Floats]]] = {
    "PageRank": exact_ranks,
    "pages that link here": links_here,
    "pages linked to": links_from_here,
    "authority": authority,
}


def graph_of(pages: Path, language: str, collection: Collection) -> LinkGraph:
    """Return the links between the pages of a collection, each pair of pages once."""
    number_of = {document.url: number for number, document in enumerate(collection.documents)}
    links = set[tuple[int, int]]()
    for path in (pages / language).rglob("*.html"):
        url = HELP_HOST + path.relative_to(pages).as_posix()
        for link in parse_page(url, path.read_bytes(), "text/html").links:
            target = number_of.get(link.url.partition("#")[0])
            if target is not None and target != number_of[url]:
                links.add((number_of[url], target))
    source, target = np.array(sorted(links), np.int64).T
    return LinkGraph(len(number_of), source, target)


def judged_with(sample: FitSample, values: Floats, weight: float) -> float:
    """Return the mean measure of a sample, its candidates ranked with one more feature of each page."""
    return float(sample.judged_by_model(features_now(), weight * values).mean())


def main(packages: Path) -> None:
    samples: dict[str, FitSample] = {}
    graphs: dict[str, LinkGraph] = {}
    for language in HELP_LANGUAGES:
        pages = packages / HELP_PAGES.format(language.lower())
        collection = read_collection(f"lo.{language}", pages, SHARED)
        graphs[language] = graph_of(pages, language, collection)
        samples[language] = FitSample(collection)
        samples[language].take_candidates(point_now(), lambda: None)
        print(f"{language}: {graphs[language].page_count:,} pages, {len(graphs[language].source):,} links")
    fitted, judged = "fitted, before", "left out, before"
    print(f"{'feature':22}{'left out':10}{'weight':>8}{fitted:>16}{'after':>8}{judged:>18}{'after':>8}")
    for name, quantity in QUANTITIES.items():
        values = {language: scaled(quantity(graph)) for language, graph in graphs.items()}
        for left_out in HELP_LANGUAGES:
            report(name, left_out, samples, values)


def report(name: str, left_out: str, samples: Mapping[str, FitSample], values: Mapping[str, Floats]) -> None:
    fitted_to = [language for language in samples if language != left_out]

    def fitted(weight: float) -> float:
        figures = [judged_with(samples[each], values[each], weight) for each in fitted_to]
        return sum(figures) / len(figures)

    best = max(WEIGHTS, key=fitted)
    sample, of_sample = samples[left_out], values[left_out]
    before, after = judged_with(sample, of_sample, 0.0), judged_with(sample, of_sample, best)
    row = f"{name:22}{left_out:10}{best:8.2f}{fitted(0.0):16.4f}{fitted(best):8.4f}"
    print(f"{row}{before:18.4f}{after:8.4f}")


def scaled(values: Floats) -> Floats:
    """Return logarithms between 0 and 1."""
    logarithms = np.log1p(values / max(values.mean(), 1e-12))
    return np.asarray(logarithms / logarithms.max(), np.float64)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
