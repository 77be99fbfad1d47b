"""Puts, gets, scans and commits a second of both tables.

pytest tests/benchmarks/bench_table.py -s

Keys of 16 random bytes, values of 100 bytes, 200,000 records, one core of an AMD EPYC (KVM, ext4 on
virtio), CPython 3.11.7, operations a second:

                              memory       LMDB
    put                    1,300,000  2,200,000  (into the overlay)
    get                    3,900,000    680,000  (840,000 without checksums)
    scan of everything       800,000  1,800,000  (5,500,000; memory: the sort of all keys included)
    scans of 10 records       76,000     67,000  (73,000)
    pop the first, put one   200,000      5,500  (a commit every 500)
    commit of 200,000                   450,000
    commits of 10 records                   810  (commits a second, synced)
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.memory_table import MemoryTable
from mesh.tables.table import Table

RECORDS = 200_000
SCANS = 20_000
POPS = 20_000
POPS_PER_COMMIT = 500
SMALL_COMMITS = 200
VALUE = b"x" * 100


@pytest.fixture(scope="module")
def keys() -> list[bytes]:
    source = random.Random(1)
    return [source.randbytes(16) for _ in range(RECORDS)]


def report(name: str, count: int, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    print(f"\n{name:30}{count / (time.perf_counter() - start):12,.0f}/s", end="")


def put_all(table: Table, keys: list[bytes]) -> None:
    for key in keys:
        table.put(key, VALUE)


def pop_first_and_put(table: Table, keys: list[bytes], commit: Callable[[], None]) -> None:
    """As a frontier does: the next URL leaves the front, its links come in anywhere."""
    for index in range(POPS):
        first, _ = next(iter(table.scan(b"", limit=1)))
        table.delete(first)
        table.put(keys[index][::-1], VALUE)
        if index % POPS_PER_COMMIT == 0:
            commit()


def measure(table: Table, keys: list[bytes], commit: Callable[[], None]) -> None:
    report("get", RECORDS, lambda: [table.get(key) for key in keys])
    report("scan of everything", RECORDS, lambda: sum(1 for _ in table.scan(b"")))
    report("scans of 10 records", SCANS, lambda: [list(table.scan(key, limit=10)) for key in keys[:SCANS]])
    report("pop the first, put one", POPS, lambda: pop_first_and_put(table, keys, commit))


def test_memory_table(keys: list[bytes]) -> None:
    table = MemoryTable()
    report("put", RECORDS, lambda: put_all(table, keys))
    measure(table, keys, lambda: None)


def test_lmdb_table(keys: list[bytes], tmp_path: Path) -> None:
    table = LmdbTable(tmp_path)
    report("put", RECORDS, lambda: put_all(table, keys))
    report("commit of all", RECORDS, table.commit)
    measure(table, keys, table.commit)

    def commit_often() -> None:
        for index in range(SMALL_COMMITS):
            put_all(table, keys[index * 10 : index * 10 + 10])
            table.commit()

    report("commits of 10 records", SMALL_COMMITS, commit_often)
    table.close()
