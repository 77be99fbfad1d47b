"""The watch list of a running mesh, read from a gateway, and replaced by an administrator. [io]"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.keys.decree import WATCH
from peers.policy.decree_issuer import DecreeIssuer, ruling_of
from peers.watch.watch_list import WatchEntry, WatchList, list_body, list_in


class WatchIssuer:
    """Reads and replaces the watch list of one mesh."""

    def __init__(self, client: GatewayClient, key: Path) -> None:
        """Args: key: as for `DecreeIssuer`."""
        self._issuer = DecreeIssuer(client, key, WATCH, "list")

    def decrees(self) -> tuple[Mapping[str, Any], ...]:
        """All lists that are known, with their signers, the lowest number first, replaced ones too."""
        return self._issuer.all()

    def in_force(self) -> tuple[WatchEntry, ...]:
        """The entries of now, which the next list replaces; none where nothing is watched for.

        Raises:
          GatewayError: another version wrote them.
        """
        ruling = ruling_of(self._issuer.read(), time.time())
        return () if ruling is None else list_of_decree(ruling).entries

    def issue(self, entries: Sequence[WatchEntry]) -> int:
        """Sign a list and have the mesh watch for it, or for nothing; return its number.

        Raises:
          ConfigError, GatewayError: as `DecreeIssuer.issue` does.
        """
        now = time.time()
        until = inf if entries else now  # an empty list is over at once, and tells who ended the one before
        return self._issuer.issue(list_body(entries, float(round(now))), valid_until=until)


def list_of_decree(decree: Mapping[str, Any]) -> WatchList:
    """Return the list in an item of the answer of /api/decrees.

    Raises:
      GatewayError: this version does not understand it.
    """
    try:
        return list_in(bytes.fromhex(decree["body"]))
    except ValueError as error:
        raise GatewayError(
            f"watch list {decree['number']} is of another version of tianmesh: {error}"
        ) from error
