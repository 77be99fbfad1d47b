"""Records the reads of searches in the lists of a snapshot, for studies of disks and caches.

What is recorded is what the kernels decode: summaries and skip tables, blocks of postings, positions. Of a
list, stretches that follow one another are one read, and what a query reads again counts once, as it is in
memory by then. The dictionary is read when a segment is opened and never after, so it has no reads; stored
documents, which excerpts are cut from, are no lists. While it records, one thread may search the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import numpy as np

from peers.engine.native.lists import NOT_RECORDED, OF_POSTINGS, READ_COLUMNS
from peers.engine.segments.segment import Segment
from peers.engine.snapshot import Snapshot
from peers.kernel import Ints

PARTS: Final = ("postings", "positions")  # sections of a segment, by OF_POSTINGS and OF_POSITIONS
READS_ROOM: Final = 4_096  # of a query in a segment; one with more is asked again with more room


class RecordedRead(msgspec.Struct, frozen=True, gc=False):
    """Bytes of one list that a query has read, one line of JSON in a file."""

    query: int  # from 0, in the order of asking
    first: int  # the first query that was the same
    segment: str  # name of its file
    part: str  # one of PARTS
    term: str  # entry of the dictionary
    offset: int  # of the first byte, in that file
    length: int  # in bytes, at least 1


class ReadRecorder:
    """Watches the lists of a snapshot until it is closed."""

    def __init__(self, snapshot: Snapshot, room: int = READS_ROOM) -> None:
        self._lists = [_WatchedLists(each.segment, room) for each in snapshot.segments]
        self._firsts: dict[str, int] = {}
        self._query_count = 0

    @property
    def lists_bytes(self) -> int:
        """Bytes of all lists, postings and positions."""
        return sum(lists.n_bytes for lists in self._lists)

    def reads_of(self, text: str, ask: Callable[[str], object]) -> list[RecordedRead]:
        """Ask a query and return its reads: segment by segment, in each list by list as they were opened.

        Args:
          ask: searches the snapshot for the text; is called again if there were more reads than had room.
        """
        number = self._query_count
        first = self._firsts.setdefault(text, number)
        self._query_count += 1
        while True:
            for lists in self._lists:
                lists.empty()
            ask(text)
            short = [lists for lists in self._lists if lists.is_short()]
            if not short:
                return [read for lists in self._lists for read in lists.reads(number, first)]

    def close(self) -> None:
        """Record no more."""
        for lists in self._lists:
            lists.close()


class _WatchedLists:
    """The lists of a segment, and room for their reads."""

    def __init__(self, segment: Segment, room: int) -> None:
        self._segment = segment
        dictionary = segment.entries()
        self._starts = (dictionary.postings_starts, dictionary.positions_starts)
        self._sections = [segment.place_of(part) for part in PARTS]
        self.n_bytes = sum(map(len, self._sections))
        self._make_room(room)

    def _make_room(self, n_reads: int) -> None:
        self._records: Ints = np.zeros(1 + READ_COLUMNS * n_reads, np.int64)
        self._segment.lists = self._segment.lists._replace(reads=self._records)

    def empty(self) -> None:
        self._records[0] = 0

    def is_short(self) -> bool:
        """Tell whether reads were left out for want of room, of which there is enough from now on."""
        wanted = int(self._records[0])
        is_short = 1 + READ_COLUMNS * wanted > len(self._records)
        if is_short:
            self._make_room(2 * wanted)
        return is_short

    def reads(self, query: int, first: int) -> Iterator[RecordedRead]:
        records = self._records[1 : 1 + READ_COLUMNS * int(self._records[0])].reshape(-1, READ_COLUMNS)
        for (part, entry), stretches in self._by_list(records).items():
            (term,) = self._segment.names(np.array([entry]))
            for start, end in stretches:
                offset = self._sections[part].start + start
                yield RecordedRead(query, first, self._segment.name, PARTS[part], term, offset, end - start)

    def _by_list(self, records: Ints) -> dict[tuple[int, int], list[list[int]]]:
        """Return of each list, by part and entry, the stretches that were read."""
        found: dict[tuple[int, int], list[list[int]]] = {}
        seen = set[tuple[int, int, int]]()
        for part, start, end in records.tolist():
            if (part, start, end) in seen:
                continue
            seen.add((part, start, end))
            entry = int(np.searchsorted(self._starts[part], start, "right")) - 1
            stretches = found.setdefault((part, entry), [])
            if stretches and stretches[-1][0] <= start <= stretches[-1][1]:
                stretches[-1][1] = max(stretches[-1][1], end)
            else:
                stretches.append([start, end])
        return found

    def close(self) -> None:
        self._segment.lists = self._segment.lists._replace(reads=NOT_RECORDED)


assert PARTS[OF_POSTINGS] == "postings"
