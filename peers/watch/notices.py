"""The notices of one peer and the counts of the entries, in its table.

Of notices the last `NOTICES_MAX` are kept: one is 4 kB at most, so they are 20 MB at most and mostly 2. Their
places grow for ever, also when a table is lost: a new one begins at the time. A notice that is known among
these is not said again.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

import msgspec
from xxhash import xxh3_64_intdigest

from mesh.tables.table import Table, TableSection
from peers.watch.messages import PageWatched
from peers.watch.wire_messages import EntryCount, Notice

NOTICES_MAX: Final = 5_000
KEY_BYTES: Final = 8
PLACES_A_SECOND: Final = 1_000  # more than a peer can say, so a place by the time is behind all before

_encoder: Final = msgspec.msgpack.Encoder()
_notices: Final = msgspec.msgpack.Decoder(Notice)
_counts: Final = msgspec.msgpack.Decoder(EntryCount)


class Notices:
    """The notices that are kept, and the counts."""

    def __init__(self, table: Table, notices_max: int = NOTICES_MAX) -> None:
        """Take up the rows in the table."""
        self._rows, self._count_rows = TableSection(table, b"n"), TableSection(table, b"c")
        self._max = notices_max
        self._known: dict[int, int] = {}  # by place, a digest of the identity
        for key, row in self._rows.scan(b""):
            self._known[int.from_bytes(key, "big")] = _digest(_notices.decode(row))
        self._digests = set(self._known.values())
        counts = (_counts.decode(row) for _, row in self._count_rows.scan(b""))
        self.counts = {count.entry: count for count in counts}

    def __len__(self) -> int:
        return len(self._known)

    @property
    def last(self) -> int:
        """The place of the last one; 0 where none is."""
        return next(reversed(self._known), 0)

    def add(self, page: PageWatched, now: float) -> int:
        """Note the hits in a page; return how many of these notices are new."""
        n_new = 0
        for hit in page.watch.hits:
            before = self.counts.get(hit.entry, EntryCount(hit.entry, 0, 0))
            count = EntryCount(hit.entry, before.notices + 1, before.occurrences + hit.count)
            notice = Notice(
                place=max(self.last + 1, 0 if self._known else int(now * PLACES_A_SECOND)),
                url=page.url,
                mark=page.mark,
                entry=hit.entry,
                number=page.watch.number,
                at_s=page.at_s,
                title=page.watch.title,
                count=hit.count,
                so_far=count.notices,
                excerpt=hit.excerpt,
                start=hit.start,
                end=hit.end,
            )
            if (digest := _digest(notice)) in self._digests:
                continue
            self.counts[hit.entry] = count
            self._count_rows.put(_count_key(hit.entry), _encoder.encode(count))
            self._keep(notice, digest)
            n_new += 1
        return n_new

    def after(self, place: int, most: int) -> tuple[Notice, ...]:
        """Return the first ones behind a place, oldest first; the last ones there are for place 0."""
        if not most:
            return ()
        places = self._last_places(most) if not place else self._places_after(place, most)
        rows = self._rows.get_many([_key(each) for each in places])
        return tuple(_notices.decode(row) for row in rows if row is not None)

    def forget_counts(self, entries: Set[str]) -> None:
        """Keep the counts of these entries only."""
        for entry in [entry for entry in self.counts if entry not in entries]:
            del self.counts[entry]
            self._count_rows.delete(_count_key(entry))

    def _keep(self, notice: Notice, digest: int) -> None:
        self._known[notice.place] = digest
        self._digests.add(digest)
        self._rows.put(_key(notice.place), _encoder.encode(notice))
        while len(self._known) > self._max:
            oldest = next(iter(self._known))
            self._digests.discard(self._known.pop(oldest))
            self._rows.delete(_key(oldest))

    def _last_places(self, most: int) -> list[int]:
        places = [place for place, _ in zip(reversed(self._known), range(most), strict=False)]
        return places[::-1]

    def _places_after(self, place: int, most: int) -> Iterable[int]:
        scanned = self._rows.scan(_key(place + 1), limit=most)
        return [int.from_bytes(key, "big") for key, _ in scanned]


def _key(place: int) -> bytes:
    return place.to_bytes(KEY_BYTES, "big")


def _count_key(entry: str) -> bytes:
    return entry.encode("utf-8", "surrogatepass")


def _digest(notice: Notice) -> int:
    return xxh3_64_intdigest(_encoder.encode(notice.identity))
