"""A cell's pages and link texts to be indexed, and where each is: nowhere, at the indexer, being read back.

The marks are in the ledger; here is only who has what of them. A page goes to the indexer when it comes; one
that is marked and with nobody is read back from the archive and parsed again, and then goes there. Of a
version without a document, or of a page that was taken down, the indexer only hears that the page is to be
taken out. Link texts are read when
something is given, and go with the page, or after it when they have changed since.
"""

from __future__ import annotations

from math import inf

import msgspec

from mesh.actors.actor import Address, Send
from mesh.slot_set import SlotMask
from mesh.stamp import Stamp
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import with_anchors
from peers.index.messages import IndexAnchors, IndexPage, PagesIndexed, RemovePage
from peers.storage.ledger.index_marks import mark_key
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import slot_in
from peers.storage.ledger.place import Place, Version
from peers.storage.link_texts import LinkTexts, texts_digest
from peers.storage.take_downs import TakeDowns


class IndexingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How much at a time."""

    # Pages at the indexer; further ones stay marked in the table and are read back later.
    pages_max: int = 4_096
    texts_max: int = 16_384  # texts of that many pages at the indexer, about 200 bytes each
    recoveries_max: int = 32  # pages being read back
    texts_per_look: int = 256  # marks of link texts that are taken up at a time
    recovery_pause_s: float = 0.05  # between two looks at the marks


class Indexing:
    """Keeps the indexer busy until no mark is left."""

    def __init__(
        self,
        ledger: Ledger,
        texts: LinkTexts,
        take_downs: TakeDowns,
        indexer: Address,
        settings: IndexingSettings,
    ) -> None:
        self._ledger = ledger
        self.link_texts = texts
        self._take_downs = take_downs
        self._indexer = indexer
        self._settings = settings
        self._pages: dict[Version, bytes] = {}  # at the indexer; identity
        self._texts: dict[str, tuple[bytes, tuple[str, ...]]] = {}  # the last ones sent there; by URL
        self._recovering: set[Version] = set()  # being read back
        self._pages_seen_to = b""  # where the walk over the marks has come to
        self._texts_seen_to = b""
        self.wake_at_s = 0.0 if self.is_behind else inf  # when to call `wake`

    def plan(self, now: float) -> None:
        """Look at the marks soon, as there may be new ones."""
        if self.is_behind:
            self.wake_at_s = min(self.wake_at_s, now)

    @property
    def is_behind(self) -> bool:
        """Are there marks that nobody is working on?"""
        return self._pages_are_behind or self._ledger.totals.texts_marked > len(self._texts)

    @property
    def _pages_are_behind(self) -> bool:
        return self._ledger.totals.pages_marked > len(self._pages) + len(self._recovering)

    def give_page(self, identity: bytes, stamp: Stamp, document: Document) -> list[Send]:
        """Give a marked page to the indexer, unless that has enough; then the mark keeps it."""
        if self._take_downs.hides(document.url):
            return self.give_removal(identity, document.url, stamp)
        if len(self._pages) >= self._settings.pages_max:
            return []
        self._ledger.marks.note_shown(identity)
        texts = self.link_texts.of(identity)
        self._ledger.marks.note_texts_given(identity, texts_digest(texts))
        self._ledger.marks.unmark_texts(identity)
        document = with_anchors(document, texts)
        if document.stamp != stamp:
            document = msgspec.structs.replace(document, visit=stamp.visit, fetched_at=stamp.fetched_at)
        self._pages[document.url, stamp] = identity
        return [Send(self._indexer, IndexPage(slot_in(identity), document))]

    def give_removal(self, identity: bytes, url: str, stamp: Stamp) -> list[Send]:
        """Have the indexer take out a page with a marked version that has nothing to be indexed, likewise."""
        if len(self._pages) >= self._settings.pages_max:
            return []
        if self._take_downs.hides(url):
            self._ledger.marks.note_hidden(identity)
        else:
            self._ledger.marks.note_shown(identity)
        self._pages[url, stamp] = identity
        return [Send(self._indexer, RemovePage(slot_in(identity), url, stamp))]

    def give_texts(self, identity: bytes) -> list[Send]:
        """Mark link texts and give them to the indexer, unless it has them or its page may be on its way."""
        ruling = self._ledger.ruling(identity)
        if ruling is None or not self._is_to_be_found(ruling):
            return []
        texts = self.link_texts.of(identity)
        if texts_digest(texts) == self._ledger.marks.texts_given(identity):
            return []
        self._ledger.marks.mark_texts(identity)
        return [] if self._pages_are_behind or self._recovering else self._send_texts(identity, ruling, texts)

    def give_recovered(self, identity: bytes, place: Place, document: Document | None) -> list[Send]:
        """Index a page that was read back, unless a newer version has come.

        Args:
          document: None when there is nothing to index by now, or when it could not be read.
        """
        self._recovering.discard((place.url, place.stamp))
        ruling = self._ledger.ruling(identity)
        if ruling is None or ruling.stamp != place.stamp:
            self._ledger.marks.unmark_page(identity, place.stamp)
            return []
        if document is None:
            return self.give_removal(identity, place.url, place.stamp)
        return self.give_page(identity, place.stamp, document)

    def note_indexed(self, message: PagesIndexed) -> None:
        """Take back the marks of the pages and link texts in a durable commit."""
        for url, stamp in message.pages:
            identity = self._pages.pop((url, stamp), None)
            # What was taken down, or shown again, while it was on its way keeps its mark and goes there anew.
            if identity is not None and self._take_downs.hides(url) == self._ledger.marks.is_hidden(identity):
                self._ledger.marks.unmark_page(identity, stamp)
        for url, anchors in message.anchors:
            sent = self._texts.get(url)
            if sent is not None and sent[1] == anchors:
                del self._texts[url]
                if self.link_texts.of(sent[0]) == anchors:
                    self._ledger.marks.unmark_texts(sent[0])

    def _is_to_be_found(self, ruling: Place) -> bool:
        return ruling.has_document and not self._take_downs.hides(ruling.url)

    def forget(self, slots: SlotMask) -> None:
        """Wait for nothing of these slots, which the indexer forgets, too."""
        self._pages = {key: each for key, each in self._pages.items() if not slots[slot_in(each)]}
        self._texts = {url: each for url, each in self._texts.items() if not slots[slot_in(each[0])]}

    def recover(self, now: float) -> tuple[list[tuple[bytes, Place]], list[Send]]:
        """Take up some marks: first pages, and when those are all with the indexer, link texts.

        Returns:
          (identity, place) of pages to be read back, each to end in `give_recovered`; and what to send.
        """
        self.wake_at_s = inf
        settings = self._settings
        places: list[tuple[bytes, Place]] = []
        sends: list[Send] = []
        if not self.is_behind:
            return places, sends
        if self._pages_are_behind:
            n_recovering = len(self._recovering)
            room = min(
                settings.recoveries_max - n_recovering, settings.pages_max - len(self._pages) - n_recovering
            )
            if room <= 0:
                return places, sends  # goes on when the parser or the indexer has answered
            places, sends = self._recover_pages(room)
        elif not self._recovering and len(self._texts) < settings.texts_max:
            sends = self._recover_texts()
        if self.is_behind and not self._recovering:
            self.wake_at_s = now + settings.recovery_pause_s  # there may be more behind what was seen
        return places, sends

    def _recover_pages(self, room: int) -> tuple[list[tuple[bytes, Place]], list[Send]]:
        limit = self._settings.recoveries_max
        places: list[tuple[bytes, Place]] = []
        sends: list[Send] = []
        marks = self._ledger.marks.marked_pages(self._pages_seen_to, limit)
        for identity, stamp in marks:
            if len(places) + len(sends) == room:
                break
            self._pages_seen_to = mark_key(identity, stamp)
            ruling = self._ledger.ruling(identity)
            if ruling is None or ruling.stamp != stamp:
                self._ledger.marks.unmark_page(identity, stamp)  # only what rules is in the index
                continue
            version = ruling.url, stamp
            if version in self._pages or version in self._recovering:
                continue
            if not self._is_to_be_found(ruling):
                sends += self.give_removal(identity, *version)
                continue
            self._recovering.add(version)
            places.append((identity, ruling))
        else:
            if len(marks) < limit:
                self._pages_seen_to = b""  # that was the last one: begin anew
        return places, sends

    def _recover_texts(self) -> list[Send]:
        limit = self._settings.texts_per_look
        sends: list[Send] = []
        marks = self._ledger.marks.marked_texts(self._texts_seen_to, limit)
        for identity in marks:
            self._texts_seen_to = identity
            sends += self._send_texts(identity, self._ledger.ruling(identity), self.link_texts.of(identity))
        if len(marks) < limit:
            self._texts_seen_to = b""
        return sends

    def _send_texts(self, identity: bytes, place: Place | None, texts: tuple[str, ...]) -> list[Send]:
        if place is None or not self._is_to_be_found(place) or not texts:
            self._ledger.marks.unmark_texts(identity)
            return []
        if self._texts.get(place.url) == (identity, texts) or len(self._texts) >= self._settings.texts_max:
            return []
        self._ledger.marks.note_texts_given(identity, texts_digest(texts))
        self._texts[place.url] = (identity, texts)
        return [Send(self._indexer, IndexAnchors(place.url, slot_in(identity), texts))]
