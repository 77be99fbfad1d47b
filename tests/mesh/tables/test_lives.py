"""Lives: no start of a peer comes again, whatever its clock says."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

from mesh.tables.lives import LIFE_BITS, NUMBER_BITS, begin_life, numbers_of
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.memory_table import MemoryTable


def test_each_start_is_a_later_life() -> None:
    table = MemoryTable()
    lives = [begin_life(table, Random(start)) for start in range(5)]
    assert lives == list(range(lives[0], lives[0] + 5))


def test_life_is_counted_across_processes(tmp_path: Path) -> None:
    lives = []
    for _ in range(3):
        table = LmdbTable(tmp_path)
        lives.append(begin_life(table, Random(1)))
        table.commit()
        table.close()
    assert lives == [lives[0], lives[0] + 1, lives[0] + 2]


def test_empty_table_begins_at_random_with_room_for_millions_of_starts() -> None:
    firsts = {begin_life(MemoryTable(), Random(seed)) for seed in range(100)}
    assert len(firsts) == 100
    assert max(firsts) <= 1 << LIFE_BITS - 1


def test_numbers_of_lives_do_not_meet() -> None:
    first, second = list(islice(numbers_of(7), 3)), next(numbers_of(8))
    assert first == [(7 << NUMBER_BITS) + n for n in (1, 2, 3)]
    assert second - first[0] == 1 << NUMBER_BITS
    assert next(numbers_of((1 << LIFE_BITS) - 1)) < 1 << 63
