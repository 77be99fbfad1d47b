"""Scores against two oracles: the formula in plain Python, and tantivy."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from urllib.parse import unquote

import msgspec
import pytest
import tantivy

from peers.engine.native.kernels import LENGTH_COUNT
from peers.engine.pages.document import Document
from peers.engine.queries.query import Mode, Query
from peers.engine.queries.query_parser import parse_query
from peers.engine.searching.ranking import RankingWeights, greatest_score
from peers.text.analysis import CHARACTER_PREFIX, analyse, atoms, counts_for_length, frequency_entries
from tests.demo_texts import demo_documents
from tests.peers.engine.samples import index_of, random_documents, search
from tests.peers.engine.term_query import term_query
from tests.shared_data import shared

# tantivy has k1 = 1.2 and b = 0.75 built in.
BODY_ONLY = RankingWeights((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), b=(0.0, 0.0, 0.0, 0.75, 0.0), k1=1.2, k1_half=0.0)


def entries_of(text: str) -> list[str]:
    """Return what a text is found by, each as often as it is there."""
    terms = analyse(text)
    pairs = [atom for atom in atoms(text) if atom[0] == CHARACTER_PREFIX and atom not in terms]
    return terms + pairs + frequency_entries(text)


def fields_of(document: Document) -> list[list[str]]:
    url = unquote(document.url.partition("://")[2], errors="replace")
    texts = [[document.title], document.anchors, [document.headings], [document.text], [url]]
    texts.append([document.boilerplate])
    return [[entry for text in of_field for entry in entries_of(text)] for of_field in texts]


def bm25f(documents: Sequence[Document], query: Query, weights: RankingWeights) -> dict[str, float]:
    """Return the score of every document, as the formula is written."""
    fields = {document.url: fields_of(document) for document in documents}
    lengths = {url: [sum(map(counts_for_length, field)) for field in f] for url, f in fields.items()}
    averages = [sum(of[i] for of in lengths.values()) / len(fields) for i in range(LENGTH_COUNT)]
    k1 = weights.k1 * averages[3] / (averages[3] + weights.k1_half)
    scores = dict.fromkeys(fields, 0.0)
    for term, factor in zip(query.scoring, query.weights, strict=True):
        n = sum(any(term in field for field in f) for f in fields.values())
        idf = math.log(1 + (len(fields) - n + 0.5) / (n + 0.5))
        for url, f in fields.items():
            frequency = 0.0
            for i, field in enumerate(f):
                if term in field:
                    norm = 1.0  # of the boilerplate the length does not count
                    if i < LENGTH_COUNT:
                        norm = 1 - weights.b[i] + weights.b[i] * lengths[url][i] / averages[i]
                    frequency += weights.weights[i] * field.count(term) / norm
            scores[url] += factor * idf * frequency * (k1 + 1) / (k1 + frequency)
    return scores


@pytest.mark.parametrize(
    "text", ["search", "天网 engine", "中华人民共和国 the 2004", "カタカナ h3 engines of"]
)
@pytest.mark.parametrize(
    "weights", [RankingWeights(), BODY_ONLY, RankingWeights(b=(1.0,) * 5, k1=2.0, k1_half=0.0)]
)
def test_scores_are_those_of_the_formula(text: str, weights: RankingWeights) -> None:
    documents = random_documents(9, 150)
    view = index_of(documents).snapshot().everything()
    query = parse_query(text, Mode.OR)
    _, _, hits = view.search(query, view.statistics(query.terms), 1000, weights)
    expected = bm25f([document for _, document in documents], query, weights)
    assert all(hit.score == pytest.approx(expected[hit.url], rel=1e-6, abs=1e-9) for hit in hits)
    assert len(hits) >= sum(score > 0 for score in expected.values())


# tantivy stores the length of a field in one byte: exact up to 40, then every fourth, eighth and so on.
EXACT_LENGTHS = [*range(1, 41), *range(40, 57, 4), *range(56, 121, 8), *range(120, 249, 16)]


def documents_of_exact_length(texts: Sequence[str]) -> list[list[str]]:
    """Return the terms of each text, cut to the next length that tantivy stores exactly."""
    cut = []
    for text in texts:
        terms = analyse(text)
        fitting = [length for length in EXACT_LENGTHS if length <= len(terms)]
        if fitting:
            cut.append(terms[: fitting[-1]])
    return cut


def tantivy_answers(
    documents: Sequence[Sequence[str]], queries: Sequence[Sequence[str]]
) -> list[list[tuple[float, int]]]:
    """Return tantivy's hits for queries of any of some terms: (score, document), best first."""
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("body", stored=False, tokenizer_name="whitespace")
    schema.add_unsigned_field("number", stored=True)
    built = schema.build()
    index = tantivy.Index(built)
    index.register_tokenizer(
        "whitespace", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    )
    writer = index.writer(50_000_000, 1)
    for number, terms in enumerate(documents):
        document = tantivy.Document()
        document.add_text("body", " ".join(terms))
        document.add_unsigned("number", number)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    answers = []
    for terms in queries:
        subqueries = [(tantivy.Occur.Should, tantivy.Query.term_query(built, "body", term)) for term in terms]
        hits = searcher.search(tantivy.Query.boolean_query(subqueries), 10).hits
        answers.append([(score, searcher.doc(address)["number"][0]) for score, address in hits])
    return answers


def assert_same_as_tantivy(documents: Sequence[Sequence[str]], queries: Sequence[Sequence[str]]) -> None:
    # The terms go in as segmented text would; `Query` takes them as they are.
    pages = [
        (0, Document(url=f"http://h/{number:05}", text=" ".join(terms)))
        for number, terms in enumerate(documents)
    ]
    view = index_of(pages).snapshot().everything()
    for terms, expected in zip(queries, tantivy_answers(documents, queries), strict=True):
        query = term_query(terms, Mode.OR)
        _, _, hits = view.search(query, view.statistics(query.terms), 10, BODY_ONLY)
        assert [hit.score for hit in hits] == pytest.approx([score for score, _ in expected], rel=1e-5)
        # Equal scores differ by rounding in tantivy's float32, and the last of them may be others.
        ours = {int(hit.url[-5:]): hit.score for hit in hits}
        last = min((score for score, _ in expected), default=0.0)
        for score, number in expected:
            if score > last * 1.00001:
                assert ours[number] == pytest.approx(score, rel=1e-5)


def test_order_is_that_of_tantivy_on_synthetic_texts() -> None:
    random_ = random.Random(5)
    vocabulary = [f"w{n}" for n in range(200)]
    documents = [
        [vocabulary[min(int(random_.expovariate(0.03)), 199)] for _ in range(random_.choice(EXACT_LENGTHS))]
        for _ in range(400)
    ]
    queries = [random_.sample(vocabulary[:120], random_.randint(1, 4)) for _ in range(100)]
    assert_same_as_tantivy(documents, queries)


def test_order_is_that_of_tantivy_on_real_texts() -> None:
    # In English: what words a text of Chinese ones is cut into depends on what stands beside them.
    pieces = [piece for each in demo_documents() for piece in each.text.split("\n") if len(piece) > 200]
    documents = documents_of_exact_length([piece for piece in pieces if piece.isascii()])
    assert len(documents) > 1_000
    titles = [each.title for each in demo_documents() if each.title.isascii()]
    queries = [list(dict.fromkeys(analyse(title))) for title in titles if analyse(title)]
    assert_same_as_tantivy(documents, queries)


def ndcg_at_10(ranked: Sequence[str], judged: dict[str, int]) -> float:
    gains = [(2 ** judged.get(name, 0) - 1) / math.log2(place + 2) for place, name in enumerate(ranked[:10])]
    best = sorted(judged.values(), reverse=True)[:10]
    ideal = [(2**gain - 1) / math.log2(place + 2) for place, gain in enumerate(best)]
    return float(sum(gains) / sum(ideal))


def read_suite(name: str) -> tuple[list[tuple[int, Document]], dict[str, str], dict[str, dict[str, int]]]:
    """Return (documents, queries, judgements) of a suite; the URL of a document ends in its name."""
    folder = shared(f"suites/ir/{name}")
    pages = []
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        entry = json.loads(line)
        url = f"http://suite/{entry['_id']}"
        pages.append((0, Document(url=url, title=entry.get("title", ""), text=entry["text"])))
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    queries = {entry["_id"]: entry["text"] for entry in map(json.loads, lines)}
    judged: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, gain = line.split("\t")
        judged.setdefault(query, {})[document] = int(gain)
    return pages, queries, judged


def mean_ndcg(name: str, n_queries: int) -> float:
    pages, queries, judged = read_suite(name)
    view = index_of(pages).snapshot().everything()
    values = []
    for number in list(judged)[:n_queries]:
        _, hits = search(view, queries[number], 10, Mode.OR)
        values.append(ndcg_at_10([hit.url.rpartition("/")[2] for hit in hits], judged[number]))
    return sum(values) / len(values)


@pytest.mark.more
def test_cranfield_is_ranked_as_well_as_other_engines_do() -> None:
    # Lucene .3656, Xapian .3702, FTS5 .3789, whoosh .3793, tantivy .3823, bm25s .3882
    assert mean_ndcg("cranfield", 225) >= 0.36


@pytest.mark.more
def test_chinese_passages_are_ranked_as_well_as_other_engines_do() -> None:
    # .981 for every engine that is fed the terms of jieba's search mode
    assert mean_ndcg("cmrc2018-known-item", 1000) >= 0.97


@pytest.mark.parametrize("mode", [Mode.AND, Mode.OR])
def test_no_page_scores_more_than_the_query_lets_it(mode: Mode) -> None:
    """Nor does one that is nothing but the words of the query, again and again, and linked to by them."""
    documents = random_documents(7, 60)
    words = "天网 mesh search 搜索引擎 peer the 研究生"
    stuffed = Document(
        "http://mesh/search/peer/",
        title=words * 9,
        headings=words * 99,
        text=words * 999,
        anchors=(words,) * 99,
    )
    index = index_of([*documents, (0, stuffed)])
    for text in ("mesh", "天网", words, "the", "search peer nosuchword", '"天网 mesh"', *words.split()):
        query = msgspec.structs.replace(parse_query(text), mode=mode)
        view = index.snapshot().everything()
        statistics = view.statistics(query.terms)
        most = greatest_score(query.scoring, query.weights, statistics, RankingWeights())
        _, _, hits = view.search(query, statistics, 100)[:3]
        assert all(hit.score <= most for hit in hits)
        assert most < 15 * len(query.terms), "so it says something"
