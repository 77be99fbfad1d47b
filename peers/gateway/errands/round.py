"""A question put to several peers, and the peers that have not answered it yet.

No `mesh.actors.delivery`: it goes to everybody at once, is asked again once or twice within a deadline, and
others are asked instead of who is late.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import inf
from typing import Final

from mesh.actors.actor import EVERYBODY, Address, Message, Send

# A multicast may get lost: who has not answered by then is asked again, directly. An index answers in a
# few milliseconds; 150 is a busy machine or a loss, and still below what a person calls a delay.
REPEAT_AFTER_S: Final = 0.15
# Who has another view of the mesh is asked again; news takes about so long from one member to the next.
FOREIGN_RETRY_S: Final = 0.1


class Round:
    """The question asked of each peer, the peers still waited for, and the deadline.

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
        self._foreign: dict[str, float] = {}  # peers to ask again, and when

    def ask(self) -> list[Send]:
        """One multicast where several peers are asked the same, otherwise letters."""
        messages = list(self._questions.values())
        if len(messages) > 1 and len(set(map(id, messages))) == 1:
            return [Send(Address(EVERYBODY, self._actor), messages[0])]
        return [self._letter(peer) for peer in self._questions]

    def ask_each(self) -> list[Send]:
        """A letter to each, for where most peers are not asked."""
        return [self._letter(peer) for peer in self._questions]

    def accepts(self, source: Address, request: int) -> bool:
        """Was this peer asked this, and is it its first answer?"""
        return request == self.request and source.actor == self._actor and source.peer in self.waiting

    def settle(self, peer: str) -> None:
        """Wait for this peer no longer: it has answered, or never will."""
        self.waiting.discard(peer)

    def ask_again(self, peer: str, now: float) -> None:
        """Its answer is of no use now and may be soon: ask it again in a while."""
        self._foreign[peer] = now + FOREIGN_RETRY_S

    def wake(self, now: float) -> list[Send]:
        """Ask again, directly and once, the peers that have not answered for a while."""
        again = {peer for peer, at in self._foreign.items() if at <= now}
        for peer in again:
            del self._foreign[peer]
        if now >= self._repeat_at:
            self._repeat_at = inf
            again |= self.waiting - self._foreign.keys()
        return [self._letter(peer) for peer in sorted(again & self.waiting)]

    def is_over(self, now: float) -> bool:
        """Is nobody waited for any more?"""
        return not self.waiting or now >= self._ends_at()

    def wake_at(self) -> float:
        if not self.waiting:
            return -inf
        return min(self._repeat_at, self._ends_at(), *self._foreign.values(), inf)

    def _letter(self, peer: str) -> Send:
        return Send(Address(peer, self._actor), self._questions[peer])

    def _ends_at(self) -> float:
        return self._hurry_at if self.waiting <= self._silent else self._limit_at
