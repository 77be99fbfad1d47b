"""The index actor of a peer: gathers pages into commits and answers queries over the slots it answers for.

Theory of operation
===================
A commit costs an fsync and a new segment whatever its size, and looks at each word once, however many pages
have it, so pages are gathered for as long as more come: one batch is at the port "segments", the next one
collects meanwhile. Of a page only the newest version goes into a batch, be it a document or the order to take
the page out; the older ones count as indexed with it. The port compares once more with what is committed.
What was taken out leaves no trace in an index, so the last of these orders are remembered here, for what was
under way when they came; what comes later the cell compares with its ledger.

Questions of gateways are answered by the port "questions", which may take a thread for one that costs much;
here is decided over which slots. The `IndexView` is an argument, as a table is; here only its documents are
counted.

A question is about the slots that this peer answers for (by the serving table), or about those that it
answers for while others are absent. Of these it answers for the *complete* ones, of which the handover says
that all is here, and tells how many it had to leave out. Slots that lost documents with a damaged segment
are not complete until the cell says that they are repaired; when damage is met while answering, the question
is asked anew without them, and the port "segments" is told to give the segment up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import ClassVar, Final, NamedTuple

import msgspec
import numpy as np

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import NO_SLOTS, SlotMask, decode_any_slots, decode_slots, encode_slots
from mesh.stamp import BEFORE_ALL, Stamp
from mesh.urls import has_host, host_of
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import with_anchors
from peers.handover.messages import ForgetSlots, SlotsComplete
from peers.index.answerer import IndexView
from peers.index.messages import (
    AnswerQuestion,
    CommitDocuments,
    CopiesMarked,
    DamageMet,
    DocumentsCommitted,
    GiveUpSegment,
    IndexAnchors,
    IndexPage,
    MarkCopies,
    PagesCommitted,
    PagesIndexed,
    PastBehind,
    QuestionAnswered,
    RemovePage,
    SlotsDamaged,
    SlotsRepaired,
)
from peers.index.wire_messages import AskPast, CompleteTyped, CountTerms, Question, ReadExcerpts, SearchSlots

# Pages; with as many that wait none is said to be not in the mesh: a cell brings twice as many, and may have
# more.
WAITING_MAX: Final = 2_048
# Sets of absent peers whose slots are remembered: one or two while peers are down, more if gateways disagree.
ABSENT_KEPT: Final = 4

_NO_SLOTS: Final = np.zeros(SLOTS_MAX, np.bool_)


class IndexerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How large a commit gets, whichever limit comes first, and how much is remembered."""

    documents_max: int = 512
    # Pages that get other link texts: a segment is written anew for few or for many. What a commit of so many
    # takes at most, since others are indexed anew, is some 5 s.
    links_max: int = 4_096
    text_chars_max: int = 4_000_000  # inverted in memory at about 30 bytes each
    # After the last that came, unless pages come one after the other: no use in waiting when no more come.
    pause_s: float = 0.5
    longest_s: float = 2.5  # from the first document of a batch; how fresh the index is at least
    # Pages taken out that are remembered, some 2 MB: several times what a cell has under way to the indexer.
    removed_kept: int = 16_384


class IndexerStatistics(Statistics, frozen=True):
    """The work of an indexer: gauges are of now, counts since the start."""

    waiting: int  # gauge: pages, those to be taken out included, and link texts for the next batches
    committing: int  # gauge: those at the port
    generation: int  # last commit heard of
    documents: int  # gauge: committed, of the slots that this peer answers for
    committed: int  # count: pages and link texts in commits
    batches: int  # count: commits
    queries_answered: int
    queries_refused: int  # not what a gateway sends, or before this peer knows its slots
    slots_missing: int = 0  # gauge: that it answers for, but has not all of
    slots_damaged: int = 0  # gauge: that lost documents with damaged segments and are not yet repaired


@dataclass(slots=True)
class _Page:
    """A page for the next batch, and the versions and link texts that will be in the index with it."""

    slot: int
    url: str
    stamp: Stamp
    document: Document | None  # None: it is to be taken out
    versions: list[Stamp] = field(default_factory=list)  # this one and older ones
    anchors: list[tuple[str, ...]] = field(default_factory=list)  # link texts that it has by now or before

    @property
    def text_chars(self) -> int:
        return 0 if self.document is None else self.document.text_chars


@dataclass(frozen=True, slots=True)
class _Batch:
    """The batch at the port, and the messages to send when it is committed."""

    number: int
    size: int
    done: PagesIndexed
    committed: PagesCommitted
    urls: frozenset[str]  # of pages
    marked: tuple[CopiesMarked, ...]


class _Slots:
    """Slots, as a mask and as they are told to others."""

    def __init__(self, mask: SlotMask) -> None:
        self.mask = mask
        self.encoded = encode_slots(mask)


class _Answered(NamedTuple):
    """The slots that a question is answered over, and the number of those missing."""

    slots: _Slots
    missing: int  # slots that were asked for but are not complete


class Indexer(Actor):
    """Keeps the index of a peer up to date and searches it."""

    name: ClassVar[str] = "indexer"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset(
        {CountTerms, SearchSlots, ReadExcerpts, CompleteTyped, AskPast}
    )

    def __init__(self, peer: str, index: IndexView, settings: IndexerSettings | None = None) -> None:
        self._index = index
        self._settings = settings or IndexerSettings()
        self._ownership: Ownership | None = None
        self._complete = NO_SLOTS  # slot set
        self._damaged: SlotMask = _NO_SLOTS
        # Of segments that were found damaged; the port has not yet said what was lost.
        self._suspected: SlotMask = _NO_SLOTS
        # By the peers that are absent: what was worked out since those four changed, used last behind.
        self._answered: dict[frozenset[str], _Answered] = {}
        self._readable: _Slots | None = None  # all slots but those with damage, likewise
        self._vouched: SlotMask | None = None  # those of them that are complete, likewise
        # Of which a replaced version may be lacking; all until the cell has said.
        self._past_behind: SlotMask = ~_NO_SLOTS
        self._pages: dict[str, _Page] = {}  # by URL, in the order of coming
        self._anchors: dict[str, IndexAnchors] = {}  # of pages that are not in _pages
        self._marks: list[MarkCopies] = []
        self._removed: dict[str, Stamp] = {}  # pages taken out lately, by which version; the last one behind
        self._text_chars = 0  # of _pages
        self._first_at = self._last_at = inf  # when the oldest and the newest of those came
        self._flows_until_s = -inf  # pages that come before came one after the other with those before
        self._batch: _Batch | None = None
        self._n_batches = 0
        self._committed = 0
        self._generation = 0
        self._queries_answered = 0
        self._queries_refused = 0
        self._segments = Address(peer, "segments")
        self._questions = Address(peer, "questions")
        self._cell = Address(peer, "cell")
        self._copies = Address(peer, "copies")

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case IndexPage(slot, document):
                self._take_version(slot, document.url, document.stamp, document)
                return self._gathered(now)
            case RemovePage(slot, url, stamp):
                self._take_version(slot, url, stamp, None)
                return self._gathered(now)
            case IndexAnchors():
                self._take_anchors(message)
                return self._gathered(now)
            case MarkCopies():
                self._marks.append(message)
                return self._gathered(now)
            case DocumentsCommitted(number, generation):
                return self._note_committed(number, generation, now)
            case CountTerms() | SearchSlots() | ReadExcerpts() | CompleteTyped():
                return self._ask(source, message)
            case AskPast():
                return self._ask_past(source, message)
            case PastBehind(slots):
                self._past_behind = decode_any_slots(slots)
                return []
            case QuestionAnswered(gateway, answer):
                return self._pass_on(gateway, answer)
            case DamageMet():
                return self._give_up(message)
            case OwnershipChanged(ownership):
                self._ownership = ownership
                self._slots_changed()
                return []
            case SlotsComplete(slots):
                self._complete = slots
                self._slots_changed()
                return []
            case SlotsDamaged(slots):
                self._damaged = self._damaged | decode_any_slots(slots)
                self._suspected = _NO_SLOTS  # another segment's are found again
                self._slots_changed()
                return []
            case SlotsRepaired(slots):
                self._damaged = self._damaged & ~decode_any_slots(slots)
                self._slots_changed()
                return [Send(self._segments, message)]
            case ForgetSlots(slots):
                return self._forget(decode_any_slots(slots))
            case _:
                raise LocalProtocolError(f"indexer does not understand {type(message).__name__}")

    def wake(self, now: float) -> list[Send]:
        return self._commit_if_due(now)

    def wake_at(self) -> float:
        return inf if self._batch is not None else self._due_s()

    def observe(self) -> IndexerStatistics:
        return IndexerStatistics(
            waiting=len(self._pages) + len(self._anchors),
            committing=self._batch.size if self._batch else 0,
            generation=self._generation,
            documents=self._document_count() if self._ownership else 0,
            committed=self._committed,
            batches=self._n_batches,
            queries_answered=self._queries_answered,
            queries_refused=self._queries_refused,
            slots_missing=self._slots_answered().missing if self._ownership else 0,
            slots_damaged=int(self._damaged.sum()),
        )

    def _document_count(self) -> int:
        return self._index.over(self._slots_answered().slots.mask).statistics(()).document_count

    # --- Gathering and committing

    def _take_version(self, slot: int, url: str, stamp: Stamp, document: Document | None) -> None:
        """Let the next batch have the newest version of a page."""
        removed = self._removed.pop(url, BEFORE_ALL)
        versions = [stamp]
        if document is None or stamp < removed:
            document, stamp = None, max(stamp, removed)
            self._remember_removed(url, stamp)
        page = self._pages.get(url)
        if page is None:
            page = self._pages[url] = _Page(slot, url, stamp, document)
            self._text_chars += page.text_chars
            # The cell keeps the order: these texts are older than those of the document.
            older = self._anchors.pop(url, None)
            if older is not None:
                page.anchors.append(older.anchors)
        elif stamp >= page.stamp:
            self._text_chars -= page.text_chars
            page.stamp, page.document = stamp, document
            self._text_chars += page.text_chars
        page.versions += versions

    def _remember_removed(self, url: str, stamp: Stamp) -> None:
        self._removed[url] = stamp
        if len(self._removed) > self._settings.removed_kept:
            del self._removed[next(iter(self._removed))]

    def _take_anchors(self, message: IndexAnchors) -> None:
        page = self._pages.get(message.url)
        if page is None:
            self._anchors[message.url] = message
        else:
            if page.document is not None:
                page.document = with_anchors(page.document, message.anchors)
            page.anchors.append(message.anchors)

    def _forget(self, slots: SlotMask) -> list[Send]:
        """Have the documents of slots deleted at once, and drop those that wait: the cell forgets them too.

        It is not left to a batch, so that the port has it before anything that brings the slots back.
        """
        for url in [url for url, page in self._pages.items() if slots[page.slot]]:
            self._text_chars -= self._pages.pop(url).text_chars
        for url in [url for url, anchors in self._anchors.items() if slots[anchors.slot]]:
            del self._anchors[url]
        forgotten = tuple(np.flatnonzero(slots).tolist())
        return [Send(self._segments, CommitDocuments(0, (), (), forgotten))]

    def _gathered(self, now: float) -> list[Send]:
        """Note that something has come."""
        self._last_at = now
        return self._commit_if_due(now)

    def _due_s(self) -> float:
        """Return when waiting pages are committed, unless there are enough of them before."""
        longest_s = self._first_at + self._settings.longest_s
        if self._first_at < self._flows_until_s and not (self._anchors or self._marks):
            return longest_s
        return min(longest_s, self._last_at + self._settings.pause_s)

    def _commit_if_due(self, now: float) -> list[Send]:
        if not (self._pages or self._anchors or self._marks):
            self._first_at = self._last_at = inf
            return []
        self._first_at = min(self._first_at, now)
        if self._batch is not None:
            return []
        settings = self._settings
        is_large = (
            len(self._pages) >= settings.documents_max
            or len(self._anchors) >= settings.links_max
            or self._text_chars >= settings.text_chars_max
        )
        return [self._commit()] if is_large or now >= self._due_s() else []

    def _commit(self) -> Send:
        """Hand the port the pages and link texts that came first, up to the limits."""
        self._flows_until_s = now + self._settings.longest_s if self._pages else -inf
        pages = self._take_first_pages(self._settings.documents_max)
        anchors = [self._anchors.pop(url) for url in list(islice(self._anchors, self._settings.links_max))]
        versions = [(page.url, at) for page in pages for at in page.versions]
        texts = [(page.url, texts) for page in pages for texts in page.anchors]
        texts += [(each.url, each.anchors) for each in anchors]
        self._n_batches += 1
        marks, self._marks = self._marks, []
        done = PagesIndexed(tuple(versions), tuple(texts))
        committed = PagesCommitted(tuple((page.slot, page.url, page.stamp, page.document) for page in pages))
        urls = frozenset(page.url for page in pages)
        marked = tuple(CopiesMarked(order.ticket) for order in marks)
        self._batch = _Batch(self._n_batches, len(pages) + len(anchors), done, committed, urls, marked)
        if not self._pages and not self._anchors:
            self._first_at = self._last_at = inf
        message = CommitDocuments(
            self._n_batches,
            tuple((page.slot, page.document) for page in pages if page.document is not None),
            tuple((each.slot, each.url, each.anchors) for each in anchors),
            removed=tuple((page.url, page.stamp) for page in pages if page.document is None),
            marks=tuple(mark for order in marks for mark in order.pages),
        )
        return Send(self._segments, message)

    def _take_first_pages(self, limit: int) -> list[_Page]:
        pages: list[_Page] = []
        n_chars = 0
        for page in self._pages.values():
            n_chars += page.text_chars
            if pages and n_chars > self._settings.text_chars_max:
                break
            pages.append(page)
            if len(pages) == limit:
                break
        for page in pages:
            del self._pages[page.url]
            self._text_chars -= page.text_chars
        return pages

    def _note_committed(self, number: int, generation: int, now: float) -> list[Send]:
        batch = self._batch
        if batch is None or batch.number != number:
            return []
        self._batch = None
        self._generation = generation
        self._committed += batch.size
        told = [Send(self._cell, batch.done), Send(self._copies, batch.committed)] if batch.size else []
        told += [Send(self._copies, marked) for marked in batch.marked]
        return told + self._commit_if_due(now)

    # --- Which slots

    def _slots_answered(self, absent: frozenset[str] = frozenset()) -> _Answered:
        """Return the slots to answer over; worked out anew when something has changed."""
        assert self._ownership is not None
        absent = absent & frozenset(self._ownership.serving.peers) or absent
        answered = self._answered.pop(absent, None) or self._work_out(self._ownership, absent)
        self._answered[absent] = answered
        if len(self._answered) > 1 + ABSENT_KEPT:
            del self._answered[next(iter(self._answered))]
        return answered

    def _work_out(self, ownership: Ownership, absent: frozenset[str]) -> _Answered:
        readable = self._readable_slots(ownership).mask
        complete = decode_slots(self._complete, ownership.table.slot_count) & readable
        asked = ownership.answered_instead(ownership.me, absent) if absent else ownership.answers
        return _Answered(_Slots(asked & complete), int((asked & ~complete).sum()))

    def _readable_slots(self, ownership: Ownership) -> _Slots:
        if self._readable is None:
            self._readable = _Slots(~(self._damaged | self._suspected)[: ownership.table.slot_count])
        return self._readable

    def _slots_changed(self) -> None:
        self._answered.clear()
        self._readable = self._vouched = None

    # --- Answering

    def _ask(self, gateway: Address, question: Question) -> list[Send]:
        """Have a question answered, over the slots that this peer answers for at this moment."""
        ownership = self._ownership
        if ownership is None:
            self._queries_refused += 1
            return []
        epoch = ownership.serving_epoch
        if isinstance(question, ReadExcerpts):  # whatever is here: also of what others answer for
            slots = self._readable_slots(ownership).encoded
            unsettled = self._unsettled(question.urls, ownership)
            return [Send(self._questions, AnswerQuestion(gateway, question, slots, 0, epoch, unsettled))]
        answered = self._slots_answered(frozenset(question.absent))
        order = AnswerQuestion(gateway, question, answered.slots.encoded, answered.missing, epoch)
        return [Send(self._questions, order)]

    def _ask_past(self, gateway: Address, asked: AskPast) -> list[Send]:
        """Have a question about the pages of a span answered, over the slots that have all versions of it."""
        ownership, question = self._ownership, asked.question
        if ownership is None:
            self._queries_refused += 1
            return []
        epoch, behind = ownership.serving_epoch, self._past_behind[: ownership.table.slot_count]
        if isinstance(question, ReadExcerpts):
            slots = self._readable_slots(ownership).encoded
            unsettled = self._unsettled([url.partition(" ")[0] for url in question.urls], ownership)
            untold = {url for url in question.urls if url.partition(" ")[0] in unsettled}
            untold |= {
                url for url in question.urls if has_host(url) and behind[ownership.slot_of(host_of(url))]
            }
            told = tuple(url for url in question.urls if url in untold)
            return [Send(self._questions, AnswerQuestion(gateway, asked, slots, 0, epoch, told))]
        answered = self._slots_answered(frozenset(question.absent))
        mask = answered.slots.mask
        slots, missing = encode_slots(mask & ~behind), answered.missing + int((mask & behind).sum())
        return [Send(self._questions, AnswerQuestion(gateway, asked, slots, missing, epoch))]

    def _unsettled(self, urls: Sequence[str], ownership: Ownership) -> tuple[str, ...]:
        """Those of the pages that may be in the mesh, though they should not be in the index here."""
        if len(self._pages) >= WAITING_MAX:
            return tuple(urls)
        if self._vouched is None:
            complete = decode_slots(self._complete, ownership.table.slot_count)
            self._vouched = complete & self._readable_slots(ownership).mask
        under_way = self._batch.urls if self._batch else frozenset()
        return tuple(
            url
            for url in urls
            if has_host(url)
            and (url in self._pages or url in under_way or not self._vouched[ownership.slot_of(host_of(url))])
        )

    def _pass_on(self, gateway: Address, answer: Message | None) -> list[Send]:
        """Answer a gateway, or not at all: a fault in a question is its sender's."""
        if answer is None:
            self._queries_refused += 1
            return []
        self._queries_answered += 1
        return [Send(gateway, answer)]

    def _give_up(self, damage: DamageMet) -> list[Send]:
        """Leave the slots of a segment out from now on, have it put aside, and the question answered."""
        slots = decode_any_slots(damage.slots)
        sends: list[Send] = []
        if (slots & ~self._damaged & ~self._suspected).any():  # else another question has met it as well
            self._suspected = self._suspected | slots
            self._slots_changed()
            sends.append(Send(self._segments, GiveUpSegment(damage.segment)))
        question = damage.order.question
        if isinstance(question, AskPast):
            return sends + self._ask_past(damage.order.gateway, question)
        return sends + self._ask(damage.order.gateway, question)
