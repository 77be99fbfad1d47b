"""A request that the searcher cannot answer at once: it ends with one answer to its sender."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Final

from mesh.actors.actor import Address, Message, Send
from mesh.tables.lives import NUMBER_BITS, numbers_of
from peers.gateway.model.messages import RequestRefused

# Questions of one errand: request numbers are errand << QUESTION_BITS | question.
QUESTION_BITS: Final = 16
ERRANDS_OF_LIFE: Final = 1 << NUMBER_BITS - QUESTION_BITS  # 8 million; then their numbers come round


class Errand(ABC):
    """A small state machine that ends; driven by the searcher.

    Attributes:
      ticket: by which the one who asked knows the answer.
      is_done: its answer is among the sends of the last call; nothing more is to be delivered to it.
    """

    def __init__(self, number: int, me: str, ticket: int) -> None:
        """Begin.

        Args:
          number: by which answers find it, see `errand_numbers`.
        """
        self.is_done = False
        self._me = me
        self.ticket = ticket
        # Not a method of this errand for who asks on its behalf: what holds itself waits for the collector.
        self._number_question = partial(next, count((number << QUESTION_BITS) + 1))

    @abstractmethod
    def start(self, now: float) -> list[Send]:
        """The first questions, or the answer."""

    @abstractmethod
    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        """Take an answer; None when it was not asked for and is ignored."""

    @abstractmethod
    def wake(self, now: float) -> list[Send]:
        """Ask again, or end with the answers so far."""

    @abstractmethod
    def wake_at(self) -> float: ...

    def ownership_changed(self, now: float) -> list[Send]:
        """Go on under other owners."""
        return []

    def refuse(self, reason: str) -> list[Send]:
        """End without a result."""
        return self._end(RequestRefused(self.ticket, reason))

    def _end(self, answer: Message) -> list[Send]:
        self.is_done = True
        return [Send(Address(self._me, "http"), answer)]


def errand_numbers(life: int) -> Iterator[int]:
    """Number the errands of a life, so that no question has a number of another life's.

    After ERRANDS_OF_LIFE, which is more than two hours at 1,000 a second, they come round: no answer within
    one life is that late.
    """
    first = next(numbers_of(life)) >> QUESTION_BITS
    return (first + n % ERRANDS_OF_LIFE for n in count())


def errand_of(request: int) -> int:
    """The number of the errand that asked this question."""
    return request >> QUESTION_BITS
