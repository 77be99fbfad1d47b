"""The links of pages on their way to the owners of their targets, until all of a page are noted.

Nothing of it is in a table: a page that is not told says so in its row, and who owns its slot tells it anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import inf
from typing import Final, NamedTuple

from mesh.actors.actor import Address, Send
from mesh.actors.delivery import Delivery, DeliverySettings, in_batches
from mesh.actors.ownership import Ownership
from mesh.tables.lives import numbers_of
from mesh.urls import host_of
from peers.link_graph.source_row import GoneLink, SourceRow, TargetLink, Telling, size_of_link
from peers.link_graph.wire_messages import LINKS_MAX, GraphTold

PAGES_MAX: Final = 2_000  # on their way; the rows of others wait
PART_BYTES: Final = 256 << 10
_SETTINGS: Final = DeliverySettings(again_s=2.0, again_max_s=60.0, window=32, window_bytes=4 << 20)


class _Part(NamedTuple):
    """The links of a page that go to one peer, in a message."""

    key: bytes  # of the row of the page
    told: GraphTold


class _Open(NamedTuple):
    """A page on its way."""

    telling: Telling
    parts: set[tuple[str, int]]  # receiver and number of those that were not noted


class Tellings:
    """Parts by receiver and number, and the pages that wait for them."""

    def __init__(self, me: str, actor: str, life: int) -> None:
        """Begin without any; `actor` is told, at each peer."""
        self._me, self._actor = me, actor
        self._numbers = numbers_of(life)
        self._delivery: Delivery[int, _Part] = Delivery(_SETTINGS)
        self._open: dict[bytes, _Open] = {}
        self.n_told = 0  # links, those that have gone included

    def __len__(self) -> int:
        """Pages on their way."""
        return len(self._open)

    def clear(self) -> None:
        """Forget all: others own slots by now, or none of it is to be told."""
        self._delivery = Delivery(_SETTINGS)
        self._open.clear()

    def tell(self, key: bytes, row: SourceRow, ownership: Ownership, now: float) -> bool:
        """Have the links of a page brought to their owners; False when as many are on their way as may be.

        Args:
          key: of the row in its table.
        """
        known = self._open.get(key)
        if known is not None and known.telling >= row.telling:
            return True
        if known is None and len(self._open) >= PAGES_MAX:
            return False
        if known is not None:
            for receiver, number in known.parts:
                self._delivery.withdraw(receiver, number)
        opened = self._open[key] = _Open(row.telling, set())
        for receiver, links, gone in _parts_of(row, ownership, self._me):
            number = next(self._numbers)
            told = GraphTold(number, row.url, row.visit, row.fetched_at, row.title, links, gone)
            self._delivery.add(receiver, number, _Part(key, told), _size_of(told), now)
            opened.parts.add((receiver, number))
            self.n_told += len(links) + len(gone)
        return True

    def note_answer(self, peer: str, number: int, now: float) -> tuple[bytes, Telling] | None:
        """Note that a part is safe; return key, version and round of its page if with it all of that is."""
        part = self._delivery.note_answer(peer, number, now)
        opened = None if part is None else self._open.get(part.key)
        if part is None or opened is None:
            return None
        opened.parts.discard((peer, number))
        if opened.parts:
            return None
        del self._open[part.key]
        return part.key, opened.telling

    def wake(self, now: float) -> list[Send]:
        """Send the parts that are due."""
        if self._delivery.wake_at_s > now:
            return []
        leaving, _ = self._delivery.wake(now)
        return [Send(Address(peer, self._actor), part.told) for peer, _, part in leaving]

    def wake_at(self) -> float:
        return self._delivery.wake_at_s if self._open else inf


def _parts_of(
    row: SourceRow, ownership: Ownership, me: str
) -> Iterator[tuple[str, tuple[TargetLink, ...], tuple[GoneLink, ...]]]:
    """Yield the links of a page by the peers that own their targets, and those that have gone."""
    links: dict[str, list[TargetLink]] = defaultdict(list)
    gone: dict[str, list[GoneLink]] = defaultdict(list)
    for link in row.untold:
        links[ownership.owner_of(ownership.slot_of(host_of(link.url))) or me].append(link)
    for each in row.gone:
        gone[ownership.owner_of(each.slot) or me].append(each)
    for peer, theirs in links.items():
        for some in in_batches(theirs, size_of_link, items_max=LINKS_MAX, bytes_max=PART_BYTES):
            yield peer, tuple(some), ()
    for peer, lost in gone.items():
        for few in in_batches(lost, lambda each: 20, items_max=LINKS_MAX):
            yield peer, (), tuple(few)


def _size_of(told: GraphTold) -> int:
    size = len(told.url) + 3 * len(told.title) + 40 + 20 * len(told.gone)
    return size + sum(map(size_of_link, told.links))
