"""The texts of the links to pages, as the cell sees them when it gives a page to the index.

Who keeps them is the crawler's frontier: it takes links in, joins, replicates, compares and hands over what
they tell, and says when that of a stored page has changed. The cell reads them at the moment it gives
something to the index, and remembers of what it gave a digest only (`ledger`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from xxhash import xxh3_64_digest


class LinkTexts(Protocol):
    """Reads the texts, linkers and uses that are known of the links to a page."""

    def of(self, identity: bytes) -> tuple[str, ...]:
        """Return texts, linkers and uses (`peers.engine.pages.linkers`), sorted; () when none are known.

        Args:
          identity: slot and fingerprint of the page, as `ledger_keys.identity_of` makes it.
        """


def texts_digest(texts: Sequence[str]) -> bytes:
    """Return eight bytes by which texts of a page are told apart; b"" for none."""
    digest: bytes = xxh3_64_digest("\0".join(texts).encode(errors="replace")) if texts else b""
    return digest
