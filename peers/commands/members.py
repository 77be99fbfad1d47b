"""The members that orders are about, as people name them. [io]"""

from __future__ import annotations

from collections.abc import Mapping

from mesh.client.gateway_client import GatewayClient
from mesh.errors import ConfigError
from mesh.keys.certificate import BEGINNING_CHARS_MIN, why_no_beginning
from peers.gateway.model.member_lines import called


def named(client: GatewayClient, text: str) -> str:
    """Return the id of the member with an id that begins so, or else with this name.

    A text that may be the beginning of an id, and of no member's, comes back as it is: a member that has left
    is known elsewhere.

    Raises:
      ConfigError: it names several, or cannot be an id and is no name.
    """
    names = {row["id"]: row.get("name", "") for row in client.status()["members"]}
    found = ids_of(names, text)
    if not found and not why_no_beginning(text):
        return text
    return only(names, text, found)


def ids_of(names: Mapping[str, str], text: str) -> list[str]:
    """Return the ids that begin so; where none does those with this name, which a member gives itself.

    Args:
      names: of all members, by id; "" where one is not known.
    """
    begun = [] if why_no_beginning(text) else [peer for peer in names if peer.startswith(text)]
    return begun or [peer for peer in names if text and names[peer] == text]


def only(names: Mapping[str, str], text: str, found: list[str]) -> str:
    """Return the only id that was found. ConfigError, with those that may have been meant."""
    if len(found) == 1:
        return found[0]
    known = ", ".join(called(names, peer) for peer in sorted(found or names))
    if found:
        raise ConfigError(f"{text!r} names several peers: give the id of one of these: {known}")
    how = f"its id, or its first {BEGINNING_CHARS_MIN} letters or more, or its name"
    raise ConfigError(
        f"{text[:64]!r} names no peer: give {how}, as `tianmesh status` shows it"
        + (f"; there are {known}" if known else "")
    )
