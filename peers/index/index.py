"""The index of one peer: add, delete, commit, merge; readers get snapshots.

Theory of operation
  Documents added wait in a buffer. A commit turns the buffer into a new segment file, writes for every
  segment that lost documents which are left, and then replaces the manifest, which names all files in
  use: this one rename is the commit. A crash before it leaves the old state, one after it the new; files
  the manifest does not name are removed at the next open. A failed commit (disk full) changes nothing
  that readers see and may be repeated.

  One thread writes at a time; `snapshot` may be called, and snapshots be used, on any thread. A merge
  is planned and applied by the writer and computed on any thread in between, while the writer goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import msgspec
import numpy as np

from mesh.document import Document
from peers.index.builder import IndexedDocument, build_segment
from peers.index.directory import DirectoryStorage
from peers.index.kernels import Bytes
from peers.index.manifest import (
    MANIFEST_NAME,
    Manifest,
    ManifestEntry,
    decode_deletions,
    decode_manifest,
    encode_deletions,
    encode_manifest,
)
from peers.index.merging import MergedSegment, SegmentSize, merge_parts, segments_to_merge
from peers.index.segment import CorruptIndexError, Segment, SegmentData, encode_segment
from peers.index.snapshot import Part, Snapshot
from peers.index.storage import Storage

# Text waiting in memory before it becomes a segment without a commit; inverting takes some 15 bytes a byte.
BUFFER_BYTES_MAX = 8 * 1024 * 1024


class _WorkingPart:
    """A segment as the next commit will have it."""

    def __init__(self, segment: Segment, live: Bytes, deletions: str) -> None:
        self.segment = segment
        self.live = live
        self.deletions = deletions  # name of the file that has `live` as it is, "" when all are live
        self._is_shared = True  # a snapshot may have `live`

    def delete(self, documents: Iterable[int]) -> None:
        if self._is_shared:
            self.live = self.live.copy()
            self._is_shared = False
        self.live[list(documents)] = 0
        self.deletions = _UNWRITTEN

    def share(self) -> Part:
        self._is_shared = True
        return Part(self.segment, self.live)


_UNWRITTEN = "?"


class Merge(NamedTuple):
    """Segments chosen to become one; `run` may be called on any thread."""

    parts: tuple[Part, ...]

    def run(self) -> MergedSegment:
        """Compute the merged segment; touches nothing."""
        return merge_parts(self.parts)


class Index:
    """A searchable collection of documents; the URL is the identity of a document."""

    def __init__(self, storage: Storage) -> None:
        """Open an index, or start one in an empty storage.

        Raises:
          CorruptIndexError: a file is damaged or missing. OutdatedIndexError: another version wrote it.
        """
        self._storage = storage
        self._buffer: dict[bytes, IndexedDocument] = {}
        self._buffer_bytes = 0
        self._manifest = self._load_manifest()
        self._next_file = self._manifest.next_file
        self._working = [self._load(entry) for entry in self._manifest.entries]
        self._remove_leftovers()
        self._snapshot = Snapshot(self._manifest.generation, [part.share() for part in self._working])

    @classmethod
    def open(cls, place: Path | Storage) -> Index:
        """Open the index in a directory (created if need be) or a storage.

        Raises, besides those of the constructor:
          DirectoryInUseError: another process has it open. OSError.
        """
        storage = DirectoryStorage(place) if isinstance(place, Path) else place
        try:
            return cls(storage)
        except BaseException:
            storage.close()
            raise

    def close(self) -> None:
        """Let go of the storage without a commit; snapshots stay usable."""
        self._storage.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def generation(self) -> int:
        """The number of commits that changed something."""
        return self._manifest.generation

    def snapshot(self) -> Snapshot:
        """Return the state of the last commit."""
        return self._snapshot

    def add(self, batch: Sequence[tuple[int, Document]]) -> None:
        """Add documents, each with its slot; one with a URL that is there replaces it. Later ones win.

        Searchable after the next commit. A large buffer is written to the storage: OSError, after which
        the documents are still in the buffer.
        """
        added = {}
        for slot, document in batch:
            item = _prepared(slot, document)
            added[item.document.url.encode()] = item
        self._discard(added)
        for url, item in added.items():
            self._buffer[url] = item
            self._buffer_bytes += len(item.encoded)
        if self._buffer_bytes > BUFFER_BYTES_MAX:
            self._flush()

    def delete(self, urls: Iterable[str]) -> None:
        """Delete the documents of these URLs, as far as there are any; effective with the next commit."""
        self._discard({url.encode(errors="replace"): None for url in urls})

    def delete_slots(self, slots: Iterable[int]) -> None:
        """Delete all documents of these slots, as after handing them over."""
        gone = np.zeros(1 << 16, np.bool_)
        gone[list(slots)] = True
        for url in [url for url, item in self._buffer.items() if gone[item.slot]]:
            self._buffer_bytes -= len(self._buffer.pop(url).encoded)
        for part in self._working:
            documents = np.flatnonzero(gone[part.segment.slots] & (part.live != 0))
            if len(documents):
                part.delete(documents.tolist())

    def commit(self) -> int:
        """Make everything added and deleted durable and visible.

        Returns:
          The generation, which grew unless nothing changed.

        Raises:
          OSError: nothing changed for readers; what was added is kept, call it again.
        """
        self._flush()
        working = [part for part in self._working if part.live.any()]
        for part in working:
            if part.deletions == _UNWRITTEN:
                name = self._new_name("deletions")
                self._write(name, [encode_deletions(part.live)])
                part.deletions = name
        entries = tuple(ManifestEntry(part.segment.name, part.deletions) for part in working)
        if entries == self._manifest.entries:
            return self.generation
        manifest = Manifest(generation=self.generation + 1, next_file=self._next_file, entries=entries)
        self._storage.replace(MANIFEST_NAME, encode_manifest(manifest))
        self._manifest = manifest
        self._working = working
        self._snapshot = Snapshot(manifest.generation, [part.share() for part in working])
        # The commit is done; a file that cannot be removed now is removed at the next open.
        with contextlib.suppress(OSError):
            self._remove_leftovers()
        return self.generation

    def plan_merge(self) -> Merge | None:
        """Choose segments to merge, None when all is well; call `apply_merge` with the outcome."""
        candidates = [part for part in self._working if part.live.any()]
        chosen = segments_to_merge(
            [
                SegmentSize(part.segment.size_bytes, part.segment.document_count, int(part.live.sum()))
                for part in candidates
            ]
        )
        return Merge(tuple(candidates[i].share() for i in chosen)) if chosen else None

    def apply_merge(self, merge: Merge, merged: MergedSegment) -> int:
        """Put the merged segment in place of its sources, and commit; returns the generation.

        Documents that were deleted or replaced since the plan are deleted in the merged segment.
        """
        names = [part.segment.name for part in merge.parts]
        sources = {part.segment.name: part for part in self._working}
        replacement = self._write_segment(merged.data)
        gone: list[int] = []
        for part, documents in zip(merge.parts, merged.documents, strict=True):
            source = sources.get(part.segment.name)
            live_now = source.live if source else np.zeros_like(part.live)
            gone += documents[(part.live != 0) & (live_now == 0)].tolist()
        if gone:
            replacement.delete(gone)
        self._working = [part for part in self._working if part.segment.name not in names]
        self._working.append(replacement)
        return self.commit()

    def merge_if_needed(self) -> bool:
        """Merge segments on this thread until the policy is content; True when something was merged."""
        has_merged = False
        while merge := self.plan_merge():
            self.apply_merge(merge, merge.run())
            has_merged = True
        return has_merged

    def _discard(self, urls: Iterable[bytes]) -> None:
        keys = list(urls)
        for key in keys:
            if item := self._buffer.pop(key, None):
                self._buffer_bytes -= len(item.encoded)
        for part in self._working:
            documents = part.segment.find_urls(keys)
            documents = documents[documents >= 0]
            documents = documents[part.live[documents] != 0]
            if len(documents):
                part.delete(documents.tolist())

    def _flush(self) -> None:
        """Write the buffer as a segment, not yet part of the manifest."""
        if not self._buffer:
            return
        self._working.append(self._write_segment(build_segment(list(self._buffer.values()))))
        self._buffer = {}
        self._buffer_bytes = 0

    def _write_segment(self, data: SegmentData) -> _WorkingPart:
        name = self._new_name("segment")
        self._write(name, encode_segment(data))
        # Read back, so that what was just written is checked before anything relies on it.
        segment = Segment(name, self._storage.read(name))
        return _WorkingPart(segment, np.ones(segment.document_count, np.uint8), "")

    def _write(self, name: str, parts: list[bytes | memoryview]) -> None:
        try:
            self._storage.write(name, parts)
        except OSError:
            with contextlib.suppress(OSError):
                self._storage.remove(name)
            raise

    def _new_name(self, kind: str) -> str:
        self._next_file += 1
        return f"{kind}-{self._next_file - 1:010}"

    def _load_manifest(self) -> Manifest:
        names = self._storage.names()
        if MANIFEST_NAME in names:
            return decode_manifest(self._storage.read(MANIFEST_NAME))
        if names:
            raise CorruptIndexError(f"the manifest is missing, but there are {len(names)} other files")
        manifest = Manifest()
        self._storage.replace(MANIFEST_NAME, encode_manifest(manifest))
        return manifest

    def _load(self, entry: ManifestEntry) -> _WorkingPart:
        try:
            segment = Segment(entry.segment, self._storage.read(entry.segment))
            live = np.ones(segment.document_count, np.uint8)
            if entry.deletions:
                content = self._storage.read(entry.deletions)
                live = decode_deletions(content, segment.document_count, entry.deletions)
        except FileNotFoundError as error:
            raise CorruptIndexError(f"a file of the index is missing: {error}") from error
        return _WorkingPart(segment, live, entry.deletions)

    def _remove_leftovers(self) -> None:
        in_use = self._manifest.file_names()
        for name in self._storage.names():
            if name not in in_use:
                self._storage.remove(name)


def _prepared(slot: int, document: Document) -> IndexedDocument:
    """Encode a document as it will be stored. Lone surrogates, which no encoding has, become "?"."""
    assert 0 <= slot < 1 << 16, slot
    try:
        encoded = msgspec.msgpack.encode(document)
    except UnicodeEncodeError:
        document = Document(
            url=_cleaned(document.url),
            title=_cleaned(document.title),
            headings=_cleaned(document.headings),
            text=_cleaned(document.text),
            anchors=tuple(map(_cleaned, document.anchors)),
            language=_cleaned(document.language),
            fetched_at=document.fetched_at,
        )
        encoded = msgspec.msgpack.encode(document)
    return IndexedDocument(slot, document, encoded)


def _cleaned(text: str) -> str:
    return text.encode(errors="replace").decode()
