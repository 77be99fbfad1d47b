"""How long it takes from healing until everything is where it belongs."""

from __future__ import annotations

from collections.abc import Callable

from simulations.faults.machine import Machine


class RecoveryTime:
    """Looks at machines until each has settled, though not all at one moment.

    While pages are visited again there is hardly a moment at which nothing is on its way anywhere.

    Attributes:
      seconds: virtual ones from the beginning to the look at which all had settled; None until then.
    """

    def __init__(
        self,
        now: Callable[[], float],
        present: Callable[[], list[Machine]],
        are_together: Callable[[], bool],
    ) -> None:
        """Begin now."""
        self.seconds: float | None = None
        self._now, self._present, self._are_together = now, present, are_together
        self._since_s = now()
        self._settled: set[Machine] = set()

    def have_all(self) -> bool:
        """Look whether each machine has settled since they were last not together."""
        if not self._are_together():
            self._settled.clear()
            return False
        present = self._present()
        self._settled.update(machine for machine in present if machine.has_settled())
        if not self._settled.issuperset(present):
            return False
        if self.seconds is None:
            self.seconds = self._now() - self._since_s
        return True

    def look(self) -> None:
        """Look, as long as it is not known how long it takes."""
        if self.seconds is None:
            self.have_all()
