"""The lives of a peer: every start of its process is a new one, counted in its table.

Answers to what a peer asked before it was started again may still arrive after it. So that none passes for an
answer to something else, the numbers of a life are its own: no clock is asked, which a person may set back.
A peer whose disk was lost is still the same peer to the others, so its count begins again somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Final

from mesh.tables.table import Table

if TYPE_CHECKING:
    from random import Random

LIFE_BITS: Final = 24  # 8 million starts at least, one every ten seconds for two and a half years
SKIPPED_BITS: Final = 16  # of what a restored copy leaves out: there can be 128 copies of copies at least
NUMBER_BITS: Final = 39  # 5 * 10^11 numbers: 10,000 a second for 20 months; with the life a positive int64
_LIFE_KEY: Final = b"\x00life"


def begin_life(table: Table, random: Random) -> int:
    """Count one start of a peer more.

    The caller commits the table before the peer sends anything: a life that is forgotten comes again.

    Args:
      table: of the whole peer.
      random: chooses where an empty table begins to count, in the lower half of what there is.

    Returns:
      1 .. 2^LIFE_BITS - 1, never one that was returned before for this table.
    """
    stored = table.get(_LIFE_KEY)
    last = random.getrandbits(LIFE_BITS - 1) if stored is None else int.from_bytes(stored, "big")
    life = last + 1
    assert life < 1 << LIFE_BITS, "more starts than a peer has lives"
    table.put(_LIFE_KEY, life.to_bytes(4, "big"))
    return life


def skip_lives(table: Table, random: Random) -> None:
    """Leave out the lives that began after this copy of a table was made, and that it does not know.

    How many these are nobody here can say; so some are left out by chance, each time others.
    """
    stored = table.get(_LIFE_KEY)
    if stored is not None:
        last = int.from_bytes(stored, "big") + 1 + random.getrandbits(SKIPPED_BITS)
        table.put(_LIFE_KEY, last.to_bytes(4, "big"))


def numbers_of(life: int) -> Iterator[int]:
    """The numbers of a life, one after the other: below 2^63, and no other life has any of them."""
    assert 0 < life < 1 << LIFE_BITS
    return count((life << NUMBER_BITS) + 1)
