"""The facts that the machines of a lab have reported, and the conclusions from them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from bootstrap.fleet.inventory import LabMachine
from mesh.port_leases import PORTS_EACH

_EXPELLED: Final = "was expelled from the mesh"  # as `membership.rumour_intake` says it
PYTHON_MIN: Final = (3, 11)
FREE_MIN: Final = 2 << 30  # bytes: an environment has 200 MiB, and a crawl wants the rest
CLOCK_S_MAX: Final = 5.0
DOOR_PORTS: Final = (7_400, 7_401, 7_402)  # of the bootstrap node, as `tianmesh init` counts them
PEER_PORTS: Final = (7_410, 7_411, 7_412)  # of a peer, as `tianmesh join` does
RELAY_FIRST_PORT: Final = 9_400  # that a bootstrap node lends, three to each peer that it relays


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a machine, and the parts of the lab that are on it."""

    python: tuple[int, int, int]
    clock_s: float
    free_bytes: int
    version: str = ""  # of tianmesh there; "" for none
    is_founder: bool = False  # it has the root key
    has: tuple[str, ...] = ()  # "bootstrap", "peer"
    running: tuple[str, ...] = ()
    taken: tuple[int, ...] = ()  # ports that another program has
    settings: dict[str, str] = {}  # of its peer
    last_words: dict[str, list[str]] = {}  # of nodes that do not run, the last lines of their logs

    @property
    def is_expelled(self) -> bool:
        """Has its peer ended since the mesh wants no more of it?"""
        return any(_EXPELLED in line for line in self.last_words.get("peer", ()))


def facts_of(told: dict[str, Any]) -> Facts:
    """Read the facts that the agent reports. msgspec.ValidationError."""
    return msgspec.convert(told, Facts)


def trouble_of(machine: LabMachine, facts: Facts, ahead_s: float) -> str:
    """Say why a machine cannot be of the lab as it is; "" when it can.

    Args:
      ahead_s: of our clock is its own, less what the way may have taken.
    """
    if facts.python < PYTHON_MIN:
        version = ".".join(map(str, facts.python))
        return f"has Python {version} as {machine.python}: install 3.11 or later, and name it in `python`"
    if abs(ahead_s) > CLOCK_S_MAX:
        side = "ahead" if ahead_s > 0 else "behind"
        return f"its clock is {abs(ahead_s):,.0f} s {side}: `timedatectl set-ntp true` there, or here"
    if facts.has:
        return ""
    if facts.free_bytes < FREE_MIN:
        free = f"{facts.free_bytes / 1e9:.1f} GB"
        return f"has {free} free where {machine.folder} is to be: make room, or name another `folder`"
    if facts.taken:
        return f"another program has port {facts.taken[0]}: end it there"
    return ""


def clock_ahead_s(told_s: float, began_s: float, ended_s: float) -> float:
    """By how much a clock is ahead of ours at least (below 0: behind), read some time between two of ours."""
    if told_s > ended_s:
        return told_s - ended_s
    return min(told_s - began_s, 0.0)


def ports_of(machine: LabMachine, facts: Facts, founder: str, relays: int = 0) -> tuple[int, ...]:
    """Return the ports of a machine that all others have to reach.

    Args:
      relays: how many peers the first machine relays.
    """
    first = int(facts.settings.get("inbox_port", PEER_PORTS[0]))
    peer = tuple(range(first, first + len(PEER_PORTS)))
    return (*DOOR_PORTS, *peer, *relay_ports(relays)) if machine.name == founder else peer


def relay_ports(relays: int) -> range:
    """Return the ports that a bootstrap node lends to so many peers."""
    return range(RELAY_FIRST_PORT, RELAY_FIRST_PORT + PORTS_EACH * relays)


def founder_among(machines: Sequence[LabMachine], facts: Mapping[str, Facts], noted: str) -> str:
    """Return the machine that has the root key, or is to make it; "" when that is to be left alone.

    Args:
      facts: of those that can be of the lab.
      noted: by an earlier launch; "" for none.
    """
    usable = [machine.name for machine in machines if machine.name in facts]
    for name in usable:
        if facts[name].is_founder:
            return name
    if noted or any(each.has for each in facts.values()):
        return ""  # it does not answer now, and another one would be another mesh
    return usable[0] if usable else ""


def cut_off(why: Mapping[tuple[str, str], str]) -> dict[str, list[str]]:
    """Return the machines that half of the others or more do not reach, with those.

    Args:
      why: by (who asked, who was asked), why no connection came about; "" for one that did.
    """
    asked = {target for _, target in why}
    deaf: dict[str, list[str]] = {}
    for target in sorted(asked):
        tried = [source for source, each in why if each == target]
        failed = sorted(source for source in tried if why[source, target])
        if failed and 2 * len(failed) >= len(tried):
            deaf[target] = failed
    return _fewest(deaf, why)


def _fewest(deaf: dict[str, list[str]], why: Mapping[tuple[str, str], str]) -> dict[str, list[str]]:
    """Leave out of two that do not reach each other only one, if it is reached by nobody else."""
    worst = sorted(deaf, key=lambda name: -len(deaf[name]))
    out: dict[str, list[str]] = {}
    for name in worst:
        failed = [source for source in deaf[name] if source not in out]
        tried = [source for source, target in why if target == name and source not in out]
        if failed and 2 * len(failed) >= len(tried):
            out[name] = deaf[name]
    return out


def why_cut_off(machine: LabMachine, ports: Sequence[int], failed: Collection[str]) -> str:
    """Name the machines that cannot reach this one, and the remedy."""
    named = ", ".join(sorted(failed)[:3]) + (f" and {len(failed) - 3} more" if len(failed) > 3 else "")
    spans = f"{ports[0]} to {ports[-1]}"
    return (
        f"{named} cannot connect to it: let ports {spans} of {machine.address} through its firewall, "
        "or correct `address`"
    )


def rewritten(machine: LabMachine, facts: Facts, contact: str) -> dict[str, str]:
    """Return the settings of a peer that the inventory has otherwise by now, as `config set` names them.

    Args:
      contact: for webmasters; where the inventory has none, that of the peer stays.
    """
    wanted = {
        "member.announce": ("announce", machine.address),
        "gateway.listen": ("gateway", machine.gateway),
        "member.name": ("name", machine.name),
        "crawl.contact": ("contact", contact or facts.settings.get("contact", "")),
    }
    has = {"name": "", "contact": "", **facts.settings}
    return {key: value for key, (name, value) in wanted.items() if has.get(name, value) != value}


def expelled(name: str) -> str:
    """Say that the mesh wants no more of a machine's peer, and the remedy."""
    return f"the mesh has expelled its peer: `tianmesh lab remove {name}`"


def differing(machine: LabMachine, facts: Facts) -> str:
    """Say in which setting a peer still differs from the inventory; "" for none."""
    there, here = facts.settings.get("weight", ""), str(machine.weight)
    if there in ("", here):
        return ""
    return (
        f"weight is {there} there and {here} here: if its certificate allows that, `tianmesh lab config set "
        f"member.weight {here} {machine.name}` and `tianmesh lab restart {machine.name}`"
    )
