"""The command `tianmesh webhook`: posts new hits of saved searches to a URL. [io]"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from mesh.client.gateway_client import GatewayClient
from mesh.errors import ConfigError
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    TokenOption,
    reader_of,
    seconds_in,
    token_given,
)
from peers.user_state import state_path

QUERIES_MAX: Final = 100
EPILOG: Final = (
    'Examples: tianmesh webhook https://hooks.example.org/new "中文 分词" site:pku.edu.cn '
    "--secret @hook.secret   tianmesh webhook https://hooks.example.org/new --watch --every 10s "
    "--secret @hook.secret"
)

SecretOption = Annotated[
    str,
    typer.Option(
        envvar="TIANMESH_WEBHOOK_SECRET",
        callback=token_given,
        metavar="@FILE|-",
        help="A file with the secret that signs, as `openssl rand -base64 32` makes one, or - for standard "
        "input.",
    ),
]


def webhook(
    url: Annotated[str, typer.Argument(help="Gets the hits, by POST.")],
    queries: Annotated[
        list[str] | None, typer.Argument(help="Searches, as for `tianmesh search`.", show_default=False)
    ] = None,
    secret: SecretOption = "",
    every: Annotated[str, typer.Option(metavar="TIME", help="Search so often, such as 15m or 1h.")] = "15m",
    watch: Annotated[
        bool, typer.Option("--watch", help="Post notices of `tianmesh watch` instead, as administrators see.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Search and post once, as for cron.")] = False,
    private: Annotated[bool, typer.Option("--private", help="The URL may be at a private address.")] = False,
    state: Annotated[
        Path | None, typer.Option(help="Where to keep what was seen. Default: in your state folder.")
    ] = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
) -> None:
    """Post new hits of searches to a URL, until it is stopped.

    The first answer to a search is where it begins; later hits with other URLs are new.
    What the URL has not taken with 2xx is posted again, later and later, also after a restart.
    With --watch notices from now on are posted; each peer keeps its last 5,000 for that.
    Posts are signed after Standard Webhooks, whose libraries check them.

    With --once it ends with 1 when a search had no answer or something still waits.
    """
    # Here, so that other commands need not wait for the rest.
    from peers.webhooks.endpoint import Endpoint, key_in
    from peers.webhooks.watch import OPTION, SearchWatch

    searches = list(dict.fromkeys(each.strip() for each in queries or () if each.strip()))
    if watch and searches:
        raise ConfigError("give searches or --watch, and run another webhook for the other")
    if not watch and not 0 < len(searches) <= QUERIES_MAX:
        raise ConfigError(f"give 1 to {QUERIES_MAX} searches")
    console = Console(stderr=True, highlight=False)
    endpoint = Endpoint(url, key_in(secret), may_be_private=private)
    path = state or state_path("webhook-watch" if watch else "webhook", [gateway, endpoint.url], OPTION)

    def say(text: str) -> None:
        console.print(escape(text), soft_wrap=True)

    with reader_of(gateway, token, data) if watch else GatewayClient(gateway) as client:
        hook = SearchWatch(client, endpoint, searches, seconds_in(every), path)
        while True:
            due = hook.step(time.monotonic(), say)
            if once:
                raise typer.Exit(1 if hook.n_missed or hook.state.waiting else 0)
            time.sleep(max(0.0, due - time.monotonic()))
