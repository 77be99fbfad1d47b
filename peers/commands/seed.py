"""The command `tianmesh seed`. [io]"""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from mesh.gateway_client import GatewayClient
from peers.options import GATEWAY, GatewayOption, JsonOption, print_json

EPILOG: Final = "Example: tianmesh seed https://www.pku.edu.cn/ https://www.debian.org/"


def seed(
    urls: Annotated[list[str], typer.Argument(help="Pages to start from.")],
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Give the mesh pages to start from."""
    with GatewayClient(gateway) as client:
        answer = client.add_seeds(urls)
    if as_json:
        print_json(answer)
        return
    Console().print(f"{answer['accepted']} of {len(urls)} seeds accepted")
    for url in answer["invalid"]:
        Console(stderr=True).print(f"refused: {escape(str(url))}")
