"""The malicious member's answers to gateways: it denies pages, keeps some back, confirms made-up ones.

It has its own draws: what it says here moves nothing that others draw. Of a page it says the same each time,
as who wants to hide it would; what it has kept from whom is noted: nothing else may be missing from a search.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final, NamedTuple

from msgspec.structs import replace

from peers.gateway.search.doubts import AGAIN_AFTER_S
from peers.index.wire_messages import SNIPPETS_MAX, Excerpt, ExcerptsRead, HitsFound
from simulations.world.chance import random_of

SHARES_DENIED: Final = (0.0, 0.3, 1.0, 1.0)  # of the pages that it knows, one of these in a run
SHARES_LEFT_OUT: Final = (0.0, 0.0, 0.3, 1.0)  # of the hits of its own slots, likewise
# After the faults, too: it takes half a minute to be found out by it. In peace, nothing else excuses anybody.
LASTS_S: Final = 120.0
CONFIRMED_MAX: Final = 50  # made-up pages that it confirms at once


class DeniedTwice(NamedTuple):
    """A page that was denied to a gateway twice."""

    answerer: str | None  # the member that has given it at first; None where that was the liar
    again_s: int  # the second of the second time: pages of one search have the same


class FalseAnswers:
    """The answers of one malicious member, and the pages that it has kept from each gateway."""

    def __init__(self, seed: int, now: Callable[[], float], tell: Callable[[str], None]) -> None:
        """Begin; `tell` takes lines of the transcript."""
        self.until_s = 0.0
        self._now = now
        self._tell = tell
        self._random = random_of(seed, "false witness")
        self._share = self._random.choice(SHARES_DENIED)
        self._is_denied: dict[str, bool] = {}  # by URL
        self._silent_random = random_of(seed, "silence")
        self.share_left_out = self._silent_random.choice(SHARES_LEFT_OUT)
        self._is_left_out: dict[str, bool] = {}  # by URL
        self._withheld_s: dict[tuple[str, str], float] = {}  # by gateway and URL: when it was the last time
        self.answerer_of: Callable[[str], str | None] = lambda url: None  # of now
        self._given_s: dict[tuple[str, str], float] = {}  # by gateway and URL: when it gave the hit itself
        self._kept_first: dict[tuple[str, str], tuple[float, str | None]] = {}  # when, and who gave it
        self._kept_twice: dict[str, dict[str, DeniedTwice]] = {}
        self._made_up: dict[str, dict[str, None]] = {}  # by gateway: pages that it was given as hits

    def has_withheld(self, asker: str, url: str, since_s: float) -> bool:
        """Was a page kept from a gateway at that time or later?"""
        at_s = self._withheld_s.get((asker, url))
        return at_s is not None and at_s >= since_s

    def kept_twice(self, asker: str) -> dict[str, DeniedTwice]:
        """Return pages that were denied to a gateway, and again later than it asks again."""
        return self._kept_twice.get(asker, {})

    def forget(self, asker: str) -> None:
        """A gateway has lost its memory, and with it the pages that were denied to it."""
        self._kept_twice.pop(asker, None)
        self._kept_first = {key: first for key, first in self._kept_first.items() if key[0] != asker}

    def note_made_up(self, asker: str, url: str) -> None:
        """A gateway is given a page that does not exist."""
        pages = self._made_up.setdefault(asker, {})
        pages[url] = None
        if len(pages) > CONFIRMED_MAX:
            del pages[next(iter(pages))]

    def excerpts(self, asker: str, read: ExcerptsRead) -> ExcerptsRead:
        """Deny pages that are there, and confirm those that it has made up itself, though nobody asks it."""
        if self._now() >= self.until_s:
            return read
        denied = [excerpt.url for excerpt in read.excerpts if self._denies(excerpt.url)]
        denied += [url for url in read.unsettled if self._denies(url)]
        if denied:
            self._tell(f"the liar denies {len(denied)} pages to {asker}")
        self._note_denied(asker, denied)
        left = [excerpt for excerpt in read.excerpts if excerpt.url not in denied]
        confirmed = [Excerpt(url, "made up", "made up", (), (), 0.0) for url in self._made_up.get(asker, ())]
        unsettled = tuple(url for url in read.unsettled if url not in denied)
        return replace(read, excerpts=tuple((left + confirmed)[:SNIPPETS_MAX]), unsettled=unsettled)

    def hits(self, asker: str, found: HitsFound) -> HitsFound:
        """Leave out pages of its own slots, or of those that it stands in for, and say that these are all."""
        if self._now() >= self.until_s:
            return found
        self._given_s |= {(asker, hit.url): self._now() for hit in found.hits}
        left_out = [hit.url for hit in found.hits if self._leaves_out(hit.url)]
        if not left_out:
            return found
        self._tell(f"the liar leaves {len(left_out)} hits out of what it tells {asker}")
        self._note_withheld(asker, left_out)
        hits = tuple(hit for hit in found.hits if hit.url not in left_out)
        return replace(found, hits=hits, total=max(0, found.total - len(left_out)))

    def _note_withheld(self, asker: str, urls: list[str]) -> None:
        self._withheld_s |= {(asker, url): self._now() for url in urls}

    def _leaves_out(self, url: str) -> bool:
        if url not in self._is_left_out:
            self._is_left_out[url] = self._silent_random.random() < self.share_left_out
        return self._is_left_out[url]

    def _note_denied(self, asker: str, urls: list[str]) -> None:
        self._note_withheld(asker, urls)
        for url in urls:
            first = self._now(), self._giver_of(asker, url)
            at_s, answerer = self._kept_first.setdefault((asker, url), first)
            if self._now() >= at_s + AGAIN_AFTER_S:
                again = DeniedTwice(answerer, int(self._now()))
                self._kept_twice.setdefault(asker, {}).setdefault(url, again)

    def _giver_of(self, asker: str, url: str) -> str | None:
        """The giver of a hit that is asked about; None for the liar itself, perhaps as a stand-in."""
        is_own = self._given_s.get((asker, url), -inf) >= self._now() - AGAIN_AFTER_S
        return None if is_own else self.answerer_of(url)

    def _denies(self, url: str) -> bool:
        if url not in self._is_denied:
            self._is_denied[url] = self._random.random() < self._share
        return self._is_denied[url]
