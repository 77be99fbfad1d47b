"""Where a peer of a test runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A machine, or what looks like one to the peer."""

    command: tuple[str, ...] = ()  # put before the peer's own command
    listen: str = "127.0.0.1"  # its address in the mesh
    gateway: str = "127.0.0.1"  # its address for users and towards the web
    announce: str = ""  # the address by which the others reach it, if not by `listen`
