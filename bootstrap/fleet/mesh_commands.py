"""Orders to the mesh of a lab, given from where its inventory is: seeds, policy, take-downs, expulsions. [io]

They are carried out on the machine that has the keys, by its own `tianmesh`: no key leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bootstrap.fleet.deployment import founder_of
from bootstrap.fleet.inventory import Inventory
from bootstrap.fleet.remote import Carried, MachineError, Remote
from mesh.errors import ConfigError, unreadable
from peers.options import near

ORDER_S: Final = 600.0
ORDERS: Final = {
    "seed": "Give the mesh pages to start from; the crawl stays on their domains.",
    "policy": "Show or change what is crawled, and how gently: show, set FILE, diff FILE, like URL.",
    "pause": "Leave a host alone.",
    "resume": "Go on with a host.",
    "takedown": "Have a page, a folder or a host shown by nobody.",
    "drain": "Have the others take over what a peer has.",
    "expel": "Expel a member for ever, or an administrator.",
}
EXAMPLES: Final = {
    "seed": "seed https://www.example.org/",
    "policy": "policy set policy.toml",
    "pause": "pause www.example.org",
    "resume": "resume www.example.org",
    "takedown": "takedown https://www.example.org/page --reason 'asked for by its author'",
    "drain": "drain mill --yes",
    "expel": "expel mill --reason 'its machine was stolen' --undo-since 2027-01-31T08:00",
}
_DATA: Final = ("--data", "{folder}/peer")  # beside which the keys are


def run_command(inventory: Inventory, file: Path, name: str, words: Sequence[str]) -> Carried:
    """Carry out an order on the machine that has the keys; return its end and its output there.

    Args:
      file: the inventory, beside which it is noted which machine that is.

    Raises:
      ConfigError: the lab has not been launched, the machine is not in the inventory any more, or it cannot
        be asked.
    """
    machine = founder_of(inventory, file)
    given, words = _with_file(name, words)
    if name == "seed":
        words += [word for entry in inventory.allow_private for word in ("--allow-private", entry)]
    options = ["--gateway", f"http://{near(machine.gateway)}", *_DATA]
    remote = Remote(machine, inventory)
    try:
        return remote.carry_out(name, *words, *options, given=given, timeout_s=ORDER_S)
    except MachineError as error:
        raise ConfigError(f"{machine.name}: {error}") from error


def _with_file(name: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """Read a file that is here, for an order that is carried out elsewhere."""
    words = list(words)
    if name == "policy" and len(words) > 1 and words[0] in ("set", "diff") and words[1] != "-":
        try:
            given = Path(words[1]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(f"the policy {words[1]}", error) from error
        return given, [words[0], "-", *words[2:]]
    return "", words
