"""What an index is told of copies, and what of that is found."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from mesh.slots import slot_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.merging.copies import CopyMark
from peers.engine.pages.document import Document, content_digest
from peers.engine.queries.query_parser import parse_query
from peers.engine.segments.live_segment import COPY

PAGES = [
    Document("http://a.test/", "One", text="mesh one"),
    Document("http://a.test/index.html", "One", text="mesh one"),
    Document("http://b.test/", "Two", text="mesh two", fetched_at=1e9),
]
CONTENT = content_digest(PAGES[0])
MARKS = {b"http://a.test/": CopyMark(CONTENT, 1), b"http://a.test/index.html": CopyMark(CONTENT, COPY)}


def index_of(storage: MemoryStorage) -> Index:
    index = Index(storage)
    index.add([(slot_of(page.url[7:13], 8), page) for page in PAGES])
    index.mark_copies(MARKS)
    index.commit()
    return index


def found(index: Index, text: str = "mesh") -> tuple[int, list[str]]:
    view, query = index.snapshot().everything(), parse_query(text)
    total, is_exact, hits = view.search(query, view.statistics(query.terms), k=10)
    assert is_exact
    assert view.facets(query).hosts.total() == total
    return total, sorted(hit.url for hit in hits)


SHOWN = (2, ["http://a.test/", "http://b.test/"])
ALL = (3, sorted(page.url for page in PAGES))


@pytest.mark.parametrize(
    "text", ["mesh", "mesh OR one", '"mesh one" OR two', "-nothing mesh", "intitle:one OR two"]
)
def test_copies_are_neither_hits_nor_counted_nor_among_facets(text: str) -> None:
    index = index_of(MemoryStorage())
    assert found(index, text) == SHOWN
    assert found(index, f"{text} copies:all") == ALL


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("mesh site:a.test", ["http://a.test/", "http://a.test/index.html"]),
        ("mesh -site:b.test", ["http://a.test/", "http://a.test/index.html"]),
        ("inurl:index", ["http://a.test/index.html"]),
        ("mesh before:2001", ["http://a.test/", "http://a.test/index.html"]),
    ],
)
def test_what_is_asked_for_by_address_or_date_is_found_though_another_stands_for_it(
    text: str, urls: list[str]
) -> None:
    assert found(index_of(MemoryStorage()), text) == (len(urls), urls)


def test_statistics_are_of_all_documents_so_that_scores_do_not_depend_on_what_was_told() -> None:
    plain = Index(MemoryStorage())
    plain.add(list(enumerate(PAGES)))
    plain.commit()
    marked = index_of(MemoryStorage())
    views = [index.snapshot().everything() for index in (plain, marked)]
    assert views[0].statistics(["mesh", "one"]) == views[1].statistics(["mesh", "one"])


def test_marks_survive_a_restart_a_merge_and_link_texts_and_end_with_the_content() -> None:
    storage = MemoryStorage()
    index_of(storage)
    index = Index(storage)
    assert found(index) == SHOWN
    index.add([(5, Document("http://c.test/", text="mesh three"))])
    index.optimise()
    assert found(index)[0] == 3
    assert len(storage.names()) == 3  # manifest, segment, copies
    index.add([(1, Document(PAGES[1].url, "One", text="mesh one", anchors=("link",)))])
    index.commit()
    assert found(index)[0] == 3
    index.add([(1, Document(PAGES[1].url, "One", text="mesh one and more"))])
    index.commit()
    assert found(index)[0] == 4
    index.add([(1, Document(PAGES[1].url, "One", text="mesh one"))])
    index.commit()
    assert found(index)[0] == 4


def test_mark_for_another_content_changes_nothing_and_one_can_be_taken_back() -> None:
    index = index_of(MemoryStorage())
    generation = index.generation
    index.mark_copies({b"http://b.test/": CopyMark(7, COPY), b"http://d.test/": CopyMark(7, COPY), **MARKS})
    assert index.commit() == generation
    index.mark_copies({b"http://a.test/index.html": CopyMark(CONTENT, 0)})
    assert index.commit() == generation + 1
    assert found(index) == ALL


def test_a_copy_is_shown_when_its_page_is_told_to_have_another_content() -> None:
    index = index_of(MemoryStorage())
    index.mark_copies({b"http://a.test/index.html": CopyMark(CONTENT + 1, 0)})
    index.commit()
    assert found(index) == ALL
    index.mark_copies({b"http://a.test/index.html": CopyMark(CONTENT + 1, COPY)})
    index.commit()
    assert found(index) == ALL, "it is named for what it does not say"


def test_marks_set_while_segments_are_merged_are_in_the_merged_one() -> None:
    index = Index(MemoryStorage())
    for number, page in enumerate(PAGES):
        index.add([(number, page)])
        index.commit()
    merge = index._merge_of(index._working)
    merged = merge.run()
    index.mark_copies(MARKS)
    index.commit()
    index.apply_merge(merge, merged)
    assert len(index.snapshot().segments) == 1
    assert found(index) == SHOWN


def test_documents_of_another_index_are_shown_until_told_otherwise() -> None:
    (content,) = index_of(MemoryStorage()).snapshot().export(np.ones(8, np.bool_))
    other = Index(MemoryStorage())
    other.adopt(content, np.ones(8, np.bool_))
    other.commit()
    assert found(other) == ALL


def test_a_page_with_a_word_of_its_own_around_its_main_text_is_no_copy() -> None:
    page = replace(PAGES[0], boilerplate="Home")
    assert content_digest(replace(page, boilerplate="Home of another")) != content_digest(page)
    assert content_digest(replace(page, url="http://mirror.test/")) == content_digest(page)
