"""Space comes back, at a bounded rate, and whatever happens no version is lost that is to be kept."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from mesh.actors.actor import Address
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from peers.storage.archive.archive import Archive
from peers.storage.archive.archive_twin import ArchiveTwin
from peers.storage.archive.warc import response_record
from peers.storage.cell import Cell
from peers.storage.compaction import CompactionSettings, RetentionSettings, expires
from peers.storage.ledger.ledger_keys import slot_in
from peers.storage.ledger.place import Place
from peers.storage.messages import (
    AppendBulk,
    AppendRecords,
    ReadExtents,
    ReadRecords,
    RemoveSegments,
    StorePage,
)
from peers.storage.settings import CellSettings
from peers.storage.wire_messages import StoredPage
from tests.peers.storage.dict_texts import DictTexts
from tests.peers.storage.test_cell import ME, QUIET, SLOTS, alone, owned, page  # noqa: F401

FOR_ARCHIVE = AppendRecords | AppendBulk | ReadExtents | ReadRecords | RemoveSegments
SEGMENT_BYTES = 20_000
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


def place(at_s: float, *, has_content: bool = True) -> Place:
    return Place("http://a.test/", at_s, 200 if has_content else 404, 1, 0, 1, 0, has_content)


class Disk:
    """A cell over a real archive with small segments, which may crash."""

    def __init__(self, folder: Path, **retention: float) -> None:
        self.folder = folder
        self.table = MemoryTable()
        self.now = 1_000.0
        compaction = CompactionSettings(places_per_turn=7, batch_bytes=3_000, bytes_per_s=1e6)
        self.settings = CellSettings(
            scrub=QUIET,
            compaction=compaction,
            retention=RetentionSettings(**retention),  # type: ignore[arg-type]
        )
        self.copied: list[int] = []  # bytes, by order
        self.is_down_at_append = False
        self.open()

    def open(self) -> None:
        self.archive = Archive(self.folder, "a", segment_bytes_max=SEGMENT_BYTES)
        self.twin = ArchiveTwin(self.archive)
        self.cell = Cell(ME, self.table, DictTexts(), self.settings)
        self.tell(owned(ME, replicas=1, peers=(ME,)), Address(ME, "membership"))

    def tell(self, message: object, source: Address) -> None:
        waiting = self.cell.receive(source, message, self.now)  # type: ignore[arg-type]
        self.cell.before_commit(self.now)
        while waiting:
            order = waiting.pop(0).message
            if isinstance(order, AppendBulk):
                self.copied.append(sum(map(len, order.records)))
                if self.is_down_at_append:
                    self.twin.receive(order)  # it is on the disk, and nobody is told
                    return
            if isinstance(order, FOR_ARCHIVE):
                for _, answer in self.twin.receive(order):
                    waiting += self.cell.receive(Address(ME, "archive"), answer, self.now)

    def store(self, number: int, visit: int) -> None:
        url = f"http://host.example/{number}"
        stamp = Stamp(visit, 1_000.0 + visit)
        records = response_record(url, HEAD, b"%d %d " % (number, visit) * 100, stamp)
        slot = self.cell._teams.slot_of(url)
        assert slot is not None
        stored = StoredPage(url, slot, stamp.fetched_at, 200, records, None, visit)
        self.tell(StorePage(stored), Address(ME, "controller"))

    def run(self, seconds: float = 20_000.0) -> None:
        until_s = self.now + seconds
        for _ in range(2_000):
            wake_at = self.cell.wake_at()
            if wake_at > until_s:
                return
            self.now = max(self.now, wake_at)
            for send in self.cell.wake(self.now):
                if isinstance(send.message, FOR_ARCHIVE):
                    for _, answer in self.twin.receive(send.message):
                        self.tell(answer, Address(ME, "archive"))

    def kept(self) -> dict[tuple[str, int], bytes]:
        """All versions, read back."""
        places = self.cell._ledger.places(b"", 10_000)
        return {(each.url, each.visit): self.archive.read(each.extent) for _, _, each in places}

    def files(self) -> int:
        return len(list(self.folder.glob("*.warc.gz")))


@pytest.mark.parametrize("versions_max", [1, 2])
def test_versions_beyond_the_number_go_and_their_segments_with_them(
    tmp_path: Path, versions_max: int
) -> None:
    disk = Disk(tmp_path, versions_max=versions_max)
    for visit in range(1, 9):
        for number in range(40):
            disk.store(number, visit)
    before = disk.kept()
    n_bytes, files = disk.archive.byte_count, disk.files()
    disk.run()
    wanted = {key: records for key, records in before.items() if key[1] > 8 - versions_max}
    assert disk.kept() == wanted
    assert disk.cell.observe().expired == 40 * (8 - versions_max)
    assert disk.files() < files
    assert disk.archive.byte_count < n_bytes * (versions_max + 2) / 8
    assert max(disk.copied, default=0) <= 3_000 + 1_000, "little is in memory at a time"
    disk.archive.close()
    disk.open()
    assert disk.kept() == wanted


def test_segments_that_are_mostly_alive_are_left_alone(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    for number in range(100):
        disk.store(number, 1)
    files = disk.files()
    disk.run()
    assert disk.copied == []
    assert disk.files() == files
    assert disk.cell.wake_at() == inf, "there is nothing to look for"


def test_a_crash_after_the_copy_and_before_its_place_is_noted_loses_nothing(tmp_path: Path) -> None:
    disk = Disk(tmp_path, versions_max=1)
    newest = {}
    for visit in range(1, 4):
        for number in range(60):
            if visit == 1 or number % 3:  # in every segment something lives
                disk.store(number, visit)
                newest[f"http://host.example/{number}"] = visit
    wanted = {key: records for key, records in disk.kept().items() if newest[key[0]] == key[1]}
    for _ in range(3):
        disk.is_down_at_append = True
        disk.run()
        assert disk.copied
        disk.copied.clear()
        disk.archive.close()
        disk.is_down_at_append = False
        disk.open()
        assert wanted.items() <= disk.kept().items()
    disk.run()
    assert disk.kept() == wanted


def test_a_version_that_was_dropped_is_not_taken_again(tmp_path: Path) -> None:
    disk = Disk(tmp_path, versions_max=2)
    for visit in (2, 3, 1):
        disk.store(7, visit)
    disk.run()
    assert {visit for _, visit in disk.kept()} == {2, 3}


def test_what_is_dropped_is_neither_the_newest_nor_the_newest_that_shows_the_page() -> None:
    newest, gone, shown, old = place(9.0), place(8.0, has_content=False), place(7.0), place(1.0)
    assert not expires(newest, [], 1, 100.0)
    assert expires(old, [newest], 1, -inf)
    assert not expires(shown, [gone], 1, 100.0), "nothing newer shows the page"
    assert expires(old, [gone, shown], 0, 7.5), "it was followed by another long ago"
    assert not expires(old, [gone, shown], 0, 6.5)
    assert not expires(old, [newest, shown], 0, -inf)


# --- Bytes of a host ---


def test_a_host_loses_its_oldest_versions_until_it_takes_no_more_than_it_may(tmp_path: Path) -> None:
    disk = Disk(tmp_path, host_bytes_max=20_000)
    for visit in range(1, 9):
        for number in range(10):
            disk.store(number, visit * 3_600)
    before = disk.kept()
    disk.run()
    kept = disk.kept()
    n_bytes = sum(map(len, kept.values()))
    oldest = min(visit for _, visit in kept)
    assert kept == {key: records for key, records in before.items() if key[1] >= oldest}
    of_next = sum(len(records) for key, records in before.items() if key[1] == oldest - 3_600)
    assert n_bytes <= 20_000 < n_bytes + of_next, "no more than needed"
    disk.archive.close()
    disk.open()
    disk.store(3, 3_600)  # another peer has it still, or a file
    disk.run()
    assert disk.kept() == kept


def test_what_a_host_takes_at_least_stays_whatever_it_may(tmp_path: Path) -> None:
    disk = Disk(tmp_path, host_bytes_max=1)
    for visit in (1, 2, 3):
        for number in range(10):
            disk.store(number, visit * 3_600)
    disk.run()
    assert {visit for _, visit in disk.kept()} == {3 * 3_600}
    assert disk.cell.wake_at() >= disk.now + 1_000.0, "there is nothing more to be done"


def test_two_peers_that_let_go_at_other_times_come_to_the_same(tmp_path: Path) -> None:
    often, once = (Disk(tmp_path / name, host_bytes_max=20_000) for name in ("often", "once"))
    for visit in range(1, 9):
        for number in range(10):
            often.store(number, visit * 3_600)
            once.store(number, visit * 3_600)
        often.run(8_000.0)
    once.run()
    often.run()
    assert often.kept() == once.kept()


def test_a_host_that_was_cut_takes_no_older_version_of_another_peer(tmp_path: Path) -> None:
    disk = Disk(tmp_path, host_bytes_max=1)
    for visit in (2, 3):
        disk.store(7, visit * 3_600)
    disk.run()
    identity = next(iter(disk.cell._ledger.places(b"", 1)))[1]
    assert not disk.cell._ledger.lacks(identity, Stamp(3_600, 1_000.0), b"records")
    assert disk.cell._ledger.lacks(identity, Stamp(4 * 3_600, 1e6), b"records")


def test_cuts_of_a_slot_are_forgotten_with_it(tmp_path: Path) -> None:
    disk = Disk(tmp_path, host_bytes_max=1)
    for visit in (2, 3):
        disk.store(7, visit * 3_600)
    disk.run()
    ledger = disk.cell._ledger
    slot = slot_in(ledger.places(b"", 1)[0][1])
    url = "http://host.example/7"
    assert ledger.cuts.of(slot, url) > 0.0
    ledger.forget(slot, 1_000)
    assert ledger.cuts.of(slot, url) == -inf
