"""Having the owners of some slots do something, one after the other, until one of them refuses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeAlias

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from peers.gateway.errands.errand import Errand

ORDER_S_MAX: Final = 10.0  # a team keeps what it is told within a second
AGAIN_S: Final = 1.0
ELSEWHERE_S: Final = 0.5  # another peer has heard of another owner sooner than we
ELSEWHERE: Final = "elsewhere"  # the refusal of a peer that does not own the slot

Current: TypeAlias = Callable[[], Ownership]
Step: TypeAlias = tuple[int, Callable[[int], Message]]  # a slot, and the message for its owner by its number


class OwnerOrders(Errand):
    """Asks the owner of each step's slot, again while it is silent or another peer owns it."""

    actor: ClassVar[str]  # that does it
    silence: ClassVar[str]  # the refusal when none of them answers

    def __init__(self, number: int, me: str, ticket: int, steps: Sequence[Step], current: Current) -> None:
        super().__init__(number, me, ticket)
        self._steps, self._current = list(steps), current
        self._asked: str | None = None

    @abstractmethod
    def refusal_in(self, message: Message) -> tuple[int, str] | None:
        """Return request and refusal of an answer, "" when it is done; None when the message is none."""

    @abstractmethod
    def answer(self, refusal: str) -> Message:
        """Return the answer to the sender. Args: refusal: of the last step; "" when all are done."""

    @abstractmethod
    def nowhere(self) -> Message:
        """Return the answer to an order for a slot that the mesh has not."""

    def start(self, now: float) -> list[Send]:
        self._limit_at = now + ORDER_S_MAX
        slot_count = self._current().table.slot_count
        if any(slot >= slot_count for slot, _ in self._steps):  # anybody can write down such a code
            return self._end(self.nowhere())
        return self._begin_step(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        answered = self.refusal_in(message)
        if answered is None or answered[0] != self._request:
            return None
        if source.actor != self.actor or source.peer != self._asked:
            return None
        refusal = answered[1]
        if refusal == ELSEWHERE:
            self._again_at = now + ELSEWHERE_S
            return []
        self._steps.pop(0)
        if refusal or not self._steps:
            return self._end(self.answer(refusal))
        return self._begin_step(now)

    def wake(self, now: float) -> list[Send]:
        if now >= self._limit_at:
            return self.refuse(self.silence)
        return self._ask(now)

    def wake_at(self) -> float:
        return min(self._again_at, self._limit_at)

    def _begin_step(self, now: float) -> list[Send]:
        self._request = self._number_question()
        return self._ask(now)

    def _ask(self, now: float) -> list[Send]:
        slot, message = self._steps[0]
        self._again_at = now + AGAIN_S
        self._asked = self._current().owner_of(slot)
        if self._asked is None:
            return []
        return [Send(Address(self._asked, self.actor), message(self._request))]
