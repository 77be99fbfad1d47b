"""The commands of `tianmesh eval` by which people judge: queries, pools, judging, agreement. [io]"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Annotated, Final

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.counts import counted
from mesh.errors import ConfigError
from peers.judging.agreement import Agreement, cohens_kappa, fleiss_kappa, joined
from peers.judging.assessment import Assessment, judgements_path
from peers.judging.assessment_screen import judge_pool
from peers.judging.pool import Shown, pool_of, read_pool, write_pool
from peers.judging.trec import read_qrels, read_run, read_topics, read_words, write_qrels, write_topics
from peers.options import DATA, GATEWAY, DataOption, GatewayOption, JsonOption, print_json
from peers.query_log.log_row import CLIENTS_TOLD_MIN

NOT_SHOWN: Final = (403, 404)  # of HTTP: its site wants no copy shown; the mesh has none


def mount(app: typer.Typer) -> None:
    """Add the commands to `tianmesh eval`."""
    app.command(
        "queries",
        epilog="Example: tianmesh eval queries SogouQ.sample --per-class 50 --out topics.tsv",
    )(draw_queries)
    app.command(
        "pool",
        epilog="Example: tianmesh eval pool ours.run theirs.run --queries topics.tsv --out pool.json",
    )(make_pool)
    app.command("judge", epilog="Example: tianmesh eval judge pool.json --assessor ann")(judge)
    app.command(
        "agreement",
        epilog="Example: tianmesh eval agreement pool.ann.qrels pool.bob.qrels --joined pool.qrels",
    )(agreement)


def draw_queries(
    log: Annotated[Path, typer.Argument(help="Query or click log, of any layout that is known.")],
    out: Annotated[Path, typer.Option(help="File of queries to write: id TAB text.")],
    per_class: Annotated[int, typer.Option(min=1, help="Queries of each class.")] = 50,
    min_clients: Annotated[
        int,
        typer.Option(min=1, help="Clients that must have asked a query; requests, if no clients are told."),
    ] = CLIENTS_TOLD_MIN,
    without: Annotated[
        Path | None, typer.Option(help="Words, one a line: queries with one of them are left out.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Draw a set of queries to judge engines by from a log: so many of each class.

    Navigational queries look for a site, transactional ones for something to have or to do, informational
    ones for what pages say. The class is told by words and is wrong now and then: read the file first.
    """
    from peers.evaluation.query_set import drawn_queries, topics_of
    from peers.query_log.log_files import clients_of, read_log, requests_of

    left_out = [] if without is None else read_words(without)
    asked = ((entry.query, entry.client) for entry in requests_of(read_log(log).entries))
    drawn = drawn_queries(clients_of(asked), per_class, min_clients, left_out, Random(seed))
    if not any(sample.queries for sample in drawn.values()):
        raise ConfigError(
            f"no query of {log} has {counted(min_clients, 'client')}: give a smaller --min-clients"
        )
    write_topics(out, topics_of(drawn))
    if as_json:
        print_json({each: {"there_are": of.n_there, "drawn": len(of.queries)} for each, of in drawn.items()})
        return
    for each, of in drawn.items():
        print(f"{each}: {len(of.queries):,} of {of.n_there:,}")


def make_pool(
    runs: Annotated[list[Path], typer.Argument(help="TREC runs, one of each engine.")],
    queries: Annotated[Path, typer.Option(help="Queries, one a line: id TAB text.")],
    out: Annotated[Path, typer.Option(help="File to write, for `tianmesh eval judge`.")],
    depth: Annotated[int, typer.Option(min=1, max=1_000, help="Results of each run for a query.")] = 20,
    seed: Annotated[int, typer.Option(help="Of the order; the same gives the same.")] = 0,
    has_pages: Annotated[
        bool,
        typer.Option(
            "--pages/--no-pages",
            help="Read titles and excerpts from a mesh, and leave out what it has no copy of to show.",
        ),
    ] = True,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Pool the first results of several runs, to be judged by people.

    The order is blind: of each rank the results of all engines are shuffled, and no engine is named.
    All titles and excerpts come from the copies in one mesh, whichever engine has found a page; pages without
    a copy to show are passed over. Measure with --condensed then, so that they do not count as not relevant.
    """
    read, topics = [read_run(run) for run in runs], read_topics(queries)
    n_left_out = 0
    if has_pages:
        with GatewayClient(gateway) as client, Progress(console=Console(stderr=True)) as progress:
            task = progress.add_task("reading pages", total=None)
            shown = cache(_shown_by(client, lambda: progress.advance(task)))
            pool = pool_of(read, topics, depth, seed, shown)
            n_left_out = shown.cache_info().misses - len(pool.pages)
    else:
        pool = pool_of(read, topics, depth, seed)
    write_pool(out, pool)
    if as_json:
        counts = {"queries": len(pool.queries), "pages": len(pool.pages), "left_out": n_left_out}
        print_json({**counts, "depth": depth, "seed": seed})
        return
    left_out = f", {n_left_out:,} left out that the mesh cannot show" if has_pages else ""
    print(
        f"{counted(len(pool.pages), 'page')} of {counted(len(pool.queries), 'query')} (seed "
        f"{seed}){left_out}: {out}"
    )


def judge(
    pool: Annotated[Path, typer.Argument(help="A pool, of `tianmesh eval pool`.")],
    assessor: Annotated[str, typer.Option(help="Name of the person, by letters, digits, - and _.")],
    as_json: JsonOption = False,
) -> None:
    """Judge the pages of a pool in a terminal: 0 not relevant, 1 relevant, 2 highly relevant.

    Every grade is in the file POOL.NAME.qrels as soon as its key is pressed: end with q or Ctrl-C, and the
    same command goes on. b goes back, s leaves a page for later. With --json nothing is asked: it tells how
    far the assessor is.
    """
    read = read_pool(pool)
    path = judgements_path(pool, assessor)
    assessment = Assessment(read, path)
    if not as_json:
        judge_pool(read, assessment, Console(highlight=False), _read_key)
    n_judged, n_pages = assessment.judged_count, len(read.pages)
    if as_json:
        print_json({"pages": n_pages, "judged": n_judged, "qrels": str(path)})
    else:
        print(f"{n_judged:,} of {counted(n_pages, 'page')} judged: {path}")


def agreement(
    qrels: Annotated[list[Path], typer.Argument(help="TREC judgements, a file of each assessor.")],
    joined_path: Annotated[
        Path | None, typer.Option("--joined", help="Judgements to write: of each page the median grade.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell how far assessors agree, by Cohen's kappa for two and Fleiss' for more, and join their judgements.

    The median grade is that of the majority where there is one; of two in the middle it is the lower.
    """
    assessors = {path.name: read_qrels(path) for path in qrels}
    if len(assessors) < 2:
        raise typer.BadParameter("give the judgements of two assessors or more, in files of different names")
    pairs = [
        AgreementOfPair(one, other, cohens_kappa(assessors[one], assessors[other]))
        for one, other in combinations(assessors, 2)
    ]
    of_all = fleiss_kappa(list(assessors.values()))
    if not any(pair.agreement.n_pages for pair in pairs):
        raise ConfigError("no two of them have judged a page in common")
    if joined_path is not None:
        write_qrels(joined_path, joined(list(assessors.values())))
    if as_json:
        print_json(msgspec.to_builtins({"pairs": pairs, "all": of_all}))
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("assessors", "pages", "agreement", "by chance", "kappa"):
        table.add_column(name, justify="left" if name == "assessors" else "right")
    for pair in pairs:
        table.add_row(escape(f"{pair.one}, {pair.other}"), *_cells(pair.agreement))
    if len(assessors) > 2:
        table.add_row("all (Fleiss)", *_cells(of_all))
    Console().print(table)


class AgreementOfPair(msgspec.Struct, frozen=True):
    """Two assessors, by the names of their files."""

    one: str
    other: str
    agreement: Agreement


def _cells(found: Agreement) -> list[str]:
    kappa = "-" if found.kappa is None else f"{found.kappa:.3f}"
    return [f"{found.n_pages:,}", f"{found.observed:.3f}", f"{found.expected:.3f}", kappa]


def _read_key() -> str:
    try:
        return typer.getchar()
    except OSError as error:
        raise ConfigError("judging is done by keys, in a terminal: there is none here") from error


def _shown_by(client: GatewayClient, advance: Callable[[], None]) -> Callable[[str, str], Shown | None]:
    """Return a reader of pages, each of which is read once for a query."""
    from peers.engine.excerpts.snippet import snippet_of
    from peers.engine.queries.query_parser import read_query

    def shown(document: str, text: str) -> Shown | None:
        advance()
        try:
            page = client.page(document)
        except GatewayError as error:
            if error.status in NOT_SHOWN:
                return None
            raise
        snippet = snippet_of(page["text"], read_query(text).query)
        return Shown(page["title"], snippet.text, snippet.highlights)

    return shown
