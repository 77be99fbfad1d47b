"""A synthetic web that changes while it is crawled: texts, pages that vanish, `noindex` that comes and goes.

Half of the pages are *steady* and answer the same for ever. Every other has a period of its own, after which
it is a new version. A page without children in the tree of its host, so that all others can be reached
without it, is in some of its versions not there (404), in some it asks not to be indexed. All that is a pure
function of the URL, the time and the seed; what a version says stands in its body. Every page has an ETag.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

from simulations.webs.web import CHILDREN, Served, SyntheticWeb, WebShape, page_of

STEADY_SHARE: Final = 0.5
PERIOD_S_MIN: Final = 20.0
PERIOD_S_MAX: Final = 120.0
GONE_SHARE: Final = 0.2  # of the versions of a page without children
HIDDEN_SHARE: Final = 0.2  # likewise
GONE: Final = b"gone"
STEADY_ETAG: Final = '"steady"'
_HIDDEN: Final = b" noindex"


class PageState(NamedTuple):
    """The state of a page for a while."""

    number: int
    is_there: bool
    is_hidden: bool  # it asks not to be indexed

    @property
    def body(self) -> bytes:
        """Return the body that the server of the page sends."""
        if not self.is_there:
            return GONE
        return b"version %d%s" % (self.number, _HIDDEN if self.is_hidden else b"")


class ChangingWeb(SyntheticWeb):
    """Answers every request as the page is at that time."""

    def __init__(self, seed: int, pages: int, shape: WebShape, now: Callable[[], float]) -> None:
        """Lay out the hosts.

        Args:
          now: the time of the world, which is never before that of the question before.
        """
        super().__init__(seed, pages, shape)
        self._now = now
        self._ceased_s = inf

    def cease(self) -> None:
        """Change no more from now on."""
        self._ceased_s = self._now()

    def serve(self, url: str) -> Served:
        served = super().serve(url)
        if served.status != 200 or url.endswith("/robots.txt"):
            return served
        if self.is_steady(url):
            return served._replace(etag=STEADY_ETAG)
        version = self.version_of(url, min(self._now(), self._ceased_s))
        if not version.is_there:
            return served._replace(status=404, body=version.body)
        return served._replace(body=version.body, etag=f'"{version.number}"')

    def is_steady(self, url: str) -> bool:
        return self._draw(url, "steady") < STEADY_SHARE

    def version_of(self, url: str, at_s: float) -> PageState:
        """Return the version of a page at a time; the page is not a steady one."""
        period_s = PERIOD_S_MIN + self._draw(url, "period") * (PERIOD_S_MAX - PERIOD_S_MIN)
        number = int(at_s / period_s + self._draw(url, "phase"))
        draw = self._draw(url, f"version {number}") if self.is_leaf(url) else 1.0
        is_hidden = GONE_SHARE <= draw < GONE_SHARE + HIDDEN_SHARE
        return PageState(number, draw >= GONE_SHARE, is_hidden)

    def is_leaf(self, url: str) -> bool:
        """Has a page of this web no children in the tree of its host?"""
        name_end = url.index("/", 8)
        page = page_of(url[name_end + 1 :])
        host = self._host_index.get(url[:name_end])
        if not page or host is None:  # home, or no page at all
            return False
        return CHILDREN * page + 1 >= self.sizes[host]


def is_shown(body: bytes) -> bool:
    """Is a page with this body to be found?"""
    return body != GONE and not body.endswith(_HIDDEN)
