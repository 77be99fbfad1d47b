"""The settings by which one peer answers users; some of them may change while it runs."""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.errors import ConfigError

_LISTEN: Final = r"^.+:\d+$"
PORT_MAX: Final = 65_535


class GatewaySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where and how this peer answers users. All but `listen` may change while it runs."""

    listen: Annotated[
        str,
        Meta(pattern=_LISTEN, description="host:port, [address]:port for IPv6; port 0 takes a free one"),
    ] = "127.0.0.1:8017"
    names: Annotated[
        tuple[str, ...],
        Meta(
            description="host names under which people open it, besides localhost and addresses; requests "
            "for others are not answered"
        ),
    ] = ()
    admin_token: Annotated[
        str,
        Meta(
            pattern=r"^([!-~]{16,})?$",
            description="whoever sends it (Authorization: Bearer ...) may change the mesh here, as drain "
            "peers, give seeds, and see all, as whoever has a token of `tianmesh token`; left out, it is in "
            "admin.token beside this file",
        ),
    ] = ""
    takes_seeds: Annotated[
        bool, Meta(description="from anybody, client_seeds_per_hour of each; else from administrators")
    ] = False
    cache_bytes_max: Annotated[
        int,
        Meta(
            ge=0,
            description="of pages of results that are kept to be shown again, about 10 kB each; 0 keeps none",
        ),
    ] = 16 << 20
    client_connections_max: Annotated[
        int,
        Meta(ge=0, description="of one client: an IPv4 address, or the /64 of an IPv6 one; 0 for no limit"),
    ] = 64
    client_requests_max: Annotated[
        int,
        Meta(ge=0, description="of one client under way at a time, as it waits for answers; 0 for no limit"),
    ] = 16
    client_queries_per_s: Annotated[
        float,
        Meta(
            ge=0,
            description="requests of one client, on average, of any kind but /healthz; four seconds' worth "
            "at once; 0 for no limit",
        ),
    ] = 20.0
    client_bytes_per_s: Annotated[
        int,
        Meta(
            ge=0,
            description="that one client sends and is sent, on average; ten seconds' worth at once; 0 for "
            "no limit",
        ),
    ] = 4 << 20
    client_seeds_per_hour: Annotated[
        int, Meta(ge=0, description="that one client gives, as many at once; 0 for no limit")
    ] = 20_000
    host_changes_per_hour: Annotated[
        int,
        Meta(
            ge=0,
            description="pages of one host that are said to have changed (POST /api/changed), as many at "
            "once; 0 for no limit",
        ),
    ] = 1_000
    proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="addresses of reverse proxies that are trusted to name the client, last in "
            "X-Forwarded-For; they may have any number of connections"
        ),
    ] = ()


def checked_listen(text: str, option: str) -> str:
    """Check the address that a person gave as `listen`, and return it.

    Args:
      option: how it was given.

    Raises:
      ConfigError: it is not HOST:PORT.
    """
    _, _, port = text.rpartition(":")
    if re.fullmatch(_LISTEN, text) is None or "//" in text or int(port) > PORT_MAX:
        port = text if text.isdigit() and int(text) <= PORT_MAX else "8017"
        raise ConfigError(f"{text!r} is no HOST:PORT to answer at: give {option} 127.0.0.1:{port}")
    return text
