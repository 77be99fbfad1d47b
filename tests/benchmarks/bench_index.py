"""Speed of the index, beside tantivy on the same documents and queries in the same run.

TIANMESH_BENCH_WEB=folder taskset -c 1 pytest tests/benchmarks/bench_index.py -s

Real documents (`real_documents`), BENCH_DOCUMENTS of them for each size (default 25000,250000). Both engines
get the terms that our analysis makes of the text: tantivy cut already, for its whitespace tokenizer, with
positions. Ours indexes the text itself, and so keeps more than it is compared with: forms of words, pairs
of characters, addresses, the text for snippets. "from text": the time of the analysis is added to tantivy's.
"from tokens": documents without CJK text, given to both as their terms; ours, which has no way in for terms,
folds, cuts and stems them again and stores them as a text, so this is more work than tantivy's. Queries are
stretches of 1 to 4 terms of titles, and those that people judged. Ours is merged into one segment, tantivy's
as its own merging leaves it (3 of 250,000 documents). Times are CPU time of the thread.

Measured, ours as a multiple of tantivy's (2 shared vCPU, nothing else on this one; one run each. AND of
250,000 documents was 1.10, 1.14, 1.13 and 1.10 at p50 in other runs, the other figures moved by 5 %):

                        25,000 documents     250,000 documents
    OR, p50 and p99     1.96  1.37           .74   .77
    AND                 2.36  1.39           .96   .86
    phrase              2.53  .95            1.45  .88
    size                1.34                 1.21
    indexing from text  1.19                 1.20 (documents per second)
    from tokens         .25

From 25,000 to 250,000 documents ours take 2.2 times as long (OR, p50), 1.8 (AND) and 4.0 (phrase), tantivy's
6.1, 4.3 and 8. About 8 us of each search of ours are spent in Python, with ten hits.

With kernels in C that take a query's few terms and numbers as they are, on a busy machine, p50: 5,000
documents OR 1.37, AND 1.31, phrase 2.30; 25,000 OR 1.18 to 1.22, AND 1.20 to 1.25, phrase 1.72 to 1.76.

2026-11-24, 25,000 pages drawn from all sites, p50, our searches before (6f911f9), after (fced904) and tantivy
in three processes that took turns, the best of 20 to 25 passes: OR 1.13 and 1.10, AND 1.21 to 1.23 and 1.11,
phrase 1.64 to 1.65 and 1.41 to 1.47. One run of this file at fced904: OR 1.21, AND 1.01, phrase 1.35.

Exporting and adopting is measured on the pages of the demo web, many times with changed hosts, beside
building the same documents anew.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tantivy
from lxml import html
from warcio.archiveiterator import ArchiveIterator

from mesh.slots import slot_of
from mesh.urls import host_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.merging.adoption import check_segment
from peers.engine.pages.document import Document
from peers.engine.queries.query import Literal, LiteralKind, Mode, Query
from peers.engine.searching.ranking import RankingWeights
from peers.engine.snapshot import View
from peers.text.analysis import analyse
from tests.benchmarks.real_documents import cached, real_documents
from tests.shared_data import shared

SIZES = [int(size) for size in os.environ.get("BENCH_DOCUMENTS", "25000,250000").split(",")]
FROM_TOKENS_COUNT = 10_000
BATCH = 2_000
QUERY_COUNT = 600
SLOT_COUNT = 50_000
# tantivy's own; the length of the other fields must not count.
WEIGHTS = RankingWeights((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), b=(0.0, 0.0, 0.0, 0.75, 0.0), k1=1.2, k1_half=0.0)
_CJK = re.compile("[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")


class _Tantivy:
    """tantivy with one text field whose terms are separated by spaces."""

    def __init__(self, folder: Path) -> None:
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", tokenizer_name="whitespace", index_option="position")
        schema.add_unsigned_field("number", stored=True)
        self.schema = schema.build()
        self.index = tantivy.Index(self.schema, str(folder))
        analyser = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self.index.register_tokenizer("whitespace", analyser)

    def add(self, token_texts: Sequence[str]) -> None:
        writer = self.index.writer(256_000_000, 1)
        for number, tokens in enumerate(token_texts):
            document = tantivy.Document()
            document.add_text("body", tokens)
            document.add_unsigned("number", number)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def search(self, terms: Sequence[str], occur: tantivy.Occur) -> list[Any]:
        parts = [(occur, tantivy.Query.term_query(self.schema, "body", term)) for term in terms]
        hits: list[Any] = self.searcher.search(tantivy.Query.boolean_query(parts), 10, count=False).hits
        return hits

    def phrase(self, terms: Sequence[str]) -> list[Any]:
        query = tantivy.Query.phrase_query(self.schema, "body", list(terms))
        hits: list[Any] = self.searcher.search(query, 10, count=False).hits
        return hits

    def bytes(self, folder: Path) -> int:
        return sum(file.stat().st_size for file in folder.iterdir())


class Sample(NamedTuple):
    """What both engines are given."""

    documents: list[tuple[int, Document]]  # the text only
    tokens: list[str]  # of each, separated by spaces
    analysis_s: float  # CPU time of making them
    queries: list[list[str]]
    phrases: list[list[str]]


def sample_of(size: int) -> Sample:
    documents = [
        (n % SLOT_COUNT, Document(url=document.url, text=document.text, fetched_at=1.0))
        for n, document in enumerate(real_documents(size))
    ]
    if len(documents) < size:
        pytest.skip(f"only {len(documents)} documents")
    tokens = list(cached("tokens", size, (" ".join(analyse(d.text)) for _, d in documents)))
    start = time.thread_time()
    for _, document in documents[:2000]:
        analyse(document.text)
    share = sum(len(d.text) for _, d in documents) / sum(len(d.text) for _, d in documents[:2000])
    analysis_s = (time.thread_time() - start) * share
    queries, phrases = _queries()
    return Sample(documents, tokens, analysis_s, queries, phrases)


def _queries() -> tuple[list[list[str]], list[list[str]]]:
    """Return queries of distinct terms, and phrases of terms that are atoms as well."""
    random_ = random.Random(2)
    titles = [document.title for document in real_documents(20_000)]
    queries: list[list[str]] = []
    phrases: list[list[str]] = []
    for language in ("en-US", "zh-CN"):
        lines = shared(f"judged/lo.{language}.queries.tsv").read_text("utf-8").splitlines()
        for line in random_.sample(lines, QUERY_COUNT // 4):
            queries.append(list(dict.fromkeys(analyse(line.partition("\t")[2])))[:4])
    while len(queries) < QUERY_COUNT:
        terms = analyse(random_.choice(titles))
        start, n_terms = random_.randrange(max(1, len(terms) - 3)), random_.randint(1, 4)
        queries.append(list(dict.fromkeys(terms[start : start + n_terms])))
    while len(phrases) < QUERY_COUNT // 2:
        title = random_.choice(titles)
        terms = analyse(title)
        if _CJK.search(title) or len(terms) < 2:
            continue
        start = random_.randrange(len(terms) - 1)
        phrases.append(terms[start : start + random_.randint(2, 3)])
    return [query for query in queries if query], [phrase for phrase in phrases if len(phrase) > 1]


class Figures(NamedTuple):
    """Median and 99th percentile in milliseconds."""

    p50: float
    p99: float


def _timed(run: Callable[[list[str]], object], queries: Sequence[list[str]]) -> Figures:
    """Run every query four times; the first pass warms up, the fastest of the others counts for each."""
    times = np.empty((4, len(queries)))
    for round_ in range(4):
        for number, terms in enumerate(queries):
            start = time.thread_time_ns()
            run(terms)
            times[round_, number] = (time.thread_time_ns() - start) / 1e6
    best = times[1:].min(axis=0)
    return Figures(float(np.percentile(best, 50)), float(np.percentile(best, 99)))


_medians: dict[str, tuple[float, float]] = {}  # of the size before: p50 of ours, of tantivy's


def _compared(name: str, ours: Figures, other: Figures) -> None:
    if before := _medians.get(name):
        growth = f"{ours.p50 / before[0]:.1f}, tantivy's {other.p50 / before[1]:.1f}"
        print(f"  {name:18} p50 against the size before: {growth} times as long")
    _medians[name] = ours.p50, other.p50
    print(
        f"  {name:18} p50 {ours.p50:7.3f} ms of {other.p50:7.3f} = {ours.p50 / other.p50:5.2f}   "
        f"p99 {ours.p99:7.3f} of {other.p99:7.3f} = {ours.p99 / other.p99:5.2f}"
    )


def _build(folder: Path, documents: Sequence[tuple[int, Document]]) -> Index:
    index = Index.open(folder)
    for start in range(0, len(documents), BATCH):
        index.add(documents[start : start + BATCH])
    index.commit()
    index.merge_if_needed()
    return index


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def test_indexing_from_tokens(tmp_path: Path) -> None:
    documents = [d for d in real_documents(2 * FROM_TOKENS_COUNT) if not _CJK.search(d.text)][
        :FROM_TOKENS_COUNT
    ]
    tokens = [" ".join(analyse(document.text)) for document in documents]
    pairs = enumerate(zip(documents, tokens, strict=True))
    given = [(n, Document(url=document.url, text=text)) for n, (document, text) in pairs]
    ours = _seconds(lambda: _build(tmp_path / "ours", given).close())
    (tmp_path / "tantivy").mkdir()
    other = _seconds(lambda: _Tantivy(tmp_path / "tantivy").add(tokens))
    print(f"\n  indexing from tokens: {len(tokens) / ours:6.0f} documents/s, {other / ours:5.2f} x tantivy's")


@pytest.mark.timeout(0)
@pytest.mark.parametrize("size", SIZES)
def test_beside_tantivy(size: int, tmp_path: Path) -> None:
    sample = sample_of(size)
    megabytes = sum(len(document.text.encode()) for _, document in sample.documents) / 1e6
    print(f"\n{size} documents, {megabytes:.0f} MB of text, {len(sample.queries)} queries")
    warm = Index.open(MemoryStorage())
    warm.add(sample.documents[:50])
    warm.commit()  # loads the segmenter's dictionary
    built: list[Index] = []
    ours_s = _seconds(lambda: built.append(_build(tmp_path / "ours", sample.documents)))
    index = built[0]
    (tmp_path / "tantivy").mkdir()
    other = _Tantivy(tmp_path / "tantivy")
    other_s = _seconds(lambda: other.add(sample.tokens)) + sample.analysis_s
    print(f"  indexing from text  {size / ours_s:6.0f} documents/s, {other_s / ours_s:5.2f} x tantivy's")
    n_segments = len(index.snapshot().segments)
    merging_s = _seconds(index.optimise)
    print(f"  segments {n_segments}, tantivy's {other.searcher.num_segments}; merged in {merging_s:.0f} s")
    _report_size(index, other.bytes(tmp_path / "tantivy"))
    index.close()
    opening_s = _seconds(lambda: built.append(Index.open(tmp_path / "ours")))
    print(f"  opening {opening_s * 1e3:.0f} ms")
    view = built[-1].snapshot().everything()
    _search_both(view, other, sample)
    built[-1].close()


def _report_size(index: Index, others: int) -> None:
    segments = [part.segment for part in index.snapshot().segments]
    stored = sum(segment.stored_bytes for segment in segments)
    whole = sum(segment.size_bytes for segment in segments)
    sizes = {
        name: sum(len(segment.place_of(name)) for segment in segments) // 1_000_000
        for name in ("dictionary", "postings", "positions", "urls", "lengths")
    }
    print(f"  size {(whole - stored) / 1e6:.0f} MB without text, {(whole - stored) / others:.2f} x tantivy's")
    print(f"    {sizes}, text {stored / 1e6:.0f} MB")


def _search_both(view: View, other: _Tantivy, sample: Sample) -> None:
    statistics = {tuple(terms): view.statistics(terms) for terms in (*sample.queries, *sample.phrases)}

    def run(mode: Mode) -> Callable[[list[str]], object]:
        def search(terms: list[str]) -> object:
            entries = tuple(terms)
            query = Query(entries, entries, (1.0,) * len(entries), mode=mode)
            return view.search(query, statistics[entries], 10, WEIGHTS)

        return search

    def phrase(terms: list[str]) -> object:
        entries = tuple(dict.fromkeys(terms))
        literal = Literal(LiteralKind.PHRASE, tuple(terms), tuple(range(len(terms))), fields=8)
        query = Query((), entries, (1.0,) * len(entries), ((literal,),))
        return view.search(query, statistics[tuple(terms)], 10, WEIGHTS)

    occur = tantivy.Occur
    ours = _timed(run(Mode.OR), sample.queries)
    _compared("OR", ours, _timed(lambda terms: other.search(terms, occur.Should), sample.queries))
    ours = _timed(run(Mode.AND), sample.queries)
    _compared("AND", ours, _timed(lambda terms: other.search(terms, occur.Must), sample.queries))
    _compared("phrase", _timed(phrase, sample.phrases), _timed(other.phrase, sample.phrases))
    statistics_ms = _timed(view.statistics, sample.queries)
    print(f"  {'statistics':18} p50 {statistics_ms.p50:7.3f} ms  p99 {statistics_ms.p99:7.3f}")
    _check_same(view, other, sample)


def _check_same(view: View, other: _Tantivy, sample: Sample) -> None:
    """Compare the best ten: tantivy keeps lengths in a byte, so scores differ by some percent."""
    n_same = n_hits = 0
    for terms in sample.queries[:200]:
        entries = tuple(terms)
        query = Query(entries, entries, (1.0,) * len(entries), mode=Mode.OR)
        _, _, hits = view.search(query, view.statistics(terms), 10, WEIGHTS)
        scores = [score for score, _ in other.search(terms, tantivy.Occur.Should)]
        for hit, score in zip(hits, scores, strict=False):
            n_hits += 1
            n_same += abs(hit.score - score) < 0.1 * score
    print(f"  {n_same} of {n_hits} scores within a tenth of tantivy's")
    assert n_same > 0.9 * n_hits


def demo_pages(copies: int) -> list[tuple[int, Document]]:
    """The pages of the demo web, as a parser gives them, on so many times as many hosts."""
    parsed: list[tuple[str, str, str]] = []
    with open(Path(__file__).parents[2] / "bootstrap" / "demo_web.warc.gz", "rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type != "response" or "html" not in record.http_headers.get("Content-Type", ""):
                continue
            content = record.content_stream().read()
            if not content.strip():
                continue
            tree = html.fromstring(content)
            text = "\n".join(part.strip() for part in tree.itertext() if part.strip())
            title = "".join(tree.xpath("//title/text()"))
            parsed.append((record.rec_headers.get_header("WARC-Target-URI"), title, text))
    documents = []
    for copy in range(copies):
        for url, title, text in parsed:
            url = url.replace("://", f"://copy{copy}.", 1)
            slot = slot_of(host_of(url), SLOT_COUNT)
            documents.append((slot, Document(url, title=title, text=text, fetched_at=float(copy))))
    random.Random(1).shuffle(documents)
    return documents


def _report_rate(name: str, n_documents: int, megabytes: float, seconds: float, size: float) -> None:
    rates = f"{n_documents / seconds:7.0f} documents/s {megabytes / seconds:6.1f} MB/s"
    print(f"  {name:24} {rates} index {size:6.1f} MB")


def test_exporting_and_adopting() -> None:
    documents = demo_pages(40)
    megabytes = sum(len(document.text.encode()) for _, document in documents) / 1e6
    print(f"\n{len(documents)} pages of the demo web, {megabytes:.1f} MB of text")
    everything = np.ones(SLOT_COUNT, np.bool_)
    index, other = Index.open(MemoryStorage()), Index.open(MemoryStorage())
    index.add(documents[:50])
    index.commit()  # loads the segmenter's dictionary

    def measured(name: str, run: Callable[[], list[Any]]) -> list[Any]:
        start = time.process_time()
        result = run()
        seconds = time.process_time() - start
        size = sum(part.segment.size_bytes for part in index.snapshot().segments) / 1e6
        _report_rate(name, len(documents), megabytes, seconds, size)
        return result

    def build() -> list[Any]:
        for start in range(0, len(documents), 512):
            index.add(documents[start : start + 512])
            index.commit()
        return []

    def adopt() -> list[Any]:
        for segment in checked:
            other.adopt_checked(segment)
            other.commit()
        return []

    measured("building", build)
    index.merge_if_needed()
    exported = measured("exporting", lambda: list(index.snapshot().export(everything)))
    checked = measured("checking", lambda: [check_segment(each, everything) for each in exported])
    measured("adopting", adopt)
    print(f"  {len(exported)} segments, the largest {max(map(len, exported)) / 1e6:.1f} MB")
    assert other.snapshot().document_count == len(documents)
