"""What a search is asked for, and what all its stages share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from peers.engine.model import MODEL_DEPTH
from peers.engine.query import Order
from peers.engine.query_language import Oddity, Remark
from peers.engine.reading import Reading
from peers.gateway.cursor import Cursor, decode_cursor, digest_of
from peers.gateway.messages import SearchPages
from peers.gateway.view import View
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX

RESTARTS_MAX: Final = 2  # for commits: an index that changes all the time is not chased
YOUNG_S: Final = 1.5  # so long a search may begin anew; records of several members may change at once


class SearchTask:
    """The order of a search as it was understood, and the mesh that is to carry it out.

    Attributes:
      me: id of this peer.
      order: as it came.
      view: of this peer; its ownership may be replaced while the search runs.
      ownership: the one that the search speaks for.
      reading: of what was typed; `query` has all its words, `terms` those whose statistics decide.
      remarks: on what was odd about the order.
      digest: tells its cursors from those of other queries.
      cursor: where to go on; None for the beginning.
      k: hits on the page.
      offset: of the first of them, where there is no cursor.
      started: when it began.
      number_question: gives the next request number.
    """

    def __init__(
        self, me: str, order: SearchPages, reading: Reading, view: View, number_question: Callable[[], int]
    ) -> None:
        self.me = me
        self.order = order
        self.view = view
        self.ownership = view.ownership
        self.reading = reading
        self.query = reading.query
        self.terms = reading.terms
        self.remarks = reading.remarks
        self.digest = digest_of(order.text, order.order)
        self.cursor: Cursor | None = decode_cursor(order.cursor, self.digest) if order.cursor else None
        if order.cursor and self.cursor is None:
            self.remarks += (Remark(Oddity.NO_CURSOR),)
        self.k = min(max(order.k, 1), SNIPPETS_MAX)
        self.offset = min(max(order.offset, 0), HITS_MAX)
        self.started = 0.0
        self.number_question = number_question
        self._restarts_left = RESTARTS_MAX

    @property
    def is_in_tail(self) -> bool:
        """Does the page begin behind the hits that the full model orders?"""
        return self.cursor is not None and not self.cursor.is_head

    def depth(self) -> int:
        """How many hits are asked of each share: one more than is shown tells of a next page."""
        if self.is_in_tail:
            return self.k + 1
        # Behind a cursor in the head the page may begin with its last hit.
        wanted = self.k + (MODEL_DEPTH if self.cursor else self.offset)
        is_dated = self.order.order is Order.DATE
        return min((wanted if is_dated else max(wanted, MODEL_DEPTH)) + 1, HITS_MAX)

    def is_young(self, now: float) -> bool:
        """May it begin anew under other owners?"""
        return now < self.started + YOUNG_S

    def may_restart(self, now: float) -> bool:
        """Ask for leave to begin anew since an index has changed, which uses up one of a few times."""
        if self._restarts_left == 0 or not self.is_young(now):
            return False
        self._restarts_left -= 1
        self.view.restarts += 1
        return True
