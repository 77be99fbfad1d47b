from __future__ import annotations

import random
import threading
from collections.abc import Callable
from math import inf, nan
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.queries.query import ANY_FIELD, Literal, LiteralKind, Mode, Query, Sort
from peers.engine.queries.query_parser import parse_query
from peers.engine.searching.ranking import CollectionStatistics, RankingWeights
from peers.engine.snapshot import DocumentHit
from peers.index.answerer import query_of
from peers.text.analysis import atoms
from peers.text.folding import fold
from peers.text.runs import RunKind, clusters_of, kind_of, runs_of
from tests.peers.engine.samples import found, index_of, page, random_documents, search
from tests.peers.text.samples import WORDS, any_text

QUERIES = [
    "search",
    "搜索引擎",
    "天网 mesh",
    '"search engine"',
    '"北京大学" -crawler',
    "the of 的",
    "site:example1.org 索引",
    "site:h3.example0.org",
    '"研究生" peer',
    '-"天网" 2004',
    "x86 nosuchword",
    "カタカナ 한국",
]


def test_all_words_must_occur_unless_one_is_enough() -> None:
    pages = [page("a/1", "red green"), page("a/2", "green blue"), page("a/3", "yellow")]
    assert found(pages, "red green") == {"a/1"}
    assert found(pages, "red green", Mode.OR) == {"a/1", "a/2"}
    assert found(pages, "red nosuchword") == set()
    assert found(pages, "red nosuchword", Mode.OR) == {"a/1"}
    assert found(pages, "nosuchword", Mode.OR) == set()


def test_words_may_occur_in_different_fields() -> None:
    pages = [
        (0, Document(url="http://h/path", title="Red", headings="Green", text="blue", anchors=("grey",)))
    ]
    assert found(pages, "red green blue grey path") == {"h/path"}


def test_words_of_the_url_are_found_decoded() -> None:
    pages = [page("a.example/%E5%A4%A9%E7%BD%91/two_words.html")]
    assert (
        found(pages, "天网")
        == found(pages, "words")
        == found(pages, "example")
        == {"a.example/%E5%A4%A9%E7%BD%91/two_words.html"}
    )
    assert found(pages, "http") == set()


def test_excluded_words_and_phrases_are_not_found() -> None:
    pages = [page("a/1", "red green"), page("a/2", "red blue green"), page("a/3", "中国人民")]
    assert found(pages, "red -blue") == {"a/1"}
    assert found(pages, 'red -"red green"') == {"a/2"}
    assert found(pages, "red -nosuchword") == {"a/1", "a/2"}
    assert found(pages, "中国 -国人") == set()
    assert found(pages, "red -blue", Mode.OR) == {"a/1"}


def test_phrases_are_literal_and_stay_in_their_field_and_anchor() -> None:
    pages = [
        page("a/1", "search engine of peers"),
        page("a/2", "engine search"),
        page("a/3", "engine", title="search"),
        (0, Document(url="http://a/4", anchors=("free search", "engine room"))),
        (0, Document(url="http://a/5", anchors=("a", "search - Engine"))),
    ]
    assert found(pages, '"search engine"') == {"a/1", "a/5"}
    assert found(pages, '"search engine" peers') == {"a/1"}
    assert found(pages, '"search engine" peers', Mode.OR) == {"a/1", "a/5"}
    assert found(pages, '"search search"') == set()


def test_phrases_do_not_depend_on_how_the_sentence_is_segmented() -> None:
    pages = [page("a/1", "研究生命起源"), page("a/2", "研究生的命运")]
    assert found(pages, "研究生") == {"a/1", "a/2"}
    assert found(pages, '"研究生"') == {"a/1", "a/2"}
    assert found(pages, '"究生命"') == {"a/1"}


def test_repeated_atoms_count_in_phrases() -> None:
    pages = [page("a/1", "哈哈"), page("a/2", "哈哈哈哈"), page("a/3", "ha ha ha")]
    assert found(pages, '"哈哈哈"') == {"a/2"}
    assert found(pages, '"ha ha ha"') == {"a/3"}
    assert found(pages, '"ha ha ha ha"') == set()


def characters_and_words(text: str) -> list[str]:
    runs = runs_of(fold(text))
    units = {RunKind.WORD: lambda run: [run[:64]], RunKind.UNSPACED: clusters_of}
    return [unit for run in runs for unit in units.get(kind_of(run), list)(run)]


@settings(max_examples=200, deadline=None)
@given(st.lists(any_text.filter(atoms), min_size=1, max_size=4), st.data())
def test_any_stretch_of_a_text_is_found_as_a_phrase_and_only_where_it_is(
    texts: list[str], data: st.DataObject
) -> None:
    pages = [page(f"unlikelyhost{number}/", text) for number, text in enumerate(texts)]
    text_atoms = [characters_and_words(text) for text in texts]
    chosen = data.draw(st.sampled_from(text_atoms))
    start = data.draw(st.integers(0, len(chosen) - 1))
    stretch = chosen[start : start + data.draw(st.integers(1, 8))]
    expected = {
        f"unlikelyhost{number}/"
        for number, every in enumerate(text_atoms)
        if any(every[i : i + len(stretch)] == stretch for i in range(len(every)))
    }
    assert expected
    assert found(pages, f'"{" ".join(stretch)}"') == expected


def test_site_means_the_host_and_its_subdomains() -> None:
    urls = ["example.org/1", "www.example.org:8080/2", "notexample.org/3", "example.org.cn/4", "127.0.0.1/5"]
    pages = [page(url, "word") for url in urls]
    assert found(pages, "word site:example.org") == set(urls[:2])
    assert found(pages, "site:www.example.org") == {urls[1]}
    assert found(pages, "word -site:org") == set(urls[3:])
    assert found(pages, "site:org.cn site:127.0.0.1") == set(urls[3:])
    assert found(pages, "site:0.0.1") == found(pages, "site:nosuch.org") == set()
    assert found(pages, "other site:example.org", Mode.OR) == set()


def test_equal_scores_are_ordered_by_url_also_where_the_list_is_cut() -> None:
    pages = [page(f"h{number:02}/", "same text") for number in range(30)]
    random.Random(3).shuffle(pages)
    index = Index.open(MemoryStorage())
    for start in range(0, 30, 7):
        index.add(pages[start : start + 7])
        index.commit()
    total, hits = search(index.snapshot().everything(), "same", k=11)
    assert total == 30
    assert [hit.url for hit in hits] == [f"http://h{number:02}/" for number in range(11)]


def test_no_hits_are_wanted_but_the_total_is() -> None:
    view = index_of([page("a/1", "word"), page("a/2", "word")]).snapshot().everything()
    assert search(view, "word", k=0) == (2, [])
    assert search(view, "site:a", k=0) == (2, [])


def test_an_empty_index_answers() -> None:
    view = Index.open(MemoryStorage()).snapshot().everything()
    assert view.statistics(["a"]) == CollectionStatistics()
    assert search(view, "a") == (0, [])
    assert view.stored("http://a/") is None


def test_documents_without_any_text_are_kept_and_found_by_site() -> None:
    assert found([page("h/"), page("i/")], "site:h") == {"h/"}


def test_stored_documents_come_back_whole() -> None:
    documents = random_documents(5, 300)
    view = index_of(documents).snapshot().everything()
    assert all(view.stored(document.url) == document for _, document in documents)
    assert view.stored("http://nosuch/") is None
    assert sorted(view.urls()) == sorted(document.url for _, document in documents)


def test_lone_surrogates_do_no_harm() -> None:
    view = index_of([page("a/\ud800", "word \ud800 天\udfff网")]).snapshot().everything()
    total, hits = search(view, "word 天")
    assert total == 1
    assert view.stored(hits[0].url) == Document(url="http://a/?", text="word ? 天?网")


def test_lone_surrogates_cost_a_document_nothing_else() -> None:
    document = Document(
        url="http://a/",
        title="word \ud800",
        anchors=("\udfff there",),
        language="en",
        fetched_at=5.0,
        type="text/plain",
        date=1e9,
        linking_hosts=7,
    )
    stored = index_of([(3, document)]).snapshot().everything().stored("http://a/")
    assert stored == msgspec.structs.replace(document, title="word ?", anchors=("? there",))


def test_statistics_count_responsible_slots_and_add_up() -> None:
    documents = random_documents(1, 400)
    snapshot = index_of(documents).snapshot()
    terms = ["天网", "search", "的", "nosuchword", "kana", "2004"]
    parts = []
    for part in range(3):
        slots = np.arange(50) % 3 == part
        view = snapshot.responsible(slots)
        parts.append(view.statistics(terms))
        assert view.document_count == sum(bool(slots[slot]) for slot, _ in documents)
        assert {slot for slot, _ in documents if slots[slot]} >= {h.slot for h in search(view, "的", 500)[1]}
    whole = snapshot.everything().statistics(terms)
    assert sum(parts, CollectionStatistics()) == whole
    assert whole.document_count == snapshot.document_count == 400
    assert "nosuchword" not in whole.doc_freqs


def test_views_are_kept() -> None:
    snapshot = index_of(random_documents(1, 10)).snapshot()
    slots = np.ones(50, np.bool_)
    assert snapshot.responsible(slots) is snapshot.responsible(slots.copy())


def answer_of_parts(
    documents: list[tuple[int, Document]], query_text: str, mode: Mode, n_peers: int, seed: int
) -> tuple[int, list[DocumentHit]]:
    """Spread documents over peers and segments at random, and merge what the peers answer."""
    random_ = random.Random(seed)
    peers = [Index.open(MemoryStorage()) for _ in range(n_peers)]
    for slot, document in documents:
        peer = random_.choice(peers)
        peer.add([(slot, document)])
        if random_.random() < 0.05:
            peer.commit()
        if random_.random() < 0.02:
            peer.merge_if_needed()
    views = []
    for peer in peers:
        peer.commit()
        views.append(peer.snapshot().everything())
    query = parse_query(query_text, mode)
    statistics = sum((view.statistics(query.terms) for view in views), CollectionStatistics())
    answers = [view.search(query, statistics, 10) for view in views]
    hits = sorted((hit for _, _, hits in answers for hit in hits), key=lambda hit: (-hit.score, hit.url))
    return sum(total for total, _, _ in answers), hits[:10]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 1000),
    st.integers(1, 5),
    st.sampled_from(QUERIES),
    st.sampled_from(list(Mode)),
    st.integers(0, 5),
)
def test_answers_are_bit_identical_however_documents_are_spread(
    seed: int, n_peers: int, query: str, mode: Mode, corpus: int
) -> None:
    documents = random_documents(corpus, 250)
    total, hits = answer_of_parts(documents, query, mode, n_peers, seed)
    expected, expected_hits = search(index_of(documents).snapshot().everything(), query, 10, mode)
    assert hits == expected_hits
    assert total == expected or mode is Mode.OR


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("query", QUERIES)
def test_the_best_k_are_the_beginning_of_the_whole_list(query: str, mode: Mode) -> None:
    view = index_of(random_documents(2, 500)).snapshot().everything()
    total, everything = search(view, query, 10_000, mode)
    assert total == len(everything)
    assert everything == sorted(everything, key=lambda hit: (-hit.score, hit.url))
    for k in (1, 2, 10, 100):
        of_k, hits = search(view, query, k, mode)
        assert hits == everything[:k]
        assert of_k == total or (mode is Mode.OR and k <= of_k < total)


def test_weights_decide_which_field_counts() -> None:
    pages = [page("a/1", "word other"), page("a/2", "other", title="word")]
    view = index_of(pages).snapshot().everything()
    query = parse_query("word")
    statistics = view.statistics(query.terms)

    def best(**fields: float) -> str:
        order = ("title", "anchor", "heading", "body", "url")
        a, b, c, d, e = (fields.get(field, 0.0) for field in order)
        return view.search(query, statistics, 1, RankingWeights(weights=(a, b, c, d, e, 0.0)))[2][0].url

    assert best(title=1.0) == "http://a/2"
    assert best(body=1.0) == "http://a/1"


def test_weights_may_be_whole_numbers() -> None:
    view = index_of([page("a/1", "word")]).snapshot().everything()
    query = parse_query("word")
    statistics = view.statistics(query.terms)
    whole = RankingWeights(weights=(0, 0, 0, 1, 0, 0), b=(0, 0, 0, 1, 0), k1=1)
    real = RankingWeights(weights=(0.0, 0.0, 0.0, 1.0, 0.0, 0.0), b=(0.0, 0.0, 0.0, 1.0, 0.0), k1=1.0)
    assert view.search(query, statistics, 1, whole) == view.search(query, statistics, 1, real)


def phrase(*entries: str, fields: int = ANY_FIELD, negated: bool = False) -> tuple[Literal, ...]:
    return (Literal(LiteralKind.PHRASE, entries, tuple(range(len(entries))), fields, negated),)


@pytest.mark.parametrize(
    "query",
    [
        Query(clauses=(phrase("中华", "人民"),)),
        Query(("中华",), clauses=(phrase("中华", "人民", negated=True), phrase("人民", "w", negated=True))),
        Query(("\x01中", "\x02a", "w"), ("\x01中", "\x02a", "w"), (0.0, 1.0, 100.0), mode=Mode.OR),
        Query(("w",), clauses=(phrase("\x02a", "w"), phrase("\x01"))),
        Query(("w",), clauses=(phrase("\x02a", fields=31), phrase("w", fields=16, negated=True))),
        Query(clauses=((Literal(LiteralKind.SITE, ("\x00", "a" * 10_000)),),)),
        Query(clauses=((Literal(LiteralKind.PHRASE, ("w", "w"), (1000, 0)),),)),
        Query(
            clauses=(
                (
                    Literal(LiteralKind.DATE, low=inf, high=-inf),
                    Literal(LiteralKind.WORDS, ("w",), negated=True),
                ),
            )
        ),
        Query(("w",), ("\x05x",), (1.0,), order=Sort.DATE),
        Query(
            ("w",), alternatives=((Literal(LiteralKind.DATE, low=1.0), *phrase("\x01", "w", negated=True)),)
        ),
        Query(alternatives=(phrase("\x02a"), (Literal(LiteralKind.SITE, ("w",)), *phrase("人", "w")))),
    ],
)
def test_queries_that_no_honest_peer_sends_are_survived(query: Query) -> None:
    view = index_of([page("a/1", "中华人民共和国 w w"), page("b/2", "w 人民")]).snapshot().everything()
    total, _, hits = view.search(query, view.statistics(query.terms), 10)
    assert total == len(hits) <= 2


@pytest.mark.parametrize(
    "query",
    [
        Query(tuple(f"w{n}" for n in range(65))),
        Query((), tuple(f"w{n}" for n in range(193)), (1.0,) * 193),
        Query((), ("w", "w"), (1.0, 1.0)),
        Query(("w", "w")),
        Query(("",)),
        Query((), ("w",), ()),
        Query((), ("w",), (-1.0,)),
        Query((), ("w",), (nan,)),
        Query((), ("w",), (inf,)),
        Query(clauses=((),)),
        Query(clauses=(phrase("w"),) * 33),
        Query(clauses=(phrase("w") * 65,)),
        Query(clauses=(phrase(),)),
        Query(clauses=(phrase(*("w",) * 65),)),
        Query(clauses=(phrase("w", fields=64),)),
        Query(clauses=(phrase("w", ""),)),
        Query(clauses=((Literal(LiteralKind.PHRASE, ("w",), ()),),)),
        Query(clauses=((Literal(LiteralKind.PHRASE, ("w",), (-1,)),),)),
        Query(clauses=((Literal(LiteralKind.PHRASE, ("w",), (1001,)),),)),
        Query(clauses=((Literal(LiteralKind.WORDS, ("w",), (0,)),),)),
        Query(clauses=((Literal(LiteralKind.WORDS, ("w",), fields=1),),)),
        Query(clauses=((Literal(LiteralKind.DATE, low=nan),),)),
        Query(alternatives=((),)),
        Query(clauses=(phrase("w"),) * 16, alternatives=(phrase("w"),) * 17),
        Query(alternatives=(phrase("w", ""),)),
    ],
)
def test_queries_beyond_the_limits_are_refused(query: Query) -> None:
    view = index_of([page("a/1", "w")]).snapshot().everything()
    with pytest.raises(ValueError, match=r"more than|weight|empty|fields|date|distances"):
        view.search(query, CollectionStatistics(), 10)
    assert query_of(msgspec.msgpack.encode(query)) is None


def test_clauses_hold_when_one_of_their_literals_does() -> None:
    pages = [page("a/1", "red green"), page("a/2", "blue"), page("b/3", "red", title="blue sky")]
    view = index_of(pages).snapshot().everything()

    def urls(*clauses: tuple[Literal, ...], mode: Mode = Mode.AND) -> list[str]:
        return [
            hit.url for hit in view.search(Query(clauses=clauses, mode=mode), CollectionStatistics(), 10)[2]
        ]

    words = (Literal(LiteralKind.WORDS, ("red", "green")), Literal(LiteralKind.WORDS, ("blue",)))
    site = (Literal(LiteralKind.SITE, ("\x02b",), negated=True),)
    assert urls(words) == ["http://a/1", "http://a/2", "http://b/3"]
    assert urls(words, site) == urls(site, words, mode=Mode.OR) == ["http://a/1", "http://a/2"]
    assert urls(phrase("blue", fields=1)) == ["http://b/3"]
    assert urls(phrase("blue", fields=1, negated=True), words) == ["http://a/1", "http://a/2"]
    assert urls(phrase("blue", "sky", fields=0b11110)) == []


def test_required_entries_need_not_score_nor_scoring_ones_occur() -> None:
    pages = [page("a/1", "red green"), page("a/2", "red"), page("a/3", "green")]
    view = index_of(pages).snapshot().everything()
    query = Query(required=("red",), scoring=("green",), weights=(0.5,))
    statistics = view.statistics(query.terms)
    _, _, hits = view.search(query, statistics, 10)
    assert [hit.url for hit in hits] == ["http://a/1", "http://a/2"]
    assert hits[1].score == 0.0
    whole = view.search(msgspec.structs.replace(query, weights=(1.0,)), statistics, 10)[2]
    assert hits[0].score == whole[0].score / 2
    assert view.search(query.with_mode(Mode.OR), statistics, 10)[0] == 3


def test_dates_choose_and_order() -> None:
    documents = [
        (0, Document(url=f"http://a/{number}", text="word", fetched_at=float(date)))
        for number, date in enumerate((30, 10, 20, 10))
    ]
    view = index_of(documents).snapshot().everything()

    def hits(query: Query, **arguments: Any) -> list[tuple[str, float]]:
        found = view.search(query, CollectionStatistics(), 10, **arguments)[2]
        return [(hit.url.removeprefix("http://a/"), hit.score) for hit in found]

    latest = Query(("word",), order=Sort.DATE)
    assert hits(latest) == [("0", 30.0), ("2", 20.0), ("1", 10.0), ("3", 10.0)]
    assert hits(latest, after=(10.0, "http://a/1")) == [("3", 10.0)]
    between = Query(clauses=((Literal(LiteralKind.DATE, low=10, high=20),),), order=Sort.DATE)
    assert hits(between) == [("1", 10.0), ("3", 10.0)]


@pytest.mark.parametrize("mode", list(Mode))
def test_pages_of_hits_follow_one_another_without_gap_or_repetition(mode: Mode) -> None:
    view = index_of(random_documents(7, 300)).snapshot().everything()
    query = parse_query("天网 search", mode)
    statistics = view.statistics(query.terms)
    total, _, everything = view.search(query, statistics, 1_000)
    pages: list[DocumentHit] = []
    after = None
    while True:
        of_page, is_exact, hits = view.search(query, statistics, 7, after=after)
        assert of_page == total if is_exact else len(hits) <= of_page <= total
        if not hits:
            break
        pages += hits
        after = hits[-1].score, hits[-1].url
    assert pages == everything


@pytest.mark.parametrize("counts", [(-1,), (1, (0, 0, -1, 0, 0)), (1, (0, 0, 0, 0, 0), {"a": -1})])
def test_negative_statistics_are_refused(counts: tuple[int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        CollectionStatistics(*counts)


@settings(deadline=None)
@given(
    st.lists(
        st.builds(Document, *[st.text() | any_text] * 4, st.lists(st.text() | any_text).map(tuple)),
        max_size=5,
    ),
    any_text,
)
def test_no_document_is_an_error(documents: list[Document], query: str) -> None:
    view = index_of([(1, document) for document in documents]).snapshot().everything()
    assert view.document_count == len({document.url for document in documents})
    for mode in Mode:
        total, hits = search(view, query, 10, mode)
        assert total == len(hits)
        assert all(view.stored(hit.url) is not None for hit in hits)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: RankingWeights(k1=0.0),
        lambda: RankingWeights(b=(2.0,) * 5),
        lambda: RankingWeights(weights=(-1.0,) * 6),
    ],
)
def test_impossible_weights_are_refused(wrong: Callable[[], RankingWeights]) -> None:
    with pytest.raises(ValueError, match="must be"):
        wrong()


def test_statistics_of_another_time_are_survived() -> None:
    view = index_of(random_documents(3, 50)).snapshot().everything()
    total, _, hits = view.search(parse_query("的 search", Mode.OR), CollectionStatistics(), 100)
    assert total > 0
    assert all(hit.score >= 0 for hit in hits)
    odd = CollectionStatistics(2, (0, 0, 0, 1, 0), {"的": 10**12})
    assert view.search(parse_query("的 search", Mode.OR), odd, 100)[0] == total


def test_snapshots_are_searched_on_one_thread_while_another_commits_and_merges() -> None:
    documents = random_documents(4, 600)
    index = index_of(documents[:100])
    before = index.snapshot()
    expected = search(before.everything(), "的 天网", 20, Mode.OR)
    failures: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            if search(before.everything(), "的 天网", 20, Mode.OR) != expected:
                failures.append("the old snapshot changed")
            view = index.snapshot().everything()
            total, hits = search(view, "的 天网", 1000, Mode.OR)
            if total != len(hits) or any(view.stored(hit.url) is None for hit in hits[:3]):
                failures.append("a snapshot contradicts itself")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for start in range(100, 600, 20):
        index.add(documents[start : start + 20])
        index.delete([document.url for _, document in documents[start - 100 : start - 97]])
        index.commit()
        index.merge_if_needed()
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []


def test_words_of_the_samples_are_all_found() -> None:
    pages = [page(f"a/{n}", word) for n, word in enumerate(WORDS)]
    for number, word in enumerate(WORDS):
        assert f"a/{number}" in found(pages, word)


@pytest.mark.parametrize("text", ["的 天网", "the of 的", "搜索引擎 index", "2004"])
def test_floor_leaves_out_no_hit_that_is_as_good(text: str) -> None:
    view = index_of(random_documents(8, 900)).snapshot().everything()
    query = parse_query(text, Mode.OR)
    statistics = view.statistics(query.terms)
    hits = view.search(query, statistics, 40)[2]
    for floor in (hits[0].score, hits[7].score, hits[-1].score):
        found = view.search(query, statistics, 40, floor=floor)[2]
        assert [hit for hit in hits if hit.score >= floor] == [hit for hit in found if hit.score >= floor]


def test_one_character_is_found_wherever_it_begins_an_atom() -> None:
    pages = [
        page("a/1", "天网"),
        page("a/2", "今天"),
        page("a/3", "网天下"),
        page("a/4", "地"),
        page("a/5", "T恤天"),
    ]
    assert found(pages, '"天"') == {"a/1", "a/2", "a/3", "a/5"}
    assert found(pages, '"t恤"') == {"a/5"}
    assert found(pages, "地 -天") == {"a/4"}
    assert found(pages, 'intitle:"天"') == set()
