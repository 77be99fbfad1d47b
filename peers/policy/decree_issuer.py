"""Decrees of one kind in a running mesh: read from a gateway, and replaced by signing the next one. [io]"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Any

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.keys.decree import NUMBER_MAX, Signer
from mesh.keys.key_file import load_administrator


class DecreeIssuer:
    """Reads and replaces the decree in force of one kind that is about the whole mesh."""

    def __init__(self, client: GatewayClient, key: Path | Signer, kind: str, called: str) -> None:
        """Begin without having read any.

        Args:
          key: of the signer, or its file, which is read only when there is something to sign.
          kind: of `mesh.keys.decree`.
          called: how people name it in a sentence.
        """
        self.client = client
        self._key = key
        self._kind, self._called = kind, called
        self._expected: int | None = None  # number of the next decree, when the last one was read

    def all(self) -> tuple[Mapping[str, Any], ...]:
        """All decrees that are known, the lowest number first, replaced ones too."""
        told = self.client.decrees(self._kind, "")
        return (*told["past"], *told["decrees"])

    def read(self) -> tuple[Mapping[str, Any], ...]:
        """Return those in force or to come; the next one that is issued replaces them, as they are now."""
        told = self.client.decrees(self._kind, "")
        self._expected = told["next_number"]
        return tuple(told["decrees"])

    def issue(self, body: bytes, *, effective_from: float = 0.0, valid_until: float = inf) -> int:
        """Sign a decree and have the mesh obey it; return its number.

        Raises:
          ConfigError: there is no usable key.
          GatewayError: the mesh does not take it, or has another one since it was read.
        """
        administrator = load_administrator(self._key) if isinstance(self._key, Path) else self._key
        number = min(self.client.next_number(self._kind, ""), NUMBER_MAX)
        if self._expected not in (None, number):
            raise GatewayError(f"somebody has changed the {self._called} just now: look at it and try again")
        self._expected = None
        times = {"effective_from": effective_from, "valid_until": valid_until}
        self.client.publish(administrator.decree(self._kind, "", number, body, **times))
        return number


def ruling_of(decrees: Iterable[Mapping[str, Any]], now: float) -> Mapping[str, Any] | None:
    """Return the decree in the answer of /api/decrees that is to be obeyed now."""
    begun = [decree for decree in decrees if decree["effective_from"] <= now]
    ruling = max(begun, key=lambda decree: int(decree["number"]), default=None)
    until = None if ruling is None else ruling["valid_until"]
    return None if until is not None and until <= now else ruling
