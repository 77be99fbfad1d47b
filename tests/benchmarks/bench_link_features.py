"""Whether links rank manuals better than they are ranked, by the indexes that their authors made. [io]

    python -m tests.benchmarks.bench_link_features FOLDER_OF_UNPACKED_PACKAGES [LANGUAGE ...]

Two sources have links and judgements: the help of LibreOffice in three languages (MRR@10), and the manual of
PostgreSQL (Debian: postgresql-doc-15), whose index names the pages of each term (nDCG@10); pages that are
nothing but the index are left out. PageRank, in-links, out-links and authority are added to the model's
features as one more, between 0 and 1, and weighted on all collections but one; that one, which had no part in
it, judges, and once each source by weights of the other alone. Then the authorities around a query's 30
candidates, as gateways show them on demand, are judged as a list of their own, with the pages that they bring
in. A manual is one host, within which gateways do not count links: here they do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from lxml import html
from msgspec.structs import replace

from peers.crawler.frontier.anchor_rows import join_anchors
from peers.crawler.parsing.parser import parse_page
from peers.engine.pages.document import Document
from peers.evaluation.judged import HELP_HOST, HELP_LANGUAGES, HELP_PAGES, Collection, read_collection
from peers.evaluation.weight_fit import FitSample, features_now, point_now
from peers.kernel import Floats
from simulations.link_graphs.graph import LinkGraph, part_of
from simulations.link_graphs.hubs import base_set, hub_scores
from simulations.link_graphs.ranks import exact_ranks

WEIGHTS: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
POSTGRES: Final = "postgresql-doc-15"
POSTGRES_PAGES: Final = "postgresql-doc-15/usr/share/doc/postgresql-doc-15/html"
INDEX_PAGE: Final = "bookindex.html"
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


def graph_of(links_of: Mapping[str, Sequence[str]]) -> LinkGraph:
    """Return the links between pages, each pair of pages once. Args: links_of: of each page, by its URL."""
    number_of = {url: number for number, url in enumerate(links_of)}
    links = {
        (number_of[url], number_of[target])
        for url, targets in links_of.items()
        for target in targets
        if target in number_of and target != url
    }
    source, target = np.array(sorted(links), np.int64).T
    return LinkGraph(len(number_of), source, target)


def help_links(pages: Path, collection: Collection) -> dict[str, list[str]]:
    found = {}
    for document in collection.documents:
        path = pages / document.url.removeprefix(HELP_HOST)
        found[document.url] = targets_in(document.url, path.read_bytes())
    return found


def targets_in(url: str, body: bytes) -> list[str]:
    return [link.url.partition("#")[0] for link in parse_page(url, body, "text/html").links]


def read_postgres(pages: Path) -> tuple[Collection, dict[str, list[str]]]:
    """Read the manual, its index as queries and judgements, and its links."""
    documents, links_of = dict[str, Document](), dict[str, list[str]]()
    anchors: dict[str, tuple[str, ...]] = {}
    for path in sorted(pages.glob("*.html")):
        if path.name == INDEX_PAGE:
            continue
        url = HELP_HOST + path.name
        page = parse_page(url, path.read_bytes(), "text/html")
        documents[url] = Document(url, page.title, page.headings, page.text, boilerplate=page.boilerplate)
        links_of[url] = [link.url.partition("#")[0] for link in page.links]
        for link in page.links:
            target = link.url.partition("#")[0]
            if link.anchor:
                anchors[target] = join_anchors(anchors.get(target, ()), (link.anchor,))
    linked = tuple(replace(document, anchors=anchors.get(url, ())) for url, document in documents.items())
    judgements: dict[str, dict[str, int]] = {}
    for term, names in index_entries(html.fromstring((pages / INDEX_PAGE).read_bytes())):
        urls = {HELP_HOST + name for name in names} & documents.keys()
        if urls:
            judgements.setdefault(term, {}).update(dict.fromkeys(sorted(urls), 1))
    queries = {term: term for term in judgements}
    return Collection(POSTGRES, linked, queries, judgements, is_known_item=False), links_of


def index_entries(page: html.HtmlElement) -> Iterator[tuple[str, list[str]]]:
    """Yield the terms with the files that they lead to; a term below another one has both."""
    for entry in page.iter("dt"):
        above = entry.xpath("ancestor::dd[1]/preceding-sibling::dt[1]")
        words = [" ".join((each.text or "").split()).rstrip(",") for each in (*above, entry)]
        files = [link.get("href").partition("#")[0] for link in entry.iter("a") if link.get("href")]
        if all(words):
            yield " ".join(words), files


def judged_with(sample: FitSample, values: Floats, weight: float) -> float:
    """Return the mean measure of a sample, its candidates ranked with one more feature of each page."""
    return float(sample.judged_by_model(features_now(), weight * values).mean())


def main(packages: Path, languages: Sequence[str]) -> None:
    samples: dict[str, FitSample] = {}
    graphs: dict[str, LinkGraph] = {}
    collection, links_of = read_postgres(packages / POSTGRES_PAGES)
    graphs[POSTGRES], samples[POSTGRES] = graph_of(links_of), FitSample(collection)
    for language in languages:
        pages = packages / HELP_PAGES.format(language.lower())
        collection = read_collection(f"lo.{language}", pages, SHARED)
        graphs[language] = graph_of(help_links(pages, collection))
        samples[language] = FitSample(collection)
    for name, sample in samples.items():
        sample.take_candidates(point_now(), lambda: None)
        graph = graphs[name]
        print(f"{name}: {graph.page_count:,} pages, {graph.link_count:,} links, {sample.query_count} queries")
        print("   " + around(sample, graph), flush=True)
    fitted, judged = "fitted, before", "left out, before"
    print(f"{'feature':22}{'left out':20}{'weight':>8}{fitted:>16}{'after':>8}{judged:>18}{'after':>8}")
    for name, quantity in QUANTITIES.items():
        values = {each: scaled(quantity(graph)) for each, graph in graphs.items()}
        for left_out in samples:
            report(name, left_out, [each for each in samples if each != left_out], samples, values)
        for language in languages:
            report(name, language, [POSTGRES], samples, values)
        report(name, POSTGRES, languages, samples, values)


def around(sample: FitSample, graph: LinkGraph) -> str:
    """Judge the authorities around the candidates of each query, as a list instead of the ranking."""
    ranked = sample.ranked(features_now())
    lists, mixed = np.full_like(ranked[:, :10], -1), np.full_like(ranked[:, :10], -1)
    n_new = n_listed = 0
    for row, tops in enumerate(ranked):
        roots = tops[tops >= 0].tolist()
        if not roots:
            continue
        pages = base_set(graph, roots)
        is_in = np.zeros(graph.page_count, np.bool_)
        is_in[pages] = True
        scores = hub_scores(part_of(graph, is_in)).authorities
        best = pages[np.argsort(-scores, kind="stable")[:10]]
        lists[row, : len(best)] = best
        n_listed += len(best)
        n_new += len(set(best.tolist()) - set(roots))
        filled = dict.fromkeys([*roots[:7], *best.tolist()])
        mixed[row, : min(10, len(filled))] = [*filled][:10]
    plain, authorities, both = (sample.judged(each) for each in (ranked, lists, mixed))
    better, worse = int((both > plain).sum()), int((both < plain).sum())
    return (
        f"ranking {plain.mean():.4f}, authorities alone {authorities.mean():.4f}; first seven and then "
        f"authorities {both.mean():.4f} ({better} queries better, {worse} worse); of the authorities listed "
        f"{n_new / max(1, n_listed):.0%} were among no candidates"
    )


def report(
    name: str,
    left_out: str,
    fitted_to: Sequence[str],
    samples: Mapping[str, FitSample],
    values: Mapping[str, Floats],
) -> None:
    def fitted(weight: float) -> float:
        figures = [judged_with(samples[each], values[each], weight) for each in fitted_to]
        return sum(figures) / len(figures)

    best = max(WEIGHTS, key=fitted)
    sample, of_sample = samples[left_out], values[left_out]
    without, with_it = (sample.judged_by_model(features_now(), weight * of_sample) for weight in (0.0, best))
    row = f"{name:22}{left_out:20}{best:8.2f}{fitted(0.0):16.4f}{fitted(best):8.4f}"
    better, worse = int((with_it > without).sum()), int((with_it < without).sum())
    print(f"{row}{without.mean():18.4f}{with_it.mean():8.4f}  {better} better, {worse} worse", flush=True)


def scaled(values: Floats) -> Floats:
    """Return logarithms between 0 and 1."""
    logarithms = np.log1p(values / max(values.mean(), 1e-12))
    return np.asarray(logarithms / logarithms.max(), np.float64)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or HELP_LANGUAGES)
