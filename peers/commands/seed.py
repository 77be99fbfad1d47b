"""The command `tianmesh seed`. [io]"""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from mesh.urls import canonical
from peers.options import (
    DATA,
    GATEWAY,
    AnywhereOption,
    DataOption,
    DepthOption,
    GatewayOption,
    JsonOption,
    KeyOption,
    TokenOption,
    WithinOption,
    administrator_of,
    key_in,
    print_json,
)
from peers.policy.issuing import PolicyIssuer
from peers.policy.rules import Action, Rule

EPILOG: Final = (
    "Examples: tianmesh seed https://www.pku.edu.cn/ https://www.debian.org/   "
    "tianmesh seed https://www.debian.org/doc/ --within 'https://www.debian.org/doc/*' --depth-max 3"
)
PagesOption = Annotated[
    int | None, typer.Option("--pages-per-host", min=1, help="Pages of one host at most.", show_default="all")
]


def seed(
    urls: Annotated[list[str], typer.Argument(help="Pages to start from.")],
    within: WithinOption = None,
    anywhere: AnywhereOption = False,
    depth_max: DepthOption = None,
    pages_per_host: PagesOption = None,
    key: KeyOption = None,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Give the mesh pages to start from; the crawl stays on their domains unless you say otherwise.

    That takes an administrator's key. Without one the policy of the mesh decides which seeds it takes.
    """
    limits = Rule(action=Action.CRAWL, depth_max=depth_max, pages_per_host_max=pages_per_host)
    is_scope_given = bool(within or anywhere or depth_max is not None or pages_per_host is not None)
    with administrator_of(gateway, token, data) as client:
        scope = ""
        key_file = key_in(data, key)
        if is_scope_given or key_file.exists():
            issuer = PolicyIssuer(client, key_file)
            pages = [url for url in map(canonical, urls) if url is not None]
            scope = "; " + issuer.widen(pages, within or (), limits, is_anywhere=anywhere)
        answer = client.add_seeds(urls)
    if as_json:
        print_json(answer)
    else:
        _show(answer, len(urls), scope)
    if answer["left_out"]:
        raise typer.Exit(1)


def _show(answer: dict[str, Any], count: int, scope: str) -> None:
    Console(highlight=False).print(f"{answer['accepted']} of {count} seeds accepted{escape(scope)}")
    complaints = Console(stderr=True, highlight=False)
    for url in answer["invalid"]:
        complaints.print(f"refused: {escape(str(url))}")
    for url in answer["left_out"]:
        complaints.print(f"left out by the policy of the mesh: {escape(str(url))}")
    if answer["left_out"]:
        complaints.print("`tianmesh policy show` says why, `tianmesh seed --key FILE` widens it")
