"""Has the index find the versions of pages that have been replaced, where the policy wants that.

What is to be found of a page follows from its versions in the ledger: each but the newest that has a
document, from when it was fetched until the next one was. Of a page that is taken down, or asks now not to be
indexed, it is nothing. The port "segments" is told that as a whole (`SettlePast`), page by page as versions
come and go, and says which it lacks; these are read back from the archive and parsed. So two copies of a slot
agree as soon as their ledgers do, however the versions came there, and what an index has lost comes back.

Which pages have changed is in memory only: with each life, and when other pages are taken down, all are
walked through. The indexer is told of which slots something is still to be done, and answers nothing of the
past of these. A page waits until its newest version is in a commit, so that no version is found twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Final, TypeAlias

import msgspec
import numpy as np

from mesh.actors.actor import Address, Send
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import NO_SLOTS, encode_slot_list, encode_slots
from mesh.urls import URL_CHARS_MAX
from peers.engine.pages.document import Document
from peers.engine.pages.past import KEY_CHARS_MAX, SPANS_MAX, Lifetime, PastPage
from peers.index.messages import PastBehind, PastLost, PastSettled, SettlePast
from peers.policy.rules import DAY_S
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import IDENTITY_BYTES, slot_in
from peers.storage.ledger.place import Place, Version
from peers.storage.link_texts import LinkTexts
from peers.storage.messages import ParseRecords, ReadRecords, RecordsParsed, RecordsRead
from peers.storage.take_downs import TakeDowns

PAGES_AT_ONCE: Final = 256  # that the port is told of at a time
READ_AT_ONCE: Final = 8  # versions of a page
WALKED_AT_ONCE: Final = 1_024  # entries of the ledger, of pages that all have to wait: some milliseconds
WALK_PAUSE_S: Final = 0.02  # as of other work that looks through all pages
PastMessage: TypeAlias = PastSettled | PastLost | RecordsRead | RecordsParsed
_EVERYWHERE: Final = encode_slots(np.ones(SLOTS_MAX, np.bool_))


@dataclass(slots=True)
class _Page:
    """A page that the port has been told of, and the versions that are read for it."""

    identity: bytes
    url: str
    lifetimes: tuple[Lifetime, ...]
    waiting: set[Version] = field(default_factory=set)
    documents: list[Document] = field(default_factory=list)


class ReplacedVersions:
    """Tells the index which versions are to be found; does nothing where the policy wants none."""

    def __init__(self, me: str, ledger: Ledger, texts: LinkTexts, take_downs: TakeDowns) -> None:
        self._me = me
        self._ledger = ledger
        self._texts = texts
        self._take_downs = take_downs
        self._keep_s = 0.0  # after it was replaced, a version is found for so long; 0.0 for not at all
        self._changed: dict[bytes, None] = {}  # pages that the port is to be told of
        self._at_work: dict[str, _Page] = {}  # those that it has been told of, by URL
        self._behind: Counter[int] = Counter()  # pages of either kind, by slot
        self._walked_to: bytes | None = None  # a key of the ledger; None when all pages were walked through
        self._is_walk_needed = False  # what is found may be wrong until the walk ends
        self._told = _EVERYWHERE  # the slots that the indexer leaves out
        self._next_walk_at = inf

    @property
    def is_on(self) -> bool:
        return self._keep_s > 0.0

    def wake_at(self) -> float:
        return self._next_walk_at

    def wake(self, now: float) -> None:
        """Walk through all pages, once a day, since versions become too old; `end_turn` takes the steps."""
        if self.is_on and now >= self._next_walk_at:
            self._next_walk_at = now + DAY_S
            if self._walked_to is None:
                self._walked_to = b""

    def change_policy(self, keep_s: float, now: float) -> None:
        """Have versions found for so long after they were replaced; 0.0 for not at all."""
        if keep_s != self._keep_s:
            self._keep_s = keep_s
            self._ledger.replaced = set() if keep_s else None
            self._next_walk_at = now + DAY_S if keep_s else inf
            self.begin_anew()

    def begin_anew(self) -> None:
        """Walk through all pages: other ones are taken down, or the index has lost something."""
        self._walked_to, self._is_walk_needed = b"", True

    def note_texts(self, identity: bytes) -> None:
        """Note that links tell something new of a page."""
        if self.is_on and len(self._ledger.versions_of(identity, 2)) > 1:
            self._note((identity,))

    def take(self, message: PastMessage) -> list[Send]:
        """React to the port, the archive or the parser."""
        match message:
            case PastSettled():
                return self._note_settled(message)
            case PastLost():
                return self._lose()
            case RecordsRead():
                return self._note_read(message)
            case RecordsParsed():
                return self._note_parsed(message)

    def _lose(self) -> list[Send]:
        """Say all anew, since the index has lost something."""
        self.begin_anew()
        return [Send(Address(self._me, "indexer"), PastBehind(_EVERYWHERE))] if self.is_on else []

    def end_turn(self, now: float) -> list[Send]:
        """Return the messages that follow from the state of the ledger."""
        if self._ledger.replaced:
            replaced, self._ledger.replaced = self._ledger.replaced, set()
            self._note(replaced)
        if self._walked_to is None and not self._changed and not self._at_work:
            return [] if self.is_on and self._told == NO_SLOTS else self._tell_behind()
        return self._tell_port(now) + self._tell_behind()

    def _note_settled(self, message: PastSettled) -> list[Send]:
        """Read back the versions that the index lacks; be done with the pages of which it has all."""
        sends: list[Send] = []
        for url, lacking in message.lacking:
            page = self._at_work.get(url)
            if page is None:
                continue
            page.documents.clear()
            for lifetime in lacking[:READ_AT_ONCE]:
                sends += self._read(page, lifetime)
            if not page.waiting:
                self._end(page)
        return sends

    def _note_read(self, message: RecordsRead) -> list[Send]:
        page = self._at_work.get(message.url)
        version = message.url, message.stamp
        if page is None or version not in page.waiting:
            return []
        if not message.records:
            return self._take_read(page, version, None)
        return [Send(Address(self._me, "parser"), ParseRecords(*version, message.records))]

    def _note_parsed(self, message: RecordsParsed) -> list[Send]:
        page = self._at_work.get(message.url)
        version = message.url, message.stamp
        if page is None or version not in page.waiting:
            return []
        return self._take_read(page, version, message.document)

    def _take_read(self, page: _Page, version: Version, document: Document | None) -> list[Send]:
        """Take in a version that was read back, None for one that cannot be; give them when all are there."""
        page.waiting.discard(version)
        stamp = version[1]
        if document is None:
            page.lifetimes = tuple(each for each in page.lifetimes if each.since != stamp.fetched_at)
        else:
            is_same = document.stamp == stamp
            page.documents.append(
                document
                if is_same
                else msgspec.structs.replace(document, visit=stamp.visit, fetched_at=stamp.fetched_at)
            )
        if page.waiting:
            return []
        if not self._ledger.versions_of(page.identity, 1):  # its slot was forgotten meanwhile
            page.lifetimes = ()
        return [self._settle([page])]

    def _note(self, identities: Iterable[bytes]) -> None:
        for identity in identities:
            if identity not in self._changed:
                self._changed[identity] = None
                self._behind[slot_in(identity)] += 1

    def _tell_port(self, now: float) -> list[Send]:
        """Tell the port of some pages more, unless it has as many as it may have."""
        if self._at_work:
            return []
        pages: list[_Page] = []
        for identity in list(islice(self._changed, PAGES_AT_ONCE)):
            del self._changed[identity]
            if self._ledger.marks.has_page_mark(identity):
                self._changed[identity] = None  # once its newest version is in the index
            else:
                pages += self._page_of(identity, now)
                self._behind[slot_in(identity)] -= 1
        if not pages and self._walked_to is not None:
            pages = self._walk(now)
        for page in pages:
            self._at_work[page.url] = page
            self._behind[slot_in(page.identity)] += 1
        return [self._settle(pages)] if pages else []

    def _walk(self, now: float) -> list[_Page]:
        """Return the next pages of the walk; none where it has come upon many that have to wait."""
        pages: list[_Page] = []
        for _ in range(WALKED_AT_ONCE // PAGES_AT_ONCE):
            if pages or self._walked_to is None:
                break
            entries = self._ledger.places(self._walked_to, PAGES_AT_ONCE)
            self._walked_to = entries[-1][0] if len(entries) == PAGES_AT_ONCE else None
            for key, identity, _ in entries:
                if len(key) != 1 + IDENTITY_BYTES or identity in self._changed:
                    continue
                if self._ledger.marks.has_page_mark(identity):
                    self._note((identity,))
                else:
                    pages += self._page_of(identity, now)
        self._is_walk_needed &= self._walked_to is not None
        if not pages and self._walked_to is not None:
            self._next_walk_at = now + WALK_PAUSE_S  # to go on, though nothing else happens
        return pages

    def _page_of(self, identity: bytes, now: float) -> list[_Page]:
        """Return the versions of a page that are to be found; nothing where its URL is not known."""
        places = self._ledger.versions_of(identity, SPANS_MAX)
        if not places:
            return []
        url, newest = places[0].url, places[0]
        is_shown = self.is_on and not self._take_downs.hides(url)
        # Also when it is gone since: nobody has taken that back.
        last = next((place for place in places if place.has_content), newest)
        does_refuse = last.has_content and not last.has_document
        is_short = len(url) <= URL_CHARS_MAX - KEY_CHARS_MAX  # its keys are sent as URLs are
        lifetimes = lifetimes_of(places) if is_shown and is_short and not does_refuse else ()
        # A day more than is promised: pages are walked through once a day.
        oldest_s = now - self._keep_s - DAY_S
        return [_Page(identity, url, tuple(each for each in lifetimes if each.until >= oldest_s))]

    def _settle(self, pages: list[_Page]) -> Send:
        told = tuple(
            PastPage(
                slot_in(page.identity),
                page.url,
                page.lifetimes,
                self._texts.of(page.identity) if page.lifetimes else (),
                tuple(page.documents),
            )
            for page in pages
        )
        return Send(Address(self._me, "segments"), SettlePast(told))

    def _read(self, page: _Page, lifetime: Lifetime) -> list[Send]:
        for place in self._ledger.versions_of(page.identity, SPANS_MAX):
            if place.fetched_at == lifetime.since and place.has_document:
                page.waiting.add((place.url, place.stamp))
                extent = place.extent
                message = ReadRecords(
                    place.url, place.stamp, extent.segment, extent.offset, extent.length, place.checksum
                )
                return [Send(Address(self._me, "archive"), message)]
        return []  # it has gone meanwhile, and the page has changed with it

    def _end(self, page: _Page) -> None:
        del self._at_work[page.url]
        self._behind[slot_in(page.identity)] -= 1

    def _tell_behind(self) -> list[Send]:
        """Tell the indexer of which slots something is to be done, if these are others than before."""
        if not self.is_on or self._is_walk_needed:
            behind = _EVERYWHERE
        else:
            self._behind += Counter()  # drops the slots without any
            behind = encode_slot_list(sorted(self._behind), SLOTS_MAX) if self._behind else NO_SLOTS
        if behind == self._told:
            return []
        self._told = behind
        return [Send(Address(self._me, "indexer"), PastBehind(behind))]


def lifetimes_of(places: list[Place]) -> tuple[Lifetime, ...]:
    """Return from when to when the versions of a page but the newest were there, those with a document.

    Where clocks went backwards, a version that a newer one says to be younger than itself was never there.

    Args:
      places: the newest first.
    """
    lifetimes: list[Lifetime] = []
    until = places[0].fetched_at
    for place in places[1:]:
        if place.has_document and place.fetched_at < until:
            lifetimes.append(Lifetime(place.fetched_at, until))
        until = min(until, place.fetched_at)
    return tuple(lifetimes)
