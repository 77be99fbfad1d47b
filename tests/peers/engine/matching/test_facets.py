from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest

from peers.engine.matching.facets import Facets, sum_facets
from peers.engine.pages.document import Document
from peers.engine.queries.query_parser import parse_query
from peers.engine.segments.builder import host_of_url
from tests.peers.engine.samples import index_of, page, random_documents, search


def documents() -> list[tuple[int, Document]]:
    """Pages of all years since 1970, in three languages and two types."""
    return [
        (
            slot,
            Document(
                document.url,
                document.title,
                document.headings,
                document.text,
                language=("zh", "en", "")[number % 3],
                fetched_at=number * 5_000_000.0,
                type=("text/html", "text/plain")[number % 2],
            ),
        )
        for number, (slot, document) in enumerate(random_documents(11, 300))
    ]


@pytest.mark.parametrize(
    "text", ["天网", "search engine", "site:example1.org", "mesh OR peer -天网", "nosuchword"]
)
def test_facets_count_all_pages_that_match(text: str) -> None:
    pages = documents()
    view = index_of(pages).snapshot().everything()
    _, hits = search(view, text, 1_000)
    by_url = {document.url: document for _, document in pages}
    found = [by_url[hit.url] for hit in hits]
    assert view.facets(parse_query(text)) == Facets(
        hosts=Counter(host_of_url(each.url) for each in found),
        # What a part of a page is in counts, too.
        languages=Counter({each: search(view, f"{text} lang:{each}")[0] for each in ("zh", "en", "ja")}),
        types=Counter(each.type for each in found),
        years=Counter(
            str(datetime.fromtimestamp(each.fetched_at, UTC).year) for each in found if each.fetched_at
        ),
    )


def test_facets_of_disjoint_views_add_up() -> None:
    snapshot = index_of(documents()).snapshot()
    query = parse_query("天网 OR mesh")
    parts = [snapshot.responsible(np.arange(50) % 3 == part).facets(query) for part in range(3)]
    assert all(part.hosts for part in parts)
    assert sum_facets(parts) == snapshot.everything().facets(query)


def test_hosts_are_counted_whatever_their_scheme_and_port() -> None:
    urls = ["a.org/1", "a.org:8080/2", "a.org.cn/3", "a.org0/4", "www.a.org/5", "[::1]:80/6", "[::1]/7"]
    pages = [page(url, "word") for url in urls]
    pages.append((0, Document(url="https://a.org/8", text="word")))
    facets = index_of(pages).snapshot().everything().facets(parse_query("word"))
    assert facets.hosts == {"a.org": 3, "a.org.cn": 1, "a.org0": 1, "www.a.org": 1, "[::1]": 2}


def test_nothing_is_counted_for_a_query_that_asks_for_nothing() -> None:
    assert index_of(documents()).snapshot().everything().facets(parse_query("-mesh")) == Facets()


def test_language_and_type_filter() -> None:
    view = index_of(documents()).snapshot().everything()
    assert search(view, "天网 lang:zh")[0] == view.facets(parse_query("天网")).languages["zh"] > 0
    assert search(view, "天网 type:txt")[0] == view.facets(parse_query("天网")).types["text/plain"] > 0
    assert search(view, "天网 -lang:zh -lang:en")[0] > 0
    assert (
        search(view, "天网 after:1999 before:2000")[0] == view.facets(parse_query("天网")).years["1999"] > 0
    )
