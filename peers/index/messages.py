"""Messages between the indexer, the cell and the ports of the index.

Slots are in sets as `mesh.slot_set` encodes them. The port carries out what changes the index in the order
of its coming: what is forgotten before it is adopted again stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mesh.actors.actor import Address, Message
from mesh.slot_set import NO_SLOTS
from mesh.stamp import Stamp
from peers.engine.merging.copies import CopyMark
from peers.engine.pages.document import Document
from peers.index.wire_messages import AskPast, Question

if TYPE_CHECKING:
    from peers.engine.pages.past import Lifetime, PastPage


class IndexPage(Message, frozen=True):
    """Cell to indexer: make this page findable. Answered by `PagesIndexed` once committed."""

    slot: int
    document: Document


class IndexAnchors(Message, frozen=True):
    """Cell to indexer: the page is from now on also found by these link texts."""

    url: str
    slot: int
    anchors: tuple[str, ...]


class PagesIndexed(Message, frozen=True):
    """Indexer to cell: these versions, or newer ones, are in a durable commit.

    A version without a document is in it when no older one is findable any more.
    """

    pages: tuple[tuple[str, Stamp], ...]
    anchors: tuple[tuple[str, tuple[str, ...]], ...] = ()  # likewise these anchor texts


class PagesCommitted(Message, frozen=True):
    """Indexer to copies: searches find these pages in these versions, or newer ones.

    None for what is not found any more.
    """

    pages: tuple[tuple[int, str, Stamp, Document | None], ...]  # with their slots


class MarkCopies(Message, frozen=True):
    """Copies to indexer: for how many others these pages stand, or that others stand for them.

    It holds as long as they have that content, and not for what has another one already. Answered by
    `CopiesMarked`.
    """

    ticket: int
    pages: tuple[tuple[str, CopyMark], ...]  # by URL


class CopiesMarked(Message, frozen=True):
    """Indexer to copies: from now on searches go by that, and it is durable."""

    ticket: int


class RemovePage(Message, frozen=True):
    """Cell to indexer: this version of a page has nothing to be found: take out all that is there of it.

    Answered by `PagesIndexed` once committed. Only an `IndexPage` of a newer version brings the page back.
    """

    slot: int
    url: str
    stamp: Stamp


class SlotsDamaged(Message, frozen=True):
    """Segments to cell and indexer: documents of these slots were in a segment that has been given up.

    The indexer counts the slots as missing, and the port says this again whenever the peer starts, until the
    cell has had them indexed again, or brought from a copy, and says `SlotsRepaired`.
    """

    slots: bytes


class SlotsIndexed(Message, frozen=True):
    """Segments to cell, when a peer starts: of which slots documents are in the index, or lost with damage.

    A process may end between the commits of the two, or before an order to delete is carried out.
    """

    slots: bytes


class SlotsRepaired(Message, frozen=True):
    """Cell to indexer, which passes it on to segments: all it has of these slots is in the index again."""

    slots: bytes


class GiveUpSegment(Message, frozen=True):
    """Indexer to segments: this one was found damaged while it was searched.

    Answered by `SlotsDamaged`; to the indexer alone, and without slots, when nothing is lost.
    """

    segment: str


class AnswerQuestion(Message, frozen=True):
    """Indexer to questions: answer a gateway over these slots, as of now.

    Answered by `QuestionAnswered`, or by `DamageMet`.
    """

    gateway: Address
    question: Question | AskPast
    slots: bytes
    missing: int  # slots that were asked for and are not among them
    epoch: bytes  # the serving epoch that this follows from
    unsettled: tuple[str, ...] = ()  # of the pages to be read: that may be in the mesh without being here


class QuestionAnswered(Message, frozen=True):
    """Questions to indexer: this is for the gateway; None when the question was none."""

    gateway: Address
    answer: Message | None


class DamageMet(Message, frozen=True):
    """Questions to indexer: a segment with these slots is damaged, so there is no answer over them."""

    order: AnswerQuestion
    segment: str
    slots: bytes


class CommitDocuments(Message, frozen=True):
    """Indexer to segments: delete, then add or replace these, and commit.

    One batch at a time; beside it those of number 0, which nobody waits for.
    """

    batch: int
    documents: tuple[tuple[int, Document], ...]  # with their slots; older ones than are there are left out
    anchors: tuple[tuple[int, str, tuple[str, ...]], ...]  # slot, URL, link texts of pages already there
    forgotten: tuple[int, ...] = ()  # slots all of whose documents are deleted
    removed: tuple[tuple[str, Stamp], ...] = ()  # documents of these versions or older ones are deleted
    marks: tuple[tuple[str, CopyMark], ...] = ()  # see `MarkCopies`


class DocumentsCommitted(Message, frozen=True):
    """Segments to indexer: they are findable and durable."""

    batch: int
    generation: int


class ExportDocuments(Message, frozen=True):
    """Cell to segments: all documents of these slots that are committed now, as another index adopts them.

    Answered by `DocumentsExported`, the next one after each `NextDocuments`, until the last one or
    `StopExport`.
    """

    ticket: int  # the cell's number for it, never used twice
    slots: bytes


class DocumentsExported(Message, frozen=True):
    """Segments to cell: some of the documents."""

    ticket: int
    number: int  # 0, 1, 2 ...
    content: bytes  # an encoded segment, at most BULK_BYTES_MAX; may be empty in the last one
    is_last: bool
    left_out: tuple[str, ...] = ()  # in the last one: URLs of documents too large to be sent this way
    lacking: bytes = NO_SLOTS  # in the last one: slots of which documents are missing, for damage


class NextDocuments(Message, frozen=True):
    """Cell to segments: make the next part of the export."""

    ticket: int


class StopExport(Message, frozen=True):
    """Cell to segments: forget that export. The last part needs none."""

    ticket: int


class AdoptDocuments(Message, frozen=True):
    """Cell to segments: take over documents another peer has exported. Answered by `DocumentsAdopted`."""

    ticket: int
    slots: bytes  # what it was asked for
    content: bytes  # not believed
    # Pages of these slots of which no document of that version, or of an older one, is to be found.
    removed: tuple[tuple[str, Stamp], ...] = ()


class DocumentsAdopted(Message, frozen=True):
    """Segments to cell: it is committed, or, when there are no pages, it was refused.

    Pages whose document is here already, but with other link texts, are not among them and stay as they are;
    nor are those that were left out as removed.
    """

    ticket: int
    generation: int
    pages: tuple[tuple[str, Stamp], ...]  # as in `PagesIndexed`: these versions, or newer ones


class SettlePast(Message, frozen=True):
    """Cell to segments: of these pages just these versions are to be found, though they have been replaced.

    Answered by `PastSettled`.
    """

    pages: tuple[PastPage, ...]


class PastSettled(Message, frozen=True):
    """Segments to cell: it is committed, but for the versions that it lacks and nobody has given.

    Of a page as of a time no more is asked for before this is answered.
    """

    lacking: tuple[tuple[str, tuple[Lifetime, ...]], ...]  # of each page


class PastLost(Message, frozen=True):
    """Segments to cell: a segment with replaced versions was damaged: say anew which there are to be."""


class PastBehind(Message, frozen=True):
    """Cell to indexer: of these slots some replaced version may not be found, or one that should not be."""

    slots: bytes
