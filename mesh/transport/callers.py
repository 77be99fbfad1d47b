"""The connections to the ports that a relay has lent to a peer: from where, how many, and how fast they come.

Anybody can connect there. Whom the peer's sockets have not let in is a *stranger*, and the relay sees that by
how little they have told it (`handshakes`); of strangers there are few at a time, so that a crowd of idlers
keeps no member out: one more makes the oldest go, of the address that has most of them.
"""

from __future__ import annotations

from typing import Final

from mesh.transport.handshakes import SENT_TO_STRANGERS_MAX

STRANGERS_MAX: Final = 128  # of one relayed peer; those for whom it has not come yet are among them
CALLERS_MAX: Final = 2_048  # of one relayed peer; a member makes two connections
CALLS_PER_S: Final = 100.0  # to one relayed peer; further ones wait in the kernel, or are refused by it
CALLS_AT_ONCE: Final = 64  # before that counts; half of what would make strangers go in their handshakes


class Callers:
    """The connections to the ports of one relayed peer, by number."""

    def __init__(
        self,
        *,
        strangers_max: int = STRANGERS_MAX,
        callers_max: int = CALLERS_MAX,
        calls_per_s: float = CALLS_PER_S,
        calls_at_once: int = CALLS_AT_ONCE,
    ) -> None:
        self._strangers_max = strangers_max
        self._callers_max = callers_max
        self._interval_s = 1.0 / calls_per_s
        self._burst_s = calls_at_once * self._interval_s
        self._due_at = 0.0  # when the next one would come at an even pace
        self._told: dict[int, int] = {}  # bytes that the peer has sent to each
        self._strangers: dict[str, dict[int, None]] = {}  # by address, the oldest first
        self._addresses: dict[int, str] = {}  # of the strangers
        self._numbers = 0  # count

    def __len__(self) -> int:
        return len(self._told)

    @property
    def is_full(self) -> bool:
        return len(self._told) >= self._callers_max

    def pause_s(self, now: float) -> float:
        """Count one that comes, and tell how long to wait before the next is let in."""
        self._due_at = max(self._due_at, now - self._burst_s) + self._interval_s
        return max(0.0, self._due_at - now)

    def enter(self, address: str) -> tuple[int, int | None]:
        """Let one in; return its number, and that of the stranger that has to make room."""
        self._numbers += 1
        number = self._numbers
        self._told[number] = 0
        self._addresses[number] = address
        self._strangers.setdefault(address, {})[number] = None
        if len(self._addresses) <= self._strangers_max:
            return number, None
        crowd = max(self._strangers.values(), key=len)
        oldest = next(iter(crowd))
        self.leave(oldest)
        return number, oldest

    def note_told(self, number: int, n_bytes: int) -> None:
        """The peer has sent so much to one: more than a greeting makes it known."""
        if number in self._addresses:
            self._told[number] += n_bytes
            if self._told[number] > SENT_TO_STRANGERS_MAX:
                self._forget_stranger(number)

    def leave(self, number: int) -> None:
        """Forget one that has gone; it may have been made to go before."""
        self._told.pop(number, None)
        self._forget_stranger(number)

    def _forget_stranger(self, number: int) -> None:
        address = self._addresses.pop(number, None)
        if address is not None:
            del self._strangers[address][number]
            if not self._strangers[address]:
                del self._strangers[address]
