"""The watch list of a running mesh, read from a gateway, and replaced by an administrator. [io]"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.keys.decree import NUMBER_MAX, WATCH
from mesh.keys.key_file import load_administrator
from peers.policy.policy_issuer import ruling_of
from peers.watch.watch_list import WatchEntry, WatchList, list_body, list_in


class WatchIssuer:
    """Reads and replaces the watch list of one mesh."""

    def __init__(self, client: GatewayClient, key: Path) -> None:
        """Args: key: file of the signer's, which is read only when there is something to sign."""
        self._client, self._key = client, key
        self._expected: int | None = None  # number of the next list, when the last one was read

    def decrees(self) -> tuple[Mapping[str, Any], ...]:
        """All lists that are known, with their signers, the lowest number first, replaced ones too."""
        told = self._ask()
        return (*told["past"], *told["decrees"])

    def in_force(self) -> tuple[WatchEntry, ...]:
        """The entries of now, which the next list replaces; none where nothing is watched for.

        Raises:
          GatewayError: another version wrote them.
        """
        ruling = ruling_of(self._ask()["decrees"], time.time())
        return () if ruling is None else list_of_decree(ruling).entries

    def issue(self, entries: Sequence[WatchEntry]) -> int:
        """Sign a list and have the mesh watch for it, or for nothing; return its number.

        Raises:
          ConfigError: there is no usable key.
          GatewayError: the mesh does not take it, or has another list since it was asked for one.
        """
        administrator = load_administrator(self._key)
        number = min(self._client.next_number(WATCH, ""), NUMBER_MAX)
        if self._expected not in (None, number):
            raise GatewayError("somebody has changed the list just now: look at it and try again")
        self._expected = None
        now = time.time()
        body = list_body(entries, float(round(now)))
        until = inf if entries else now  # an empty list is over at once, and tells who ended the one before
        self._client.publish(administrator.decree(WATCH, "", number, body, valid_until=until))
        return number

    def _ask(self) -> Mapping[str, Any]:
        told = self._client.decrees(WATCH, "")
        self._expected = told["next_number"]
        return told


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
