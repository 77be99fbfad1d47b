"""Both tables pass the same suite; the LMDB one also keeps its promises about disks and kills."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mesh.errors import ConfigError
from mesh.tables.lmdb_table import CommitBatch, LmdbTable
from mesh.tables.memory_table import MemoryTable
from mesh.tables.sorted_map import BLOCK_KEYS, SortedMap
from mesh.tables.table import Table, TableSection, prefix_end


@pytest.fixture(params=["memory", "lmdb", "lmdb committed", "section of memory", "section of lmdb"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    kind: str = request.param
    if "memory" in kind:
        memory = MemoryTable()
        yield TableSection(memory, b"s\xff") if "section" in kind else memory
        return
    lmdb_table = LmdbTable(tmp_path)
    if kind == "lmdb committed":
        yield CommittingTable(lmdb_table)
    else:
        yield TableSection(lmdb_table, b"s\xff") if "section" in kind else lmdb_table
    lmdb_table.close()


class CommittingTable:
    """Commits before every read, so that reads come from the disk and not from the overlay."""

    def __init__(self, table: LmdbTable) -> None:
        self._table = table
        self.put = table.put
        self.put_many = table.put_many
        self.delete = table.delete

    def get(self, key: bytes) -> bytes | None:
        self._table.commit()
        return self._table.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._table.commit()
        return self._table.get_many(keys)

    def scan(
        self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        self._table.commit()
        return self._table.scan(start, stop, limit=limit)

    def scan_prefix(self, prefix: bytes, *, limit: int | None = None) -> Iterator[tuple[bytes, bytes]]:
        self._table.commit()
        return self._table.scan_prefix(prefix, limit=limit)


def fill(table: Table, keys: str) -> None:
    for key in keys.split():
        table.put(key.encode(), key.upper().encode())


def keys_of(items: Iterator[tuple[bytes, bytes]]) -> str:
    return " ".join(key.decode() for key, _ in items)


def test_what_was_put_is_got_and_absent_keys_are_none(table: Table) -> None:
    table.put(b"a", b"1")
    table.put(b"a", b"2")
    table.put(b"e", b"")
    assert (table.get(b"a"), table.get(b"e"), table.get(b"b")) == (b"2", b"", None)


def test_deleting_an_absent_key_is_no_error(table: Table) -> None:
    table.put(b"a", b"1")
    table.delete(b"a")
    table.delete(b"a")
    assert table.get(b"a") is None
    assert keys_of(table.scan(b"")) == ""


def test_many_rows_are_put_and_got_in_one_step(table: Table) -> None:
    table.put_many([(b"a", b"1"), (b"c", b"2"), (b"a", b"3")])
    assert table.get_many([b"c", b"b", b"a", b"c"]) == [b"2", None, b"3", b"2"]
    assert table.get_many([]) == []
    table.put_many([])
    assert keys_of(table.scan(b"")) == "a c"


def test_scan_is_in_key_order_and_half_open(table: Table) -> None:
    fill(table, "d b a c ab")
    assert keys_of(table.scan(b"")) == "a ab b c d"
    assert keys_of(table.scan(b"ab", b"c")) == "ab b"
    assert keys_of(table.scan(b"aa", b"cc")) == "ab b c"
    assert keys_of(table.scan(b"b", b"b")) == ""
    assert keys_of(table.scan(b"", limit=2)) == "a ab"
    assert keys_of(table.scan(b"", limit=0)) == ""


def test_scan_may_start_beyond_the_longest_key(table: Table) -> None:
    fill(table, "a b")
    assert keys_of(table.scan(b"a" * 2000)) == "b"


def test_prefix_scan_yields_only_keys_with_the_prefix(table: Table) -> None:
    for key in (b"a\xfe", b"a\xff", b"a\xff\xff", b"a\xff\x00", b"b", b"a"):
        table.put(key, b"")
    assert [key for key, _ in table.scan_prefix(b"a\xff")] == [b"a\xff", b"a\xff\x00", b"a\xff\xff"]
    assert len(list(table.scan_prefix(b""))) == 6
    assert len(list(table.scan_prefix(b"a", limit=2))) == 2


def test_a_prefix_of_ff_bytes_has_no_end() -> None:
    assert prefix_end(b"a\xff") == b"b"
    assert prefix_end(b"\xff\xff") is None
    assert prefix_end(b"") is None


def test_entries_may_be_deleted_while_they_are_scanned(table: Table) -> None:
    fill(table, "a b c d e")
    for key, _ in table.scan(b"b", b"e"):
        table.delete(key)
    assert keys_of(table.scan(b"")) == "a e"


def test_a_scan_sees_what_is_put_ahead_of_it_and_not_what_is_put_behind(table: Table) -> None:
    fill(table, "b d")
    seen = []
    for key, value in table.scan(b""):
        seen.append((key, value))
        if key == b"b":
            fill(table, "a c")
            table.put(b"d", b"new")
    assert seen == [(b"b", b"B"), (b"c", b"C"), (b"d", b"new")]


def test_a_scan_skips_what_is_deleted_ahead_of_it(table: Table) -> None:
    fill(table, "a b c")
    scan = table.scan(b"")
    assert next(scan)[0] == b"a"
    table.delete(b"b")
    assert keys_of(scan) == "c"


def test_two_scans_do_not_disturb_each_other(table: Table) -> None:
    fill(table, "a b c")
    assert [(outer, inner) for outer, _ in table.scan(b"") for inner, _ in table.scan(outer, limit=1)] == [
        (b"a", b"a"),
        (b"b", b"b"),
        (b"c", b"c"),
    ]


@pytest.mark.parametrize("key", [b"", b"k" * 512])
def test_a_key_of_a_wrong_length_is_our_bug(tmp_path: Path, key: bytes) -> None:
    lmdb_table = LmdbTable(tmp_path)
    tables: tuple[Table, ...] = (MemoryTable(), lmdb_table)
    for table in tables:
        with pytest.raises(AssertionError, match="bytes"):
            table.put(key, b"")
    lmdb_table.close()


def test_keys_of_511_bytes_are_kept(table: Table) -> None:
    longest = b"k" * (509 if isinstance(table, TableSection) else 511)
    table.put(longest, b"v")
    assert list(table.scan(b"")) == [(longest, b"v")]


def test_sections_of_one_table_do_not_see_each_other() -> None:
    table = MemoryTable()
    one, two = TableSection(table, b"1"), TableSection(table, b"2")
    fill(one, "a b")
    fill(two, "c")
    assert keys_of(one.scan(b"")) == "a b"
    assert keys_of(two.scan(b"")) == "c"
    assert keys_of(table.scan(b"")) == "1a 1b 2c"


def test_sorted_map_keeps_order_over_many_blocks() -> None:
    """More keys than a block holds, in an order that fills, splits, empties and refills blocks."""
    sorted_map: SortedMap[int] = SortedMap()
    key_count = 8 * BLOCK_KEYS
    for index in range(key_count):
        sorted_map.put(b"%06d" % (index * 7919 % key_count), index)
        if index % 97 == 0:
            assert next(sorted_map.walk(b"", None)) is not None
    for index in range(0, key_count, 2):
        sorted_map.delete(b"%06d" % index)
    assert [key for key, _ in sorted_map.walk(b"", None)] == [b"%06d" % i for i in range(1, key_count, 2)]
    for index in range(0, key_count, 2):
        sorted_map.put(b"%06d" % index, 0)
        assert next(sorted_map.walk(b"%06d" % index, None))[0] == b"%06d" % index
    assert len(list(sorted_map.walk(b"", None))) == key_count


keys = st.binary(min_size=1, max_size=3) | st.sampled_from([b"a", b"b", b"c", b"d"])
bounds = st.binary(max_size=3)


class TableMachine(RuleBasedStateMachine):
    """Any order of changes, scans with changes amid them, and commits agrees with a plain dict."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[bytes, bytes] = {}
        self.table = self.make_table()

    def make_table(self) -> Table:
        return MemoryTable()

    @initialize(items=st.dictionaries(keys, st.binary(max_size=2)))
    def begin(self, items: dict[bytes, bytes]) -> None:
        for key, value in items.items():
            self.put(key, value)

    @rule(key=keys, value=st.binary(max_size=2))
    def put(self, key: bytes, value: bytes) -> None:
        self.table.put(key, value)
        self.model[key] = value

    @rule(rows=st.lists(st.tuples(keys, st.binary(max_size=2)), max_size=4))
    def put_many(self, rows: list[tuple[bytes, bytes]]) -> None:
        self.table.put_many(rows)
        self.model.update(rows)

    @rule(key=keys)
    def delete(self, key: bytes) -> None:
        self.table.delete(key)
        self.model.pop(key, None)

    @rule(some=st.lists(keys, max_size=4))
    def get_many(self, some: list[bytes]) -> None:
        assert self.table.get_many(some) == list(map(self.model.get, some))

    @rule(key=keys)
    def get(self, key: bytes) -> None:
        assert self.table.get(key) == self.model.get(key)

    @rule(start=bounds, stop=bounds | st.none())
    def scan(self, start: bytes, stop: bytes | None) -> None:
        assert list(self.table.scan(start, stop)) == self.model_items(start, stop)

    @rule(start=bounds, changes=st.lists(st.tuples(keys, st.binary(max_size=2) | st.none()), max_size=6))
    def change_while_scanning(self, start: bytes, changes: list[tuple[bytes, bytes | None]]) -> None:
        position = start
        scan = self.table.scan(start)
        for key, value in changes:
            expected = self.model_items(position, None)
            assert next(scan, None) == (expected[0] if expected else None)
            if not expected:
                return
            position = expected[0][0] + b"\x00"
            if value is None:
                self.delete(key)
            else:
                self.put(key, value)
        assert list(scan) == self.model_items(position, None)

    def model_items(self, start: bytes, stop: bytes | None) -> list[tuple[bytes, bytes]]:
        return sorted(
            item for item in self.model.items() if item[0] >= start and (stop is None or item[0] < stop)
        )


class LmdbMachine(TableMachine):
    folders: ClassVar[Iterator[Path]]  # fresh ones
    batch: CommitBatch | None = None

    def make_table(self) -> LmdbTable:
        self.folder = next(self.folders)
        self.lmdb_table = LmdbTable(self.folder, map_bytes=1 << 16)
        return self.lmdb_table

    @precondition(lambda self: self.batch is None)
    @rule()
    def begin_commit(self) -> None:
        self.batch = self.lmdb_table.begin_commit()

    @precondition(lambda self: self.batch is not None)
    @rule()
    def finish_commit(self) -> None:
        assert self.batch is not None
        self.batch.write()
        self.lmdb_table.finish_commit(self.batch)
        self.batch = None

    @precondition(lambda self: self.batch is not None)
    @rule()
    def abandon_commit(self) -> None:
        assert self.batch is not None
        self.lmdb_table.abandon_commit(self.batch)
        self.batch = None

    @precondition(lambda self: self.batch is None)
    @rule()
    def reopen(self) -> None:
        self.lmdb_table.commit()
        self.lmdb_table.close()
        self.table = self.lmdb_table = LmdbTable(self.folder)

    @invariant()
    def agrees(self) -> None:
        assert list(self.table.scan(b"")) == self.model_items(b"", None)

    def teardown(self) -> None:
        self.lmdb_table.close()


def test_memory_table_agrees_with_a_dict() -> None:
    run_state_machine_as_test(TableMachine, settings=settings(max_examples=60, deadline=None))


def test_lmdb_table_agrees_with_a_dict_through_commits_and_failures(tmp_path: Path) -> None:
    LmdbMachine.folders = (tmp_path / str(number) for number in count())
    run_state_machine_as_test(LmdbMachine, settings=settings(max_examples=40, deadline=None))


@pytest.fixture
def lmdb_table(tmp_path: Path) -> Iterator[LmdbTable]:
    table = LmdbTable(tmp_path)
    yield table
    table.close()


def begun(table: LmdbTable) -> CommitBatch:
    batch = table.begin_commit()
    assert batch is not None
    return batch


def test_nothing_changed_is_nothing_to_commit(lmdb_table: LmdbTable) -> None:
    assert lmdb_table.begin_commit() is None


def test_changes_of_three_layers_are_seen_while_a_batch_is_being_written(lmdb_table: LmdbTable) -> None:
    fill(lmdb_table, "a b c d")
    lmdb_table.commit()
    lmdb_table.delete(b"b")
    lmdb_table.put(b"c", b"frozen")
    batch = begun(lmdb_table)
    lmdb_table.put(b"b", b"again")
    lmdb_table.delete(b"a")
    writer = threading.Thread(target=batch.write)
    writer.start()
    expected = [(b"b", b"again"), (b"c", b"frozen"), (b"d", b"D")]
    assert list(lmdb_table.scan(b"")) == expected
    writer.join()
    lmdb_table.finish_commit(batch)
    assert list(lmdb_table.scan(b"")) == expected


def test_what_is_committed_is_there_when_the_table_is_opened_again(tmp_path: Path) -> None:
    table = LmdbTable(tmp_path)
    fill(table, "a b")
    table.commit()
    fill(table, "c")
    table.close()
    table = LmdbTable(tmp_path)
    assert keys_of(table.scan(b"")) == "a b"
    table.close()


def test_the_map_grows_with_the_data(tmp_path: Path) -> None:
    table = LmdbTable(tmp_path, map_bytes=1 << 16)
    for index in range(20):
        table.put(b"%d" % index, b"x" * 100_000)
        table.commit()
    assert sum(len(value) for _, value in table.scan(b"")) == 2_000_000
    table.close()


def test_a_second_process_is_told_that_the_table_is_in_use(lmdb_table: LmdbTable, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is in use: stop the peer"):
        LmdbTable(tmp_path)


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.mdb").write_bytes(b"not a table" * 1000)
    with pytest.raises(ConfigError, match="cannot open the table"):
        LmdbTable(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigError, match="choose another data folder"):
        LmdbTable(tmp_path / "file" / "table")


KILLED = """
import os, signal, sys
from pathlib import Path
from mesh.tables.lmdb_table import LmdbTable
table = LmdbTable(Path(sys.argv[1]))
for number in range(1_000_000):
    for part in range(50):
        table.put(b"%d" % part, b"%d" % number)
    table.commit()
    print(number, flush=True)
"""


def test_a_killed_process_loses_only_what_was_not_committed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(30)]
    process.send_signal(signal.SIGKILL)
    lines += process.stdout
    process.stdout.close()
    process.wait()
    table = LmdbTable(tmp_path)
    values = {int(value) for _, value in table.scan(b"")}
    assert len(values) == 1, "a batch is whole"
    committed = max(int(line) for line in lines if line.endswith(b"\n"))
    assert values.pop() in (committed, committed + 1), "the last one may be on disk and not yet reported"
    table.close()


FULL = """
import resource, sys
from pathlib import Path
from mesh.errors import StorageError
from mesh.tables.lmdb_table import LmdbTable
table = LmdbTable(Path(sys.argv[1]))
table.put(b"kept", b"x" * (2 << 20))
table.commit()
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
table.put(b"large", b"x" * (4 << 20))
try:
    table.commit()
except StorageError as error:
    print(error)
assert table.get(b"large") is not None, "still readable"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
table.commit()
print([(key, len(value)) for key, value in table.scan(b"")])
"""


def test_a_full_disk_is_said_in_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    lines = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], stdout=subprocess.PIPE, check=True, text=True
    ).stdout.splitlines()
    assert lines == [
        f"the disk of {tmp_path} is full: free some space, nothing kept so far is lost",
        "[(b'kept', 2097152), (b'large', 4194304)]",
    ]


FULL_AT_FIRST = """
import resource, sys
from pathlib import Path
from mesh.errors import StorageError
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table_check import check_table

folder = Path(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
for _ in range(2):
    try:
        LmdbTable(folder)
    except StorageError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(check_table(folder))
LmdbTable(folder).commit()
"""


@pytest.mark.parametrize("has_lock_file", [False, True], ids=["lock file", "headers"])
def test_a_table_that_had_no_space_to_begin_is_not_taken_for_a_damaged_one(
    has_lock_file: bool, tmp_path: Path
) -> None:
    if has_lock_file:
        LmdbTable(tmp_path).close()
        (tmp_path / "data.mdb").unlink()
    lines = subprocess.run(
        [sys.executable, "-c", FULL_AT_FIRST, str(tmp_path)], stdout=subprocess.PIPE, check=True, text=True
    ).stdout.splitlines()
    full = f"the disk of {tmp_path} is full: free some space, nothing kept so far is lost"
    assert lines == [full, full, "None"]


def test_a_lock_file_has_its_space_before_it_is_mapped(tmp_path: Path) -> None:
    LmdbTable(tmp_path).close()
    lock = (tmp_path / "lock.mdb").stat()
    assert lock.st_blocks * 512 >= lock.st_size > 0


def test_a_batch_that_failed_is_abandoned_and_goes_with_the_next(lmdb_table: LmdbTable) -> None:
    fill(lmdb_table, "a b")
    batch = begun(lmdb_table)
    lmdb_table.put(b"b", b"newer")
    lmdb_table.abandon_commit(batch)
    lmdb_table.commit()
    assert list(lmdb_table.scan(b"")) == [(b"a", b"A"), (b"b", b"newer")]
