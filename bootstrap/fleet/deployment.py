"""From an inventory to a mesh that answers for all slots; again, with the same result. [io]"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from bootstrap.fleet.crew import Crew, Note
from bootstrap.fleet.inventory import Inventory, LabMachine
from bootstrap.fleet.package import Package, check_install, package_of
from bootstrap.fleet.plan import (
    DOOR_PORTS,
    PEER_PORTS,
    Facts,
    clock_ahead_s,
    cut_off,
    differing,
    expelled,
    facts_of,
    founder_among,
    ports_of,
    rewritten,
    trouble_of,
    why_cut_off,
)
from bootstrap.fleet.remote import INSTALL_S, STOP_S, MachineError, Remote
from bootstrap.invitation import DOORS_MAX
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError
from peers.gateway.model.member_lines import doors
from peers.gateway.model.readiness_json import ReadinessJson
from peers.gateway.model.status import Report, report_of
from peers.options import EVERYWHERE, near
from peers.program_version import VERSION

READY_S: Final = 300.0  # until all slots are answered
READY_EVERY_S: Final = 1.0
DOORS_ASKED: Final = 3  # machines, for the doors of the mesh: one that answers knows all


class MachineOutcome(msgspec.Struct, frozen=True):
    """The result of an action on one machine."""

    name: str
    state: str  # "new", "started", "unchanged", "failed"
    gateway: str = ""  # http://host:port, as other machines or people at it reach it, or its `url`
    said: str = ""  # what is wrong and what to do, or what differs


def launch(
    inventory: Inventory, machines: Sequence[LabMachine], file: Path, note: Note
) -> list[MachineOutcome]:
    """Bring peers onto the machines, have them meet, and wait until they answer for all slots.

    Args:
      file: the inventory's; beside it stands which machine has the root key.

    Raises:
      ConfigError: nothing can be installed, no machine can be the first, or the one with the root key does
        not answer.
    """
    check_install(inventory, file.parent)
    crew = Crew(machines, inventory, note)
    facts = survey(crew, inventory)
    for name in [name for name in facts if facts[name].is_expelled]:
        crew.fail(name, expelled(name))
    founder = _founder(crew, facts, file)
    relayed = _check_ports(crew, facts, founder, inventory.relays)
    _install(crew, facts, inventory, file.parent)
    _found(crew, facts, founder, inventory, file)
    new = _join(crew, facts, founder, inventory.contact, relayed)
    _rewrite(crew, facts, inventory.contact)
    started = crew.each("starting", lambda remote: remote.ask_nodes("start"))
    _wait_until_ready(crew)
    return [
        _outcome(crew, machine, is_new=machine.name in new, started=started, facts=facts, relayed=relayed)
        for machine in machines
    ]


def survey(crew: Crew, inventory: Inventory) -> dict[str, Facts]:
    """Look at all machines and return their facts; those that cannot be in the lab have failed."""
    told = crew.each("checking", lambda remote: _looked_at(remote, inventory.command))
    found = {}
    for name, (facts, ahead_s) in told.items():
        why = trouble_of(crew.remotes[name].machine, facts, ahead_s)
        if not why and inventory.command and facts.version != VERSION:
            has = f"is of version {facts.version}" if facts.version else "is not there"
            why = f"{inventory.command} {has}: install tianmesh {VERSION} there"
        if why:
            crew.fail(name, why)
        else:
            found[name] = facts
    return found


def note_of_founder(file: Path) -> Path:
    """Return the file beside an inventory with the name of the machine that has the root key."""
    return file.with_suffix(".founder")


def founder_of(inventory: Inventory, file: Path) -> LabMachine:
    """Return the machine that has the keys of the mesh, as it is noted beside the inventory.

    Raises:
      ConfigError: that is not known here, or the machine is not in the inventory any more.
    """
    noted = note_of_founder(file)
    if not noted.exists():
        raise ConfigError(f"nobody knows yet which machine has the keys: tianmesh lab launch {file}")
    founder = noted.read_text(encoding="utf-8").strip()
    machine = next((each for each in inventory.machines if each.name == founder), None)
    if machine is None:
        raise ConfigError(f"{founder}, which has the keys, is not in {file}: write it down again")
    return machine


def is_ready(remote: Remote) -> str:
    """Return the conditions the peer of a machine waits for; "" when it speaks for every slot."""
    told = remote.ask("ask", gateway=near(remote.machine.gateway), path="/readyz")
    if "error" in told:
        return f"its gateway does not answer ({told['error']})"
    try:
        readiness = msgspec.convert(told["answer"], ReadinessJson)
    except msgspec.ValidationError:
        return f"another program answers at {remote.machine.gateway}: name another `gateway`"
    return "" if readiness.status == "ready" else "; ".join(readiness.waits_for) or readiness.status


def reached(machine: LabMachine) -> str:
    """Say why nobody gets from here over https to a gateway that has a `url`; "" when one does."""
    if not machine.url:
        return ""
    try:
        with GatewayClient(machine.url) as client:
            client.readiness()
    except GatewayError as error:
        return str(error)
    return ""


def gateway_of(machine: LabMachine) -> str:
    """Where people ask the peer of a machine; on loopback only those at that machine do."""
    if machine.url:
        return machine.url
    host, _, port = machine.gateway.rpartition(":")
    return f"http://{machine.address if host in EVERYWHERE else host}:{port}"


def install(remote: Remote, package: Package) -> str:
    """Have pip install the package named in the inventory on a machine; return its version."""
    told = {"python": remote.machine.python, **package._asdict()}
    return str(remote.ask_here("install", INSTALL_S, **told)["version"])


def _looked_at(remote: Remote, command: str) -> tuple[Facts, float]:
    began = time.time()
    told = remote.ask_here("facts", command=command, ports=[*DOOR_PORTS, *PEER_PORTS])
    ended = time.time()
    try:
        facts = facts_of(told)
    except msgspec.ValidationError as error:
        raise MachineError(f"an answer that is not understood: {error}") from error
    return facts, clock_ahead_s(facts.clock_s, began, ended)


def _founder(crew: Crew, facts: Mapping[str, Facts], file: Path) -> str:
    noted = note_of_founder(file)
    name = noted.read_text(encoding="utf-8").strip() if noted.exists() else ""
    machines = [remote.machine for remote in crew.remotes.values()]
    founder = founder_among(machines, facts, name)
    if founder:
        return founder
    if not facts:
        failures = "; ".join(f"{each}: {why}" for each, why in list(crew.failed.items())[:3])
        raise ConfigError(f"no machine can be used. {failures}")
    if all("peer" in each.has for each in facts.values()):
        return ""  # all have joined: nobody has to be let in
    raise ConfigError(
        f"{name or 'the machine with the root key'} does not answer, and only it can let new machines in: "
        f"have it back; if it is lost for good, restore its folder from a backup"
        + (f" ({crew.failed[name]})" if name in crew.failed else "")
    )


def _check_ports(crew: Crew, facts: Mapping[str, Facts], founder: str, relays: int) -> dict[str, str]:
    """Have every machine connect to every other; an unreachable one needs a relay, or has failed.

    Returns:
      By the name of who needs a relay, why.
    """
    ports = {name: ports_of(crew.remotes[name].machine, facts[name], founder, relays) for name in crew.left}
    listening = crew.each("ports", lambda remote: remote.ask("listen", ports=ports[remote.machine.name]))
    places = {
        name: [(other, port) for other in crew.left if other != name for port in ports[other]]
        for name in crew.left
    }

    def reach(remote: Remote) -> dict[str, Any]:
        wanted = places[remote.machine.name]
        return remote.ask("reach", places=[[crew.remotes[o].machine.address, port] for o, port in wanted])

    told = crew.each("ports", reach)
    begun = [name for name in listening if listening[name]["pid"]]
    crew.each("ports", partial(_listen_no_more, listening), begun)
    why: dict[tuple[str, str], str] = {}
    for source, answer in told.items():
        for (target, port), reason in zip(places[source], answer["why"], strict=True):
            why[source, target] = why.get((source, target)) or (f"{port}: {reason}" if reason else "")
    said = {
        name: why_cut_off(crew.remotes[name].machine, ports[name], failed)
        for name, failed in cut_off(why).items()
    }
    relayed = [name for name in said if name != founder][:relays]
    for name in said.keys() - relayed:
        crew.fail(name, said[name])
    return {name: f"over the relay of {founder or 'the mesh'}: {said[name]}" for name in relayed}


def _listen_no_more(listening: Mapping[str, Mapping[str, Any]], remote: Remote) -> None:
    remote.ask("listen_no_more", pid=listening[remote.machine.name]["pid"])


def _install(crew: Crew, facts: Mapping[str, Facts], inventory: Inventory, beside: Path) -> None:
    if inventory.command:
        return
    lacking = [name for name in crew.left if not facts[name].version]
    if lacking:
        package = package_of(inventory, beside)
        crew.each("installing", lambda remote: install(remote, package), lacking)


def _found(crew: Crew, facts: Mapping[str, Facts], founder: str, inventory: Inventory, file: Path) -> None:
    """Make the root key on the first machine, and start the door there."""
    if not founder or founder in crew.failed:
        why = crew.failed.get(founder, "")
        if why and not facts[founder].is_founder:
            raise ConfigError(f"{founder}, which is to be the first, cannot be used: {why}")
        return
    note_of_founder(file).write_text(founder + "\n", encoding="utf-8")
    if facts[founder].is_founder:
        return
    remote = crew.remotes[founder]
    words = ["--host", remote.machine.address, "--name", inventory.name]
    words += ["--replicas", str(inventory.replicas), "--relays", str(inventory.relays)]
    crew.each(
        "founding", lambda each: each.tianmesh("init", "{folder}/mesh", "--peers", "0", *words), [founder]
    )
    crew.each("starting", lambda each: each.ask_nodes("start"), [founder])
    if founder in crew.failed:
        raise ConfigError(f"{founder}, which is to be the first, cannot be used: {crew.failed[founder]}")


def _join(
    crew: Crew, facts: Mapping[str, Facts], founder: str, contact: str, relayed: Collection[str]
) -> set[str]:
    """Let machines without a peer join the mesh; return their names.

    Args:
      contact: where webmasters reach who runs them; "" for nowhere.
      relayed: who is reached over a relay only.
    """
    new = [name for name in crew.left if "peer" not in facts[name].has]
    if not new or founder in crew.failed:
        for name in new:
            crew.fail(name, f"{founder} has to let it in, and cannot be used")
        return set()
    crew.each("starting", lambda remote: remote.ask_nodes("start"), [founder])  # its door has to be open
    known = _doors_of_members(crew, facts)
    tokens: dict[str, str] = {}
    for name in new:  # a token each: two machines with the same could draw the same id
        words = ["--expires", "1", "--weight-max", str(crew.remotes[name].machine.weight), *known]
        invited = crew.each("inviting", partial(_invited, words), [founder])
        if founder in invited:
            tokens[name] = invited[founder]

    def join(remote: Remote) -> str:
        machine = remote.machine
        words = ["--host", machine.address, "--gateway", machine.gateway, "--weight", str(machine.weight)]
        words += ["--name", machine.name]
        words += ["--contact", contact] if contact else []
        words += ["--relay"] if machine.name in relayed else []
        return remote.tianmesh("join", "-", "--folder", "{folder}/peer", *words, given=tokens[machine.name])

    return set(crew.each("joining", join, tokens))


def _rewrite(crew: Crew, facts: Mapping[str, Facts], contact: str) -> None:
    """Have peers that were here before go by the present settings of the inventory."""
    here = [name for name in crew.left if name in facts]
    new = {name: rewritten(crew.remotes[name].machine, facts[name], contact) for name in here}
    changed = [name for name, settings in new.items() if settings and "peer" in facts[name].has]

    def rewrite(remote: Remote) -> None:
        for key, value in new[remote.machine.name].items():
            remote.tianmesh("config", "set", key, value, "--data", "{folder}/peer")

    crew.each("writing what has changed", rewrite, changed)
    crew.each("stopping", lambda remote: remote.ask_nodes("stop", STOP_S), changed)


def _doors_of_members(crew: Crew, facts: Mapping[str, Facts]) -> list[str]:
    """Return options of `invite` that name the doors of a mesh that runs, so that no newcomer leans on one.

    None in a new mesh, which has the door of the first machine alone: `invite` knows that itself.
    """
    running = [name for name in crew.left if "peer" in facts[name].running]
    told = crew.each("inviting", _report_of, running[:DOORS_ASKED])
    known = max((doors(report.members, DOORS_MAX) for report in told.values()), key=len, default=[])
    return [word for door in known for word in ("--door", door)]


def _report_of(remote: Remote) -> Report:
    gateway = f"http://{near(remote.machine.gateway)}"
    words = ["--json", "--data", "{folder}/peer", "--gateway", gateway]
    try:
        return msgspec.json.decode(remote.tianmesh("status", *words), type=Report)
    except (MachineError, msgspec.MsgspecError):
        return report_of([])  # it starts only, or is of another version: others are asked as well


def _invited(words: Sequence[str], founder: Remote) -> str:
    return founder.tianmesh("invite", "--data", "{folder}/mesh", *words).strip()


def _wait_until_ready(crew: Crew) -> None:
    """Ask until every peer speaks for every slot; those that never do have failed."""
    until = time.monotonic() + READY_S
    waiting = dict.fromkeys(crew.left, "")
    while waiting:
        waits_for = crew.each("", is_ready, waiting)
        waiting = {name: why for name, why in waits_for.items() if why}
        for name, why in waiting.items():
            crew.tell(name, f"waits: {why}")
        if time.monotonic() > until:
            for name, why in waiting.items():
                crew.fail(name, f"{why}: look at `tianmesh lab logs {name}`")
            return
        if waiting:
            time.sleep(READY_EVERY_S)


def _outcome(
    crew: Crew,
    machine: LabMachine,
    *,
    is_new: bool,
    started: Mapping[str, Any],
    facts: Mapping[str, Facts],
    relayed: Mapping[str, str],
) -> MachineOutcome:
    name = machine.name
    if name in crew.failed:
        return MachineOutcome(name, "failed", said=crew.failed[name])
    state = "new" if is_new else "started" if started[name]["started"] else "unchanged"
    said = [each for each in (relayed.get(name, ""), differing(machine, facts[name])) if each]
    return MachineOutcome(name, state, gateway_of(machine), "; ".join(said))
