"""Build a segment from documents: analysis in bulk, then inversion.

Everything here is done for many documents at once, because a call for each term in Python costs more
than the work itself: all Han runs of a batch go to the segmenter together, strings become numbers in one
pass over a dictionary, and the rest is numpy and `kernels`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

import msgspec
import numpy as np
from numpy.typing import NDArray

from mesh.document import Document
from peers.index.analysis import (
    CHARACTER_PREFIX,
    TERM_CHARS_MAX,
    RunKind,
    bigrams,
    fold,
    is_atom_key,
    kind_of,
    runs_of,
    segment_runs,
)
from peers.index.kernels import (
    DOCUMENT_SHIFT,
    FIELD_COUNT,
    FIELD_SHIFT,
    POSITION_MASK,
    Ints,
    encode,
    group_by_term,
)
from peers.index.segment import HOST_PREFIX, SegmentData, pack_blocks, pack_strings

# Characters of one field that are searchable; what is behind is stored but not found. The largest page of
# a 268,800-page documentation web has 17 MB of HTML and about 6 million characters of text.
FIELD_CHARS_MAX = 8 * 1024 * 1024
# Anchors of one page that are searchable: popular pages have millions of links, all saying the same.
ANCHORS_MAX = 1000
# Analysed in one go: large enough to hide the cost of calls, small enough to stay in the cache.
_BATCH_CHARS = 256 * 1024
# A domain name has at most 127 labels (RFC 1035); names made to fill indexes have many.
_HOST_LABELS_MAX = 16

_HOST = re.compile(r"[^:/?#]+://(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)")
_ADDRESS = re.compile(r"\[|[0-9.]+$")


class IndexedDocument(msgspec.Struct, frozen=True):
    """A document with what the builder needs of it."""

    slot: int
    document: Document
    encoded: bytes  # the document in msgpack, as it will be stored


def host_of_url(url: str) -> str:
    """Return the host name of a canonical URL without the port, "" when it has none."""
    match = _HOST.match(url)
    return match[1] if match else ""


def host_and_parents(host: str) -> list[str]:
    """Return the host and its parent domains: what `site:` finds it under."""
    if not host or _ADDRESS.match(host):
        return [host] if host else []
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(max(0, len(labels) - _HOST_LABELS_MAX), len(labels))]


def build_segment(documents: Sequence[IndexedDocument]) -> SegmentData:
    """Index documents with distinct URLs, at least one."""
    by_url = sorted(documents, key=lambda item: item.document.url.encode())
    inverter = _Inverter(len(by_url))
    for number, item in enumerate(by_url):
        inverter.add(number, item.document)
    terms, starts, keys, is_atom = inverter.finish()
    n_terms, n_keys = len(terms), len(keys)
    # Room for the worst case; pages that are never written to are never in memory.
    postings, positions = np.empty(n_keys * 17 + 1, np.uint8), np.empty(n_keys * 5 + 1, np.uint8)
    postings_starts, positions_starts = np.zeros(n_terms + 1, np.int64), np.zeros(n_terms + 1, np.int64)
    doc_freqs = np.zeros(n_terms, np.int64)
    encode(starts, keys, is_atom, postings, positions, postings_starts, positions_starts, doc_freqs)
    urls, url_starts = pack_strings([item.document.url.encode() for item in by_url])
    term_blob, term_starts = pack_strings(terms)
    stored, block_starts, block_documents, block_sums = pack_blocks(item.encoded for item in by_url)
    return SegmentData(
        slots=np.array([item.slot for item in by_url], np.uint16),
        lengths=inverter.lengths,
        urls=urls,
        url_starts=url_starts,
        terms=term_blob,
        term_starts=term_starts,
        doc_freqs=doc_freqs,
        postings=postings[: postings_starts[-1]].copy(),
        postings_starts=postings_starts,
        positions=positions[: positions_starts[-1]].copy(),
        positions_starts=positions_starts,
        block_starts=block_starts,
        block_documents=block_documents,
        block_sums=block_sums,
        stored=stored,
    )


class _Vocabulary(dict[str, int]):
    """Numbers for terms in the order of their first use, given by looking them up."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number

    def numbers(self, terms: Sequence[str]) -> Ints:
        return np.fromiter(map(self.__getitem__, terms), np.int64, len(terms))


class _Inverter:
    """Collects the occurrences of terms and atoms of documents given in ascending order."""

    def __init__(self, n_documents: int) -> None:
        self.lengths = np.zeros((n_documents, FIELD_COUNT), np.uint32)
        self._vocabulary = _Vocabulary({"\n": 0})  # what stands between the terms of two Han runs
        self._characters: NDArray[np.int32] = np.full(
            0x110000, -1, np.int32
        )  # code point -> number of its atom
        self._words: list[str] = []
        self._terms: list[Ints] = []
        self._keys: list[Ints] = []
        self._hosts: list[tuple[str, int]] = []
        self._clear_batch()

    def _clear_batch(self) -> None:
        self._runs: list[str] = []
        self._kinds: list[int] = []
        self._texts: list[tuple[int, int]] = []  # (document << 32 | field << 28 | first position, runs)
        self._batch_chars = 0

    def add(self, number: int, document: Document) -> None:
        """Add a document; its fields in the order of `segment`'s lengths."""
        self._add_text(number, 0, 0, document.title)
        position = 0
        for anchor in document.anchors[:ANCHORS_MAX]:
            # One position stays free, so that no phrase goes from one anchor into the next.
            position += self._add_text(number, 1, position, anchor) + 1
            if position > FIELD_CHARS_MAX:
                break
        self._add_text(number, 2, 0, document.headings)
        self._add_text(number, 3, 0, document.text)
        self._add_text(number, 4, 0, unquote(document.url.partition("://")[2], errors="replace"))
        for host in host_and_parents(host_of_url(document.url)):
            self._hosts.append((HOST_PREFIX + host, number << DOCUMENT_SHIFT))
        if self._batch_chars > _BATCH_CHARS:
            self._flush_batch()

    def _add_text(self, number: int, field: int, position: int, text: str) -> int:
        """Collect the runs of a text that starts at `position`; return the atoms it has."""
        if not text:
            return 0
        folded = fold(text[:FIELD_CHARS_MAX])
        runs = runs_of(folded)
        self._runs += runs
        self._texts.append((number << DOCUMENT_SHIFT | field << FIELD_SHIFT | position, len(runs)))
        self._batch_chars += len(folded)
        if folded.isascii():
            self._kinds += [RunKind.WORD] * len(runs)
            return len(runs)
        kinds = [kind_of(run) for run in runs]
        self._kinds += kinds
        if field != 1:
            return 0  # only anchors need to know
        return sum(1 if kind is RunKind.WORD else len(run) for run, kind in zip(runs, kinds, strict=True))

    def _flush_batch(self) -> None:
        """Turn the runs collected into occurrences: three streams, each ascending."""
        runs = self._runs
        n_runs = len(runs)
        kinds = np.array(self._kinds, np.int64)
        run_lengths = np.fromiter(map(len, runs), np.int64, n_runs)
        atoms_of_run = np.where(kinds == RunKind.WORD, 1, run_lengths)
        run_keys = self._keys_of_runs(atoms_of_run)
        words = [run for run, kind in zip(runs, self._kinds, strict=True) if kind == RunKind.WORD]
        self._add_words(words, run_keys[kinds == RunKind.WORD])
        is_han = kinds == RunKind.HAN
        if is_han.any():
            self._add_han([runs[i] for i in np.flatnonzero(is_han)], run_keys[is_han])
        for i in np.flatnonzero(kinds == RunKind.OTHER_CJK):
            pairs = bigrams(runs[i])
            self._count(self._vocabulary.numbers(pairs), np.full(len(pairs), run_keys[i]))
        is_cjk = kinds != RunKind.WORD
        if is_cjk.any():
            characters = "".join([runs[i] for i in np.flatnonzero(is_cjk)])
            self._add_characters(characters, run_keys[is_cjk], run_lengths[is_cjk])
        self._clear_batch()

    def _keys_of_runs(self, atoms_of_run: Ints) -> Ints:
        """Return the key of the first atom of every run of the batch."""
        firsts = np.array([first for first, _ in self._texts], np.int64)
        n_runs = np.array([n for _, n in self._texts], np.int64)
        before = np.concatenate(([0], np.cumsum(atoms_of_run)))  # atoms before each run, over all texts
        text_starts = np.cumsum(n_runs) - n_runs
        return np.repeat(firsts - before[text_starts], n_runs) + before[:-1]

    def _add_words(self, words: Sequence[str], keys: Ints) -> None:
        numbers = self._vocabulary.numbers([word[:TERM_CHARS_MAX] for word in words])
        self._count(numbers, keys)

    def _add_han(self, runs: Sequence[str], keys: Ints) -> None:
        numbers = self._vocabulary.numbers(segment_runs(runs))
        is_break = numbers == 0
        run_of_term = np.cumsum(is_break)[~is_break]
        # All terms of a run share a key: they have no positions, only frequencies.
        self._count(numbers[~is_break], keys[run_of_term])

    def _add_characters(self, characters: str, run_keys: Ints, run_lengths: Ints) -> None:
        codes = np.frombuffer(characters.encode("utf-32-le"), np.uint32)
        for code in np.unique(codes[self._characters[codes] < 0]):
            self._characters[code] = self._vocabulary[CHARACTER_PREFIX + chr(code)]
        numbers = self._characters[codes].astype(np.int64)
        run_starts = np.cumsum(run_lengths) - run_lengths
        keys = np.repeat(run_keys - run_starts, run_lengths) + np.arange(len(codes))
        self._terms.append(numbers)
        self._keys.append(keys)

    def _count(self, numbers: Ints, keys: Ints) -> None:
        """Add occurrences of terms that count for the length of their field."""
        self._terms.append(numbers)
        self._keys.append(keys)
        np.add.at(self.lengths, (keys >> DOCUMENT_SHIFT, keys >> FIELD_SHIFT & 15), 1)

    def finish(self) -> tuple[list[bytes], Ints, Ints, NDArray[np.uint8]]:
        """Return (sorted dictionary, where each entry's occurrences start, occurrences, atom or not)."""
        self._flush_batch()
        self._terms.append(self._vocabulary.numbers([host for host, _ in self._hosts]))
        self._keys.append(np.array([key for _, key in self._hosts], np.int64))
        del self._vocabulary["\n"]
        entries = sorted(self._vocabulary)
        ranks = np.zeros(len(entries) + 1, np.int64)
        ranks[np.fromiter(map(self._vocabulary.__getitem__, entries), np.int64, len(entries))] = np.arange(
            len(entries)
        )
        is_atom = np.array([is_atom_key(entry) for entry in entries], np.uint8)
        keys = np.concatenate(self._keys)
        assert not len(keys) or int(keys.max() & POSITION_MASK) < POSITION_MASK
        starts = np.zeros(len(entries) + 1, np.int64)
        grouped = np.empty(len(keys), np.int64)
        group_by_term(ranks[np.concatenate(self._terms)], keys, starts, grouped)
        return [entry.encode() for entry in entries], starts, grouped, is_atom
