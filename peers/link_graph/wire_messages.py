"""Messages that bring the links of a page to the owners of its targets, and questions for back-links."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.stamp import VisitNumber
from mesh.wire_fields import Count, Url
from peers.link_graph.source_row import GoneLink, GraphText, TargetLink
from peers.link_graph.target_row import DOMAINS_MAX, SOURCES_MAX, SourceLink

LINKS_MAX: Final = 500  # in one message, that are new or have gone
LISTED_MAX: Final = 100  # in one answer
START_MAX: Final = DOMAINS_MAX * SOURCES_MAX


class GraphTold(Message, frozen=True, array_like=True, tag=137):
    """From the owner of a page to that of some of its links' targets; repeated until noted."""

    waits_for_company: ClassVar[bool] = True
    batch: Count
    url: Url  # of the page
    visit: VisitNumber
    fetched_at: float
    title: GraphText = ""
    links: Annotated[tuple[TargetLink, ...], Meta(max_length=LINKS_MAX)] = ()
    gone: Annotated[tuple[GoneLink, ...], Meta(max_length=LINKS_MAX)] = ()


class GraphNoted(Message, frozen=True, array_like=True, tag=138):
    """Promise of the receiver: its store has them, and so has the living team of their slots."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    batch: Count


class ListBacklinks(Message, frozen=True, array_like=True, tag=139):
    """From a gateway to the team of a page: which pages link to it?"""

    request: Count
    url: Url
    start: Annotated[int, Meta(ge=0, le=START_MAX)] = 0  # so many are left out at the beginning


class BacklinksListed(Message, frozen=True, array_like=True, tag=140):
    """Answer to `ListBacklinks`, in the order of `target_row.by_domains`."""

    request: Count
    url: Url
    is_on: bool = False  # by the policy that the peer goes by
    n_links: Count = 0  # of all pages, about if it is not exact
    n_domains: Count = 0
    is_exact: bool = True
    n_kept: Annotated[int, Meta(ge=0, le=START_MAX)] = 0
    links: Annotated[tuple[SourceLink, ...], Meta(max_length=LISTED_MAX)] = ()
