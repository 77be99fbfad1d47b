"""Cookies for URLs that lead to themselves until one comes back: each is sent once, and forgotten. Pure.

No session is kept: whoever wants a cookie for more than the way to a page is left alone.
"""

from __future__ import annotations

import re
from typing import Final

from mesh.urls import host_of
from peers.crawler.model.web_request import PageFetched, headers_of, location_of

URLS_MAX: Final = 256  # that are to be asked for with a cookie; the oldest is asked for without
COOKIES_MAX: Final = 16  # that an answer sets
COOKIE_CHARS_MAX: Final = 4_096  # of all of them; browsers take as much of one

# RFC 6265, 4.1.1, before its attributes.
_PAIR: Final = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256})=([\x21-\x3a\x3c-\x7e]{0,4096})")


class Cookies:
    """The cookies that some URLs are to be asked for with. One per crawler."""

    def __init__(self) -> None:
        # By URL, the oldest first: "" while one is under way, None when it was in vain.
        self.held: dict[str, str | None] = {}

    def take(self, url: str) -> str:
        """Return the cookie that a URL is to be asked for with, once; "" for no cookie."""
        cookie = self.held.get(url)
        if cookie:
            self.held[url] = ""
        elif cookie is not None:  # the page has come
            del self.held[url]
        return cookie or ""

    def are_wanted(self, fetched: PageFetched) -> bool:
        """Tell whether a URL leads to itself, and is to be asked for again with the cookie that it set.

        Where it leads to another URL of its host, that one is asked for with the cookie.
        """
        if "set-cookie" not in map(str.lower, dict(fetched.headers)):
            return False
        url, target = fetched.url, location_of(fetched)
        if target is None or host_of(target) != host_of(url):
            return False
        was_sent = url in self.held
        self._hold(url if was_sent else target, None if was_sent else cookie_set(fetched))
        return target == url and bool(self.held.get(url))

    def _hold(self, url: str, cookie: str | None) -> None:
        if cookie == "":
            return
        self.held.pop(url, None)
        self.held[url] = cookie
        if len(self.held) > URLS_MAX:
            del self.held[next(iter(self.held))]


def cookie_set(fetched: PageFetched) -> str:
    """Return the cookie that a browser would send its host after this answer; "" when it sets no cookies.

    Source: RFC 6265, 5.2 to 5.4.
    """
    pairs: dict[str, str] = {}
    for value in headers_of(fetched, "set-cookie")[:COOKIES_MAX]:
        pair = _PAIR.match(value)
        if pair is not None and "max-age=0" not in value.lower():
            pairs[pair[1]] = f"{pair[1]}={pair[2]}"
    cookie = "; ".join(pairs.values())
    return cookie if len(cookie) <= COOKIE_CHARS_MAX else ""
