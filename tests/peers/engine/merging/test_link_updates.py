"""A segment whose documents get other link texts becomes what it would be if all were indexed at once."""

from __future__ import annotations

import random

import numpy as np
import pytest
from msgspec.structs import replace

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.merging.copies import CopyMark
from peers.engine.merging.link_updates import relinked
from peers.engine.pages.document import Document, content_digest
from peers.engine.pages.linkers import entries_of, with_anchors
from peers.engine.segments.builder import build_segment, prepared
from peers.engine.segments.inversion import Inverter
from peers.engine.segments.live_segment import COPY, LiveSegment
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_format import SegmentData, encode_segment
from tests.peers.engine.samples import random_documents, random_text

# Paragraphs that tell their language, so that a page can have a part in another than its own.
PARTS = {
    "en": "The engines of search are what the readers of these pages have waited for, and will.\n",
    "de": "Die Maschinen der Suche sind das, worauf die Leser dieser Seiten nicht mehr gewartet haben.\n",
    "fr": "Les moteurs de recherche sont ce que les lecteurs de ces pages ont attendu pour leur travail.\n",
    "zh": "搜索引擎是这些网页的读者一直在等待的东西，他们还会继续等待下去，直到它来了。\n",
}
TEXTS = (
    "the engines of the search and these pages",
    "die Maschinen der Suche und die Seiten",
    "天网搜索引擎的主页",
    "C++ and e-mail, 1,000 pages of v2.0",
    "gefundene Häuser",
    "x" * 300,
    "한국어 링크",
    "",
)


def pages(seed: int, count: int) -> list[tuple[int, Document]]:
    """Return documents in several languages, parts of them in others, some of them entrances of sites."""
    random_ = random.Random(seed)
    made = []
    for slot, document in random_documents(seed, count):
        own, other = random_.choice(["", *PARTS, "ja", "tr"]), random_.choice(["", *PARTS])
        text = document.text + "\n" + PARTS.get(own, "") * 4 + PARTS.get(other, "") * random_.choice([0, 4])
        url = document.url + random_.choice(["", "", "/", "/index.html"])
        made.append((slot, replace(document, url=url, text=text, language=own)))
    return made


def told(random_: random.Random) -> tuple[str, ...]:
    """Return what links tell of a page: texts of its own site, of one other domain, and of several."""
    entries = {random_text(random_, 2)}
    for _ in range(random_.randrange(5)):
        text = random_.choice([*TEXTS, random_text(random_, 3)])
        for _ in range(random_.randrange(3)):
            entries.update(entries_of(text, f"{random_.getrandbits(64):016x}"))
        entries.update(entries_of(text, ""))
    return tuple(sorted(entries))


def segment_of(data: SegmentData) -> Segment:
    return Segment("", memoryview(b"".join(bytes(part) for part in encode_segment(data))))


def written(data: SegmentData) -> list[bytes]:
    return [bytes(part) for part in encode_segment(data)]


@pytest.mark.parametrize(
    ("count", "share"), [(1, 1.0), (40, 0.5), (300, 1.0), (300, 0.1)], ids=["one", "half", "all", "few"]
)
@pytest.mark.parametrize("seed", range(4))
def test_a_segment_becomes_what_indexing_all_anew_would_make(seed: int, count: int, share: float) -> None:
    random_ = random.Random(seed)
    documents = sorted(pages(seed, count), key=lambda each: each[1].url.encode())
    dead = [number for number in range(count) if count > 1 and random_.random() < 0.2]
    entries = {
        number: told(random_) for number in range(count) if number not in dead and random_.random() < share
    }
    source = segment_of(build_segment([prepared(*each) for each in documents]))
    live = np.ones(count, np.uint8)
    live[dead] = 0
    anew = [
        (slot, with_anchors(document, entries[number]) if number in entries else document)
        for number, (slot, document) in enumerate(documents)
        if number not in dead
    ]

    merged = relinked(LiveSegment(source, live), entries)

    assert merged is not None
    assert written(merged.data) == written(build_segment([prepared(*each) for each in anew]))


def test_nothing_new_makes_no_segment() -> None:
    documents = pages(1, 20)
    source = segment_of(build_segment([prepared(*each) for each in documents]))
    same = {number: source.stored(number).anchors for number in range(20)}

    assert relinked(LiveSegment(source, np.ones(20, np.uint8)), same) is None


@pytest.mark.parametrize("seed", range(6))
def test_an_index_with_other_link_texts_is_what_it_would_be_with_these_from_the_beginning(seed: int) -> None:
    """Few and many of a segment, of documents that wait, are deleted, marked as copies, being merged."""
    random_ = random.Random(seed)
    documents = {document.url: (slot, document) for slot, document in pages(seed, 240)}
    index = Index(MemoryStorage())
    urls = list(documents)
    for at in range(0, 240, 60):
        index.add([documents[url] for url in urls[at : at + 60]])
        index.commit()
    copies = {url: CopyMark(content_digest(documents[url][1]), COPY) for url in urls[::7]}
    index.mark_copies({url.encode(): mark for url, mark in copies.items()})
    for _ in range(12):
        chosen = random_.sample(urls, random_.choice([2, 10, 150]))
        gone, waiting, linked = chosen[:1], chosen[1:2], chosen[1:]
        merge = index.plan_merge_at_rest() if random_.random() < 0.5 else None
        merged = merge.run() if merge else None
        index.delete(gone)
        index.add([documents[url] for url in waiting])
        entries = {url: told(random_) for url in [*linked, *gone, "http://nobody.knows/"]}
        index.relink(entries)
        index.commit()
        if merge and merged:
            index.apply_merge(merge, merged)
        for url in linked:
            slot, document = documents[url]
            documents[url] = slot, with_anchors(document, entries[url])
        for url in gone:
            del documents[url]
            urls.remove(url)
    new = Index(MemoryStorage())
    new.add(list(documents.values()))
    new.mark_copies({url.encode(): mark for url, mark in copies.items()})
    new.optimise()
    index.optimise()
    assert_same(index, new)


def assert_same(one: Index, other: Index) -> None:
    (ours,), (theirs,) = one.snapshot().segments, other.snapshot().segments
    assert bytes(ours.segment.content) == bytes(theirs.segment.content)
    assert ours.copies.tolist() == theirs.copies.tolist()


def test_of_a_segment_with_few_of_them_only_these_are_indexed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[str] = []
    add = Inverter.add

    def noted(self: Inverter, number: int, document: Document) -> None:
        added.append(document.url)
        add(self, number, document)

    documents = [document for _, document in pages(5, 200)]
    index = Index(MemoryStorage())
    index.add([(0, document) for document in documents])
    index.commit()
    monkeypatch.setattr(Inverter, "add", noted)
    few, many = documents[:12], documents[:13]
    index.relink({document.url: ("a few links",) for document in few})
    index.commit()
    assert sorted(added) == sorted(document.url for document in few)
    index.optimise()
    added.clear()
    index.relink({document.url: ("many links",) for document in many})
    index.commit()
    assert not added
    texts = [each.anchors for each in stored_in(index) if each.url in {document.url for document in many}]
    assert texts == [("many links",)] * len(many)


def stored_in(index: Index) -> list[Document]:
    return [
        part.segment.stored(number)
        for part in index.snapshot().segments
        for number in np.flatnonzero(part.live).tolist()
    ]
