"""Where an answer that is no page leads, and the facts about the page here that are told there. Pure.

A page that has moved for good (301, 308) takes along what links have told of it, and where it was before; so
the new URL is found by the same words, and refers to the history of the old one. So it does within a
registrable domain: across domains the target has no say in who leads there, and gets nothing but the link.
The old URL keeps its row and its versions, of which the newest says where the page is. What is elsewhere for
now (302, 303, 307) is a link like others.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from mesh.domains import may_speak_for
from mesh.urls import host_of
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.model.course import Course
from peers.crawler.model.url_rows import ICON_HOPS
from peers.crawler.model.web_request import PageFetched, location_of, moved_to
from peers.crawler.model.wire_messages import FoundLink, LinkUse
from peers.engine.pages.linkers import moves_in, told_by


class Redirect(NamedTuple):
    """The links and the new address that follow from an answer that leads on."""

    link: FoundLink  # to be followed
    tellings: tuple[FoundLink, ...] = ()  # of what is known of the page that was here
    moved_to: str = ""  # where the page is from now on


def redirect_in(
    fetched: PageFetched, taken: QueuedUrl, entries: tuple[str, ...], *, was_page: bool, is_shown: bool
) -> Redirect | None:
    """Return where an answer leads; None when it leads nowhere.

    A URL that was never a page, as one in a chain of redirects, tells only where the page was at first.

    Args:
      entries: what is known of links to the URL that was asked for, see `peers.engine.pages.linkers`.
      was_page: there was a page at some time.
      is_shown: there was one until now, at which the redirects before have ended.
    """
    target = location_of(fetched)
    if target is None:
        return None
    hops = 1 if is_shown else taken.hops + 1
    link = link_to(target, taken, hops=ICON_HOPS if taken.hops == ICON_HOPS else hops)
    to = moved_to(fetched)
    moves = [move for move in moves_in(entries) if move != target] if to else []
    if not (to and (was_page or moves) and may_speak_for(host_of(taken.url), host_of(target))):
        return Redirect(link, moved_to=to)
    link = replace(
        link,
        moved_from=taken.url if was_page else moves[0],
        changed_s=int(fetched.started_at) if is_shown else 0,
    )
    told = told_by(entries) if was_page else []
    tellings = [FoundLink(target, text, use=LinkUse.TEXT, linker=linker) for text, linker in told]
    tellings += [FoundLink(target, use=LinkUse.TEXT, moved_from=move) for move in moves]
    return Redirect(link, tuple(tellings), to)


def link_to(url: str, taken: QueuedUrl, hops: int) -> FoundLink:
    """Return a link that leads on from where a URL was found, as if it was found there instead."""
    course = taken.course or Course(0)
    return FoundLink(
        url,
        depth=taken.depth,
        hops=hops,
        levels=course.levels,
        steps=course.steps,
        is_ahead=course.is_ahead,
    )
