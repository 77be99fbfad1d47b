"""The command `tianmesh seed`. [io]"""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from mesh.client.admin_token import key_in
from mesh.counts import counted
from mesh.errors import ConfigError
from mesh.urls import FTP, WITH_LOGIN, canonical_with_ftp, has_login, origin_of
from peers.crawler.model.course import UNLIMITED
from peers.options import (
    DATA,
    GATEWAY,
    AnywhereOption,
    DataOption,
    DepthOption,
    GatewayOption,
    JsonOption,
    KeyOption,
    PagesMaxOption,
    TokenOption,
    WithinOption,
    administrator_of,
    print_json,
)
from peers.policy import edits
from peers.policy.policy_issuer import PolicyIssuer
from peers.policy.rules import Action, Rule

EPILOG: Final = (
    "Examples: tianmesh seed https://www.pku.edu.cn/ https://www.debian.org/   "
    "tianmesh seed https://www.debian.org/doc/ --within 'https://www.debian.org/doc/*' --depth-max 3   "
    "tianmesh seed --sitemap https://www.debian.org/sitemap.xml   "
    "tianmesh seed http://intranet.pku.edu.cn/ --allow-private intranet.pku.edu.cn"
)
SitemapOption = Annotated[
    list[str] | None,
    typer.Option("--sitemap", help="A sitemap or feed whose pages to start from; may be given again."),
]
LevelsOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=UNLIMITED - 1,
        help="Clicks that are made from these, and no more; other seeds go as far as they may.",
        show_default="all",
    ),
]
PagesOption = Annotated[
    int | None, typer.Option("--pages-per-host", min=1, help="Pages of one host at most.", show_default="all")
]
PrivateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-private",
        help="A host, with all names below, or a network such as 10.1.0.0/16 that may be asked though it is "
        "private; may be given again.",
        show_default=False,
    ),
]


def seed(
    urls: Annotated[list[str] | None, typer.Argument(help="Pages to start from.", show_default=False)] = None,
    sitemap: SitemapOption = None,
    within: WithinOption = None,
    anywhere: AnywhereOption = False,
    depth_max: DepthOption = None,
    pages_per_host: PagesOption = None,
    pages_max: PagesMaxOption = None,
    levels: LevelsOption = None,
    allow_private: PrivateOption = None,
    key: KeyOption = None,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Give the mesh pages to start from; the crawl stays on their domains unless you say otherwise.

    That takes an administrator's key. Without one the policy of the mesh decides which seeds it takes, and
    where there is none the crawl stays on the registrable domain of each seed.
    """
    seeds = [*(urls or ()), *(sitemap or ())]
    if not seeds:
        raise typer.BadParameter("give pages to start from, or a sitemap with --sitemap")
    slips = [url for url in seeds if not url.lower().startswith(("http://", "https://", FTP))]
    if len(slips) == len(seeds):
        raise ConfigError(f"{slips[0]!r} is no URL: seeds begin with http://, https:// or ftp://")
    with_login = next(filter(has_login, seeds), None)
    if with_login is not None:
        raise ConfigError(f"{canonical_with_ftp(with_login) or 'a seed'} {WITH_LOGIN}")
    limits = Rule(action=Action.CRAWL, depth_max=depth_max, pages_per_host_max=pages_per_host)
    is_limited = any(limit is not None for limit in (depth_max, pages_per_host, pages_max))
    is_scope_given = bool(within or anywhere or is_limited or allow_private)
    with administrator_of(gateway, token, data, key) as client:
        scope = ""
        key_file = key_in(data, key)
        if is_scope_given or key_file.exists():
            issuer = PolicyIssuer(client, key_file)
            pages = [url for url in map(canonical_with_ftp, seeds) if url is not None]
            web = [url for url in pages if not url.startswith(FTP)]
            servers = dict.fromkeys(f"{origin_of(url)}/*" for url in pages if url.startswith(FTP))
            scope = "; " + issuer.widen(
                pages,
                within or (*edits.domains_of(web), *servers),
                limits,
                is_anywhere=anywhere,
                pages_max=pages_max,
                private=allow_private or (),
            )
        answer = client.add_seeds(seeds, levels)
    if as_json:
        print_json(answer)
    else:
        _show(answer, len(seeds), scope)
    if answer["left_out"] or answer["private"]:
        raise typer.Exit(1)


def _show(answer: dict[str, Any], count: int, scope: str) -> None:
    Console(highlight=False).print(
        f"{answer['accepted']} of {counted(count, 'seed')} accepted{escape(scope)}"
    )
    complaints = Console(stderr=True, highlight=False)
    for refused in answer["invalid"]:
        complaints.print(escape(f"refused: {refused['url']} {refused['reason']}"), soft_wrap=True)
    for sentence in answer["private"]:
        complaints.print(f"refused: {escape(str(sentence))}", soft_wrap=True)
    for url in answer["left_out"]:
        complaints.print(f"left out by the policy of the mesh: {escape(str(url))}")
    if answer["left_out"]:
        complaints.print("`tianmesh policy show` says why, `tianmesh seed --key FILE` widens it")
