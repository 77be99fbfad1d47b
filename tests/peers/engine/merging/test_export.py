"""Exporting documents as segments, and adopting them, hostile ones too."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
import xxhash
import zstandard
from numpy.typing import NDArray

from mesh.slot_set import SlotMask
from peers.engine.files.errors import CorruptIndexError, DamagedSegmentError
from peers.engine.files.storage import Buffer, MemoryStorage
from peers.engine.index import Index
from peers.engine.merging.adoption import check_segment
from peers.engine.merging.export import DEFAULT_SIZES, ExportSizes
from peers.engine.merging.segment_merge import MERGE_FACTOR
from peers.engine.pages.document import Document
from peers.engine.postings.dictionary import pack_dictionary
from peers.engine.segments.builder import IndexedDocument, as_bytes, build_segment, pack_strings
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_format import EXPORTED_BYTES_MAX, SegmentData, encode_segment
from tests.peers.engine.samples import index_of, of_versions, placed_documents, search
from tests.peers.engine.test_index import as_contents, contents
from tests.peers.engine.test_search import QUERIES

SLOTS = 50


def mask(*slots: int) -> SlotMask:
    chosen = np.zeros(SLOTS, np.bool_)
    chosen[list(slots)] = True
    return chosen


ALL = np.ones(SLOTS, np.bool_)


def in_parts(documents: list[tuple[int, Document]], n_parts: int) -> Index:
    """An index with several segments, and in each of them something that is deleted or replaced."""
    index = Index.open(MemoryStorage())
    for part in range(n_parts):
        index.add(documents[part::n_parts])
        index.add([(slot, msgspec.structs.replace(d, text="old")) for slot, d in documents[part + 1 :: 7]])
        index.commit()
    index.add(documents)
    index.commit()
    return index


def everything_of(index: Index) -> list[Any]:
    view = index.snapshot().everything()
    return [contents(index), [search(view, query, 500) for query in QUERIES]]


def adopted(exported: Iterable[bytes], slots: SlotMask = ALL) -> Index:
    index = Index.open(MemoryStorage())
    for content in exported:
        index.adopt(content, slots)
        index.commit()
    return index


# --- Exporting --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize("size", [20_000, DEFAULT_SIZES.bytes_meant])
def test_adopted_export_answers_as_its_source(n_parts: int, size: int) -> None:
    documents = placed_documents(1, 300)
    source = in_parts(documents, n_parts)
    exported = list(source.snapshot().export(ALL, ExportSizes(size)))
    assert (len(exported) > 3) == (size == 20_000)
    assert everything_of(adopted(exported)) == everything_of(source)


def test_only_the_slots_asked_for_are_exported() -> None:
    documents = placed_documents(1, 200)
    wanted = mask(*{slot for slot, _ in documents[:5]})
    exported = list(in_parts(documents, 2).snapshot().export(wanted))
    expected = as_contents((slot, d) for slot, d in documents if wanted[slot])
    assert contents(adopted(exported, wanted)) == expected
    assert 0 < len(expected) < 200


def test_export_of_slots_without_documents_is_empty() -> None:
    export = index_of(placed_documents(1, 20)).snapshot().export(mask())
    assert (list(export), export.left_out, export.damaged) == ([], [], [])


def test_exported_segment_is_the_one_its_documents_would_have_made() -> None:
    documents = placed_documents(1, 100)
    (exported,) = in_parts(documents, 1).snapshot().export(ALL)
    built = [IndexedDocument(slot, d, msgspec.msgpack.encode(d)) for slot, d in documents]
    segment, expected = Segment("", memoryview(exported)), build_segment(built)
    for name in (
        "slots",
        "visits",
        "fetched_at",
        "dates",
        "linking_hosts",
        "contents",
        "sketches",
        "urls",
        "postings",
        "positions",
        "lengths",
    ):
        assert np.array_equal(getattr(segment, name), getattr(expected, name)), name
    for ours, theirs in zip(segment.entries(), expected.dictionary, strict=True):
        assert np.array_equal(np.asarray(ours), np.asarray(theirs))
    assert len(list(segment.encoded_documents(np.arange(100)))) == 100


@pytest.mark.parametrize("size", [2_000, 30_000, 100_000])
def test_exported_segments_are_about_as_large_as_they_are_meant_to_be(size: int) -> None:
    sizes = ExportSizes(size, size * 3 // 2 + 6_000)
    exported = list(index_of(placed_documents(1, 600)).snapshot().export(ALL, sizes))
    assert max(map(len, exported)) <= size * 3 // 2 + 6_000
    assert contents(adopted(exported)) == as_contents(placed_documents(1, 600))


def test_document_too_large_for_a_segment_is_left_out_and_told() -> None:
    documents = placed_documents(1, 40)
    random_ = random.Random(1)
    slot, small = documents[17]
    huge = msgspec.structs.replace(small, text=" ".join(str(random_.random()) for _ in range(4_000)))
    documents[17] = slot, huge
    export = index_of(documents).snapshot().export(ALL, ExportSizes(bytes_max=60_000))
    exported = list(export)
    assert export.left_out == [huge.url]
    assert max(map(len, exported)) <= 60_000
    assert contents(adopted(exported)) == as_contents(documents[:17] + documents[18:])


def test_export_shows_the_commit_it_began_at_whatever_comes_later() -> None:
    documents = placed_documents(1, 100)
    index = in_parts(documents, MERGE_FACTOR)
    export = index.snapshot().export(ALL)
    index.delete_slots(range(SLOTS))
    index.add(placed_documents(2, 10))
    index.commit()
    index.merge_if_needed()
    assert contents(adopted(export)) == as_contents(documents)


def test_export_leaves_out_what_is_damaged_and_tells() -> None:
    documents = placed_documents(1, 60)
    index = Index.open(storage := MemoryStorage())
    index.add(documents[:30])
    index.commit()
    index.add(documents[30:])
    index.commit()
    name = index.snapshot().segments[0].segment.name
    damaged = bytearray(storage.files[name])
    damaged[index.snapshot().segments[0].segment.place_of("postings")[0]] ^= 1
    storage.files[name] = bytes(damaged)
    export = Index.open(storage).snapshot().export(ALL)
    exported = list(export)
    assert [damage.segment for damage in export.damaged] == [name]
    assert contents(adopted(exported)) == as_contents(documents[30:])


# --- Adopting ---------------------------------------------------------------------------------


def exported_of(documents: list[tuple[int, Document]]) -> bytes:
    (content,) = index_of(documents).snapshot().export(ALL)
    return content


def aged(documents: list[tuple[int, Document]], fetched_at: float, text: str) -> list[tuple[int, Document]]:
    return [(slot, msgspec.structs.replace(d, fetched_at=fetched_at, text=text)) for slot, d in documents]


def test_newer_versions_stay_and_older_ones_are_replaced() -> None:
    documents = placed_documents(1, 60)
    index = index_of([*aged(documents[:20], 1e9, "newer"), *aged(documents[20:40], -1.0, "older")])
    generation = index.generation
    told = index.adopt(exported_of(documents), ALL)
    assert index.generation == generation
    assert index.commit() == generation + 1
    expected = [*aged(documents[:20], 1e9, "newer"), *documents[20:]]
    assert contents(index) == as_contents(expected)
    assert sorted(told) == sorted((d.url, d.stamp) for _, d in documents)


def test_nothing_is_written_when_all_is_here() -> None:
    documents = placed_documents(1, 60)
    index = index_of(documents)
    generation = index.generation
    assert len(index.adopt(exported_of(documents), ALL)) == 60
    assert index.commit() == generation


def test_same_version_with_other_link_texts_stays_and_is_not_told() -> None:
    documents = placed_documents(1, 3)
    slot, first = documents[0]
    ours = msgspec.structs.replace(first, anchors=("ours",))
    index = index_of([(slot, ours)])
    told = index.adopt(exported_of(documents), ALL)
    index.commit()
    assert sorted(url for url, _ in told) == sorted(d.url for _, d in documents[1:])
    assert contents(index) == as_contents([(slot, ours), *documents[1:]])


def test_what_waits_for_a_commit_counts_as_here() -> None:
    documents = placed_documents(1, 10)
    index = Index.open(MemoryStorage())
    index.add(aged(documents[:5], 1e9, "newer"))
    index.add(aged(documents[5:], -1.0, "older"))
    index.adopt(exported_of(documents), ALL)
    index.commit()
    assert contents(index) == as_contents([*aged(documents[:5], 1e9, "newer"), *documents[5:]])


def test_adopted_documents_are_there_after_opening_again_and_merging() -> None:
    documents = placed_documents(3, 160)
    storage = MemoryStorage()
    index = Index.open(storage)
    for part in range(MERGE_FACTOR):
        index.adopt(exported_of(documents[part::MERGE_FACTOR]), ALL)
        index.commit()
    assert index.merge_if_needed()
    assert everything_of(Index.open(storage)) == everything_of(index_of(documents))


class FullStorage(MemoryStorage):
    """Without space for the n-th file and those after it."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 1_000

    def write(self, name: str, parts: Iterable[Buffer]) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "no space left on device")
        super().write(name, parts)

    def replace(self, name: str, content: Buffer) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "no space left on device")
        super().replace(name, content)


@pytest.mark.parametrize("left", [0, 1, 2])
def test_adoption_that_met_a_full_disk_may_be_repeated(left: int) -> None:
    documents = placed_documents(1, 30)
    storage = FullStorage()
    index = Index.open(storage)
    index.add(aged(documents[:10], -1.0, "older"))
    index.add(documents[10:12])
    index.commit()
    before, storage.left = contents(index), left
    content = exported_of(documents)
    with pytest.raises(OSError, match="no space"):  # noqa: PT012
        index.adopt(content, ALL)
        index.commit()
    assert contents(index) == before
    storage.left = 1_000
    assert len(index.adopt(content, ALL)) == 30
    index.commit()
    assert contents(index) == contents(Index.open(storage)) == as_contents(documents)


# --- Refusing ---------------------------------------------------------------------------------


def refuse(content: bytes, slots: SlotMask = ALL) -> str:
    """Have an index refuse a segment; return why."""
    index = index_of(placed_documents(2, 5))
    before, files = contents(index), index.generation
    with pytest.raises(CorruptIndexError) as caught:
        index.adopt(content, slots)
    assert not isinstance(caught.value, DamagedSegmentError), "that would be damage of our own"
    assert (index.commit(), contents(index)) == (files, before)
    return str(caught.value)


def test_every_flipped_byte_and_truncation_of_an_export_is_refused() -> None:
    content = exported_of(placed_documents(1, 8))
    index = Index.open(MemoryStorage())
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 0x04
        with pytest.raises(CorruptIndexError):
            index.adopt(bytes(damaged), ALL)
        with pytest.raises(CorruptIndexError):
            index.adopt(content[:place], ALL)
    assert index.commit() == 0


def test_documents_of_slots_that_were_not_asked_for_are_refused() -> None:
    documents = placed_documents(1, 30)
    slots = ALL.copy()
    slots[documents[3][0]] = False
    assert "slots" in refuse(exported_of(documents), slots)


def test_mesh_of_fewer_slots_refuses() -> None:
    documents = placed_documents(1, 30)
    refuse(exported_of(documents), np.ones(max(slot for slot, _ in documents), np.bool_))


def test_document_in_a_slot_that_its_host_is_not_of_is_refused() -> None:
    slot, document = placed_documents(1, 1)[0]
    assert "slot of http://" in refuse(exported_of([((slot + 1) % SLOTS, document)]))


@pytest.mark.parametrize(
    "url", ["http://h/%7e", "HTTP://h/", "http://h", "ftp://h/", "x", "http://h/#a", "http://h:80/"]
)
def test_url_that_is_not_canonical_is_refused(url: str) -> None:
    assert "URL" in refuse(exported_of([(0, Document(url))]))


def test_segment_larger_than_may_be_sent_is_refused() -> None:
    assert "bytes" in refuse(bytes(EXPORTED_BYTES_MAX + 1))


def test_segment_of_another_version_is_refused() -> None:
    content = exported_of(placed_documents(1, 3))
    with pytest.raises(CorruptIndexError, match="analysis 99"):
        check_segment(of_versions(content, analysis_version=99), ALL)


@pytest.mark.parametrize("fetched_at", [float("nan"), float("inf")])
def test_time_that_nothing_can_be_newer_than_is_refused(fetched_at: float) -> None:
    slot, document = placed_documents(1, 1)[0]
    assert "version" in refuse(
        exported_of([(slot, msgspec.structs.replace(document, fetched_at=fetched_at))])
    )


@cache
def honest() -> SegmentData:
    """Return the page that forged segments begin with, built once; nobody changes it in place."""
    return build_segment(
        [
            IndexedDocument(slot, document, msgspec.msgpack.encode(document))
            for slot, document in placed_documents(1, 30)
        ]
    )


def forged(change: Callable[[SegmentData], dict[str, Any]]) -> bytes:
    """A segment with some sections replaced, and right checksums."""
    data = honest()
    changed = change(data)
    packed = dict(zip(PACKED, pack_dictionary(changed.pop("dictionary", data.dictionary)), strict=True))
    packed |= {name: changed.pop(name) for name in PACKED if name in changed}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "peers.engine.segments.segment_format.pack_dictionary", lambda _: tuple(packed.values())
        )
        return b"".join(encode_segment(msgspec.structs.replace(data, **changed)))


PACKED = ("packed", "packed_blocks")


def section(data: SegmentData, table: str) -> NDArray[Any]:
    if table in PACKED:
        return pack_dictionary(data.dictionary)[PACKED.index(table)]
    array: NDArray[Any] = getattr(data, table)
    return array


def test_forged_segment_without_a_change_is_adopted() -> None:
    check_segment(forged(lambda data: {}), ALL)


OTHER = zstandard.ZstdCompressor().compress(bytes(5))


def test_section_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("peers.engine.segments.segment_format._UNPACKED_TIMES_MAX", 1 << 40)
        content = forged(lambda data: {"urls": np.zeros(16 << 20, np.uint8)})
    assert len(content) < 1 << 20
    assert "header" in refuse(content)


@pytest.mark.parametrize(
    "made", [lambda frame: bytes(len(frame)), lambda _: OTHER, lambda frame: frame + b"0"]
)
def test_section_that_does_not_unpack_to_what_it_says_is_refused(
    made: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    compress = zstandard.ZstdCompressor().compress

    class Compressor:
        def __init__(self, level: int) -> None: ...

        def compress(self, content: memoryview) -> bytes:
            return made(compress(content))

    with monkeypatch.context() as patch:
        patch.setattr("peers.engine.segments.segment_format.zstandard.ZstdCompressor", Compressor)
        content = forged(lambda data: {})
    assert "section" in refuse(content)


def shifted(table: str, place: int, by: int) -> Callable[[SegmentData], dict[str, Any]]:
    def change(data: SegmentData) -> dict[str, Any]:
        array = section(data, table).copy()
        array[place] += by
        return {table: array}

    return change


@pytest.mark.parametrize(
    "table",
    ["url_starts", "packed_blocks", "block_starts", "block_documents"],
)
@pytest.mark.parametrize("place", [0, 1, -1])
@pytest.mark.parametrize("by", [-1, 1, 1 << 40, -(1 << 62)])
def test_tables_that_lead_elsewhere_are_refused(table: str, place: int, by: int) -> None:
    refuse(forged(shifted(table, place, by)))


@pytest.mark.parametrize(
    "table",
    [
        "slots", "visits", "fetched_at", "dates", "linking_hosts", "contents", "sketches", "lengths",
        "url_starts", "packed",
        "packed_blocks", "postings", "positions", "block_starts", "block_documents", "block_sums",
        "stored", "urls",
    ],
)  # fmt: skip
def test_tables_that_are_too_short_or_empty_are_refused(table: str) -> None:
    refuse(forged(lambda data: {table: section(data, table)[:-1]}))
    refuse(forged(lambda data: {table: section(data, table)[:0]}))


@pytest.mark.parametrize(
    ("table", "by"),
    [
        ("dates", 1),
        ("linking_hosts", 1),
        ("contents", 1),
        ("sketches", 1),
        ("lengths", 1),
        ("fetched_at", 1),
        ("visits", 1),
        ("slots", 1),
    ],
)
def test_numbers_that_do_not_add_up_are_refused(table: str, by: int) -> None:
    refuse(forged(shifted(table, 0, by)))


def test_postings_of_any_wrong_bytes_are_refused_or_right() -> None:
    """No byte of postings or positions can be another one without being noticed, or the lengths change."""
    random_ = random.Random(4)
    n_refused = 0
    for table in ("postings", "positions"):
        for _ in range(300):

            def change(data: SegmentData, table: str = table) -> dict[str, Any]:
                array = getattr(data, table).copy()
                array[random_.randrange(len(array))] = random_.choice([0, 1, 127, 128, 255])
                return {table: array}

            try:
                check_segment(forged(change), ALL)
            except CorruptIndexError:
                n_refused += 1
    assert n_refused > 200


def test_whatever_passes_the_check_is_searched_merged_and_exported_without_harm() -> None:
    random_ = random.Random(5)
    n_adopted = 0
    for _ in range(200):

        def change(data: SegmentData) -> dict[str, Any]:
            postings, positions = data.postings.copy(), data.positions.copy()
            postings[random_.randrange(len(postings))] ^= 1 << random_.randrange(8)
            positions[random_.randrange(len(positions))] ^= 1 << random_.randrange(2)
            return random_.choice([{"postings": postings}, {"positions": positions}])

        index = index_of(placed_documents(7, 10))
        try:
            index.adopt(forged(change), ALL)
        except CorruptIndexError:
            continue
        index.commit()
        n_adopted += 1
        view = index.snapshot().everything()
        assert all(search(view, query, 100)[0] <= 40 for query in QUERIES)
        assert sum(Segment("", memoryview(s)).document_count for s in index.snapshot().export(ALL)) >= 30
    assert n_adopted > 5


def test_terms_out_of_order_or_without_text_are_refused() -> None:
    def swapped(data: SegmentData) -> dict[str, Any]:
        terms = strings_of(data)
        terms[3], terms[4] = terms[4], terms[3]
        return with_terms(data, terms)

    def undecodable(data: SegmentData) -> dict[str, Any]:
        terms = strings_of(data)
        terms[-1] = b"\xff" * len(terms[-1])
        return with_terms(data, terms)

    assert "order of terms" in refuse(forged(swapped))
    assert "decoded" in refuse(forged(undecodable))


def with_terms(data: SegmentData, terms: list[bytes]) -> dict[str, Any]:
    blob, starts = pack_strings(terms)
    return {"dictionary": data.dictionary._replace(terms=blob, term_starts=starts)}


def test_every_number_of_the_dictionary_that_does_not_add_up_is_refused() -> None:
    def change(data: SegmentData) -> dict[str, Any]:
        array = section(data, "packed").copy()
        array[place] ^= bit
        return {"packed": array}

    random_ = random.Random(6)
    unchanged = forged(lambda data: {})
    size = len(Segment("", memoryview(unchanged)).dictionary)
    before = strings_of_segment(unchanged)
    for _ in range(400):
        place, bit = random_.randrange(size), 1 << random_.randrange(8)
        content = forged(change)
        try:
            check_segment(content, ALL)
        except CorruptIndexError:
            continue
        # Another letter of a term leaves a dictionary in order: nobody can know.
        after = strings_of_segment(content)
        assert sum(a != b for a, b in zip(before, after, strict=True)) >= 1


def strings_of_segment(content: bytes) -> list[bytes]:
    entries = Segment("", memoryview(content)).entries()
    whole, starts = entries.terms.tobytes(), entries.term_starts.tolist()
    return [whole[starts[i] : starts[i + 1]] for i in range(len(starts) - 1)]


def strings_of(data: SegmentData) -> list[bytes]:
    whole, starts = data.dictionary.terms.tobytes(), data.dictionary.term_starts.tolist()
    return [whole[starts[i] : starts[i + 1]] for i in range(len(starts) - 1)]


def test_word_without_positions_is_refused() -> None:
    """Merged with an honest segment, which has them, its postings would be misread."""

    def change(data: SegmentData) -> dict[str, Any]:
        terms = strings_of(data)
        first_host = next(place for place, term in enumerate(terms) if term[:1] == b"\x02")
        terms[first_host] = b"\x01\xef\xbf\xbf"  # by its name an atom
        return with_terms(data, terms)

    assert "positions" in refuse(forged(change))


def with_stored(change: Callable[[list[Any]], None]) -> Callable[[SegmentData], dict[str, Any]]:
    def replaced(data: SegmentData) -> dict[str, Any]:
        blocks = [
            zstandard.decompress(data.stored.tobytes()[start:end])
            for start, end in zip(data.block_starts[:-1], data.block_starts[1:], strict=True)
        ]
        documents = [document for block in blocks for document in msgspec.msgpack.decode(block)]
        change(documents)
        return stored_as(msgspec.msgpack.encode(documents), len(documents))

    return replaced


def stored_as(raw: bytes, n_documents: int) -> dict[str, Any]:
    return compressed_as(zstandard.compress(raw), n_documents)


def compressed_as(block: bytes, n_documents: int) -> dict[str, Any]:
    return {
        "stored": as_bytes(block),
        "block_starts": np.array([0, len(block)]),
        "block_documents": np.array([0, n_documents]),
        "block_sums": np.array([xxhash.xxh3_64_intdigest(block)], np.uint64),
    }


STORED_CHANGES: dict[str, Callable[[list[Any]], None]] = {
    "another URL": lambda documents: documents[3].__setitem__(0, "http://elsewhere.example/"),
    "another time": lambda documents: documents[3].__setitem__(6, 7.5),
    "no text": lambda documents: documents[3].__setitem__(3, 5),
    "one less": lambda documents: documents.pop(),
    "no document": lambda documents: documents.__setitem__(3, "x"),
}


@pytest.mark.parametrize("change", STORED_CHANGES.values(), ids=STORED_CHANGES)
def test_stored_documents_that_do_not_fit_are_refused(change: Callable[[list[Any]], None]) -> None:
    check_segment(forged(with_stored(lambda documents: None)), ALL)
    refuse(forged(lambda data: with_stored(change)(data) | {"block_documents": np.array([0, 30])}))


def test_stored_documents_that_are_none_are_refused() -> None:
    refuse(forged(lambda data: stored_as(b"\xc1" * 50, 30)))
    refuse(forged(lambda data: compressed_as(b"no frame at all", 30)))
    # A frame that claims to become 2^60 bytes: single segment, content size of eight bytes.
    bomb = b"\x28\xb5\x2f\xfd\xe0" + (1 << 60).to_bytes(8, "little") + b"\x01\x00\x00"
    assert zstandard.frame_content_size(bomb) == 1 << 60
    refuse(forged(lambda data: compressed_as(bomb, 30)))
