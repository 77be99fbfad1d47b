"""The disk of a simulated peer: what a crash, a loss of power, a full or a slow disk leave of it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mesh.actors.actor import Address, Message
from mesh.actors.port import DiskFilled
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.index.messages import CommitDocuments
from peers.storage.archive.warc import is_sound
from peers.storage.ledger.extent import Extent
from peers.storage.messages import AppendRecords, RecordsAppended
from simulations.faults.disks import FULL_RETRY_S, Disk, DiskArchive, DiskSegments
from simulations.webs.web import SyntheticWeb
from simulations.world.hardware import SYNC_S
from simulations.world.revertible_table import RevertibleTable
from simulations.world.words import WordyParser, rare_word_of
from simulations.world.world import PortAnswer
from tests.helpers import seen

CELL = Address("a", "cell")
URL = "http://a.test/"


def append(archive: DiskArchive, url: str, now: float) -> list[PortAnswer]:
    records = WordyParser(SyntheticWeb(1, 1)).records(url, seen(7.0), b"")
    return list(archive.receive(CELL, AppendRecords(url, seen(7.0), records), now))


def place_in(answers: Iterable[PortAnswer]) -> Extent:
    (appended,) = [each.message for each in answers if isinstance(each.message, RecordsAppended)]
    return Extent(appended.segment, appended.offset, appended.length)


def test_records_are_told_after_the_sync_and_survive_a_crash() -> None:
    disk = Disk()
    (answer,) = append(DiskArchive("a", disk), URL, 10.0)
    assert answer.delay_s == pytest.approx(SYNC_S)
    assert answer.target == CELL
    disk.forget_unsynced()
    assert is_sound(disk.archive.read(place_in([answer])))


def test_a_loss_of_power_takes_what_was_not_told() -> None:
    disk = Disk()
    archive = DiskArchive("a", disk)
    first = place_in(append(archive, URL, 10.0))
    end = disk.archive.end()
    append(archive, URL + "2", 10.0 + SYNC_S)
    disk.lose_power(10.0 + 1.5 * SYNC_S)
    assert disk.archive.end() == end
    assert is_sound(disk.archive.read(first))
    assert place_in(append(DiskArchive("a", disk), URL + "3", 11.0)).offset == end[1]


def test_a_slow_disk_takes_its_time_one_order_after_the_other() -> None:
    disk = Disk()
    archive = DiskArchive("a", disk)
    disk.factor = 100.0
    assert append(archive, URL, 10.0)[0].delay_s == pytest.approx(100 * SYNC_S)
    disk.factor = 1.0
    assert append(archive, URL + "2", 10.0)[0].delay_s == pytest.approx(100 * SYNC_S)


def test_a_full_disk_says_so_and_takes_what_waited_once_it_is_free() -> None:
    disk = Disk()
    archive = DiskArchive("a", disk)
    disk.fill()
    answers = append(archive, URL, 10.0)
    told = [answer.message for answer in answers if isinstance(answer.message, DiskFilled)]
    assert len(told) == 2
    retry = answers[-1]
    assert (retry.delay_s, retry.target) == (FULL_RETRY_S, Address("a", "archive"))
    assert not any(answer.target == retry.target for answer in append(archive, URL + "2", 11.0))
    disk.free()
    again = list(archive.receive(retry.target, retry.message, 15.0))
    assert [type(answer.message) for answer in again] == [RecordsAppended, RecordsAppended]


def test_a_flipped_bit_damages_the_record_it_is_in() -> None:
    disk = Disk()
    place = place_in(append(DiskArchive("a", disk), URL, 10.0))
    disk.archive.flip(0.5)
    assert not is_sound(disk.archive.read(place))


def commit(segments: DiskSegments, batch: int, now: float) -> list[PortAnswer]:
    document = Document(f"{URL}{batch}", text=rare_word_of(f"{URL}{batch}"))
    order: Message = CommitDocuments(batch, ((0, document),), ())
    return list(segments.receive(Address("a", "indexer"), order, now))


def test_a_loss_of_power_takes_the_commit_of_the_index_that_was_not_told() -> None:
    disk = Disk()
    segments = DiskSegments(disk, Index.open(disk.storage))
    (first,) = commit(segments, 1, 10.0)
    commit(segments, 2, 11.0)
    disk.lose_power(11.0)
    assert first.delay_s < 1.0
    assert Index.open(disk.storage).generation == 1


def test_a_crash_leaves_the_commit_of_the_index_that_was_not_told() -> None:
    disk = Disk()
    commit(DiskSegments(disk, Index.open(disk.storage)), 1, 10.0)
    disk.forget_unsynced()
    assert Index.open(disk.storage).generation == 1


def test_a_table_tells_what_a_commit_changed_and_what_was_there_before() -> None:
    table = RevertibleTable()
    seen: list[dict[bytes, bytes | None]] = []
    table.on_commit = lambda before: seen.append(dict(before))
    table.put(b"a", b"1")
    table.commit()
    table.put(b"a", b"2")
    table.put(b"b", b"1")
    table.revert()
    table.delete(b"a")
    table.commit()
    assert seen == [{b"a": None}, {b"a": b"1"}]
