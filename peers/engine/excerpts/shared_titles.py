"""Which titles a whole site has alike, so that they do not tell its pages apart; headings are shown instead.

A page cannot know that, and what is indexed of it may not depend on what else is known at the time; so only
what is shown is changed, by the peer that has the pages of the site (a host is in one slot) as it shows one.
Titles are compared by the hash of them in the sketches of `near_copies`: pages with short texts do not count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from peers.engine.pages.document import Document
from peers.engine.pages.near_copies import title_hash, title_hashes
from peers.engine.segments.live_segment import SegmentView

PAGES_MIN: Final = 8  # that have the title
SITE_SHARE: Final = 2  # one in so many of the pages of the site
LOOKED_AT_MAX: Final = 4_096  # pages of a site in one segment; the others are hardly different
HEADINGS_TRIED: Final = 3


def shown_title(document: Document, views: Iterable[SegmentView]) -> str:
    """Return the text that tells a page from others of its site: its title, or else a heading.

    Args:
      views: with the pages of its site.
    """
    heading = _telling_heading(document)
    return heading if heading and _is_shared(document, views) else document.title


def _telling_heading(document: Document) -> str:
    """Return the first heading that says something besides the title; "" when none does."""
    title = document.title.casefold()
    headings = document.headings.split("\n", HEADINGS_TRIED)[:HEADINGS_TRIED]
    return next((each for each in headings if each.strip() and each.casefold() not in title), "")


def _is_shared(document: Document, views: Iterable[SegmentView]) -> bool:
    title = title_hash(document.title)
    scheme, _, rest = document.url.encode(errors="replace").partition(b"://")
    origin = scheme + b"://" + rest.partition(b"/")[0]
    n_pages = n_alike = 0
    for view in views:
        pages = range(view.segment.document_count)
        # Everything that begins with the origin and a slash comes before the origin and a zero.
        first = bisect_left(pages, origin + b"/", key=view.segment.url)
        end = bisect_left(pages, origin + b"0", lo=first, key=view.segment.url)
        end = min(end, first + LOOKED_AT_MAX)
        hashes, is_known = title_hashes(view.segment.sketches[first:end])
        is_known &= view.allowed[first:end] != 0
        n_pages += int(is_known.sum())
        n_alike += int((is_known & (hashes == title)).sum())
    return n_alike >= PAGES_MIN and SITE_SHARE * n_alike >= n_pages
