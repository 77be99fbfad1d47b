"""The decrees that one peer knows: which are in force, on disk and in memory; see `mesh.keys.decree`."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

import msgspec

from mesh.keys.decree import REVOCATION, Decree, DecreeName
from mesh.tables.table import Table

_HELD: Final = b"decree/"  # prefix of the keys of what is in force, or will be
_PAST: Final = b"past decree/"  # and of what was
PENDING_MAX: Final = 8  # of one kind about one subject, those to come beside the one in force; the lowest go
PAST_MAX: Final = 64  # of one kind about one subject, the oldest go first


class Decrees:
    """By kind and subject the decrees in force and to come; those that they replaced are on disk only."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._held: dict[tuple[str, str], dict[DecreeName, Decree]] = {}
        self._revoked: set[str] = set()  # whose keys, in hexadecimal, or who; in force or to come
        for _, value in table.scan_prefix(_HELD):
            decree = _decoded(value)
            self._hold(decree.name, decree)

    def __iter__(self) -> Iterator[Decree]:
        for pending in self._held.values():
            yield from pending.values()

    def names(self) -> list[DecreeName]:
        return [name for pending in self._held.values() for name in pending]

    def get(self, name: DecreeName) -> Decree | None:
        return self._held.get((name.kind, name.subject), {}).get(name)

    def is_wanted(self, name: DecreeName, now: float) -> bool:
        """Would a decree of this name be new, and count now or later?"""
        pending = self._held.get((name.kind, name.subject), {})
        begun = [each.rank for each, decree in pending.items() if decree.is_begun(now)]
        return name not in pending and (not begun or name.rank > max(begun))

    def add(self, decree: Decree, now: float) -> bool:
        """Keep a decree that has been judged; tell whether it was new and may count."""
        name = decree.name
        if not self.is_wanted(name, now) or self.is_void(decree):
            return False
        self._table.put(_key(_HELD, name), msgspec.msgpack.encode(decree))
        self._hold(name, decree)
        if decree.kind == REVOCATION:
            self._void(decree.subject)
        self._clear(self._held.get((name.kind, name.subject), {}), now)
        return self.get(name) is not None

    def is_void(self, decree: Decree) -> bool:
        """Has the key that signed it been revoked?"""
        return decree.signer.hex() in self._revoked

    def in_force(self, kind: str, now: float) -> dict[str, Decree]:
        """By subject the decrees of a kind that are to be obeyed now."""
        return {
            subject: pending[ruling]
            for (each, subject), pending in self._held.items()
            if each == kind
            and (ruling := _ruling(pending, now)) is not None
            and not pending[ruling].is_over(now)
        }

    def changes_at(self, now: float) -> float:
        """Return when time alone next changes the decrees in force, inf for never."""
        times = (time for decree in self for time in (decree.effective_from, decree.valid_until))
        return min((time for time in times if time > now), default=inf)

    def past(self, kind: str, subject: str) -> list[Decree]:
        """Those that others have replaced, the lowest number first."""
        return [_decoded(value) for _, value in self._table.scan_prefix(_prefix(_PAST, kind, subject))]

    def of(self, kind: str, subject: str) -> list[Decree]:
        """Those in force or to come, the lowest number first."""
        pending = self._held.get((kind, subject), {})
        return [pending[name] for name in sorted(pending, key=lambda name: name.rank)]

    def clear_replaced(self, now: float) -> None:
        """Lay aside the decrees that others have replaced for good."""
        for pending in list(self._held.values()):
            self._clear(pending, now)

    def _clear(self, pending: dict[DecreeName, Decree], now: float) -> None:
        """Of one kind and subject keep the one that rules, and of those to come the highest."""
        if len(pending) <= 1:
            return
        ruling = _ruling(pending, now)
        ranked = sorted(pending, key=lambda name: name.rank)
        to_come = [name for name in ranked if ruling is None or name.rank > ruling.rank]
        kept = {ruling, *to_come[-PENDING_MAX:]}
        for name in ranked:
            if name not in kept:
                self._lay_aside(name)

    def _hold(self, name: DecreeName, decree: Decree) -> None:
        self._held.setdefault((name.kind, name.subject), {})[name] = decree
        if decree.kind == REVOCATION:
            self._revoked.add(decree.subject)

    def _void(self, signer: str) -> None:
        """Lay aside all that this key, in hexadecimal, has signed."""
        held = [(name, decree) for pending in self._held.values() for name, decree in pending.items()]
        for name, decree in held:
            if decree.signer.hex() == signer:
                self._lay_aside(name)

    def _lay_aside(self, name: DecreeName) -> None:
        pending = self._held[name.kind, name.subject]
        decree = pending.pop(name)
        if not pending:
            del self._held[name.kind, name.subject]
        self._table.delete(_key(_HELD, name))
        self._table.put(_key(_PAST, name), msgspec.msgpack.encode(decree))
        past = [key for key, _ in self._table.scan_prefix(_prefix(_PAST, name.kind, name.subject))]
        for key in past[:-PAST_MAX]:
            self._table.delete(key)


def _ruling(pending: dict[DecreeName, Decree], now: float) -> DecreeName | None:
    """Return the name of the highest decree that has begun; it may be over."""
    begun = (name for name, decree in pending.items() if decree.is_begun(now))
    return max(begun, key=lambda name: name.rank, default=None)


def _prefix(section: bytes, kind: str, subject: str) -> bytes:
    return b"".join((section, kind.encode(), b"\x00", subject.encode(), b"\x00"))


def _key(section: bytes, name: DecreeName) -> bytes:
    return _prefix(section, name.kind, name.subject) + name.number.to_bytes(8, "big") + name.digest


def _decoded(value: bytes) -> Decree:
    return msgspec.msgpack.decode(value, type=Decree)
