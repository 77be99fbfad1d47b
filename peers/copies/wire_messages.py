"""Messages that bring contents of pages to the keepers of groups of copies, and the roles of pages back."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count, Slot
from peers.copies.content_row import DOMAIN_BYTES, FIRST_S_MAX, NO_DOMAIN, STANDING_BYTES, VERSION_BYTES
from peers.engine.segments.live_segment import COPY, FOLDED

PAGES_MAX: Final = 1_000  # in one batch: some 70 kB
PATIENCE_S: Final = 5.0  # a copy may be shown twice for a while

Page: TypeAlias = Annotated[bytes, Meta(min_length=16, max_length=16)]  # `urls.fingerprint`
Content: TypeAlias = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]  # `document.content_digest`
# For how many others it stands, 0 for none; or COPY or FOLDED, when another stands for it.
NumberOfCopies: TypeAlias = Annotated[int, Meta(ge=COPY, le=FOLDED)]


class ToldContent(msgspec.Struct, frozen=True, array_like=True):
    """A content that a page has, or does not have any more."""

    slot: Slot
    page: Page
    content: Content
    version: Annotated[bytes, Meta(min_length=VERSION_BYTES, max_length=VERSION_BYTES)]  # later ones rule
    is_there: bool
    n_copies: NumberOfCopies = 0  # as it was named last
    standing: Annotated[bytes, Meta(min_length=STANDING_BYTES, max_length=STANDING_BYTES)] = b"\xff" * 4
    canonical: Annotated[bytes, Meta(max_length=16)] = b""  # the page that it says it is a copy of
    first_s: Annotated[int, Meta(ge=0, le=FIRST_S_MAX)] = FIRST_S_MAX  # when it was first seen, in seconds
    domain: Annotated[bytes, Meta(min_length=DOMAIN_BYTES, max_length=DOMAIN_BYTES)] = NO_DOMAIN


class ContentsTold(Message, frozen=True, array_like=True, tag=100):
    """The peer that answers for pages to the one that answers for their contents; repeated until noted."""

    waits_for_company: ClassVar[bool] = True
    patience_s: ClassVar[float] = PATIENCE_S
    batch: Count
    pages: Annotated[tuple[ToldContent, ...], Meta(max_length=PAGES_MAX)]


class ContentsNoted(Message, frozen=True, array_like=True, tag=101):
    """Promise of the receiver: they are in its groups, durably."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    patience_s: ClassVar[float] = PATIENCE_S
    batch: Count


class PageRole(msgspec.Struct, frozen=True, array_like=True):
    """The role of a page in its group."""

    slot: Slot
    page: Page
    content: Content
    n_copies: NumberOfCopies


class RolesTold(Message, frozen=True, array_like=True, tag=102):
    """The peer that keeps groups to those that answer for pages in them; repeated until noted.

    Not noted as long as a page is not there whose slot is not complete at the receiver: it may be on its way.
    """

    waits_for_company: ClassVar[bool] = True
    batch: Count
    pages: Annotated[tuple[PageRole, ...], Meta(max_length=PAGES_MAX)]


class RolesNoted(Message, frozen=True, array_like=True, tag=103):
    """Promise of the receiver: searches go by it."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    batch: Count
    # Indexes of the pages of which that is not so: they do not have that content here.
    unlike: Annotated[tuple[Count, ...], Meta(max_length=PAGES_MAX)] = ()
