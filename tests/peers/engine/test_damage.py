"""What happens when bytes on the medium change: at rest, and under an index that is open."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from mesh.slot_set import SlotMask
from peers.engine.files.errors import DamagedSegmentError
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.merging.segment_merge import MERGE_FACTOR
from peers.engine.native.kernels import SUM_BLOCK_BYTES, sum_blocks
from peers.engine.native.lists import Postings, find_damage
from peers.engine.pages.document import Document
from peers.engine.queries.query import Mode
from peers.engine.queries.query_parser import parse_query
from peers.engine.segments.manifest import MANIFEST_NAME, Manifest, encode_manifest
from peers.engine.segments.segment import Segment
from peers.kernel import Bytes
from tests.peers.engine.merging.test_export import SLOTS
from tests.peers.engine.samples import of_versions, placed_documents, search
from tests.peers.engine.test_index import as_contents, contents
from tests.peers.engine.test_search import QUERIES

DOCUMENTS = placed_documents(1, 120)
FIRST, SECOND = DOCUMENTS[:80], DOCUMENTS[80:]

CHECKED_AT_OPENING = [
    "slots", "visits", "fetched_at", "dates", "linking_hosts", "contents", "sketches", "lengths",
    "urls", "url_starts", "dictionary",
    "dictionary_blocks", "postings_sums", "positions_sums", "block_starts", "block_documents", "block_sums",
]  # fmt: skip
CHECKED_WHEN_READ = ["postings", "positions", "stored"]


def two_segments(storage: MemoryStorage) -> Index:
    index = Index.open(storage)
    for documents in (FIRST, SECOND):
        index.add(documents)
        index.commit()
    return index


def flip(storage: MemoryStorage, name: str, place: int) -> None:
    content = bytearray(storage.files[name])
    content[place] ^= 0x10
    storage.files[name] = bytes(content)


def slots_of(documents: Sequence[tuple[int, Document]]) -> list[int]:
    return sorted({slot for slot, _ in documents})


def listed(slots: SlotMask) -> list[int]:
    return np.flatnonzero(slots).tolist()


# --- At rest ----------------------------------------------------------------------------------


@pytest.mark.parametrize("section", CHECKED_AT_OPENING)
def test_segment_damaged_in_what_is_kept_in_memory_is_put_aside_at_opening(section: str) -> None:
    storage = MemoryStorage()
    first = two_segments(storage).snapshot().segments[0].segment
    for place in (first.place_of(section)[0], first.place_of(section)[-1]):
        damaged = MemoryStorage()
        damaged.files = dict(storage.files)
        flip(damaged, first.name, place)
        index = Index.open(damaged)
        assert contents(index) == as_contents(SECOND)
        lost = range(65_536) if section == "slots" else slots_of(FIRST)
        assert listed(index.damaged) == list(lost)
        assert first.name not in damaged.files
        assert damaged.files[f"damaged-{first.name}"]


def test_every_flipped_byte_of_a_header_puts_the_segment_aside_with_all_slots() -> None:
    storage = MemoryStorage()
    first = two_segments(storage).snapshot().segments[0].segment
    for place in range(0, first.place_of("slots")[0], 3):
        damaged = MemoryStorage()
        damaged.files = dict(storage.files)
        flip(damaged, first.name, place)
        index = Index.open(damaged)
        assert contents(index) == as_contents(SECOND)
        assert index.damaged.all()


def test_cut_off_missing_or_longer_segment_is_put_aside() -> None:
    storage = MemoryStorage()
    first = two_segments(storage).snapshot().segments[0].segment
    whole = storage.files[first.name]
    for content in (whole[:-1], whole[:-64], whole[:100], b"", whole + bytes(64), None):
        damaged = MemoryStorage()
        damaged.files = dict(storage.files)
        if content is None:
            del damaged.files[first.name]
        else:
            damaged.files[first.name] = content
        index = Index.open(damaged)
        assert contents(index) == as_contents(SECOND)
        assert index.damaged.all()


def test_damaged_list_of_deletions_puts_its_segment_aside() -> None:
    storage = MemoryStorage()
    index = two_segments(storage)
    index.delete([FIRST[0][1].url])
    index.commit()
    (name,) = [name for name in storage.files if name.startswith("deletions")]
    for place in range(len(storage.files[name])):
        damaged = MemoryStorage()
        damaged.files = dict(storage.files)
        flip(damaged, name, place)
        index = Index.open(damaged)
        assert contents(index) == as_contents(SECOND)
        assert listed(index.damaged) == slots_of(FIRST)


def test_damaged_manifest_puts_all_segments_aside_and_the_index_goes_on() -> None:
    storage = MemoryStorage()
    two_segments(storage)
    for place in range(len(storage.files[MANIFEST_NAME])):
        damaged = MemoryStorage()
        damaged.files = dict(storage.files)
        flip(damaged, MANIFEST_NAME, place)
        index = Index.open(damaged)
        assert (contents(index), bool(index.damaged.all())) == ({}, True)
        assert sum(name.startswith("damaged-") for name in damaged.files) == 2
        index.add(SECOND)
        index.commit()
        again = Index.open(damaged)
        assert contents(again) == as_contents(SECOND)
        assert again.damaged.all()


def test_damage_is_remembered_until_it_is_mended() -> None:
    storage = MemoryStorage()
    first = two_segments(storage).snapshot().segments[0].segment
    flip(storage, first.name, first.place_of("urls")[0])
    index = Index.open(Index.open(storage)._storage)
    assert listed(index.damaged) == slots_of(FIRST)
    index.add(FIRST)
    index.commit()
    some = np.zeros(SLOTS, np.bool_)
    some[slots_of(FIRST)[:2]] = True
    index.mend(some)
    index = Index.open(storage)
    assert listed(index.damaged) == slots_of(FIRST)[2:]
    assert any(name.startswith("damaged-") for name in storage.files)
    index.mend(np.ones(SLOTS, np.bool_))
    assert not any(name.startswith("damaged-") for name in storage.files)
    index = Index.open(storage)
    assert not index.damaged.any()
    assert contents(index) == as_contents(DOCUMENTS)


@pytest.mark.parametrize("version", ["format_version", "analysis_version"])
def test_segments_of_another_version_are_put_aside_to_be_indexed_anew(version: str) -> None:
    storage = MemoryStorage()
    two_segments(storage)
    for name, content in storage.files.items():
        if content.startswith(b"TIANSEG"):
            storage.files[name] = of_versions(content, **{version: 99})
    index = Index.open(storage)
    assert (contents(index), bool(index.damaged.all())) == ({}, True)
    index.add(DOCUMENTS)
    index.commit()
    index.mend(np.ones(SLOTS, np.bool_))
    index = Index.open(storage)
    assert contents(index) == as_contents(DOCUMENTS)
    assert not index.damaged.any()


def test_a_manifest_of_another_version_puts_all_segments_aside() -> None:
    storage = MemoryStorage()
    two_segments(storage)
    storage.files[MANIFEST_NAME] = encode_manifest(Manifest(version=99))
    index = Index.open(storage)
    assert (contents(index), bool(index.damaged.all())) == ({}, True)
    assert contents(Index.open(storage)) == {}


def test_segment_on_a_disk_is_renamed(tmp_path: Path) -> None:
    with Index.open(tmp_path) as index:
        index.add(FIRST)
        index.commit()
        name = index.snapshot().segments[0].segment.name
    content = bytearray((tmp_path / name).read_bytes())
    content[-100] ^= 1
    (tmp_path / name).write_bytes(content[:-64])
    with Index.open(tmp_path) as index:
        assert index.damaged.all()
    assert (tmp_path / f"damaged-{name}").read_bytes() == content[:-64]


# --- Under an open index ----------------------------------------------------------------------


class Damaged:
    """An index on a disk with one bit of a segment changed while it is open."""

    def __init__(self, folder: Path) -> None:
        self.index = Index.open(folder)
        self.index.add(FIRST)
        self.index.commit()
        self.path = folder / self.index.snapshot().segments[0].segment.name
        self.segment: Segment = self.index.snapshot().segments[0].segment

    def flip(self, place: int) -> None:
        """Flip a bit, or flip it back."""
        with self.path.open("r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 0x08]))


def answers(index: Index) -> list[object]:
    view = index.snapshot().everything()
    return [(search(view, query, 100, mode)) for query in QUERIES for mode in Mode]


@pytest.mark.parametrize("section", CHECKED_AT_OPENING)
def test_flip_in_what_is_kept_in_memory_changes_no_answer(tmp_path: Path, section: str) -> None:
    damaged = Damaged(tmp_path)
    before, stored = answers(damaged.index), contents(damaged.index)
    damaged.flip(damaged.segment.place_of(section)[0])
    assert (answers(damaged.index), contents(damaged.index)) == (before, stored)


@pytest.mark.parametrize("section", ["postings", "positions"])
def test_flip_anywhere_gives_the_right_answer_or_none(tmp_path: Path, section: str) -> None:
    """For every place: a query that reads the block is not answered, any other one is answered as before."""
    damaged = Damaged(tmp_path)
    view = damaged.index.snapshot().everything()
    queries = [parse_query(text, mode) for text in QUERIES for mode in Mode]
    statistics = [view.statistics(query.terms) for query in queries]

    def answer(number: int) -> object:
        try:
            return view.search(queries[number], statistics[number], 100)
        except DamagedSegmentError as error:
            return error.segment, error.slots.tolist()

    expected = [answer(number) for number in range(len(queries))]
    refused = damaged.segment.name, slots_of(FIRST)
    places = damaged.segment.place_of(section)
    met = set()
    for place in [*places[:: max(1, len(places) // 25)], places[-1]]:
        damaged.flip(place)
        for number, right in enumerate(expected):
            given = answer(number)
            assert given in (right, refused)
            met |= {place} if given == refused else set()
        damaged.flip(place)
    assert len(met) > 5, "many blocks are read by some query"
    assert [answer(number) for number in range(len(queries))] == expected


def test_flip_is_met_by_the_statistics_of_some_slots(tmp_path: Path) -> None:
    damaged = Damaged(tmp_path)
    slots = np.ones(SLOTS, np.bool_)
    slots[slots_of(FIRST)[0]] = False
    terms = parse_query("天网 index").terms
    view = damaged.index.snapshot().responsible(slots)
    expected = view.statistics(terms)
    for block in range(0, len(damaged.segment.postings), SUM_BLOCK_BYTES):
        damaged.flip(damaged.segment.place_of("postings")[block])
    with pytest.raises(DamagedSegmentError):
        view.statistics(terms)
    for block in range(0, len(damaged.segment.postings), SUM_BLOCK_BYTES):
        damaged.flip(damaged.segment.place_of("postings")[block])
    assert view.statistics(terms) == expected


def test_flip_in_a_stored_document_is_met_when_it_is_read(tmp_path: Path) -> None:
    damaged = Damaged(tmp_path)
    before = contents(damaged.index)
    places = damaged.segment.place_of("stored")
    for place in places[:: len(places) // 30]:
        damaged.flip(place)
        with pytest.raises(DamagedSegmentError):
            contents(damaged.index)
        damaged.flip(place)
    assert contents(damaged.index) == before


@pytest.mark.parametrize("section", CHECKED_WHEN_READ)
def test_merge_takes_no_damage_over(section: str) -> None:
    storage = MemoryStorage()
    index = Index.open(storage)
    for part in range(MERGE_FACTOR):
        index.add(DOCUMENTS[part::MERGE_FACTOR])
        index.commit()
    segment = index.snapshot().segments[3].segment
    flip(storage, segment.name, segment.place_of(section)[len(segment.place_of(section)) // 2])
    index = Index.open(storage)
    with pytest.raises(DamagedSegmentError) as caught:
        index.merge_if_needed()
    index.put_aside(caught.value.segment)
    assert contents(index) == as_contents(d for n, d in enumerate(DOCUMENTS) if n % MERGE_FACTOR != 3)
    assert listed(index.damaged) == slots_of(DOCUMENTS[3::MERGE_FACTOR])


def test_segment_put_aside_loses_its_live_documents_and_no_others() -> None:
    storage = MemoryStorage()
    index = two_segments(storage)
    index.delete_slots(slots_of(FIRST)[:1])
    index.commit()
    generation, name = index.generation, index.snapshot().segments[0].segment.name
    lost = index.put_aside(name)
    assert listed(lost) == listed(index.damaged) == slots_of(FIRST)[1:]
    assert index.generation == generation + 1
    kept = as_contents((s, d) for s, d in SECOND if s != slots_of(FIRST)[0])
    assert contents(index) == contents(Index.open(storage)) == kept
    assert index.put_aside("segment-0000000099").any() == False  # noqa: E712
    assert index.generation == generation + 1


# --- Sums -------------------------------------------------------------------------------------


def sum_of(data: bytes) -> int:
    """The sum of a block, as `kernels` describes it, in plain numbers."""
    whole = 1 << 64
    total = products = 0
    for i in range(len(data) // 8):
        word = int.from_bytes(data[8 * i : 8 * i + 8], "little")
        x = (word + (i + 1) * 0x9E3779B185EBCA87) % whole
        total, products = total + x, products + (x % (1 << 32)) * (x >> 32)
    products %= whole
    mixed = ((products ^ products >> 29) * 0xC2B2AE3D27D4EB4F + total) % whole
    mixed = (mixed ^ mixed >> 32) * 0x165667B19E3779F9 % whole
    return mixed ^ mixed >> 29


def sums_of(data: Bytes) -> list[int]:
    sums = np.empty(-(-len(data) // SUM_BLOCK_BYTES), np.uint64)
    sum_blocks(data.view(np.uint64), sums)
    return sums.tolist()


@pytest.mark.parametrize("size", [64, 4032, 4096, 4160, 3 * 4096, 3 * 4096 + 64])
def test_each_block_has_its_sum(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    blocks = [data[at : at + SUM_BLOCK_BYTES].tobytes() for at in range(0, size, SUM_BLOCK_BYTES)]
    assert sums_of(data) == [sum_of(block) for block in blocks]


@pytest.mark.parametrize("filled_with", [0, 1, 255, None])
def test_sum_differs_after_any_bit_is_flipped_and_any_two_words_are_swapped(filled_with: int | None) -> None:
    data = np.random.default_rng(1).integers(0, 256, SUM_BLOCK_BYTES, np.uint8)
    if filled_with is not None:
        data[:] = filled_with
    sums = set(sums_of(data))
    for bit in range(8 * SUM_BLOCK_BYTES):
        changed = data.copy()
        changed[bit // 8] ^= 1 << bit % 8
        sums.add(sums_of(changed)[0])
    assert len(sums) == 1 + 8 * SUM_BLOCK_BYTES
    if filled_with is None:
        for first, second in itertools.combinations(range(SUM_BLOCK_BYTES // 8), 2):
            changed = data.copy()
            words = changed.view(np.uint64)
            words[[first, second]] = words[[second, first]]
            assert sums_of(changed)[0] not in sums


def damage_of(data: bytes, flipped: int) -> Callable[[int, int], int]:
    array = np.frombuffer(data, np.uint8)
    sums = np.empty(-(-len(data) // SUM_BLOCK_BYTES), np.uint64)
    sum_blocks(array.view(np.uint64), sums)
    changed = array.copy()
    changed[flipped] ^= 1

    def found(start: int, end: int) -> int:
        words, summed = changed.view(np.uint32), changed.view(np.uint64)
        postings = Postings(changed, words, summed, sums, changed, summed, sums)
        return find_damage(postings, np.array([start]), np.array([end]))

    return found


def test_damage_is_found_in_the_blocks_that_are_read_and_in_no_others() -> None:
    found = damage_of(bytes(3 * SUM_BLOCK_BYTES), SUM_BLOCK_BYTES + 5)
    second, third = SUM_BLOCK_BYTES, 2 * SUM_BLOCK_BYTES
    assert found(0, third) == found(second - 1, second + 1) == found(third - 1, third) == 1
    assert found(second, second + 1) == 1, "a block is checked whole"
    assert found(0, second) == found(third, third + 1) == found(second, second) == -1
