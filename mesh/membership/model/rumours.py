"""The news a member has still to pass on, each item a bounded number of times."""

from __future__ import annotations

from mesh.membership.model.wire_messages import Rumour


class RumourQueue:
    """The newest rumour about each peer and how often it was passed on.

    Rumours told least often go first, of those the newest: so fresh news overtakes what most others
    have heard by now. Source: SWIM, section 4.1; memberlist, queue.go.
    """

    def __init__(self) -> None:
        self._rumours: dict[str, Rumour] = {}
        self._transmissions: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._rumours)

    def put(self, rumour: Rumour) -> None:
        """Have it told from now on, in place of an older rumour about its peer."""
        peer = rumour.record.peer
        self._rumours.pop(peer, None)
        self._rumours[peer] = rumour
        self._transmissions[peer] = 0

    def clear(self) -> None:
        self._rumours.clear()
        self._transmissions.clear()

    def take(self, limit: int, transmissions_max: int) -> tuple[Rumour, ...]:
        """Return up to `limit` rumours for one message; drop those that were passed on often enough."""
        newest_first = reversed(self._rumours)
        chosen = sorted(newest_first, key=self._transmissions.__getitem__)[:limit]
        taken = tuple(self._rumours[peer] for peer in chosen)
        for peer in chosen:
            self._transmissions[peer] += 1
            if self._transmissions[peer] >= transmissions_max:
                del self._rumours[peer], self._transmissions[peer]
        return taken
