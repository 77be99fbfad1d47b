"""What several commands share: options with one meaning, and how they answer programs. [io]"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mesh.admin_token import token_in
from mesh.gateway_client import GatewayClient

GATEWAY: Final = "http://127.0.0.1:8017"

GatewayOption = Annotated[str, typer.Option("--gateway", help="Gateway of any peer, http://host:port.")]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key",
        envvar="TIANMESH_ADMIN_KEY",
        help="The administrator's key, as `init` makes it.",
        show_default="admin.key of --data",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
TokenOption = Annotated[
    str,
    typer.Option(
        envvar="TIANMESH_ADMIN_TOKEN",
        help="Of the gateway's administrator; without it, what stands in admin.token of --data.",
    ),
]
DATA: Final = Path("tianmesh-data")
DataOption = Annotated[
    Path,
    typer.Option("--data", envvar="TIANMESH_DATA", help="Folder of the mesh, or of the peer that is asked."),
]


def key_in(data: Path, key: Path | None) -> Path:
    """Return the file with the administrator's key."""
    return key if key is not None else data / "admin.key"


def administrator_of(gateway: str, token: str, data: Path) -> GatewayClient:
    """Return a client with the rights of an administrator, as far as they are known.

    Raises:
      ConfigError: the gateway is none, or the file with the token is open to others.
    """
    return GatewayClient(gateway, token or token_in(data))


WithinOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Crawl this domain, host or pattern of URLs with *; several are allowed.",
        show_default="the domains of the seeds",
    ),
]
AnywhereOption = Annotated[bool, typer.Option("--anywhere", help="Follow links to any site.")]
DepthOption = Annotated[
    int | None, typer.Option(min=0, max=65_535, help="Clicks from a seed at most.", show_default="1000")
]


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, ensure_ascii=False))
