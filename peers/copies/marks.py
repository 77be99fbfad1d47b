"""What the index of this peer is told of copies, an order at a time, and who waits for it."""

from __future__ import annotations

from math import inf
from typing import Final

from mesh.actor import Address, Send
from peers.copies.wire_messages import CopiesNoted
from peers.engine.copies import CopyMark
from peers.index.messages import MarkCopies

MARKS_MAX: Final = 4_096  # in one order
PAUSE_S: Final = 1.0  # from the first mark: an order is a commit


class Marks:
    """Marks by URL, and answers to who named pages."""

    def __init__(self, me: str) -> None:
        self._segments = Address(me, "segments")
        self._marks: dict[str, CopyMark] = {}
        self._answers: list[Send] = []  # to be given when all these marks are in the index
        self._ordered: list[Send] = []  # when those of the order are
        self._ticket = 0
        self._is_ordered = False
        self._order_at_s = inf

    def add(self, url: str, mark: CopyMark, now: float) -> None:
        self._marks.pop(url, None)
        self._marks[url] = mark
        self._order_at_s = min(self._order_at_s, now + PAUSE_S)

    def answer(self, to: Address, answer: CopiesNoted, now: float) -> None:
        """Answer when what was added so far is in the index."""
        self._answers.append(Send(to, answer))
        self._order_at_s = min(self._order_at_s, now + PAUSE_S)

    def note_marked(self, ticket: int) -> list[Send]:
        """Return the answers that may be given."""
        if not self._is_ordered or ticket != self._ticket:
            return []
        self._is_ordered = False
        answers, self._ordered = self._ordered, []
        return answers

    def wake(self, now: float) -> list[Send]:
        """Order what has gathered."""
        if self._is_ordered or now < self._order_at_s:
            return []
        urls = list(self._marks)[:MARKS_MAX]
        pages = tuple((url, self._marks.pop(url)) for url in urls)
        self._order_at_s = now if self._marks else inf
        if not self._marks:
            self._ordered, self._answers = self._answers, []
        if not pages:
            answers, self._ordered = self._ordered, []
            return answers
        self._ticket += 1
        self._is_ordered = True
        return [Send(self._segments, MarkCopies(self._ticket, pages))]

    def wake_at(self) -> float:
        return inf if self._is_ordered else self._order_at_s

    @property
    def is_full(self) -> bool:
        """Is enough for some orders waiting?"""
        return len(self._marks) > 4 * MARKS_MAX

    @property
    def waiting_count(self) -> int:
        return len(self._marks)
