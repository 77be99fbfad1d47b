"""The commands `tianmesh eval invite` and `judgements`: people judge a pool on pages of a gateway. [io]"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from mesh.client.gateway_client import GatewayError
from mesh.counts import counted
from mesh.errors import ConfigError
from peers.gateway.site.command_json import AssessorJson, JudgingJson
from peers.judging.assessment import judgements_path
from peers.judging.assessor_link import DAYS_MAX
from peers.judging.judgement_files import is_name
from peers.judging.pool import read_pool
from peers.judging.trec import read_qrels, write_qrels
from peers.options import (
    DATA,
    GATEWAY,
    DataOption,
    GatewayOption,
    JsonOption,
    TokenOption,
    administrator_of,
    print_json,
    printable,
    read_told,
    reader_of,
)

PoolArgument = Annotated[Path, typer.Argument(help="A pool, of `tianmesh eval pool`.")]


def mount(app: typer.Typer) -> None:
    """Add the commands to `tianmesh eval`."""
    app.command(
        "invite",
        epilog="Example: tianmesh eval invite pool.json --assessor ann --assessor bob --data mesh/ann",
    )(invite)
    app.command("judgements", epilog="Example: tianmesh eval judgements pool.json --data mesh/ann")(
        judgements
    )


def invite(
    pool: PoolArgument,
    assessor: Annotated[
        list[str], typer.Option(help="Name of a person, by letters, digits, - and _; several go.")
    ],
    days: Annotated[int, typer.Option(min=1, max=DAYS_MAX, help="Days that the links are good for.")] = 30,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Give a pool to a peer, and print a link for each person to judge it by in a browser.

    The links are secrets, good at this gateway alone. The same command again makes new links, keeps all
    judgements, and takes the pool as it is then. `tianmesh eval judgements` fetches what they have judged.
    """
    name = _name_of(pool)
    posted = msgspec.to_builtins(read_pool(pool))
    wish = {"name": name, "assessors": assessor, "days": days, "pool": posted}
    with administrator_of(gateway, token, data) as client:
        told = client.invite(wish)
        links = [{**each, "url": f"{client.url}{each['link']}"} for each in told["links"]]
    if as_json:
        print_json({**told, "links": links})
        return
    print(
        f"{counted(told['pages'], 'page')} of {counted(told['queries'], 'query')} to judge, for "
        f"{counted(days, 'day')}:"
    )
    for each in links:
        print(f"{each['assessor']}: {each['url']}")


def judgements(
    pool: PoolArgument,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Fetch the grades that people have given in their browsers.

    Writes POOL.NAME.qrels beside the pool for each of them, for `tianmesh eval agreement`. Grades that are in
    such a file and not at the gateway stay in it; where both have one, that of the gateway counts.
    """
    name = _name_of(pool)
    with reader_of(gateway, token, data) as client:
        told = read_told(client.judging(name), JudgingJson)
        asked = [read_told(client.judging(name, each.assessor), JudgingJson) for each in told.assessors]
    rows = [
        _written(pool, each)
        for one, known in zip(asked, told.assessors, strict=True)
        for each in one.assessors
        if each.assessor == known.assessor
    ]
    if as_json:
        print_json({"pages": told.pages, "assessors": rows, "invited": list(told.invited)})
        return
    if waiting := sorted(set(told.invited) - {row["assessor"] for row in rows}):
        print(f"invited, nothing so far: {', '.join(map(printable, waiting))}")
    if not rows:
        print(f"nobody has judged any of {counted(told.pages, 'page')} yet")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("assessor", "judged", "of", "file"):
        table.add_column(column, justify="right" if column in ("judged", "of") else "left", overflow="fold")
    for row in rows:
        table.add_row(row["assessor"], f"{row['judged']:,}", f"{told.pages:,}", row["qrels"])
    Console(markup=False, highlight=False).print(table)


def _name_of(pool: Path) -> str:
    if not is_name(pool.stem):
        raise ConfigError(f"{pool.stem!r} is no name of a pool: take at most 40 letters, digits, - and _")
    return pool.stem


def _written(pool: Path, told: AssessorJson) -> dict[str, Any]:
    """Put the judgements of an assessor into the file beside the pool; return a row of the report."""
    path = judgements_path(pool, told.assessor)
    names = {name for query, of_query in told.judgements.items() for name in (query, *of_query)}
    if any(name.split() != [name] for name in names):
        raise GatewayError("the gateway tells of judgements that are none: nothing is written")
    given = {query: dict(of_query) for query, of_query in (read_qrels(path) if path.exists() else {}).items()}
    for query, of_query in told.judgements.items():
        given.setdefault(query, {}).update(of_query)
    write_qrels(path, given)
    return {"assessor": told.assessor, "judged": told.judged, "qrels": str(path)}
