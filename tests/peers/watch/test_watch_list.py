"""Lists of words: as people write them, and as a decree brings them."""

from __future__ import annotations

from math import inf
from pathlib import Path

import msgspec
import pytest

from mesh.errors import ConfigError
from mesh.keys.decree import WATCH, Decree
from peers.watch.list_file import entries_of, entry_in, line_of, read_list
from peers.watch.watch_list import (
    ENTRIES_MAX,
    FORMAT,
    EntryKind,
    WatchEntry,
    WatchInForce,
    list_body,
    list_in,
    watch_of,
)


def decree(body: bytes, number: int = 3, subject: str = "") -> Decree:
    return Decree(WATCH, subject, number, 0.0, inf, body, b"signer", b"")


def test_a_file_is_read_as_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("\ufeff# places\n台湾\nTW\t臺灣 海峽\n\n  climate   change \n", encoding="utf-8")
    entries = read_list(file)
    assert entries == (
        WatchEntry("台湾", EntryKind.WORD, "台湾"),
        WatchEntry("TW", EntryKind.PHRASE, "臺灣 海峽"),
        WatchEntry("climate change", EntryKind.PHRASE, "climate change"),
    )
    assert entries_of(map(line_of, entries)) == entries
    assert list_in(list_body(entries, 5.0)).entries == entries


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["!?"], "has no word"),
        (["a"], "on every page"),
        (["C++"], "signs do not count"),
        (["x" * 65], "1 to 64 characters"),
        (["\u202ename\tword"], "nobody sees"),
        (["台湾", "臺灣"], "are the same"),
        (["a\tword", "a\tother"], "are the same"),
        ([f"word{n}" for n in range(ENTRIES_MAX + 1)], "leave some out"),
        (["字" * 60 + str(n) for n in range(2_000)], "leave some out"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused_with_the_reason(lines: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason.replace("?", r"\?")):
        entries_of(lines)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_list(tmp_path / "none")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode(("another format", ())),
        msgspec.msgpack.encode((FORMAT, [("a", "class", "a")])),  # of a later version
        msgspec.msgpack.encode((FORMAT, [("a", "word", "x" * 65)])),
        msgspec.msgpack.encode((FORMAT, [("a", "word", "b"), ("a", "word", "c")])),
        msgspec.msgpack.encode((FORMAT, [("a", "word", "b")] * (ENTRIES_MAX + 1))),
        b"\x94" + msgspec.msgpack.encode((FORMAT, (), 0.0))[1:] + b"\x91" * 100_000 + b"\xc0",
    ],
)
def test_a_decree_that_is_not_understood_leaves_the_last_list_in_force(body: bytes) -> None:
    last = watch_of([decree(list_body([entry_in("word")], 1.0))], None)
    assert isinstance(last, WatchInForce)
    assert watch_of([decree(body)], last) is last
    assert watch_of([decree(body)], None) is None


def test_the_list_of_the_mesh_is_in_force_until_there_is_none() -> None:
    body = list_body([entry_in("word")], 1.0)
    last = watch_of([decree(body, subject="x"), decree(body, 4)], None)
    assert last is not None
    assert (last.number, last.signer, last.names) == (4, b"signer", frozenset({"word"}))
    assert watch_of([decree(body, subject="x")], last) is None
    assert watch_of([], last) is None
    assert watch_of([decree(list_body([], 1.0))], last) is None
