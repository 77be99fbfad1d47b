"""A question put to several peers, and who has not answered it yet."""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import inf
from typing import Final

from mesh.actor import EVERYBODY, Address, Message, Send

# A multicast may get lost: who has not answered by then is asked again, directly. An index answers in a
# few milliseconds; 150 is a busy machine or a loss, and still below what a person calls a delay.
REPEAT_AFTER_S: Final = 0.15


class Round:
    """Who was asked what, who is still waited for, and until when.

    Attributes:
      request: the number all its questions carry.
      waiting: peers that have not answered.
    """

    def __init__(
        self,
        request: int,
        actor: str,
        questions: Mapping[str, Message],
        silent: Set[str],
        now: float,
        limit_s: float,
    ) -> None:
        """Note the questions.

        Args:
          actor: who answers at each peer.
          questions: what each peer is asked; one and the same object where all are asked the same.
          silent: peers that let a limit pass lately: nobody waits longer than `REPEAT_AFTER_S` for them.
            A view: who is taken out of it later is waited for again.
          limit_s: seconds after which the answers that came have to do.
        """
        self.request = request
        self.waiting = set(questions)
        self._actor = actor
        self._questions = questions
        self._silent = silent
        self._repeat_at = self._hurry_at = now + REPEAT_AFTER_S
        self._limit_at = now + limit_s

    def ask(self) -> list[Send]:
        """One multicast where several peers are asked the same, otherwise letters."""
        messages = list(self._questions.values())
        if len(messages) > 1 and all(message is messages[0] for message in messages):
            return [Send(Address(EVERYBODY, self._actor), messages[0])]
        return [Send(Address(peer, self._actor), message) for peer, message in self._questions.items()]

    def accepts(self, source: Address, request: int) -> bool:
        """Was this peer asked this, and is it its first answer?"""
        return request == self.request and source.actor == self._actor and source.peer in self.waiting

    def settle(self, peer: str) -> None:
        """Wait for this peer no longer: it has answered, or never will."""
        self.waiting.discard(peer)

    def wake(self, now: float) -> list[Send]:
        """Ask those again, directly and once, who have not answered for a while."""
        if now < self._repeat_at:
            return []
        self._repeat_at = inf
        return [Send(Address(peer, self._actor), self._questions[peer]) for peer in sorted(self.waiting)]

    @property
    def is_repeated(self) -> bool:
        return self._repeat_at == inf

    def is_over(self, now: float) -> bool:
        """Is nobody waited for any more?"""
        return not self.waiting or now >= self._ends_at()

    def wake_at(self) -> float:
        return min(self._repeat_at, self._ends_at()) if self.waiting else -inf

    def _ends_at(self) -> float:
        return self._hurry_at if self.waiting <= self._silent else self._limit_at
