"""Asking hosts and pages before their time, bit by bit, once something has changed that is about many.

Hosts that were given up, when the policy allows other private addresses than before, and when a peer that
starts reaches the web in another way than in its last life. Pages whose visits the policy does not believe,
of some time and perhaps of one peer: all of each is asked for by the owner of its slot, whatever is known of
it, and its host is no alias before it is compared again. Texts of links that only such a peer has told then
are forgotten. What has been done is noted in a table, so that a peer that was stopped goes on.
"""

from __future__ import annotations

from math import inf
from struct import Struct
from typing import Final

from msgspec.structs import replace

from mesh.tables.table import Table
from mesh.urls import host_of
from peers.crawler.doubted_rows import EXAMPLES_MAX, PAUSE_S, DoubtedTimes, url_at, walk_on
from peers.crawler.explanations import UndoneVisits
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.keys import HOST, TEXTS, URL, kind_in, name_in, slot_in, url_key
from peers.crawler.frontier.parked_hosts import record_in
from peers.crawler.host_clocks import HostClocks
from peers.crawler.model.revisit_policies import due_now
from peers.crawler.model.url_rows import NO_DIGEST, UrlRow, row_in, visitor_tag
from peers.policy.rules import Policy

VISITS_AT_ONCE: Final = 256  # pages to be visited again take 65 us each
_NEXT: Final = b"next"
_UNDO: Final = b"undo"
_SINCE: Final = Struct(">Id")  # a value, and when it was noted
_SPAN: Final = Struct(">ddI")  # see `doubted_rows.Span`


class EarlyRevisits:
    """One pass over the rows of hosts for each change."""

    def __init__(self, table: Table, frontier: Frontier, clocks: HostClocks) -> None:
        """Go on with the recalling that an earlier run has begun."""
        self._table = table
        self._frontier = frontier
        self._clocks = clocks
        self.at_s = inf if table.get(_NEXT) is None else -inf  # when to call `do_some`
        self._undone = DoubtedTimes(_SPAN.iter_unpack(table.get(_UNDO) or b""))
        frontier.texts.disbelieved = self._undone.disbeliefs
        self.undone = _undone_by(self._undone, is_done=self.at_s == inf)
        self._room = VISITS_AT_ONCE  # pages that may still be marked in this turn

    def change_policy(self, policy: Policy) -> None:
        """Go by the private addresses that a policy allows, and by the visits that it does not believe."""
        self.note(b"policy", " ".join(policy.allow_private).encode())
        spans = [(*each.span_s, visitor_tag(each.peer) if each.peer else 0) for each in policy.undo]
        self._undone = DoubtedTimes(spans)
        self._frontier.texts.disbelieved = self._undone.disbeliefs
        if self.note(_UNDO, b"".join(_SPAN.pack(*span) for span in spans)):
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

    def since(self, what: bytes, value: int, now: float) -> float:
        """Return since when something has a value: always in a new folder, now if it was another before.

        Who has pages and has never noted it is from before such notes: it was another.
        """
        noted = self._table.get(what)
        is_new = noted is None and not any(self._frontier.rows_from(b"", 1))
        if noted is not None:
            before, since_s = _SINCE.unpack(noted)
            if before == value:
                return float(since_s)
        since_s = -inf if is_new else now
        self._table.put(what, _SINCE.pack(value, since_s))
        return since_s

    def do_some(self, now: float) -> None:
        """Look at the next rows."""
        self._room = VISITS_AT_ONCE
        kinds = (TEXTS, HOST, URL) if self._undone else (HOST,)
        start = self._table.get(_NEXT) or b""
        key = walk_on(self._frontier, start, kinds, lambda key, row: self._put_right(key, row, now))
        if key is None:
            self._table.delete(_NEXT)
            self.at_s = inf
            self.undone = replace(self.undone, is_done=True)
        else:
            self._table.put(_NEXT, key)
            self.at_s = now + PAUSE_S

    def _put_right(self, key: bytes, row: bytes, now: float) -> bool:
        """Recall a host, visit a page again, or forget link texts, unless no more is to be marked now."""
        slot, kind, name = slot_in(key), kind_in(key), name_in(key)
        if self._room == 0:
            return False
        if slot not in self._frontier.slots:  # its rows are being deleted
            return True
        if kind == TEXTS:
            self._forget_texts(slot, name, row)
        elif kind == URL:
            self._visit_again(slot, name, row_in(row), now)
        else:
            self._clocks.recall(slot, record_in(row), now)
        return True

    def _forget_texts(self, slot: int, mark: bytes, row: bytes) -> None:
        if self._frontier.texts.forget_disbelieved(slot, mark, row):
            self._room -= 1
            self.undone = replace(self.undone, texts=self.undone.texts + 1)

    def _visit_again(self, slot: int, mark: bytes, row: UrlRow, now: float) -> None:
        """Have a page asked for at once, and all of it, if its last visit is not believed."""
        is_undone = self._undone.is_about(row, now)
        if is_undone and (url := url_at(self._frontier, slot, mark, row)):
            again = due_now(row, now, self._frontier.visitor)
            again = again._replace(digest=NO_DIGEST, etag="", last_modified="")
            self._room -= 1
            self._frontier.merge_visited(slot, mark, again, url)
            self._frontier.note_change(url_key(slot, mark))
            self._frontier.call_alias(host_of(url), "")
            examples = (*self.undone.examples, url)[:EXAMPLES_MAX]
            self.undone = replace(self.undone, visits=self.undone.visits + 1, examples=examples)


def _undone_by(doubt: DoubtedTimes, *, is_done: bool) -> UndoneVisits:
    """Begin to count; the end of the last span tells which policy wants it."""
    return UndoneVisits(until_s=doubt.spans[-1][1] if doubt else 0.0, is_done=is_done)
