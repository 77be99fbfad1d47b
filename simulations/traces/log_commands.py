"""The commands of `tianmesh log`: the mesh's own log of searches. [io]"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mesh.client.admin_token import key_in
from mesh.counts import counted
from mesh.errors import ConfigError
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    KeyOption,
    TokenOption,
    administrator_of,
    print_json,
    reader_of,
)
from peers.policy import edits
from peers.policy.log_rules import LOG_DAYS_MAX, logged_text
from peers.policy.policy_issuer import PolicyIssuer
from peers.policy.rules import Policy

app = typer.Typer(
    help="The mesh's own log of searches, which is off unless its owner turns it on: day and query, and of "
    "each client a digest that is of this day and query alone. Of a query that fewer than five clients asked "
    "on a day nothing is shown but that there is one.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(epilog="Examples: tianmesh log keep --days 30 --clicks   tianmesh log keep --days 0")
def keep(
    days: Annotated[
        int, typer.Option(min=0, max=LOG_DAYS_MAX, help="For so long; 0 ends the log and deletes it.")
    ] = 30,
    clicks: Annotated[
        bool, typer.Option("--clicks", help="Links of results lead over the gateway, which notes them.")
    ] = False,
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Have searches logged from now on, for some days, or no more: a part of the policy of the mesh."""

    def edit(policy: Policy | None) -> Policy:
        return edits.keeping_log(policy, days, datetime.now(UTC).date(), clicks=clicks)

    told = (
        f"searches are logged for {counted(days, 'day')}"
        if days
        else "searches are not logged, and the log is deleted"
    )
    _issue(edit, told, key, gateway, token, data, as_json)


@app.command(epilog="Examples: tianmesh log stats   tianmesh log stats --json")
def stats(
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Show the log in the figures of the book's chapter 9, as `trace queries` does for other logs."""
    from simulations.traces.commands import queries_table
    from simulations.traces.own_log import own_statistics, read_parts

    with reader_of(gateway, token, data) as client:
        found = own_statistics(read_parts(client))
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        Console().print(queries_table(gateway, found))


@app.command("unmet", epilog="Examples: tianmesh log unmet   tianmesh log unmet --hits 10 --json")
def show_unmet(
    hits: Annotated[int, typer.Option(min=1, max=1_000, help="Queries with fewer than these.")] = 3,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Show the queries that several ask and for which the mesh has little, those of most people first.

    With `searched_words_max` in the policy's crawl order the crawl goes there by itself.
    """
    from simulations.traces.own_log import read_parts, unmet

    with reader_of(gateway, token, data) as client:
        found = unmet(read_parts(client), hits)
    if as_json:
        print_json([msgspec.to_builtins(each) for each in found])
        return
    table = Table("query", "clients", "hits", "last asked", box=SIMPLE_HEAD, pad_edge=False)
    for each in found:
        table.add_row(escape(each.query), f"{each.clients:,}", f"{each.hits:,}", f"{each.day}")
    if found:
        Console().print(table)
    else:
        print(f"no query of five clients or more on a day had fewer than {counted(hits, 'hit')}")


@app.command(epilog="Example: tianmesh log export queries.log --clicks clicks.log")
def export(
    queries: Annotated[Path, typer.Argument(help="File for its requests, in the book's layout.")],
    clicks: Annotated[Path | None, typer.Option(help="File for its clicks, likewise.")] = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Write the log as the book has one, for `trace queries`, `sim cache` and `sim querylog`.

    Clients are numbers that say only how many there were; times are those of midnight. Queries that fewer
    than five clients asked on a day are left out, and counted.
    """
    from peers.query_log.log_files import write_book_clicks, write_book_queries
    from simulations.traces.own_log import entries_of, read_parts

    with reader_of(gateway, token, data) as client:
        parts = list(read_parts(client))
    entries = list(entries_of(query for part in parts for query in part.queries))
    n_requests = write_book_queries(queries, entries)
    n_clicks = 0 if clicks is None else write_book_clicks(clicks, entries)
    n_rare = sum(sum(each.queries) for part in parts for each in part.rare)
    if as_json:
        print_json({"requests": n_requests, "clicks": n_clicks, "queries_left_out": n_rare})
    else:
        print(
            f"{counted(n_requests, 'request')} and {counted(n_clicks, 'click')}; left out: "
            f"{counted(n_rare, 'rare query')}"
        )


@app.command(epilog="Examples: tianmesh log rankings   tianmesh log rankings --json")
def rankings(
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Tell which of two rankings readers prefer, by their clicks: an exact sign test.

    The policy has a second ranking (query_log.second), and readers that agree to it are shown results that
    both pick by turns. Each counts once for a query and day, for the ranking of more of the results opened.
    """
    from simulations.traces.own_log import read_parts
    from simulations.traces.rankings import compared_rankings, verdict_on

    with reader_of(gateway, token, data) as client:
        found = compared_rankings(read_parts(client))
    if as_json:
        print_json([msgspec.to_builtins(each) for each in found])
        return
    if not found:
        print("no ranking was compared: the policy has no second one, or nobody has agreed or clicked yet")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("second ranking", "for it", "for that in force", "ties", "share", "95 %", "p"):
        table.add_column(name, justify="left" if name == "second ranking" else "right")
    for each in found:
        test = each.test
        share = "-" if test.share is None else f"{test.share:.1%}"
        counts = (f"{count:,}" for count in (test.wins, test.losses, test.ties))
        table.add_row(each.comparison, *counts, share, f"{test.low:.1%} to {test.high:.1%}", f"{test.p:.3g}")
    console = Console(highlight=False)
    console.print(table)
    for each in found:
        console.print(f"{each.comparison}: {verdict_on(each.test)}", markup=False, soft_wrap=True)


@app.command(
    epilog="Examples: tianmesh log clicks   tianmesh log clicks --json   "
    "tianmesh log clicks --queries topics.tsv --run other.txt"
)
def clicks(
    queries: Annotated[
        Path | None, typer.Option(help="Queries of a run, one a line: id, a tab, the text.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="Another ranking of them, as `search --queries --run` writes it.")
    ] = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Estimate from clicks how far down readers look, and the worth of a ranking that nobody was shown.

    Shares come from results that were in several places of lists that five clients or more were shown on a
    day. The worth of a ranking counts the clicks that it would have had (inverse propensities, clipped).
    """
    from peers.judging.trec import read_run, read_topics
    from simulations.traces.log_click_screen import show_clicks
    from simulations.traces.log_clicks import clicks_of, shown_lists
    from simulations.traces.own_log import read_parts

    if (queries is None) != (run is None):
        raise ConfigError("a ranking is its queries and their results: give both --queries and --run")
    ranking_of = None
    if queries is not None and run is not None:
        ranked = read_run(run)
        ranking_of = {
            logged_text(text): [hit.document for hit in ranked[name]]
            for name, text in read_topics(queries)
            if name in ranked
        }
    with reader_of(gateway, token, data) as client:
        lists = shown_lists(read_parts(client))
        n_gateways = sum(bool(row.get("gateway")) for row in client.status()["members"])
    if not lists:
        raise ConfigError(
            "the log has no list of results that five clients were shown on one day: it needs `tianmesh log "
            "keep --clicks`, and readers"
        )
    found = clicks_of(lists, ranking_of)
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        show_clicks(found, n_gateways)


@app.command(
    epilog="Examples: tianmesh log forget 'my name'   tianmesh log forget --before 2027-01-31   "
    "tianmesh log forget --all"
)
def forget(
    query: Annotated[str, typer.Argument(help="As it was typed.", show_default=False)] = "",
    is_all: Annotated[bool, typer.Option("--all", help="Everything, today's too.")] = False,
    before: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="UTC; days before it.")
    ] = None,
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Delete a query, or days, from the log on all peers; one that is down does so once it is back.

    What is asked on the rest of the last of these days is not kept either.
    """
    if sum((bool(query), is_all, before is not None)) != 1:
        raise ConfigError("forget what? give a query, --before DAY or --all")
    today = datetime.now(UTC).date()
    to = today if before is None else before.date() - timedelta(days=1)

    def edit(policy: Policy | None) -> Policy:
        return edits.forgetting(policy, query, to, today)

    about = repr(query) if query else f"everything up to {to}"
    _issue(
        edit,
        f"{about} is forgotten: every peer deletes it when it hears so",
        key,
        gateway,
        token,
        data,
        as_json,
    )


def _issue(
    edit: Callable[[Policy | None], Policy],
    told: str,
    key: Path | None,
    gateway: str,
    token: str,
    data: Path,
    as_json: bool,
) -> None:
    with administrator_of(gateway, token, data, key) as client:
        issuer = PolicyIssuer(client, key_in(data, key))
        number = issuer.issue(edit(issuer.to_change()))
    if as_json:
        print_json({"number": number})
    else:
        print(f"{told} (policy {number})")
