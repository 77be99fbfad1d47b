"""Questions of gateways about the notices of a peer, and the answers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count, Url
from peers.watch.watch_list import ENTRIES_MAX, EntryName
from peers.watch.watched import EXCERPT_CHARS_MAX, TITLE_CHARS_MAX

MARK_BYTES: Final = 8
NOTICES_TOLD_MAX: Final = 200  # in one answer

PLACE_MAX: Final = 1 << 62
TIME_MAX: Final = 1e11  # seconds since the epoch; what is later is no time
Place = Annotated[int, Meta(ge=0, le=PLACE_MAX)]  # of a notice among those of its peer


class Notice(msgspec.Struct, frozen=True, array_like=True):
    """An entry of the list was found in a new page, or in a page with a new text; said once.

    Whoever reads notices drops those of an identity that is known: it may be told again after a crash, by the
    next owner of a slot, or when a reader asks again from an earlier place.
    """

    place: Place
    url: Url
    mark: Annotated[bytes, Meta(min_length=1, max_length=MARK_BYTES)]  # of title and text
    entry: EntryName
    number: Count  # of the list
    at_s: Annotated[float, Meta(ge=0.0, le=TIME_MAX)]  # mesh clock, when the page was fetched
    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX)]
    count: Annotated[int, Meta(ge=1)]  # occurrences in the page
    so_far: Annotated[int, Meta(ge=1)]  # notices of the entry by this peer, with this one
    excerpt: Annotated[str, Meta(max_length=EXCERPT_CHARS_MAX)] = ""
    start: Count = 0  # of the first occurrence in the excerpt
    end: Count = 0

    @property
    def identity(self) -> tuple[str, bytes, str]:
        """The page, its text, and the entry."""
        return self.url, self.mark, self.entry


class EntryCount(msgspec.Struct, frozen=True, array_like=True):
    """The running count of one entry at one peer."""

    entry: EntryName
    notices: Count
    occurrences: Count


class NoticesWanted(Message, frozen=True, array_like=True, tag=141):
    """A gateway to the watcher of a peer: which notices are there? Answered by `NoticesTold`."""

    request: Count
    after: Place = 0  # the first ones behind this place are wanted; 0 for the last ones there are
    most: Annotated[int, Meta(ge=0, le=NOTICES_TOLD_MAX)] = NOTICES_TOLD_MAX
    wants_counts: bool = False


class NoticesTold(Message, frozen=True, array_like=True, tag=142):
    """Answer to `NoticesWanted`: the notices that are kept, oldest first; they are durable."""

    is_promise: ClassVar[bool] = True

    request: Count
    notices: Annotated[tuple[Notice, ...], Meta(max_length=NOTICES_TOLD_MAX)] = ()
    last: Place = 0  # of all that are there; 0 where none is
    counts: Annotated[tuple[EntryCount, ...], Meta(max_length=ENTRIES_MAX)] = ()
