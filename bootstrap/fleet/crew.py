"""The machines of an inventory, asked all at once. [io]"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final, TypeVar

from bootstrap.fleet.inventory import Inventory, LabMachine
from bootstrap.fleet.remote import MachineError, Remote

AT_ONCE: Final = 32

Told = TypeVar("Told")

# Is told of a machine, by name, what is happening there.
Note = Callable[[str, str], None]


class Crew:
    """Some machines, and the errors of those that have failed so far."""

    def __init__(self, machines: Iterable[LabMachine], inventory: Inventory, note: Note) -> None:
        self.remotes = {machine.name: Remote(machine, inventory) for machine in machines}
        self.failed: dict[str, str] = {}  # by name, why and what to do
        self._note = note

    @property
    def left(self) -> list[str]:
        """The names of those that have not failed, in the order of the inventory."""
        return [name for name in self.remotes if name not in self.failed]

    def fail(self, name: str, why: str) -> None:
        """Ask a machine nothing more."""
        self.failed[name] = why
        self._note(name, why)

    def tell(self, name: str, doing: str) -> None:
        """Report the current step of a machine."""
        self._note(name, doing)

    def each(
        self, doing: str, ask: Callable[[Remote], Told], names: Iterable[str] | None = None
    ) -> dict[str, Told]:
        """Ask machines in parallel; return their answers. One that fails is left out from now on.

        Args:
          doing: what is going on meanwhile, in a word or two; "" when that is known.
          names: of all that are left if it is None.
        """
        chosen = [name for name in (self.left if names is None else names) if name not in self.failed]
        told: dict[str, Told] = {}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            asked = {pool.submit(ask, self.remotes[name]): name for name in chosen}
            for name in chosen if doing else ():
                self._note(name, doing)
            for answer in as_completed(asked):
                name = asked[answer]
                try:
                    told[name] = answer.result()
                except MachineError as error:
                    self.fail(name, str(error))
        return {name: told[name] for name in chosen if name in told}
