"""The list of watched words and phrases, as the decree of an administrator carries it.

Entries have names, by which notices and counts speak of them, so that a text can be put right without a new
count. A list that this version does not understand is no reason to stop watching: the last one goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.keys.decree import Decree, content_of, read_in_force

ENTRIES_MAX: Final = 10_000
ENTRY_CHARS_MAX: Final = 64  # of a name and of a text
DIGEST_BYTES: Final = 8
FORMAT: Final = "tianmesh watch 1"


EntryName: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ENTRY_CHARS_MAX)]


class EntryKind(StrEnum):
    """How an entry is matched."""

    WORD = "word"  # one word, or characters of a script without spaces
    PHRASE = "phrase"  # several, one after the other, whatever stands between them


class WatchEntry(msgspec.Struct, frozen=True, array_like=True):
    """One word or phrase that is watched for."""

    name: EntryName
    kind: EntryKind
    text: EntryName


class WatchList(msgspec.Struct, frozen=True, array_like=True):
    """All that is watched for; the names of its entries are distinct."""

    format: Annotated[str, Meta(max_length=32)]
    entries: Annotated[tuple[WatchEntry, ...], Meta(max_length=ENTRIES_MAX)]
    issued_at: Annotated[float, Meta(ge=0)] = 0.0  # by the clock of whoever signed it


class WatchInForce(msgspec.Struct, frozen=True):
    """A list, and the decree that it is from."""

    number: int
    signer: bytes  # public key of the administrator
    body: bytes  # of the decree
    entries: tuple[WatchEntry, ...]
    names: frozenset[str]  # of these
    digest: bytes  # of number and body, by which a process knows whether it has the list


def list_body(entries: Sequence[WatchEntry], issued_at: float) -> bytes:
    """Return the body of the decree that has these watched."""
    return msgspec.msgpack.encode(WatchList(FORMAT, tuple(entries), issued_at))


def list_in(body: bytes) -> WatchList:
    """Read the body of a decree, which anybody may have written that signs for the mesh.

    Raises:
      ValueError: it is no list of this version.
    """
    watch_list = content_of(body, WatchList, FORMAT)
    if len({entry.name for entry in watch_list.entries}) < len(watch_list.entries):
        raise ValueError("two entries have one name")
    return watch_list


def watch_of(decrees: Sequence[Decree], last: WatchInForce | None) -> WatchInForce | None:
    """Return the list that is in force, None where nothing is watched for.

    Args:
      decrees: of their kind, in force. last: what was in force before, which goes on where these cannot be
        read.
    """
    return read_in_force(decrees, last, _watch_in, "watch list")


def _watch_in(decree: Decree) -> WatchInForce | None:
    entries = list_in(decree.body).entries
    if not entries:
        return None
    names = frozenset(entry.name for entry in entries)
    digest = blake2b(decree.number.to_bytes(8, "big") + decree.body, digest_size=DIGEST_BYTES).digest()
    return WatchInForce(decree.number, decree.signer, decree.body, entries, names, digest)
