"""Links that the policy of the mesh has left out, in case another one wants them.

Each has one place, which follows from its host and its fingerprint. So a host has a hundred at most, all
have as many as there are places, and nothing is to be counted: where two want one place the one nearer to a
seed gets it, of equal ones the one that was found within its domain, then the first. That is enough to begin
with once a scope is widened; what a page leads to is found when it is visited.

They are a peer's own, kept by who owned their hosts when they came, and die with its disk: then they are
found again when their pages are visited again.
"""

from __future__ import annotations

from math import inf
from typing import Final

import msgspec
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from mesh.tables.table import Table
from mesh.urls import fingerprint, host_of
from peers.crawler.model.wire_messages import FoundLink, LinkUse
from peers.policy.rules import Policy

PER_HOST: Final = 128  # places that links to one host can have
REVIEWED_AT_ONCE: Final = 200  # some 4 ms
REVIEW_PAUSE_S: Final = 0.1  # so that a million links take nine minutes, and a few hundredths of a processor
_PLACE_BYTES: Final = 8


class LeftOutLinks:
    """Links by their places, over a table of their own."""

    def __init__(self, table: Table, places: int) -> None:
        """Take up the links that earlier runs of this peer left out."""
        self._table = table
        self._places = places
        self._next = b""  # where the review goes on
        self.review_at_s = inf  # when to call `review`

    def keep(self, link: FoundLink) -> None:
        """Remember a link, if it has a place."""
        place = self._place_of(link.url)
        stored = self._table.get(place)
        if stored is None or _rank(link) < _rank(_decode(stored)):
            self._table.put(place, _encode(replace(link, anchor="", linker="")))

    def find(self, url: str) -> FoundLink | None:
        """Return the link to a URL, if it was left out and has kept its place."""
        stored = self._table.get(self._place_of(url))
        link = None if stored is None else _decode(stored)
        return link if link is not None and link.url == url else None

    def begin_review(self) -> None:
        """There is another policy: look at all of them, a few at a time."""
        self._next, self.review_at_s = b"", -inf

    def review(self, policy: Policy, now: float) -> list[FoundLink]:
        """Take out those of the next ones that a policy wants."""
        rows = list(self._table.scan(self._next, limit=REVIEWED_AT_ONCE))
        wanted = [
            (place, link)
            for place, row in rows
            if policy.has_room_for(
                (link := _decode(row)).url, link.depth, is_abroad=link.use is LinkUse.ABROAD
            )
        ]
        for place, _ in wanted:
            self._table.delete(place)
        if len(rows) == REVIEWED_AT_ONCE:
            self._next = rows[-1][0] + b"\0"
            self.review_at_s = now + REVIEW_PAUSE_S
        else:
            self.review_at_s = inf
        return [link for _, link in wanted]

    def _place_of(self, url: str) -> bytes:
        which = fingerprint(url)[0] % PER_HOST
        place: int = xxh3_64_intdigest(f"{host_of(url)} {which}".encode()) % self._places
        return place.to_bytes(_PLACE_BYTES, "big")


def _rank(link: FoundLink) -> tuple[int, int]:
    return link.depth, link.use


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(FoundLink).decode
