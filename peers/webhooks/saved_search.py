"""Saved searches: which of their hits are new, and the deliveries of these that wait. Pure.

A hit is new when its URL was not among the hits of its search before. The first answer that speaks for the
whole mesh is where a search begins: none of its hits is new. Answers for other words, which the gateway gives
where nothing has all words, have no hits of the search. Notices of the watch are delivered by the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import msgspec

HITS_MAX: Final = 1_000  # of one search that are looked at, the latest pages first
SEEN_MAX: Final = 10_000  # URLs of one search that are remembered, the last seen ones
HITS_PER_DELIVERY: Final = 20  # Standard Webhooks wants bodies of some 20 kB
WAITING_MAX: Final = 100  # deliveries; no search is asked for while so many wait
EVENT: Final = "search.hits"
WATCH_EVENT: Final = "watch.notices"
_FIELDS: Final = ("url", "title", "snippet", "host", "language", "type", "date", "published", "fetched_at")


_ADDED: Final = ("entity",)  # by `complete`

Complete: TypeAlias = Callable[[dict[str, Any]], dict[str, Any] | None]


def _as_it_is(hit: dict[str, Any]) -> dict[str, Any]:
    return hit


class HookDelivery(msgspec.Struct, frozen=True):
    """Hits to be posted, as often as it takes, always with the same id and body."""

    id: str
    body: str  # JSON


class HookState(msgspec.Struct):
    """The state of one webhook, as its file has it."""

    seen: dict[str, list[str]] = {}  # marks of URLs by query, the last seen ones at the end
    waiting: list[HookDelivery] = []  # the oldest first
    delivered_count: int = 0
    after: str = ""  # of the watch: the place behind the last notice that was read

    @property
    def has_room(self) -> bool:
        return len(self.waiting) < WAITING_MAX

    def forget_others(self, queries: Iterable[str]) -> None:
        """Forget searches that are not asked for any more."""
        wanted = set(queries)
        self.seen = {query: marks for query, marks in self.seen.items() if query in wanted}

    def take_in(self, query: str, answer: dict[str, Any], now: str, complete: Complete = _as_it_is) -> int:
        """Take in the answer to a search, and return how many of its hits are new.

        Args:
          now: ISO 8601, for the deliveries.
          complete: makes of a new hit the one that is delivered; None for one that is not.
        """
        is_of_query = not (answer["corrected"] or answer["relaxed"]["is_any"] or answer["relaxed"]["nowhere"])
        hits = answer["hits"] if is_of_query else []
        marks = {_mark(hit["url"]): hit for hit in hits}
        before = self.seen.get(query)
        if before is None and answer["coverage"]["missing"]:
            return 0  # what did not answer now would be new later
        known = set(before or ())
        new = [] if before is None else [hit for mark, hit in marks.items() if mark not in known]
        new = [each for hit in new if (each := complete(hit)) is not None]
        stay = [mark for mark in before or () if mark not in marks]
        self.seen[query] = [*stay, *reversed(marks)][-SEEN_MAX:]
        for start in range(0, len(new), HITS_PER_DELIVERY):
            self.waiting.append(_delivery(query, new[start : start + HITS_PER_DELIVERY], now))
        return len(new)

    def take_notices(self, answer: dict[str, Any], now: str) -> int:
        """Take in an answer of /api/watch, and return how many of its notices are to be delivered.

        The first answer is where it begins. A notice that is told again is delivered again, as a reader knows
        it by its url, mark and entry.
        """
        new = answer["notices"] if self.after else []
        self.after = answer["after"]
        for start in range(0, len(new), HITS_PER_DELIVERY):
            notices = new[start : start + HITS_PER_DELIVERY]
            text = msgspec.json.encode({"type": WATCH_EVENT, "timestamp": now, "data": {"notices": notices}})
            self.waiting.append(_delivery_of("watch", text.decode()))
        return len(new)

    def note_delivered(self) -> None:
        """The oldest delivery has arrived."""
        del self.waiting[0]
        self.delivered_count += 1


def _delivery(query: str, hits: list[dict[str, Any]], now: str) -> HookDelivery:
    told = [
        {name: hit[name] for name in _FIELDS} | {name: hit[name] for name in _ADDED if name in hit}
        for hit in hits
    ]
    body = {"type": EVENT, "timestamp": now, "data": {"query": query, "hits": told}}
    text = msgspec.json.encode(body).decode()
    return _delivery_of("hits", text)


def _delivery_of(kind: str, text: str) -> HookDelivery:
    return HookDelivery(f"{kind}_{blake2b(text.encode(), digest_size=12).hexdigest()}", text)


def _mark(url: str) -> str:
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def pause_after(failures: int) -> float:
    """Return the seconds until the next try after so many failures: 5, 10, 20 and so on, at most an hour."""
    return min(5.0 * float(1 << min(failures, 20)) / 2.0, 3_600.0)
