"""What is said between the indexer, the cell and the segments port."""

from __future__ import annotations

from mesh.actor import Message
from mesh.document import Document


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
    """Indexer to cell: these pages (by URL and time of fetch) are in a durable commit."""

    pages: tuple[tuple[str, float], ...]
    anchors: tuple[tuple[str, tuple[str, ...]], ...] = ()  # likewise these anchor texts


class CommitDocuments(Message, frozen=True):
    """Indexer to segments: add or replace these and commit. One at a time."""

    batch: int
    documents: tuple[tuple[int, Document], ...]  # with their slots
    anchors: tuple[tuple[int, str, tuple[str, ...]], ...]  # slot, URL, link texts of pages already there


class DocumentsCommitted(Message, frozen=True):
    """Segments to indexer: they are findable and durable."""

    batch: int
    generation: int
