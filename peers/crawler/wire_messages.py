"""How links get to the controllers that own their hosts."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, ClassVar, Final, TypeAlias

from msgspec import Meta

from mesh.actor import Message
from mesh.wire_fields import Count, Url

LINKS_MAX: Final = 1_000  # links in one batch: about 100 kB
ANCHOR_CHARS_MAX: Final = 200

Anchor: TypeAlias = Annotated[str, Meta(max_length=ANCHOR_CHARS_MAX)]


class LinkUse(IntEnum):
    """What the owner of a link's target does with it."""

    FETCH = 0  # queue the target unless it is known, and keep the text
    TEXT = 1  # keep the text for the target, which may never be fetched
    STORED = 2  # the target is stored, from a file: there is no need to fetch it


class FoundLink(Message, frozen=True, array_like=True):
    """A link to a page of the receiver's slots."""

    url: Url  # canonical
    anchor: Anchor = ""
    depth: Annotated[int, Meta(ge=0, le=65_535)] = 0  # clicks from a seed
    hops: Annotated[int, Meta(ge=0, le=255)] = 0  # redirects in a row that led here
    use: LinkUse = LinkUse.FETCH
    linker: Annotated[str, Meta(max_length=16)] = ""  # see `peers.engine.linkers`; "" within a site


class LinksFound(Message, frozen=True, array_like=True, tag=20):
    """A controller to the controller that owns the links' hosts; repeated until accepted.

    A receiver that does not own a host passes the link on, so nothing is lost while tables differ.
    """

    batch: Count  # the sender's number for it
    links: Annotated[tuple[FoundLink, ...], Meta(max_length=LINKS_MAX)]


class LinksAccepted(Message, frozen=True, array_like=True, tag=21):
    """Promise of the receiver: the links of that batch are in its frontier or seen set, durably."""

    is_promise: ClassVar[bool] = True
    batch: Count
