"""What several commands share: options with one meaning, and how they answer programs. [io]"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

GATEWAY: Final = "http://127.0.0.1:8017"

GatewayOption = Annotated[str, typer.Option("--gateway", help="Gateway of any peer, http://host:port.")]
KEY: Final = Path("tianmesh-data/admin.key")
KeyOption = Annotated[
    Path,
    typer.Option("--key", envvar="TIANMESH_ADMIN_KEY", help="The administrator's key, as `init` makes it."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
TokenOption = Annotated[
    str, typer.Option(envvar="TIANMESH_ADMIN_TOKEN", help="gateway.admin_token of the gateway, if set.")
]


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, ensure_ascii=False))
