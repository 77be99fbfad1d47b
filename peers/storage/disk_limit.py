"""How much of a disk pages may take: the limit that a person has set, held against measured use. Pure.

Over it no fetch begins; what was fetched is stored, and so are copies of what other peers crawl, so that the
limit is passed by some hundred pages and by theirs. Nothing is deleted; with room again the crawl goes on.
"""

from __future__ import annotations

from typing import NamedTuple


class DiskUse(NamedTuple):
    """The use of the disk of a peer, and the space left on it."""

    used_bytes: int  # of archive, index and table
    free_bytes: int | None  # None when it cannot be asked


class DiskLimit(NamedTuple):
    """The limits of the use of a disk; 0 for no limit."""

    max_bytes: int = 0
    free_min_bytes: int = 0

    def stop(self, use: DiskUse) -> str:
        """Return why no fetch may begin, in words; "" when some may."""
        if self.max_bytes and use.used_bytes >= self.max_bytes:
            return f"{_gb(use.used_bytes)} are used of at most {_gb(self.max_bytes)} (disk_max_bytes)"
        if use.free_bytes is not None and use.free_bytes < self.free_min_bytes:
            return (
                f"{_gb(use.free_bytes)} are free of at least {_gb(self.free_min_bytes)} (disk_free_min_bytes)"
            )
        return ""


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.2f} GB"
