"""The upkeep of a lab that runs: stop, start, restart, upgrade, back up, set, remove. [io]"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bootstrap.fleet.crew import Crew, Note
from bootstrap.fleet.deployment import (
    READY_EVERY_S,
    READY_S,
    MachineOutcome,
    founder_of,
    gateway_of,
    install,
    is_ready,
    note_of_founder,
    survey,
)
from bootstrap.fleet.inventory import Inventory, LabMachine
from bootstrap.fleet.package import Package, package_of
from bootstrap.fleet.plan import Facts
from bootstrap.fleet.remote import STOP_S, Remote
from mesh.errors import ConfigError
from mesh.keys.certificate import peer_in
from peers.options import near

DRAIN_S: Final = 3_600.0  # to give everything away; a full disk takes its time
BACKUP_S: Final = 86_400.0  # of a terabyte to a disk of 20 MB a second there are 14 hours
_FOLDERS: Final = {"bootstrap": "mesh", "peer": "peer"}  # where each node of a machine is, with its keys


def start(inventory: Inventory, machines: Sequence[LabMachine], note: Note) -> list[MachineOutcome]:
    """Start the nodes that do not run."""
    return _all(inventory, machines, note, "starting", "started", lambda remote: remote.ask_nodes("start"))


def stop(inventory: Inventory, machines: Sequence[LabMachine], note: Note) -> list[MachineOutcome]:
    """Stop the nodes that run, in good order."""
    return _all(inventory, machines, note, "stopping", "stopped", _stopped)


def upgrade(
    inventory: Inventory, machines: Sequence[LabMachine], file: Path, note: Note
) -> list[MachineOutcome]:
    """Install anew and restart, one machine after the other.

    Raises:
      ConfigError: the inventory names nothing that can be installed.
    """
    package = None if inventory.command else package_of(inventory, file.parent)
    return _in_turn(inventory, machines, package, "upgraded", note)


def restart(inventory: Inventory, machines: Sequence[LabMachine], note: Note) -> list[MachineOutcome]:
    """Stop and start, one machine after the other: configurations are read again, and searches go on."""
    return _in_turn(inventory, machines, None, "restarted", note)


def _in_turn(
    inventory: Inventory, machines: Sequence[LabMachine], package: Package | None, done: str, note: Note
) -> list[MachineOutcome]:
    """Renew each machine once the one before answers for all slots; where one does not, leave the rest."""
    crew = Crew(machines, inventory, note)
    facts = survey(crew, inventory)
    outcomes = []
    for machine in machines:
        name = machine.name
        if name in facts and not crew.failed:
            _upgrade(crew, name, package)
        if name in crew.failed:
            outcomes.append(MachineOutcome(name, "failed", said=crew.failed[name]))
        elif crew.failed:
            outcomes.append(MachineOutcome(name, "unchanged", said="left alone, as another one failed"))
        else:
            outcomes.append(MachineOutcome(name, done, gateway_of(machine)))
    return outcomes


def back_up(
    inventory: Inventory, machines: Sequence[LabMachine], place: str, note: Note
) -> list[MachineOutcome]:
    """Have every machine back up its nodes into a folder on it; a later backup copies only new data.

    Args:
      place: of the folder, in the home folder there unless it begins with /.
    """
    crew = Crew(machines, inventory, note)
    facts = survey(crew, inventory)
    saved = crew.each("backing up", lambda remote: _saved(remote, facts[remote.machine.name], place))
    return [
        MachineOutcome(machine.name, "failed", said=crew.failed[machine.name])
        if machine.name in crew.failed
        else MachineOutcome(
            machine.name, "saved" if saved[machine.name] else "empty", said=saved[machine.name]
        )
        for machine in machines
    ]


def configure(
    inventory: Inventory, machines: Sequence[LabMachine], key: str, value: str, note: Note
) -> list[MachineOutcome]:
    """Change a setting of each machine's peer, and have it reload the settings that need no restart."""
    crew = Crew(machines, inventory, note)
    survey(crew, inventory)
    said = crew.each("setting", lambda remote: _configured(remote, key, value))
    return [
        MachineOutcome(machine.name, "failed", said=crew.failed[machine.name])
        if machine.name in crew.failed
        else MachineOutcome(
            machine.name, "set" if said[machine.name] else "unchanged", said=said[machine.name]
        )
        for machine in machines
    ]


def remove(
    inventory: Inventory, machines: Sequence[LabMachine], file: Path, note: Note, *, is_drained: bool
) -> list[MachineOutcome]:
    """Take machines out of the lab, and all that it has there.

    Args:
      is_drained: have the others take over what each has first, one after the other.

    Raises:
      ConfigError: the machine with the root key is among them, and others stay; or nothing can be drained,
        since nobody knows here which machine has the keys.
    """
    noted = note_of_founder(file)
    founder = noted.read_text(encoding="utf-8").strip() if noted.exists() else ""
    is_all = len(machines) == len(inventory.machines)
    if not is_all and any(machine.name == founder for machine in machines):
        raise ConfigError(
            f"{founder} has the root key of the mesh, without which nobody new is let in: keep it"
        )
    keeper = Remote(founder_of(inventory, file), inventory) if is_drained and not is_all else None
    crew = Crew(machines, inventory, note)
    facts = survey(crew, inventory)
    if keeper is not None:
        for name in list(crew.left):
            crew.each("draining", lambda remote: _drain(keeper, facts[remote.machine.name]), [name])
    stopped = crew.each("stopping", _stopped)
    removed = crew.each("removing", lambda remote: remote.ask_here("remove"), stopped)
    if is_all and not crew.failed:
        noted.unlink(missing_ok=True)
    return [
        MachineOutcome(machine.name, "failed", said=crew.failed[machine.name])
        if machine.name in crew.failed
        else MachineOutcome(machine.name, "removed" if removed[machine.name]["removed"] else "unchanged")
        for machine in machines
    ]


def _all(
    inventory: Inventory, machines: Sequence[LabMachine], note: Note, doing: str, done: str, ask: Any
) -> list[MachineOutcome]:
    crew = Crew(machines, inventory, note)
    told = crew.each(doing, ask)
    return [
        MachineOutcome(machine.name, "failed", said=crew.failed[machine.name])
        if machine.name in crew.failed
        else MachineOutcome(machine.name, done if told[machine.name][done] else "unchanged")
        for machine in machines
    ]


def _saved(remote: Remote, facts: Facts, place: str) -> str:
    """Back up the nodes of a machine; return the place and size of each copy, "" for none."""
    told = []
    for node in facts.has:
        where = _FOLDERS[node]
        words = [f"{place}/{where}", "--data", f"{{folder}}/{where}", "--json"]
        saved = json.loads(remote.tianmesh("backup", *words, timeout_s=BACKUP_S))
        told.append(f"{place}/{where} ({saved['bytes'] / 1e6:,.0f} MB)")
    return ", ".join(told)


def _configured(remote: Remote, key: str, value: str) -> str:
    """Change a setting of a machine; return when it counts, "" when it was so already."""
    words = ["--data", "{folder}/peer", "--json", "--", key, value]
    told = json.loads(remote.tianmesh("config", "set", *words))
    if not told["changed"]:
        return ""
    if told["by_reload"] and remote.ask_here("reload")["reloaded"]:
        return "counts now"
    return f"counts from the next start on: `tianmesh lab restart {remote.machine.name}`"


def _stopped(remote: Remote) -> dict[str, Any]:
    return remote.ask_nodes("stop", timeout_s=STOP_S)


def _upgrade(crew: Crew, name: str, package: Package | None) -> None:
    if package is not None:
        crew.each("installing", lambda remote: install(remote, package), [name])
    crew.each("stopping", _stopped, [name])
    crew.each("starting", lambda remote: remote.ask_nodes("start"), [name])
    until = time.monotonic() + READY_S
    while name not in crew.failed:
        why = crew.each("waiting", is_ready, [name]).get(name, "")
        if not why:
            return
        if time.monotonic() > until:
            crew.fail(name, f"{why}: look at `tianmesh lab logs {name}`")
        time.sleep(READY_EVERY_S)


def _drain(keeper: Remote, facts: Facts) -> None:
    """Have other peers take over the slots and pages of a machine's peer; waits for that."""
    if "peer" not in facts.has:
        return
    peer = peer_in(facts.settings["certificate"])
    gateway = f"http://{near(keeper.machine.gateway)}"
    words = ["--data", "{folder}/peer", "--gateway", gateway]
    keeper.tianmesh("drain", peer, "--yes", *words, timeout_s=DRAIN_S)
