"""How one peer answers users: what its configuration says, and may say anew while it runs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class GatewaySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where and how this peer answers users. All but `listen` may change while it runs."""

    listen: Annotated[str, Meta(pattern=r"^.+:\d+$", description="host:port; port 0 takes a free one")] = (
        "127.0.0.1:8017"
    )
    names: Annotated[
        tuple[str, ...],
        Meta(
            description="host names under which people open it, besides localhost and addresses; pages of "
            "others may not post here"
        ),
    ] = ()
    admin_token: Annotated[
        str,
        Meta(
            pattern=r"^([!-~]{16,})?$",
            description="whoever sends it (Authorization: Bearer ...) may change the mesh here, as drain "
            "peers; without one, programs on this machine may and nobody else",
        ),
    ] = ""
    cache_bytes_max: Annotated[
        int,
        Meta(
            ge=0,
            description="of pages of results that are kept to be shown again, about 10 kB each; 0 keeps none",
        ),
    ] = 16 << 20
