from __future__ import annotations

import pytest

from peers.engine.pages.document import Document
from peers.engine.pages.linkers import entries_of, linker_of, with_anchors
from peers.engine.queries.query import Mode
from peers.engine.queries.query_parser import parse_query
from peers.engine.rescoring.explanation import Explanation, explain, explain_indexed
from peers.engine.searching.ranking import RankingWeights
from tests.peers.engine.samples import index_of, random_documents
from tests.peers.engine.term_query import term_query


@pytest.mark.parametrize("text", ["search", "天网 engine", "中华人民共和国 the 2004", "h3 example1 of"])
@pytest.mark.parametrize("weights", [RankingWeights(), RankingWeights(b=(1.0,) * 5, k1=2.0, k1_half=0.0)])
def test_an_explanation_comes_to_the_score_to_the_last_bit(text: str, weights: RankingWeights) -> None:
    documents = random_documents(3, 80)
    view = index_of(documents).snapshot().everything()
    query = parse_query(text, Mode.OR)
    statistics = view.statistics(query.terms)
    _, _, hits = view.search(query, statistics, 100, weights)
    assert len(hits) > 10
    for hit in hits:
        document = view.stored(hit.url)
        assert document is not None
        assert explain(document, query, statistics, weights).value == hit.score


def test_an_explanation_is_the_same_of_the_stored_document_and_of_the_index() -> None:
    view = index_of(random_documents(5, 80)).snapshot().everything()
    query = parse_query("中华人民共和国 the 2004 searching nowhere", Mode.OR)
    statistics = view.statistics(query.terms)
    urls = [hit.url for hit in view.search(query, statistics, 100)[2]]
    n_explained = 0
    for part, documents, places in view.located(urls):
        explained = explain_indexed(part.segment, documents, query, statistics)
        for place, explanation in zip(places.tolist(), explained, strict=True):
            document = view.stored(urls[place])
            assert document is not None
            assert explanation == explain(document, query, statistics)
            n_explained += 1
    assert n_explained == len(urls) > 10


def test_every_number_of_a_score_is_shown_with_its_formula() -> None:
    document = Document(url="http://h/a", title="Red", text="red green")
    view = index_of([(0, document)]).snapshot().everything()
    query = term_query(["red"], Mode.OR)
    explanation = explain(document, query, view.statistics(query.terms))
    lines = list(explanation.lines())
    assert any("red = weight 1 * idf 0.287682" in line for line in lines)
    assert any("idf = log(1 + (N - n + 0.5) / (n + 0.5)), n = 1 of N = 1" in line for line in lines)
    assert any("title = frequency 1" in line for line in lines)
    assert any("body = frequency 1" in line for line in lines)


def test_a_link_text_is_as_frequent_as_hosts_use_it_and_scores_more_the_more_do() -> None:
    pages = []
    for name, n_hosts in (("a", 1), ("b", 3)):
        url = f"http://{name}.test/"
        links = [entries_of("tianwang", linker_of(f"http://host-{n}.test/", url)) for n in range(n_hosts)]
        entries = sorted({entry for link in links for entry in link})
        pages.append(with_anchors(Document(url, title="page", text="text"), entries))
    view = index_of(list(enumerate(pages))).snapshot().everything()
    query = term_query(["tianwang"])
    statistics = view.statistics(query.terms)
    _, _, hits = view.search(query, statistics, 2)
    assert [hit.url for hit in hits] == ["http://b.test/", "http://a.test/"]
    for page, frequency in zip(pages, (1, 3), strict=True):
        lines = list(explain(page, query, statistics).lines())
        assert any(f"anchor = frequency {frequency} *" in line for line in lines)


def test_a_part_is_named_for_its_kind_of_entry() -> None:
    explanation = Explanation("bm25f", 2.0, "sum", (Explanation("\x03run", 2.0, "weight"),))
    assert list(explanation.lines()) == ["2.000000 bm25f = sum", "  2.000000 stem run = weight"]
