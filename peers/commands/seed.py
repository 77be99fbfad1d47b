"""The command `tianmesh seed`. [io]"""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    administrator_of,
    print_json,
)

EPILOG: Final = "Example: tianmesh seed https://www.pku.edu.cn/ https://www.debian.org/"


def seed(
    urls: Annotated[list[str], typer.Argument(help="Pages to start from.")],
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Give the mesh pages to start from."""
    with administrator_of(gateway, token, data) as client:
        answer = client.add_seeds(urls)
    if as_json:
        print_json(answer)
        return
    Console().print(f"{answer['accepted']} of {len(urls)} seeds accepted")
    for url in answer["invalid"]:
        Console(stderr=True).print(f"refused: {escape(str(url))}")
