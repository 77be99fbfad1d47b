"""Scans of a dictionary for the entries that are like a typed word.

No table is kept for it: the entries are sorted and share their beginnings, so what was found of a beginning
holds for all entries that share it, and blocks between two entries whose common beginning is already too
different are not read at all. One core takes .5 ms for half a million entries, with nothing to build at a
commit and nothing in memory.
"""

from __future__ import annotations

from typing import Final

from peers.engine.native.compiled import kernel
from peers.kernel import Bytes, Ints, Sums

TYPED_BYTES_MAX: Final = 64  # of a word whose like is looked for
EDITS_MAX: Final = 2
NEAR_COLUMNS: Final = 3  # number, document frequency, edits
HAN_CHARS_MAX: Final = 8  # of an entry that is read aloud
READINGS_MAX: Final = 3  # of a character
VARIANTS_MAX: Final = 4  # spellings of a syllable
SOUND_COLUMNS: Final = 4  # number, document frequency, start and end of what it stands for


@kernel
def near_entries(
    packed: Bytes,
    numbers: Ints,
    n_entries: int,
    first_block: int,
    end_block: int,
    typed: Bytes,
    edits_max: int,
    found: Ints,
) -> int:
    """Find the entries of some blocks that a few edits make of a typed word; return how many.

    An edit puts a byte in, takes one out, changes one, or exchanges two neighbours (optimal string
    alignment). When `found` is full the rest is left out.

    Args:
      typed: at most TYPED_BYTES_MAX bytes.
      edits_max: at most EDITS_MAX.
      found: room for rows of NEAR_COLUMNS.
    """


@kernel
def sounding_entries(
    packed: Bytes,
    numbers: Ints,
    n_entries: int,
    first_block: int,
    end_block: int,
    readings: Ints,
    matches: Sums,
    lengths: Ints,
    starts: Ints,
    n_before: int,
    n_behind: int,
    found: Ints,
) -> int:
    """Find the entries of Han characters that sound like a part of the typed text; return how many rows.

    Args:
      readings: READINGS_MAX syllables of each character from U+4E00 on, -1 for none.
      matches: of VARIANTS_MAX spellings of each syllable, the places where it is typed, as bits.
      lengths: of each spelling.
      starts: places at which a part may begin, each below 63.
      n_before, n_behind: bytes of an entry around its characters.
      found: room for rows of SOUND_COLUMNS.
    """
