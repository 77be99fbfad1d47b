"""Pages like a stored one are searched by its words that are rare in the mesh, alike by any mesh."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from random import Random

import pytest

from peers.engine.pages.document import Document
from peers.gateway.search.page_words import TELLING_MAX, with_telling_words, with_words
from peers.text.keywords import weighted_words
from tests.peers.gateway.test_exactness import Mesh

COMMON = tuple(f"{a}{b}{c}" for a in "bdfg" for b in "aeiou" for c in ("lt", "nd"))
PAGE = "glacier moraine 冰川 冰碛 " + " ".join(COMMON) * 3


def documents() -> list[Document]:
    random = Random(2)
    pages = [
        Document(f"http://host{n % 41}.test/{n}", text=" ".join(random.sample(COMMON, 30)))
        for n in range(400)
    ]
    alike = [
        Document("http://en.test/", "glacier", text="moraine and more"),
        Document("http://zh.test/", "冰川", text="冰碛"),
        Document("http://page.test/", text=PAGE),
    ]
    return [*pages, *alike]


@pytest.fixture(scope="module")
def meshes() -> Iterable[dict[int, Mesh]]:
    with ExitStack() as stack:
        meshes = {n: Mesh([f"peer{i}" for i in range(n)], stack) for n in (1, 3, 5)}
        for mesh in meshes.values():
            mesh.index(documents())
        yield meshes


def test_words_that_most_pages_have_do_not_tell_a_page_in_any_mesh(meshes: dict[int, Mesh]) -> None:
    words = weighted_words("", "", PAGE)
    text = with_words("related:x", "related:x", words)
    assert "moraine" not in text  # by weight alone others go first
    found = [
        [(hit.url, hit.score) for hit in mesh.search(peer, text, page_words=words).hits]
        for mesh in meshes.values()
        for peer in mesh.nodes
    ]
    assert all(each == found[0] for each in found)
    first = {url for url, _ in found[0][:3]}
    assert first == {"http://page.test/", "http://en.test/", "http://zh.test/"}
    by_weight = meshes[1].search("peer0", text).hits
    assert not {"http://en.test/", "http://zh.test/"} & {hit.url for hit in by_weight}


def test_rest_of_the_query_holds_beside_the_words_of_a_page(meshes: dict[int, Mesh]) -> None:
    words = weighted_words("", "", PAGE)
    text = with_words("related:x site:zh.test", "related:x", words)
    for mesh in meshes.values():
        found = mesh.search("peer0", text, page_words=words)
        assert [hit.url for hit in found.hits] == ["http://zh.test/"]
        assert (found.corrected, found.suggestion) == ("", "")


def test_the_words_of_greatest_weight_times_idf_take_the_place_of_the_first() -> None:
    words = tuple((f"w{n:02}", 1.0 - n / 100) for n in range(40))
    doc_freqs = {word: 90 for word, _ in words[:30]} | {word: 2 for word, _ in words[30:]}
    text = with_words("a related:x b", "related:x", words)
    assert text == f"a ({' OR '.join(word for word, _ in words[:TELLING_MAX])}) b"
    told = with_telling_words(text, words, doc_freqs, 100)
    assert told == f"a ({' OR '.join(word for word, _ in words[30:])}) b"
    assert with_telling_words(text, words, {}, 0) == text
