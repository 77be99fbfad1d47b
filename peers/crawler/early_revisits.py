"""Asking hosts and pages before their time, bit by bit, once something has changed that is about many.

Hosts that were given up, when the policy allows other private addresses than before, and when a peer that
starts reaches the web in another way than in its last life. Pages whose visits the policy does not believe,
of some time and perhaps of one peer: all of each is asked for by the owner of its slot, whatever is known of
it, and its host is no alias before it is compared again. Texts of links that only such a peer has told then
are forgotten. What has been done is noted in a table, so that a peer that was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from struct import Struct
from typing import Final

from msgspec.structs import replace

from mesh.slot_limits import SLOTS_MAX
from mesh.tables.table import Table
from mesh.urls import host_of
from peers.crawler.explanations import UndoneVisits
from peers.crawler.frontier.anchor_rows import Disbelief, tag_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.keys import HOST, TEXTS, URL, kind_in, name_in, slot_in, slot_key, url_key
from peers.crawler.frontier.parked_hosts import record_in
from peers.crawler.host_clocks import HostClocks
from peers.crawler.model.revisit_policies import due_now
from peers.crawler.model.url_rows import NO_DIGEST, UrlRow, row_in, visitor_tag
from peers.policy.rules import Policy

ROWS_AT_ONCE: Final = 64  # what follows the hosts of a slot is read in vain
SLOTS_AT_ONCE: Final = 16  # 2 ms at most
VISITS_AT_ONCE: Final = 256  # pages to be visited again take 65 us each
PAUSE_S: Final = 0.02
_NEXT: Final = b"next"
_UNDO: Final = b"undo"
_SPAN: Final = Struct(">ddI")  # from when on, until when, by which peer: `visitor_tag`, 0 for all
EXAMPLES_MAX: Final = 5


class EarlyRevisits:
    """One pass over the rows of hosts for each change."""

    def __init__(self, table: Table, frontier: Frontier, clocks: HostClocks) -> None:
        """Go on with the recalling that an earlier run has begun."""
        self._table = table
        self._frontier = frontier
        self._clocks = clocks
        self.at_s = inf if table.get(_NEXT) is None else -inf  # when to call `do_some`
        self._undone = list(_SPAN.iter_unpack(table.get(_UNDO) or b""))
        frontier.texts.disbelieved = _disbelieved(self._undone)
        self.undone = _undone_by(self._undone, is_done=self.at_s == inf)
        self._room = VISITS_AT_ONCE  # pages that may still be marked in this turn

    def change_policy(self, policy: Policy) -> None:
        """Go by the private addresses that a policy allows, and by the visits that it does not believe."""
        self.note(b"policy", " ".join(policy.allow_private).encode())
        self._undone = [(*each.span_s, visitor_tag(each.peer) if each.peer else 0) for each in policy.undo]
        self._frontier.texts.disbelieved = _disbelieved(self._undone)
        spans = b"".join(_SPAN.pack(*span) for span in self._undone)
        if self.note(_UNDO, spans):
            self.undone = _undone_by(self._undone, is_done=False)

    def note(self, what: bytes, value: bytes) -> bool:
        """Begin anew if something has another value than when it was noted last; b"" before that.

        Returns:
          Whether it has.
        """
        assert what != _NEXT
        if (self._table.get(what) or b"") == value:
            return False
        self._table.put(what, value)
        self._table.put(_NEXT, b"")
        self.at_s = -inf
        return True

    def do_some(self, now: float) -> None:
        """Look at the next rows."""
        key: bytes | None = self._table.get(_NEXT) or b""
        self._room = VISITS_AT_ONCE
        for _ in range(SLOTS_AT_ONCE):
            if key is not None and self._room > 0:
                key = self._from(key, now)
        if key is None:
            self._table.delete(_NEXT)
            self.at_s = inf
            self.undone = replace(self.undone, is_done=True)
        else:
            self._table.put(_NEXT, key)
            self.at_s = now + PAUSE_S

    def _from(self, start: bytes, now: float) -> bytes | None:
        """Recall the rows of one slot from a key on; return where to go on, None at the end."""
        rows = list(self._frontier.rows_from(start, ROWS_AT_ONCE))
        for key, row in rows:
            slot, kind = slot_in(key), kind_in(key)
            if self._room == 0:
                return key
            if kind == TEXTS and self._undone:
                self._forget_texts(slot, name_in(key), row)
            elif kind == URL and self._undone:
                self._visit_again(slot, name_in(key), row_in(row), now)
            elif kind > HOST and self._undone:
                return slot_key(slot) + URL
            elif kind > HOST:
                return slot_key(slot + 1) if slot + 1 < SLOTS_MAX else None
            elif kind == HOST:
                self._clocks.recall(slot, record_in(row), now)
        return rows[-1][0] + b"\0" if len(rows) == ROWS_AT_ONCE else None

    def _forget_texts(self, slot: int, mark: bytes, row: bytes) -> None:
        if self._frontier.texts.forget_disbelieved(slot, mark, row):
            self._room -= 1
            self.undone = replace(self.undone, texts=self.undone.texts + 1)

    def _visit_again(self, slot: int, mark: bytes, row: UrlRow, now: float) -> None:
        """Have a page asked for at once, and all of it, if its last visit is not believed."""
        is_known = row.digest != NO_DIGEST or row.etag or row.last_modified
        if not (row.due_s > now or is_known) or not self._is_undone(row):
            return
        url = row.url or (self._frontier.url_in_queue(slot, mark, row) if row.is_queued else "")
        if row.visit and url:
            again = due_now(row, now, self._frontier.visitor)
            again = again._replace(digest=NO_DIGEST, etag="", last_modified="")
            self._room -= 1
            self._frontier.merge_visited(slot, mark, again, url)
            self._frontier.note_change(url_key(slot, mark))
            self._frontier.call_alias(host_of(url), "")
            examples = (*self.undone.examples, url)[:EXAMPLES_MAX]
            self.undone = replace(self.undone, visits=self.undone.visits + 1, examples=examples)

    def _is_undone(self, row: UrlRow) -> bool:
        at_s, peers = row.visited_s, (0, row.visitor)
        return any(since_s <= at_s <= until_s and tag in peers for since_s, until_s, tag in self._undone)


def _disbelieved(spans: Iterable[tuple[float, float, int]]) -> tuple[Disbelief, ...]:
    """Return the single members with a word on links that does not count; others say the same anew."""
    return tuple(Disbelief(since_s, until_s, tag_of(tag)) for since_s, until_s, tag in spans if tag)


def _undone_by(spans: list[tuple[float, float, int]], *, is_done: bool) -> UndoneVisits:
    """Begin to count; the end of the last span tells which policy wants it."""
    return UndoneVisits(until_s=spans[-1][1] if spans else 0.0, is_done=is_done)
