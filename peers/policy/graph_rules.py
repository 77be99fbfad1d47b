"""The part of a policy about the link graph: whether the mesh keeps which pages link to which.

Without it nothing of it is kept or sent, and what was kept is deleted.
"""

from __future__ import annotations

from datetime import datetime
from math import inf
from typing import Annotated, Final

import msgspec
from msgspec import Meta

LINKS_OF_PAGE_MAX: Final = 2_000  # distinct targets; hardly a page has more that people would miss

RANKED_LINKS_MAX: Final = 1_000_000_000


class LinkGraphRules(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """Links between pages are kept, so that it can be told which pages link to one."""

    # Of the links of one page, so many distinct targets are kept, in the order of the page.
    links_per_page: Annotated[int, Meta(ge=1, le=LINKS_OF_PAGE_MAX)] = 1_000
    # Pages that the mesh has from before are asked for as a whole when they are due, and not whether they
    # have changed: so their links are known, too. None: they are asked for as ever.
    since: Annotated[datetime, Meta(tz=True)] | None = None

    # Each peer ranks the pages of its slots by PageRank, with those that other peers have.
    ranks: bool = False
    # So many links a peer takes into account; those of further pages count for nothing. It holds them in
    # memory, with some 170 bytes for each.
    ranks_links_max: Annotated[int, Meta(ge=1, le=RANKED_LINKS_MAX)] = 1_000_000

    @property
    def since_s(self) -> float:
        """Seconds since the epoch; -inf for None."""
        return -inf if self.since is None else self.since.timestamp()
