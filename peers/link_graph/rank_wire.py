"""Statements about ranks as they cross the wire, and back; in the background, since there are many of them.

A statement that is larger than a message comes in parts, which are put together before it is heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Final, NamedTuple

import numpy as np

from mesh.actors.actor import Message
from peers.link_graph.rank_exchange import RankMessage, SlotOwners, SumsHeld, SumsTold
from peers.link_graph.slot_ranks import Names, RankSums, Statement, Version
from peers.link_graph.wire_messages import (
    STATEMENT_NUMBER_MAX,
    STATEMENTS_MAX,
    SUM_BYTES,
    SUM_NAME_BYTES,
    SUMS_MAX,
    HeldSums,
    RanksHeld,
    RanksTold,
    SumsPart,
)

MESSAGE_BYTES_MAX: Final = 1 << 20
_NAMES: Final = np.dtype(f">i{SUM_NAME_BYTES}")
_VALUES: Final = np.dtype(f">f{SUM_BYTES}")


class RankReader:
    """Reads messages of other peers, and leaves out all that cannot be or is of others' slots."""

    def __init__(self) -> None:
        self._partial: dict[str, _Parts] = {}  # by peer, the last statement of which a part has come

    def read(
        self, peer: str, message: RanksTold | RanksHeld, owners: SlotOwners, slot_count: int
    ) -> Iterator[RankMessage]:
        """Yield all that a message says, and that it makes whole."""
        if isinstance(message, RanksHeld):
            for held in message.held:
                if max(held.source, held.target) < slot_count:
                    version = Version(held.number, held.teller)
                    yield SumsHeld(held.source, held.target, version, held.is_asked)
            return
        for part in message.parts:
            if max(part.source, part.target) >= slot_count or part.source == part.target:
                continue
            sums = _sums_in(part) if owners[part.source] == peer else None
            if sums is not None and part.n_parts > 1:
                sums = self._joined(peer, part, sums)
            if sums is not None:
                yield SumsTold(part.source, part.target, Statement(Version(part.number, peer), sums))

    def keep(self, peers: Set[str]) -> None:
        """Drop the parts that all but these peers have sent: nobody sends the rest of them."""
        self._partial = {peer: parts for peer, parts in self._partial.items() if peer in peers}

    def _joined(self, peer: str, part: SumsPart, sums: RankSums) -> RankSums | None:
        """Put a part to the others; return all of them when none is missing."""
        of = part.source, part.target, part.number, part.n_parts
        known = self._partial.get(peer)
        if known is None or known.of != of:
            known = self._partial[peer] = _Parts(of, {})
        known.sums[part.part] = sums
        if len(known.sums) < part.n_parts:
            return None
        del self._partial[peer]
        all_parts = [known.sums[number] for number in range(part.n_parts)]
        names = np.concatenate([each.names for each in all_parts])
        values = np.concatenate([each.values for each in all_parts])
        return RankSums(names, values) if _is_rising(names) else None


class _Parts(NamedTuple):
    """Parts of a statement, by number."""

    of: tuple[int, int, int, int]  # source, target, numbers of the version and of parts
    sums: dict[int, RankSums]


def _sums_in(part: SumsPart) -> RankSums | None:
    """Return the sums of a part; None when it has none that can be."""
    n_sums, odd = divmod(len(part.names), SUM_NAME_BYTES)
    if odd or len(part.values) != n_sums * SUM_BYTES or part.part >= part.n_parts:
        return None
    names = np.frombuffer(part.names, _NAMES).astype(np.int64)
    values = np.frombuffer(part.values, _VALUES).astype(np.float64)
    is_sound = bool(np.isfinite(values).all() and (values >= 0).all() and _is_rising(names))
    return RankSums(names, values) if is_sound else None


def _is_rising(names: Names) -> bool:
    return bool((names[1:] > names[:-1]).all())


def messages_of(messages: Iterable[RankMessage]) -> Iterator[Message]:
    """Yield the messages to a peer as they cross the wire."""
    held = [each for each in messages if isinstance(each, SumsHeld)]
    for at in range(0, len(held), STATEMENTS_MAX):
        yield RanksHeld(tuple(map(_held_sums, held[at : at + STATEMENTS_MAX])))
    parts: list[SumsPart] = []
    n_bytes = 0
    for each in messages:
        if not isinstance(each, SumsTold):
            continue
        for part in _parts_of(each):
            size = len(part.names) + len(part.values)
            if parts and (len(parts) >= STATEMENTS_MAX or n_bytes + size > MESSAGE_BYTES_MAX):
                yield RanksTold(tuple(parts))
                parts, n_bytes = [], 0
            parts.append(part)
            n_bytes += size
    if parts:
        yield RanksTold(tuple(parts))


def _held_sums(held: SumsHeld) -> HeldSums:
    number, teller = held.version
    return HeldSums(held.source, held.target, number, teller, held.is_asked)


def _parts_of(told: SumsTold) -> Iterator[SumsPart]:
    (number, _), (names, values) = told.statement
    n_parts = max(1, -(-len(names) // SUMS_MAX))
    for part in range(n_parts):
        some = slice(part * SUMS_MAX, (part + 1) * SUMS_MAX)
        yield SumsPart(
            told.source,
            told.target,
            min(number, STATEMENT_NUMBER_MAX),
            part,
            n_parts,
            names[some].astype(_NAMES).tobytes(),
            values[some].astype(_VALUES).tobytes(),
        )
