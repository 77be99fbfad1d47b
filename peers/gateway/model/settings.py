"""The settings by which one peer answers users; all but the address may change while it runs."""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.errors import ConfigError

_LISTEN: Final = r"^.+:\d+$"
PORT_MAX: Final = 65_535


class GatewayConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
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
    origins: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^(\*|https?://[^/\s]+)$")], ...],
        Meta(
            description="sites whose pages may search here and read stored pages from a reader's browser, as "
            "https://intranet.example.org, or * for all (CORS); they order nothing"
        ),
    ] = ()
    takes_seeds: Annotated[
        bool, Meta(description="from anybody, 20,000 an hour of each; else from administrators")
    ] = False
    client_queries_per_s: Annotated[
        float,
        Meta(
            ge=0,
            description="requests of one client, on average, of any kind but /healthz; a suggestion counts "
            "an eighth, an icon a tenth; four seconds' worth at once; above 20 its other limits rise with "
            "it; 0 lifts all of them, as behind a proxy with limits of its own",
        ),
    ] = 20.0
    proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="addresses of reverse proxies that are trusted to name the client, last in "
            "X-Forwarded-For; they may have any number of connections"
        ),
    ] = ()


class GatewaySettings(GatewayConfig, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of a gateway: those of a person, and those that `peers.sizes` makes of them."""

    # Of the administrator, who may change the mesh here and see all: in admin.token beside config.toml.
    admin_token: Annotated[str, Meta(pattern=r"^([!-~]{16,})?$")] = ""
    # Of pools that people judge here and of their judgements, in the data folder; "" for none.
    judging_folder: str = ""
    # File of an administrator's key, if there is one, by which /moderation signs the verdicts of those who
    # have signed in with a token that lets order: moderator.key beside config.toml; "" for none.
    moderator_key: str = ""
    # Of pages of results that are kept to be shown again, about 10 kB each; 0 keeps none.
    cache_bytes_max: Annotated[int, Meta(ge=0)] = 16 << 20
    # Of one client, as are those below: an IPv4 address, or the /64 of an IPv6 one; 0 for no limit.
    client_connections_max: Annotated[int, Meta(ge=0)] = 64
    # Under way at a time, as it waits for answers.
    client_requests_max: Annotated[int, Meta(ge=0)] = 16
    # Sent and received, on average; ten seconds' worth at once.
    client_bytes_per_s: Annotated[int, Meta(ge=0)] = 4 << 20
    client_seeds_per_hour: Annotated[int, Meta(ge=0)] = 20_000  # as many at once
    # Pages of one host that are said to have changed (POST /api/changed), as many at once.
    host_changes_per_hour: Annotated[int, Meta(ge=0)] = 1_000


def checked_listen(text: str, option: str) -> str:
    """Check the address that a person gave as `listen`, and return it.

    Args:
      option: how it was given, up to the address.

    Raises:
      ConfigError: it is not HOST:PORT.
    """
    _, _, port = text.rpartition(":")
    if re.fullmatch(_LISTEN, text) is None or "//" in text or int(port) > PORT_MAX:
        port = text if text.isdigit() and int(text) <= PORT_MAX else "8017"
        raise ConfigError(f"{text!r} is no HOST:PORT to answer at: give {option}127.0.0.1:{port}")
    return text
