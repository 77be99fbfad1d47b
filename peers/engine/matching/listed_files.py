"""Directories that have a file of a size, an age and a name: told by reading their lines as they are stored.

A column of the largest size and the latest date would say that some file is large and some is new; people
mean one that is both, and has the words. So the lines of those directories are read that a question has left,
which are few when it has words; the effort of the query pays for the others. What holds depends on nothing
but the document, so that it is the same on every peer.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

import msgspec
import numpy as np

from peers.engine.native.kernels import BODY
from peers.engine.pages.directory_entries import Entry, entries_in
from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import TYPE_PREFIX
from peers.engine.pages.kinds import LISTING
from peers.engine.postings.entries import Entries
from peers.engine.postings.format import documents_of
from peers.engine.queries.query import Literal
from peers.engine.segments.segment import Segment
from peers.kernel import Ints
from peers.text.analysis import analyse, atoms, frequency_entries

DIRECTORIES: Final = (TYPE_PREFIX + LISTING,)
# In visits: to read a document, and for each word in it to read its line, whose words are analysed.
READ_VISITS: Final = 5_000
WORD_VISITS: Final = 600
LINES_CACHED: Final = 2_048

_decode = msgspec.msgpack.Decoder(Document).decode


def having_file(segment: Segment, directories: Ints, literal: Literal) -> Ints:
    """Keep the directories, given by rising numbers, that have such a file. DamagedSegmentError."""
    kept = [
        number
        for number, encoded in zip(directories.tolist(), segment.encoded_documents(directories), strict=True)
        if has_file(_decode(encoded), literal)
    ]
    return np.array(kept, np.int64)


def has_file(document: Document, literal: Literal) -> bool:
    """Tell whether a directory has a file as a literal asks for it; as if that were not negated."""
    wanted = frozenset(literal.entries) - words_of_path(document.url, document.title)
    return any(
        is_asked_for(entry, line, wanted, literal)
        for line, entry in zip(
            document.text.split("\n"), entries_in(document.text, document.heading_ids), strict=False
        )
    )


def is_asked_for(entry: Entry, line: str, wanted: Set[str], literal: Literal) -> bool:
    """Tell whether an entry of a directory is as a literal asks for it.

    Args:
      line: the text of the document that it is in.
      wanted: entries of the dictionary that it must have.
    """
    is_large = entry.size >= literal.low
    is_new = literal.high <= 0 or (entry.date > 0 and entry.date >= literal.high)
    return is_large and is_new and (not wanted or wanted <= _words_of(line))


def words_of_path(url: str, title: str) -> Set[str]:
    """Return the entries of the dictionary that all files of a directory have: those of its path."""
    return _words_of(f"{title}\n{unquote(url.partition('://')[2], errors='replace')}")


@lru_cache(LINES_CACHED)
def _words_of(text: str) -> frozenset[str]:
    return frozenset((*analyse(text), *atoms(text), *frequency_entries(text)))


def files_cost(segment: Segment, known: Entries, n_with_words: int) -> int:
    """Return how many visits finding directories with a file takes, at most.

    Args:
      known: of the dictionary, on `DIRECTORIES`.
      n_with_words: documents that have all words, at most; -1 when there are no words.
    """
    n = int(known.doc_freqs[0])
    if n == 0:
        return 0
    segment.check_postings(known)
    documents = np.empty(n + 4, np.int64)
    documents_of(segment.postings, segment.postings_words, int(known.starts[0]), n, documents)
    lengths = np.sort(segment.lengths[documents[:n], BODY].astype(np.int64))[::-1]
    read = lengths if n_with_words < 0 else lengths[:n_with_words]
    return n + len(read) * READ_VISITS + int(read.sum()) * (WORD_VISITS if n_with_words >= 0 else 20)
