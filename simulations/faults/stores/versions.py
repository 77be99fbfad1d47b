"""The versions of pages on the disk of a simulated peer."""

from __future__ import annotations

from mesh.errors import CorruptionError
from mesh.tables.table import TableSection
from peers.actors import CELL_SECTION
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.ledger import Ledger
from simulations.faults.stores.store_use import UsedMachine
from simulations.world.words import body_of


def ledger_of(machine: UsedMachine) -> Ledger:
    """Return the ledger on the disk of a peer; making it reads all over the table, so it is made once."""
    return Ledger(TableSection(machine.disk.table, CELL_SECTION))


def body_at(machine: UsedMachine, extent: Extent) -> bytes | None:
    """Return the body of the web's answer at a place in the archive of a peer; None of damaged records."""
    try:
        return body_of(machine.disk.archive.read(extent))
    except CorruptionError:
        return None
