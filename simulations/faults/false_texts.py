"""The malicious member's lies about texts: of pages that it alone has asked for, standbys get invented ones.

The words by which a page must be found stay in them, so that only who looks at the page again can tell. To
other auditors it says that it has seen something else, and in some runs it lends nobody a turn of its hosts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from typing import Final

from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.domains import registrable_domain
from mesh.urls import host_of
from peers.crawler.auditing.likeness import hashes_of
from peers.crawler.model.wire_messages import PageObserved, TurnLent
from peers.storage.wire_messages import ReplicatePage, StoredPage
from simulations.world.chance import random_of

SHARES_INVENTED: Final = (0.0, 0.7, 1.0, 1.0)  # of its pages, one of these in a run
SHARES_KEPT: Final = (0.0, 0.0, 1.0)  # of the turns of its hosts, likewise
INVENTED: Final = "there is nothing so cheap as what nobody has ever written on any page at all"


class FalseTexts:
    """The texts that one malicious member has invented, and the members that were told each."""

    def __init__(self, seed: int, now: Callable[[], float], tell: Callable[[str], None]) -> None:
        """Begin; `tell` takes lines of the transcript."""
        self.until_s = 0.0
        self._now = now
        self._tell = tell
        self._random = random_of(seed, "false texts")
        self._share = self._random.choice(SHARES_INVENTED)
        self._share_kept = self._random.choice(SHARES_KEPT)
        self._is_invented: dict[str, bool] = {}  # by URL
        self._told_s: defaultdict[str, dict[str, float]] = defaultdict(dict)  # by member and URL: when first

    def twisted(self, target: str, message: Message) -> Message:
        """Return the message that a member gets instead."""
        if self._now() >= self.until_s:
            return message
        match message:
            case ReplicatePage(page) if self._invents(page):
                self._told_s[target].setdefault(page.url, self._now())
                return ReplicatePage(_with_invented_text(page))
            case PageObserved():
                return replace(message, text=hashes_of(INVENTED), is_gone=False)
            case TurnLent() if self._random.random() < self._share_kept:
                return replace(message, seconds=0.0, pause_s=1.0)
        return message

    def told_s(self, peer: str) -> dict[str, float]:
        """Return the pages of which a member was told invented texts, and when it was told first."""
        return self._told_s[peer]

    def _invents(self, page: StoredPage) -> bool:
        if page.document is None:
            return False
        if page.url not in self._is_invented:
            self._is_invented[page.url] = self._random.random() < self._share
        return self._is_invented[page.url]


def domain_of(url: str) -> str:
    """Return the registrable domain of a page."""
    return registrable_domain(host_of(url))


def _with_invented_text(page: StoredPage) -> StoredPage:
    """Return a page with its words in another order, among others."""
    assert page.document is not None
    pairs = zip(page.document.text.split(), INVENTED.split(), strict=False)
    text = " ".join(chain.from_iterable(pairs))
    return replace(page, document=replace(page.document, text=text))
