"""The command `tianmesh backlinks`. [io]"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from mesh.client.gateway_client import GatewayClient
from mesh.counts import counted
from peers.link_graph.wire_messages import START_MAX
from peers.options import DATA, GATEWAY, DataOption, GatewayOption, JsonOption, print_json, printable

EPILOG: Final = (
    "Examples: tianmesh backlinks https://www.example.org/   "
    "tianmesh backlinks example.org/a.html --limit 1000 --json"
)

NOTHING_YET: Final = (
    "links of a page are known from its first visit on since the policy has [link_graph]; "
    "`tianmesh policy undo --since` has those visited again that were visited before"
)


def backlinks(
    url: Annotated[str, typer.Argument(help="The page that the others link to.")],
    limit: Annotated[int, typer.Option(min=1, max=START_MAX, help="List so many at most.")] = 100,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    r"""List the pages of the mesh that link to one.

    The mesh has to keep its link graph: \[link_graph] of its policy.

    First the newest of each domain, then the next of each, those of the page's own domain last. Of a domain
    up to 32 are listed, of up to 256 domains; where there are more, the numbers are estimates.
    """
    with GatewayClient(gateway) as client:
        told = client.backlinks(url)
        links: list[dict[str, Any]] = told["links"]
        while told["next"] is not None and len(links) < limit:
            told = client.backlinks(told["url"], told["next"])
            links += told["links"]
    links = links[:limit]
    if as_json:
        names = ("url", "n_links", "n_domains", "is_exact")
        print_json({**{name: told[name] for name in names}, "links": links})
        return
    console = Console(highlight=False, soft_wrap=True)
    for link in links:
        console.print(_line(link))
    about = "" if told["is_exact"] else "about "
    numbers = f"{about}{counted(told['n_links'], 'page')} of {about}{counted(told['n_domains'], 'domain')}"
    print(f"{numbers} link to {printable(told['url'])}")
    if not told["n_links"]:
        print(NOTHING_YET, file=sys.stderr)


def _line(link: dict[str, Any]) -> str:
    text = f"  “{printable(link['text'])}”" if link["text"] else ""
    title = f"  {printable(link['title'])}" if link["title"] else ""
    return escape(f"{printable(link['url'])}{title}{text}")
