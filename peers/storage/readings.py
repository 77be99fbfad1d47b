"""Places of the archive that are being read back: for gateways, and to be indexed once more.

A page that is marked and with nobody (after a restart, or when the indexer is far behind) is read back and
parsed again. A gateway gets the newest version that shows the page. A place is read once, whoever wants it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mesh.actors.actor import Address, Send
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import moves_in
from peers.storage.cell_store import DamagedVersion
from peers.storage.indexing import Indexing
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.place import Place, Version
from peers.storage.messages import ParseRecords, ReadRecords, RecordsParsed, RecordsRead
from peers.storage.repairs import Repairs
from peers.storage.settings import CellSettings
from peers.storage.slot_news import SlotNews
from peers.storage.take_downs import TakeDowns
from peers.storage.teams import Teams
from peers.storage.wire_messages import VERSIONS_TOLD_MAX, PageRead, PagesChecked, ToldVersion, VersionsListed


@dataclass(slots=True)
class _Reading:
    """A place that is being read back, and the readers that want it."""

    place: Place
    identity: bytes
    readers: list[tuple[Address, int]] = field(default_factory=list)  # gateways and their request numbers
    is_to_index: bool = False
    records: bytes = b""  # once read, while the parser has them


class Readings:
    """The places asked of the archive, for one page each, and the readers that want them."""

    def __init__(
        self,
        me: str,
        teams: Teams,
        ledger: Ledger,
        indexing: Indexing,
        repairs: Repairs,
        news: SlotNews,
        take_downs: TakeDowns,
        settings: CellSettings,
    ) -> None:
        self.refused_count = 0  # gateways that got no answer, as too many wait
        self._archive, self._parser = Address(me, "archive"), Address(me, "parser")
        self._teams = teams
        self._ledger = ledger
        self._indexing = indexing
        self._repairs = repairs
        self._news = news
        self._take_downs = take_downs
        self._settings = settings
        self._readings: dict[Version, _Reading] = {}
        self._n_readers = 0

    def __len__(self) -> int:
        return len(self._readings)

    def segments(self) -> set[int]:
        """Return the segments that are being read, for versions that were not forgotten since."""
        return {
            reading.place.segment
            for reading in self._readings.values()
            if self._ledger.version(reading.identity, reading.place.stamp) is not None
        }

    def versions_for(self, reader: Address, request: int, url: str) -> list[Send]:
        """Tell a gateway which versions of a page there are."""
        if not self._teams.are_known:
            return []
        identity = self._teams.identity_of(url)
        if identity is None or self._take_downs.hides(url):
            return [Send(reader, VersionsListed(request, url, ()))]
        places = self._ledger.versions_of(identity, VERSIONS_TOLD_MAX + 1)
        told = tuple(map(_told, places[:VERSIONS_TOLD_MAX]))
        moves = tuple(
            move
            for move in moves_in(self._indexing.link_texts.of(identity))
            if not self._take_downs.hides(move)
        )
        listed = VersionsListed(request, url, told, len(places) > VERSIONS_TOLD_MAX, moves)
        return [Send(reader, listed)]

    def check_for(self, reader: Address, request: int, urls: Sequence[str]) -> list[Send]:
        """Tell a gateway which of some pages it would get."""
        if not self._teams.are_known:
            return []
        return [Send(reader, PagesChecked(request, tuple(map(self._is_here, urls))))]

    def _is_here(self, url: str) -> bool:
        identity = self._teams.identity_of(url)
        if identity is None or self._take_downs.hides(url):
            return False
        return self._ledger.newest_content(identity) is not None

    def read_for(self, reader: Address, request: int, url: str, at_s: float = 0.0) -> list[Send]:
        """Give a gateway the newest version that shows a page, or that of a time."""
        if not self._teams.are_known:
            return []  # nobody can say yet whether the page is here
        identity = self._teams.identity_of(url)
        is_shown = identity is not None and not self._take_downs.hides(url)
        place = self._shown(identity, at_s) if identity is not None and is_shown else None
        if identity is None or place is None or self._ledger.is_damaged(identity):
            return [Send(reader, PageRead(request, url, 0.0, b""))]  # another peer has it, or has it newer
        if self._n_readers >= self._settings.readers_max:
            self.refused_count += 1
            return []
        sends: list[Send] = []
        reading = self._read(place, identity, sends)
        if reading.records:  # it is only being parsed now
            return [Send(reader, self._copy(request, reading, reading.records))]
        reading.readers.append((reader, request))
        self._n_readers += 1
        return sends

    def _shown(self, identity: bytes, at_s: float) -> Place | None:
        return self._ledger.content_at(identity, at_s) if at_s else self._ledger.newest_content(identity)

    def recover(self, now: float) -> list[Send]:
        """Read back pages that are marked and with nobody."""
        places, sends = self._indexing.recover(now)
        for identity, place in places:
            self._read(place, identity, sends).is_to_index = True
        return sends

    def note_read(self, message: RecordsRead, now: float) -> list[Send]:
        """Give gateways the records they wait for, and the parser those that are to be indexed."""
        url, stamp, records = message.url, message.stamp, message.records
        reading = self._readings.get((url, stamp))
        if reading is None or reading.records:
            return []
        sends = [Send(reader, self._copy(request, reading, records)) for reader, request in reading.readers]
        self._n_readers -= len(reading.readers)
        reading.readers.clear()
        if not records:
            sends += self._repairs.take_out([DamagedVersion(reading.identity, reading.place)], now)
            return sends + self._end_reading(reading, None, now)
        if reading.is_to_index and reading.place.has_document:
            reading.records = records
            return [*sends, Send(self._parser, ParseRecords(url, stamp, records))]
        return sends + self._end_reading(reading, None, now)

    def note_parsed(self, message: RecordsParsed, now: float) -> list[Send]:
        """Have a document that was read back indexed, now that it is parsed."""
        reading = self._readings.get((message.url, message.stamp))
        if reading is None or not reading.records:
            return []
        return self._end_reading(reading, message.document, now)

    def _read(self, place: Place, identity: bytes, sends: list[Send]) -> _Reading:
        """Return the reading of a place; it is begun now unless somebody wanted it already."""
        key = (place.url, place.stamp)
        reading = self._readings.get(key)
        if reading is None:
            reading = self._readings[key] = _Reading(place, identity)
            extent = place.extent
            message = ReadRecords(*key, extent.segment, extent.offset, extent.length, place.checksum)
            sends.append(Send(self._archive, message))
        return reading

    def _copy(self, request: int, reading: _Reading, records: bytes) -> PageRead:
        """Return a copy for a gateway, with when the page was found gone since."""
        place, newest = reading.place, self._ledger.newest(reading.identity)
        gone_at = 0.0 if newest is None or newest.has_content else newest.fetched_at
        return PageRead(request, place.url, place.fetched_at, records, gone_at)

    def _end_reading(self, reading: _Reading, document: Document | None, now: float) -> list[Send]:
        """End a reading; index the document if it was read back for that."""
        place = reading.place
        del self._readings[place.url, place.stamp]
        if not reading.is_to_index:
            return []
        sends = self._indexing.give_recovered(reading.identity, place, document)
        return sends + self.recover(now) + self._news.let_go(now)


def _told(place: Place) -> ToldVersion:
    return ToldVersion(
        place.fetched_at, place.status, place.visit, place.has_content, place.length, place.moved_to
    )
