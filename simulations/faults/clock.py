"""The clock of a simulated peer on a machine with wrong clocks.

The twin of `mesh.process.runtime.MeshClock`, which takes the wall clock once, at its start, but never a time
before one that it wrote into its last commit, and counts on from there by the monotonic clock. So a step of
the wall clock is seen at the next start at the earliest, and backwards never; a crystal that is fast or slow
is seen all the time.
"""

from __future__ import annotations


class VirtualClock:
    """Turns the virtual time of the world into that of one peer, and back."""

    def __init__(self, wall_offset_s: float = 0.0, drift: float = 0.0) -> None:
        """Make the clocks of a machine.

        Args:
          wall_offset_s: by how much its wall clock is ahead of the world's time.
          drift: seconds that the monotonic clock gains in every second; 0.02 is a very bad crystal.
        """
        assert -0.5 < drift < 0.5
        self.wall_offset_s = wall_offset_s  # a step of the wall clock changes this
        self._rate = 1.0 + drift
        self._durable = float("-inf")  # the mesh clock in the last commit
        self._start = self._started = 0.0
        self._shown = float("-inf")

    def start(self, now: float) -> None:
        """Begin a life of the peer, on the disk of the one before."""
        self._start = self._shown = max(now + self.wall_offset_s, self._durable)
        self._started = now

    def forget(self) -> None:
        """Lose the disk."""
        self._durable = float("-inf")

    def local(self, now: float, least: float = float("-inf")) -> float:
        """Return the time on the peer's mesh clock; never less than it has shown in this life.

        Args:
          least: the time that `world` was asked for, when `now` is the answer: rounding must not lose it.
        """
        local = self._start + (now - self._started) * self._rate
        if least > local:
            local = least
        if local > self._shown:  # no `max`: this is asked at each event
            self._shown = local
        return self._shown

    def world(self, local: float) -> float:
        """When the peer's clock will show this, in the time of the world."""
        return self._started + (local - self._start) / self._rate

    def commit(self, now: float) -> None:
        """Write the time into a commit."""
        self._durable = self.local(now)
