"""The entries of the watch list that were found in a page, from the process that read it to the notices."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.wire_fields import Count
from peers.watch.watch_list import EntryName

# Of one page, those that come first in it: a page with the whole list is not to push out all other notices.
HITS_MAX: Final = 100
EXCERPT_CHARS_MAX: Final = 240
TITLE_CHARS_MAX: Final = 200


class WatchHit(msgspec.Struct, frozen=True, array_like=True):
    """One entry of the list in one page."""

    entry: EntryName
    count: Annotated[int, Meta(ge=1)]  # of its occurrences in title and main text; those that overlap, too
    excerpt: Annotated[str, Meta(max_length=EXCERPT_CHARS_MAX)] = ""  # around the first; "" if it may not be
    start: Count = 0  # of the occurrence in the excerpt, in characters
    end: Count = 0


class PageWatch(msgspec.Struct, frozen=True, array_like=True):
    """All that was found in one page by one list."""

    number: Count  # of the decree
    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX)]
    hits: Annotated[tuple[WatchHit, ...], Meta(max_length=HITS_MAX)]  # by where they come first in the page
    left_out: Count = 0  # entries that were found besides
