"""Documents for the tests of the index, made from a seed."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

from xxhash import xxh3_64_intdigest

from mesh.slots import slot_of
from mesh.urls import host_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.queries.query import Mode
from peers.engine.queries.query_parser import parse_query
from peers.engine.segments.segment_format import FORMAT_VERSION, SECTIONS
from peers.engine.snapshot import DocumentHit, View
from peers.text.version import ANALYSIS_VERSION
from tests.peers.text.samples import WORDS


def random_text(random_: random.Random, n_words: int) -> str:
    """Return a text of words in uneven frequencies, with punctuation and line breaks between some."""
    parts: list[str] = []
    for _ in range(n_words):
        parts.append(WORDS[min(int(random_.expovariate(0.12)), len(WORDS) - 1)])
        parts.append(random_.choice(["", " ", "，", "。", "\n", " - "]) if parts[-1][-1] > "\u3000" else " ")
    return "".join(parts)


def random_documents(seed: int, count: int, slots: int = 50) -> list[tuple[int, Document]]:
    """Return documents with all fields, on a few hosts; the slot follows from the host."""
    random_ = random.Random(seed)
    documents = []
    for number in range(count):
        host = random_.randrange(20)
        documents.append(
            (
                host * 37 % slots,
                Document(
                    url=f"http://h{host}.example{host % 3}.org/{random_.choice('abc')}/{number}",
                    title=random_text(random_, random_.randrange(6)),
                    headings=random_text(random_, random_.randrange(5)),
                    boilerplate=random_text(random.Random(number), number % 4),
                    text=random_text(random_, random_.randrange(120)),
                    anchors=tuple(random_text(random_, 2) for _ in range(random_.randrange(3))),
                    language="zh",
                    fetched_at=float(number),
                ),
            )
        )
    return documents


def placed_documents(seed: int, count: int, slots: int = 50) -> list[tuple[int, Document]]:
    """Return such documents in the slots that a mesh of so many slots gives their hosts."""
    return [
        (slot_of(host_of(document.url), slots), document) for _, document in random_documents(seed, count)
    ]


def index_of(documents: Sequence[tuple[int, Document]]) -> Index:
    """Return an index in memory that has committed the documents."""
    index = Index.open(MemoryStorage())
    index.add(documents)
    index.commit()
    return index


def page(url: str, text: str = "", title: str = "") -> tuple[int, Document]:
    """Return a document in slot 0."""
    return 0, Document(url=f"http://{url}", title=title, text=text)


def search(view: View, text: str, k: int = 10, mode: Mode = Mode.AND) -> tuple[int, list[DocumentHit]]:
    """Search with the view's own statistics; of an OR the total may be less than what matches."""
    query = parse_query(text, mode)
    total, is_exact, hits = view.search(query, view.statistics(query.terms), k)
    assert is_exact or (mode is Mode.OR and total >= len(hits) == k)
    return total, hits


def found(documents: Sequence[tuple[int, Document]], text: str, mode: Mode = Mode.AND) -> set[str]:
    """Return the URLs, without the scheme, that a query finds among a few documents."""
    total, hits = search(index_of(documents).snapshot().everything(), text, 1000, mode)
    assert total == len(hits)
    return {hit.url.removeprefix("http://") for hit in hits}


def of_versions(
    content: bytes, *, format_version: int = FORMAT_VERSION, analysis_version: int = ANALYSIS_VERSION
) -> bytes:
    """A segment file as an older or newer program might have written it: with a header that is sound."""
    header_bytes = 24 + 32 * len(SECTIONS)
    changed = bytearray(content)
    changed[8:16] = struct.pack("<II", format_version, analysis_version)
    changed[header_bytes : header_bytes + 8] = struct.pack("<Q", xxh3_64_intdigest(changed[:header_bytes]))
    return bytes(changed)
