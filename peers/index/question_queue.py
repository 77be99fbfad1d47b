"""Questions that wait for a thread. Gateways take turns: none waits for all that another has asked."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from peers.index.answering import Answer
from peers.index.messages import AnswerQuestion

# Of one gateway. It has fewer searches under way; at .1 s each the last of so many would be too late anyway.
WAITING_MAX: Final = 32


class WaitingQuestion(NamedTuple):
    """A question, and the answer to give if nothing better is found in time."""

    order: AnswerQuestion
    until_s: float
    so_far: Answer | None


class QuestionQueue:
    """First in, first out for each gateway, and by turns among them."""

    def __init__(self) -> None:
        self._of_gateways: dict[str, deque[WaitingQuestion]] = {}  # by peer, whose turn it is in front

    def add(self, question: WaitingQuestion) -> WaitingQuestion | None:
        """Let a question wait; return the one that has to go for it, the oldest of its gateway."""
        of_gateway = self._of_gateways.setdefault(question.order.gateway.peer, deque())
        of_gateway.append(question)
        return of_gateway.popleft() if len(of_gateway) > WAITING_MAX else None

    def take(self) -> WaitingQuestion | None:
        """Return the next one, and let its gateway wait for its next turn; None when there is none."""
        gateway = next(iter(self._of_gateways), None)
        if gateway is None:
            return None
        of_gateway = self._of_gateways.pop(gateway)
        question = of_gateway.popleft()
        if of_gateway:
            self._of_gateways[gateway] = of_gateway
        return question

    def __len__(self) -> int:
        return sum(map(len, self._of_gateways.values()))
