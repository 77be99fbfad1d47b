"""A search that goes by the pages that readers of its query have opened, too.

Whoever answers for the slot of the query keeps its log, and is asked before anything else: one question and
one answer. Where it is silent the search goes on without, and its answer is not kept for others. The weights
are of days that are over, so the same whoever asks, on whatever day; pages of results of yesterday are
forgotten when the first such search of a day begins.
"""

from __future__ import annotations

from typing import Final

from mesh.actors.actor import Address, Message, Send
from peers.engine.queries.query import Sort
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round
from peers.gateway.model.messages import SearchPages
from peers.gateway.search.search import Search
from peers.gateway.search.search_task import reading_of
from peers.gateway.search.shared_state import SharedState
from peers.policy.log_rules import logged_text, query_digest
from peers.policy.rules import DAY_S
from peers.query_log.log_row import WEIGHT_WHOLE, is_loggable, number_in
from peers.query_log.wire_messages import ClicksTold, ClicksWanted

CLICKS_S_MAX: Final = 0.3  # a row of it is read in microseconds; then nobody waits any longer


def goes_by_clicks(order: SearchPages) -> bool:
    """Tell whether clicks may have a weight in the order of its results."""
    return order.order is Sort.SCORE and not order.page_words and is_loggable(logged_text(order.text))


class ClickedSearch(Errand):
    """Asks for the clicks on the pages of a query, then is that search."""

    def __init__(self, number: int, me: str, order: SearchPages, view: SharedState) -> None:
        super().__init__(number, me, order.ticket)
        self._number, self._order, self._shared = number, order, view
        self._digest = query_digest(logged_text(order.text))
        self._search: Search | None = None  # until the clicks are known

    def start(self, now: float) -> list[Send]:
        self._shared.begin_day(int(now // DAY_S))
        ownership = self._shared.ownership
        peer = ownership.answerer_of(number_in(self._digest) % ownership.table.slot_count)
        if not peer:
            return self._go_on(None, now)
        request = self._number_question()
        silent = self._shared.punctuality.silent
        question = {peer: ClicksWanted(request, self._digest)}
        self._round = Round(request, "query_log", question, silent, now, CLICKS_S_MAX)
        return self._round.ask()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if self._search is not None:
            return self._followed(self._search.receive(source, message, now))
        if not isinstance(message, ClicksTold) or not self._round.accepts(source, message.request):
            return None
        return self._go_on(message, now)

    def wake(self, now: float) -> list[Send]:
        if self._search is not None:
            return self._followed(self._search.wake(now)) or []
        return self._go_on(None, now) if self._round.is_over(now) else self._round.wake(now)

    def wake_at(self) -> float:
        return self._round.wake_at() if self._search is None else self._search.wake_at()

    def ownership_changed(self, now: float) -> list[Send]:
        return [] if self._search is None else self._followed(self._search.ownership_changed(now)) or []

    def _go_on(self, told: ClicksTold | None, now: float) -> list[Send]:
        view, order = self._shared, self._order
        reading = reading_of(order, view, order.text)
        search = self._search = Search(self._number, self._me, order, reading, view, view.cache.find(order))
        weight = view.click_weight
        if told is None:
            search.take_clicks(None)
        else:
            search.take_clicks({url: weight * given / WEIGHT_WHOLE for url, given in told.weights})
        return self._followed(search.start(now)) or []

    def _followed(self, sends: list[Send] | None) -> list[Send] | None:
        self.is_done = self._search is not None and self._search.is_done
        return sends
