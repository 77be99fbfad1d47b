"""Messages that leave a peer with its next commit, in one envelope for each receiver. Pure.

A promise has to wait for the commit of the rows behind it. A message with `waits_for_company` may: it goes to
one place however late, so it leaves together with all else that is for the same peer by then; one with
`patience_s` waits for a commit that something else for that peer leaves with, for so long. Both drivers of a
node hold such messages here, and commit when `due_s` has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Final, TypeVar

from mesh.actors.node import Outgoing

GATHER_S: Final = 0.25  # for company, at most; the first pause of a delivery is four times as long
HELD_MAX: Final = 256  # messages: with more than these there is company enough
ENVELOPE_FRAMES_MAX: Final = 16  # as many as the transport takes in one message
ENVELOPE_BYTES_MAX: Final = 256 << 10  # 2 ms of a gigabit; a single frame may have more

Frame = TypeVar("Frame")


class Departures:
    """Messages of one peer on their way out, and the time of the commit that they leave with."""

    def __init__(self, promise_pause_s: float = 0.0) -> None:
        """Args: promise_pause_s: from a promise to the commit, where it does not wait for company."""
        self._promise_pause_s = promise_pause_s
        self._held: list[Outgoing] = []
        self._patient: list[tuple[float, Outgoing]] = []  # each with the time when it leaves without company
        self.due_s = inf  # when to commit, seconds of the driver's clock

    def __len__(self) -> int:
        return len(self._held) + len(self._patient)

    def add(self, item: Outgoing, now: float) -> None:
        """Hold a message until the commit, which is due soon unless it waits for company."""
        waits = item.message.waits_for_company and item.source.peer != item.target.peer
        if waits and item.message.patience_s:
            self._patient.append((now + item.message.patience_s, item))
            self._be_due(now + item.message.patience_s)
            return
        self._held.append(item)
        has_company = not waits or len(self._held) >= HELD_MAX
        self._be_due(now + (self._promise_pause_s if has_company else GATHER_S))

    def note_changes(self, now: float) -> None:
        """Have rows that have changed committed, though nobody waits for that."""
        self._be_due(now + GATHER_S)

    def take(self, now: float) -> list[Outgoing]:
        """Take out all that leaves with a commit that begins; messages with patience and no company stay."""
        held, self._held, self.due_s = self._held, [], inf
        if self._patient:
            peers = {item.target.peer for item in held}
            peers.update(item.target.peer for due_s, item in self._patient if due_s <= now)
            held += [item for _, item in self._patient if item.target.peer in peers]
            self._patient = [each for each in self._patient if each[1].target.peer not in peers]
            self.due_s = min((due_s for due_s, _ in self._patient), default=inf)
        return held

    def put_back(self, held: Iterable[Outgoing]) -> None:
        """Hold promises again of which the commit has failed; the driver says when it tries again."""
        self._held[:0] = [item for item in held if item.message.is_promise]

    def clear(self) -> None:
        self.take(inf)

    def _be_due(self, at_s: float) -> None:
        self.due_s = min(self.due_s, at_s)


def envelopes(frames: Iterable[tuple[Frame, int]]) -> Iterator[list[Frame]]:
    """Yield frames for one receiver in runs that go in one envelope; each frame comes with its bytes."""
    envelope: list[Frame] = []
    n_bytes = 0
    for frame, size in frames:
        if envelope and (len(envelope) == ENVELOPE_FRAMES_MAX or n_bytes + size > ENVELOPE_BYTES_MAX):
            yield envelope
            envelope, n_bytes = [], 0
        envelope.append(frame)
        n_bytes += size
    if envelope:
        yield envelope
