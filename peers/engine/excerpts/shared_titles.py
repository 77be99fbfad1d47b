"""Which titles a whole site has alike, so that they do not tell its pages apart; headings are shown instead.

A page cannot know that, and what is indexed of it may not depend on what else is known at the time; so only
what is shown is changed, by the peer that has the pages of the site (a host is in one slot) as it shows one.
Titles are compared by the hash of them in the sketches of `near_copies`: pages with short texts do not count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Set
from typing import Final

import numpy as np

from peers.engine.pages.document import Document
from peers.engine.pages.near_copies import title_hash, title_hashes
from peers.engine.segments.live_segment import SegmentView

PAGES_MIN: Final = 8  # that have the title
SITE_SHARE: Final = 2  # one in so many of the pages of the site
LOOKED_AT_MAX: Final = 4_096  # pages of a site in one segment; the others are hardly different
HEADINGS_TRIED: Final = 3
SITES_KEPT: Final = 1_024  # whose shared titles a view remembers


def shown_title(document: Document, shared_in: Callable[[bytes], Set[int]]) -> str:
    """Return the text that tells a page from others of its site: its title, or else a heading.

    Args:
      shared_in: does as `shared_titles`, of the site that begins with an origin.
    """
    heading = _telling_heading(document)
    if not heading:
        return document.title
    scheme, _, rest = document.url.encode(errors="replace").partition(b"://")
    shared = shared_in(scheme + b"://" + rest.partition(b"/")[0])
    return heading if title_hash(document.title) in shared else document.title


def shared_titles(views: Iterable[SegmentView], origin: bytes) -> frozenset[int]:
    """Return the hashes of the titles that a site's pages have alike.

    Args:
      views: with the pages of the site.
      origin: that their URLs begin with, as `http://a.test`, in UTF-8.
    """
    titles = [np.empty(0, np.uint64)]
    for view in views:
        pages = range(view.segment.document_count)
        # Everything that begins with the origin and a slash comes before the origin and a zero.
        first = bisect_left(pages, origin + b"/", key=view.segment.url)
        end = bisect_left(pages, origin + b"0", lo=first, key=view.segment.url)
        end = min(end, first + LOOKED_AT_MAX)
        hashes, is_known = title_hashes(view.segment.sketches[first:end])
        titles.append(hashes[is_known & (view.allowed[first:end] != 0)])
    hashes, n_pages = np.unique(np.concatenate(titles), return_counts=True)
    is_shared = (n_pages >= PAGES_MIN) & (SITE_SHARE * n_pages >= n_pages.sum())
    return frozenset(hashes[is_shared].tolist())


def _telling_heading(document: Document) -> str:
    """Return the first heading that says something besides the title; "" when none does."""
    title = document.title.casefold()
    headings = document.headings.split("\n", HEADINGS_TRIED)[:HEADINGS_TRIED]
    return next((each for each in headings if each.strip() and each.casefold() not in title), "")
