"""The index of one peer: add, delete, commit, merge; readers get snapshots.

Theory of operation
  Documents added wait in a buffer. A commit turns the buffer into a new segment file, writes for every
  segment that lost documents which are left, and then replaces the manifest, which names all files in
  use: this one rename is the commit. A crash before it leaves the old state, one after it the new; files
  the manifest does not name are removed at the next open. A failed commit (disk full) changes nothing
  that readers see and may be repeated.

  A segment whose bytes are not what was written is put aside: renamed, no longer in the manifest, and the
  slots of its documents are in the manifest as `damaged` until somebody has added what was lost again and
  says so (`mend`). That is done when the index is opened and when a reader meets the damage; the rest of
  the index goes on.

  One thread writes at a time; `snapshot` may be called, and snapshots be used, on any thread. A merge
  is planned and applied by the writer and computed on any thread in between, while the writer goes on.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final

import numpy as np

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import NO_SLOTS, SlotMask, decode_slots, encode_slots
from mesh.stamp import BEFORE_ALL, Stamp
from peers.engine.files.directory import DirectoryStorage
from peers.engine.files.errors import CorruptIndexError, OutdatedIndexError
from peers.engine.files.storage import Buffer, PartOfStorage, Storage
from peers.engine.merging.adoption import check_segment, same_documents
from peers.engine.merging.copies import CopyMark, mark_copies, marks_kept
from peers.engine.merging.link_updates import relink_segments
from peers.engine.merging.merge import Merge, Merged, carried_over
from peers.engine.merging.segment_merge import SegmentSize, segments_to_merge, segments_to_merge_at_rest
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import with_anchors
from peers.engine.segments.builder import Build, IndexedDocument, build_encoded, prepared
from peers.engine.segments.manifest import (
    MANIFEST_NAME,
    Manifest,
    ManifestEntry,
    decode_manifest,
    encode_manifest,
)
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_file import write_segment
from peers.engine.segments.segment_format import encode_segment, slots_in
from peers.engine.segments.working_segment import WorkingSegment, working_segment, written_segment
from peers.engine.snapshot import Snapshot

NONE_REMOVED: Final[Mapping[str, Stamp]] = MappingProxyType({})

# Text waiting in memory before it becomes a segment without a commit; inverting takes some 15 bytes a byte.
BUFFER_BYTES_MAX = 8 * 1024 * 1024
ANEW_AT_ONCE = 128  # documents that are read back because links tell something new of them

logger = logging.getLogger(__name__)


_SEGMENT = "segment-"
_ASIDE = "damaged-"  # before the name of a segment file
_PAST = "past."  # before the names of the files of `Index.past`

_ALL_SLOTS = np.ones(SLOTS_MAX, np.bool_)


class Index:
    """A searchable collection of documents; the URL is the identity of a document."""

    def __init__(self, storage: Storage, build: Build = build_encoded, names: str = "") -> None:
        """Open an index, or start one in an empty storage.

        Segments that are damaged, missing or of another version are put aside, see `damaged`; so are all of
        them when the manifest, which says which ones count, is itself one of these. Whoever has the pages
        adds them again, see `repaired`.

        Args:
          build: makes segments of documents that were added, on the thread of the writer.
          names: that those of its files have in them, so that no other index has such.

        Raises:
          CorruptIndexError: there are segments but no manifest.
        """
        self._storage = storage
        self._names = names
        self._build = build
        self._buffer: dict[bytes, IndexedDocument] = {}
        self._buffer_copies: dict[bytes, int] = {}  # what is known of copies, of some of these
        self._buffer_bytes = 0
        self._being_merged: set[str] = set()  # names of segments that are not in the manifest yet
        self._aside: dict[str, SlotMask] = {}  # segments put aside, with the slots of their documents
        self._manifest = self._load_manifest()
        self._next_file = self._manifest.next_file
        self.damaged: SlotMask = decode_slots(self._manifest.damaged, SLOTS_MAX)
        self._working = [each for entry in self._manifest.entries if (each := self._load(entry))]
        self._snapshot = Snapshot(self._manifest.generation, [each.share() for each in self._working])
        # The versions of pages that have been replaced, where there are any; see `past`.
        self.replaced: Index | None = None
        if any(name.startswith(_PAST) for name in self._storage.names()):
            self.past()
        if self._aside:
            self.commit()
        self._remove_leftovers()

    @classmethod
    def open(cls, place: Path | Storage, build: Build = build_encoded) -> Index:
        """Open the index in a directory (created if need be) or a storage.

        Raises, besides those of the constructor:
          DirectoryInUseError: another process has it open. OSError.
        """
        storage = DirectoryStorage(place) if isinstance(place, Path) else place
        try:
            return cls(storage, build)
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

    def past(self) -> Index:
        """Return `replaced`, an index in the same storage; made when it is wanted, without damaged segments.

        Raises:
          OSError.
        """
        if self.replaced is None:
            self.replaced = _opened_anew(PartOfStorage(self._storage, _PAST))
        return self.replaced

    def add(self, batch: Sequence[tuple[int, Document]]) -> None:
        """Add documents, each with its slot; one with a URL that is there replaces it. Later ones win.

        Searchable after the next commit. A large buffer is written to the storage: OSError, after which
        the documents are still in the buffer.
        """
        added = {}
        for slot, document in batch:
            item = prepared(slot, document)
            added[item.document.key.encode()] = item
        kept = marks_kept(self._working, added)
        self._discard(added)
        self._buffer_copies |= kept
        for url, item in added.items():
            self._buffer[url] = item
            self._buffer_bytes += len(item.encoded)
        if self._buffer_bytes > BUFFER_BYTES_MAX:
            self._flush()

    def delete(self, urls: Iterable[str]) -> None:
        """Delete the documents of these URLs, as far as there are any; effective with the next commit."""
        self._discard({url.encode(errors="replace"): None for url in urls})

    def mark_copies(self, marks: Mapping[bytes, CopyMark]) -> None:
        """Set the copy marks of documents, by URL (UTF-8); effective with the next commit. OSError."""
        self._flush()
        mark_copies(self._working, marks)

    def relink(self, entries: Mapping[str, Sequence[str]]) -> None:
        """Give documents new link texts, by URL; effective with the next commit. Those not here are left out.

        A segment is written anew where many of its documents are among them; elsewhere each is indexed anew.

        Args:
          entries: as `linkers.with_anchors` takes them.

        Raises:
          DamagedSegmentError, OSError: repeat it.
        """
        by_url = {url.encode(errors="replace"): told for url, told in entries.items()}
        for url in [url for url in by_url if url in self._buffer]:
            before = self._buffer[url]
            after = prepared(before.slot, with_anchors(before.document, by_url[url]))
            self._buffer[url] = after
            self._buffer_bytes += len(after.encoded) - len(before.encoded)
        anew = relink_segments(
            self._working, by_url, lambda data: self._written(encode_segment(data)), self._storage.scratch
        )
        while some := list(islice(anew, ANEW_AT_ONCE)):
            self.add(some)

    def delete_slots(self, slots: Iterable[int]) -> None:
        """Delete all documents of these slots, as after handing them over."""
        gone = np.zeros(1 << 16, np.bool_)
        gone[list(slots)] = True
        for url in [url for url, item in self._buffer.items() if gone[item.slot]]:
            self._buffer_bytes -= len(self._buffer.pop(url).encoded)
            self._buffer_copies.pop(url, None)
        for each in self._working:
            documents = np.flatnonzero(gone[each.segment.slots] & (each.live != 0))
            if len(documents):
                each.delete(documents.tolist())

    def slots(self) -> SlotMask:
        """Return the slots that have documents, a mask over all there are."""
        here = np.zeros(SLOTS_MAX, np.bool_)
        for each in self._working:
            here[each.segment.slots[each.live != 0]] = True
        here[[item.slot for item in self._buffer.values()]] = True
        return here

    def versions(self, urls: Sequence[bytes]) -> list[Stamp | None]:
        """Return which versions of the documents of these URLs (UTF-8) are here; None for none."""
        stamps: list[Stamp | None] = [None] * len(urls)
        for each in self._working:
            documents = each.segment.find_urls(urls)
            is_here = (documents >= 0) & (each.live[documents] != 0)
            for number in np.flatnonzero(is_here).tolist():
                stamps[number] = each.segment.stamp(documents[number])
        for number, url in enumerate(urls):
            if item := self._buffer.get(url):
                stamps[number] = item.document.stamp
        return stamps

    def adopt(
        self, content: bytes, slots: SlotMask, removed: Mapping[str, Stamp] = NONE_REMOVED
    ) -> list[tuple[str, Stamp]]:
        """Take over a segment that another index has exported; effective with the next commit.

        Of its documents those of which this or a newer version is here are left out; older ones here are
        deleted.

        Args:
          content: from another peer, which is not believed.
          slots: mask over the slots of the mesh: what the documents may belong to.
          removed: URLs of pages, with the version that removed each: documents that are not newer are left
            out, and not told.

        Returns:
          URL and version of its documents: that one, or a newer one, is here. Where the same version is
          here, but is not the same document (the link texts differ), it stays, and is not told.

        Raises:
          CorruptIndexError: it is no complete, consistent segment of such documents. Nothing changed.
          DamagedSegmentError: one of our own is damaged. Nothing changed.
          OSError: nothing changed.
        """
        return self.adopt_checked(check_segment(content, slots), removed)

    def adopt_checked(
        self, segment: Segment, removed: Mapping[str, Stamp] = NONE_REMOVED
    ) -> list[tuple[str, Stamp]]:
        """Take over a segment as `adopt` does, after `check_segment`, which any thread may do before."""
        urls = [segment.url(document) for document in range(segment.document_count)]
        theirs = [segment.stamp(document) for document in range(segment.document_count)]
        is_removed = np.zeros(len(urls), np.bool_)
        if removed:
            is_removed[:] = [
                stamp <= removed.get(url.decode(), BEFORE_ALL)
                for url, stamp in zip(urls, theirs, strict=True)
            ]
        ours = self.versions(urls)
        is_told = np.array([mine != stamp for mine, stamp in zip(ours, theirs, strict=True)], np.bool_)
        waiting = {url: item.encoded for url in urls if (item := self._buffer.get(url))}
        is_told[same_documents(segment, np.flatnonzero(~is_told), self._working, waiting)] = True
        is_told &= ~is_removed
        is_older = [mine is None or mine < stamp for mine, stamp in zip(ours, theirs, strict=True)]
        is_wanted = np.array(is_older, np.bool_) & ~is_removed
        if is_wanted.any():
            written = write_segment(self._storage, self._new_name(_SEGMENT), [segment.content])
            adopted = working_segment(written)
            self._discard(urls[document] for document in np.flatnonzero(is_wanted).tolist())
            if not is_wanted.all():
                adopted.delete(np.flatnonzero(~is_wanted).tolist())
            self._working.append(adopted)
        return [
            (url.decode(), stamp)
            for url, stamp, is_here in zip(urls, theirs, is_told.tolist(), strict=True)
            if is_here
        ]

    def put_aside(self, name: str) -> SlotMask:
        """Give a damaged segment up, and commit; nothing happens when it is not in use any more.

        Returns:
          The slots of its live documents; they are in `damaged` from now on.

        Raises:
          OSError: nothing changed for readers, call it again.
        """
        for each in [each for each in self._working if each.segment.name == name]:
            slots = np.zeros(SLOTS_MAX, np.bool_)
            slots[each.segment.slots[each.live != 0]] = True
            self.damaged = self.damaged | slots
            self._aside[name] = slots
            self._working.remove(each)
            logger.error("segment put aside name=%s documents=%d", name, int(each.live.sum()))
        self.commit()
        return self._aside.get(name, np.zeros(SLOTS_MAX, np.bool_))

    def mend(self, slots: SlotMask) -> int:
        """Note that all that was lost of these slots has been added again, and commit.

        The damaged segments, kept for whoever wants to look at them, are removed with the last such slot.

        Args:
          slots: mask over all slots there are.
        """
        is_mended = np.ones(SLOTS_MAX, np.bool_)
        is_mended[: len(slots)] = slots
        self.damaged = self.damaged & ~is_mended
        generation = self.commit()
        if not self.damaged.any():
            self._aside.clear()
            with contextlib.suppress(OSError):
                self._remove_leftovers()
        return generation

    def commit(self) -> int:
        """Make everything added and deleted durable and visible.

        Returns:
          The generation, which grew unless nothing changed.

        Raises:
          OSError: nothing changed for readers; what was added is kept, call it again.
        """
        self._flush()
        working = [each for each in self._working if each.live.any()]
        for each in working:
            each.write(self._storage, self._new_name)
        entries = tuple(
            ManifestEntry(each.segment.name, each.deletions, each.copies_file) for each in working
        )
        damaged = encode_slots(self.damaged)
        if (entries, damaged) == (self._manifest.entries, self._manifest.damaged):
            return self.generation
        manifest = Manifest(
            generation=self.generation + 1, next_file=self._next_file, entries=entries, damaged=damaged
        )
        self._storage.replace(MANIFEST_NAME, encode_manifest(manifest))
        self._manifest = manifest
        self._working = working
        self._snapshot = Snapshot(manifest.generation, [each.share() for each in working])
        # The commit is done; a file that cannot be removed now is removed at the next open.
        with contextlib.suppress(OSError):
            self._remove_leftovers()
        return self.generation

    def plan_merge(self) -> Merge | None:
        """Choose segments to merge, None when all is well; call `apply_merge` with the outcome."""
        return self._planned(segments_to_merge)

    def plan_merge_at_rest(self) -> Merge | None:
        """Choose segments to merge while nothing is written, likewise."""
        return self._planned(segments_to_merge_at_rest)

    def _planned(self, policy: Callable[[Sequence[SegmentSize]], list[int]]) -> Merge | None:
        candidates = [each for each in self._working if each.live.any()]
        chosen = policy(
            [
                SegmentSize(each.segment.size_bytes, each.segment.document_count, int(each.live.sum()))
                for each in candidates
            ]
        )
        return self._merge_of([candidates[i] for i in chosen]) if chosen else None

    def _merge_of(self, chosen: Iterable[WorkingSegment]) -> Merge:
        name = self._new_name(_SEGMENT)
        self._being_merged.add(name)
        return Merge(tuple(each.share() for each in chosen), name, self._storage)

    def abandon_merge(self, merge: Merge) -> None:
        """Let the next commit remove the files that a failed merge has written."""
        self._being_merged.discard(merge.name)

    def apply_merge(self, merge: Merge, merged: Merged) -> int:
        """Put the merged segment in place of its sources, and commit; returns the generation.

        Documents that were deleted or replaced since the plan are deleted in the merged segment.
        """
        self._being_merged.discard(merge.name)
        replacement = carried_over(merge.sources, merged, self._working)
        names = {each.segment.name for each in merge.sources}
        self._working = [each for each in self._working if each.segment.name not in names]
        self._working.append(replacement)
        return self.commit()

    def merge_if_needed(self) -> bool:
        """Merge segments on this thread until the policy is content; True when something was merged."""
        has_merged = False
        while merge := self.plan_merge():
            self.apply_merge(merge, merge.run())
            has_merged = True
        return has_merged

    def optimise(self) -> int:
        """Commit, and merge all segments, of any size, into one on this thread; return the generation."""
        self.commit()
        segments = [each for each in self._working if each.live.any()]
        if len(segments) <= 1 and all(each.live.all() for each in segments):
            return self.generation
        merge = self._merge_of(segments)
        return self.apply_merge(merge, merge.run())

    def _discard(self, urls: Iterable[bytes]) -> None:
        keys = list(urls)
        for key in keys:
            if item := self._buffer.pop(key, None):
                self._buffer_bytes -= len(item.encoded)
                self._buffer_copies.pop(key, None)
        for each in self._working:
            documents = each.segment.find_urls(keys)
            documents = documents[documents >= 0]
            documents = documents[each.live[documents] != 0]
            if len(documents):
                each.delete(documents.tolist())

    def _flush(self) -> None:
        """Write the buffer as a segment, not yet part of the manifest."""
        if not self._buffer:
            return
        written = self._written(self._build(list(self._buffer.values())))
        documents = written.segment.find_urls(list(self._buffer_copies)).tolist()
        written.mark_copies(dict(zip(documents, self._buffer_copies.values(), strict=True)))
        self._working.append(written)
        self._buffer_copies = {}
        self._buffer = {}
        self._buffer_bytes = 0

    def _written(self, content: Iterable[Buffer]) -> WorkingSegment:
        """Write a segment, not yet part of the manifest. OSError."""
        return working_segment(write_segment(self._storage, self._new_name(_SEGMENT), content))

    def _new_name(self, kind: str) -> str:
        self._next_file += 1
        return f"{kind}{self._names}{self._next_file - 1:010}"

    def _load_manifest(self) -> Manifest:
        names = self._storage.names()
        if MANIFEST_NAME in names:
            try:
                return decode_manifest(self._storage.read(MANIFEST_NAME))
            except (CorruptIndexError, OutdatedIndexError) as error:
                logger.error("all segments put aside: %s", error)
                self._aside = {name: _ALL_SLOTS for name in names if name.startswith(_SEGMENT)}
        elif any(name.startswith(_SEGMENT) for name in names):
            raise CorruptIndexError(f"the manifest is missing, but there are {len(names)} other files")
        damaged = encode_slots(_ALL_SLOTS) if self._aside else NO_SLOTS
        manifest = Manifest(next_file=_number_after(names), damaged=damaged)
        self._storage.replace(MANIFEST_NAME, encode_manifest(manifest))
        return manifest

    def _load(self, entry: ManifestEntry) -> WorkingSegment | None:
        """Return a segment in use; None when it is damaged, which is noted."""
        slots = None
        try:
            content = self._storage.read(entry.segment)
            slots = slots_in(content)
            segment = Segment(entry.segment, content)
            return written_segment(segment, entry, self._storage)
        except (CorruptIndexError, OutdatedIndexError, FileNotFoundError) as error:
            logger.error("segment put aside: %s", error)
            lost = _ALL_SLOTS
            if slots is not None:
                lost = np.zeros(SLOTS_MAX, np.bool_)
                lost[slots] = True
            self._aside[entry.segment] = lost
            self.damaged = self.damaged | lost
            return None

    def _remove_leftovers(self) -> None:
        """Remove unused files; segments put aside get another name, and stay while some are damaged."""
        in_use = self._manifest.file_names() | self._being_merged
        for name in self._storage.names():
            if name.startswith(_PAST):
                continue
            if name in self._aside and name not in in_use:
                self._storage.rename(name, _ASIDE + name)
            elif name not in in_use and not (name.startswith(_ASIDE) and self.damaged.any()):
                self._storage.remove(name)


def _opened_anew(storage: Storage) -> Index:
    """Open the index of replaced versions, empty of any that cannot be read: they are added again."""
    try:
        index = Index(storage, names="past-")
    except CorruptIndexError as error:
        logger.error("index of replaced versions begun anew: %s", error)
        for name in storage.names():
            storage.remove(name)
        index = Index(storage, names="past-")
    if index.damaged.any():
        index.mend(_ALL_SLOTS)
    return index


def _number_after(names: list[str]) -> int:
    """Return a number that no file has in its name."""
    return 1 + max(int(name.rpartition("-")[2]) for name in ["-0", *names] if name[-1].isdecimal())
