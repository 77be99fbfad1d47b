"""The command `tianmesh search`: one query for people, or a file of queries for evaluation. [io]"""

from __future__ import annotations

from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape

from mesh.client.gateway_client import GatewayClient
from mesh.counts import counted
from mesh.errors import ConfigError
from peers.mesh_readiness import WAIT_S, PartialOption, WaitOption
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

FACET_VALUES_SHOWN: Final = 10
HITS_SHOWN: Final = 10
RUN_DEPTH: Final = 100  # hits per query in a run for evaluation, as TREC's ad hoc tracks took 1,000
QUERY_HELP: Final = (
    'Words, "a phrase", -without, OR, ( ), site:host, intitle:word, inurl:word, lang:zh, type:pdf, '
    "after:2024-05, before:2025."
)
EPILOG: Final = (
    'Examples: tianmesh search "中文 分词"   '
    "tianmesh search --live 'partition pruning' --data mymesh   "
    "tianmesh search --queries topics.tsv --run run.txt   (a TREC run, for evaluation)   "
    "tianmesh search --queries topics.tsv --record-reads reads.jsonl --data mymesh/peer-1"
)


class SortOption(StrEnum):
    """The key by which results are ordered."""

    SCORE = "score"
    DATE = "date"


class GroupsOption(StrEnum):
    """The ways to group results."""

    WORDS = "words"
    KIND = "kind"
    SITE = "site"


FacetsOption = Annotated[
    bool, typer.Option("--facets", help="Count sites, languages, types, years, classes.")
]
LiveOption = Annotated[
    bool, typer.Option("--live", help="Have the crawl visit first what this search waits for.")
]
PagesOption = Annotated[
    int, typer.Option(min=1, max=200, help="Of a live search: pages that come first at most.")
]
GroupedOption = Annotated[
    GroupsOption | None,
    typer.Option(
        help="Group the first 60 results by their words, their kinds or their sites.", show_default=False
    ),
]
FishOption = Annotated[
    bool, typer.Option("--fish", help="Of a live search: go on from pages that do not fit, too.")
]
WidthOption = Annotated[
    int, typer.Option(min=1, max=1_000, help="With --fish: links followed of a page; of a hit 1.5 times.")
]
StepsOption = Annotated[
    int, typer.Option(min=0, max=100, help="With --live: clicks made without meeting a hit.")
]

CountOption = Annotated[
    int | None,
    typer.Option("-k", min=1, max=10_000, help=f"How many results: {HITS_SHOWN}, or {RUN_DEPTH} in a run."),
]
ReadsOption = Annotated[
    Path | None,
    typer.Option(
        help="Ask --queries of the index of the stopped peer in --data, and write its reads of lists here."
    ),
]


def search(
    query: Annotated[str | None, typer.Argument(help=QUERY_HELP)] = None,
    k: CountOption = None,
    sort: Annotated[SortOption, typer.Option(help="The best or the latest pages first.")] = SortOption.SCORE,
    facets: FacetsOption = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    cursor: Annotated[str, typer.Option(help="Go on behind the results that ended with this.")] = "",
    queries: Annotated[Path | None, typer.Option(help="File of queries, one a line: id TAB text.")] = None,
    run: Annotated[Path | None, typer.Option(help="TREC run to write for --queries.")] = None,
    record_reads: ReadsOption = None,
    groups: GroupedOption = None,
    live: LiveOption = False,
    pages: PagesOption = 50,
    seconds: Annotated[float, typer.Option(min=1, max=60, help="Of a live search: its time.")] = 20.0,
    fish: FishOption = False,
    width: WidthOption = 20,
    steps: StepsOption = 3,
    wait: WaitOption = WAIT_S,
    partial: PartialOption = False,
    token: TokenOption = "",
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Search the whole mesh through one gateway.

    A live search (--live) takes an administrator's key; Ctrl-C ends it and keeps what was found.

    A run (--queries) waits for the whole mesh, and ends with 1 if a part did not answer or nothing was found.
    """
    if query is not None and not query.strip():
        raise ConfigError("give the words to search for, as `tianmesh search 'web crawler'`")
    if live and query is not None and (queries, run, groups) == (None, None, None):
        wish = {"q": query, "k": min(k or HITS_SHOWN, 100), "pages": pages, "seconds": seconds}
        with administrator_of(gateway, token, data) as client:
            _search_live(client, wish | {"fish": fish, "width": width, "steps": steps}, as_json=as_json)
        return
    if live:
        raise typer.BadParameter("give a QUERY, no file of them and no --groups, with --live")
    if record_reads is not None:
        is_alone = query is None and run is None
        _record_reads(queries if is_alone else None, data, record_reads, as_json=as_json)
        return
    if groups is not None:
        is_alone = (k, sort, facets, explain, cursor) == (None, SortOption.SCORE, False, False, "")
        _search_groups(query if is_alone and not (queries or run) else None, groups, gateway, as_json=as_json)
        return
    with GatewayClient(gateway) as client:
        if queries is not None and run is not None and query is None:
            if sort is not SortOption.SCORE or facets or explain or cursor:
                raise typer.BadParameter("a run has the best pages of each query: leave all but -k out")
            _run_queries(client, queries, run, k or RUN_DEPTH, wait, is_partial=partial, as_json=as_json)
        elif query is not None and queries is None and run is None:
            answer = client.search_deep(
                query, k or HITS_SHOWN, sort=sort.value, facets=facets, explain=explain, cursor=cursor
            )
            print_json(answer) if as_json else _show_found(answer)
        else:
            raise typer.BadParameter("give either a QUERY, or both --queries FILE and --run FILE")


def _search_live(client: GatewayClient, wish: dict[str, Any], *, as_json: bool) -> None:
    """Show the progress of a live search on standard error, and its results when it is over."""
    told: dict[str, Any] = {}
    progress = Console(stderr=True, highlight=False)
    try:
        with closing(client.search_live(wish)) as states:
            for told in states:
                n_stored = sum(page["is_stored"] for page in told["wanted"])
                progress.print(
                    f"[dim]{told['seconds']:4.1f} s: {n_stored} of {counted(len(told['wanted']), 'page')} "
                    f"fetched, {len(told['new'])} new among the first[/dim]"
                )
    except KeyboardInterrupt:
        progress.print("[yellow]ended before its time[/yellow]")
    if told and as_json:
        print_json(told)
    elif told:
        _show_found(told["found"])


def _search_groups(query: str | None, groups: GroupsOption, gateway: str, *, as_json: bool) -> None:
    if query is None:
        raise typer.BadParameter("give the QUERY alone with --groups")
    with GatewayClient(gateway) as client:
        told = client.groups(query, groups.value)
    print_json(told) if as_json else _show_groups(told)


def _run_queries(
    client: GatewayClient, queries: Path, run: Path, k: int, wait_s: float, *, is_partial: bool, as_json: bool
) -> None:
    """Write a TREC run, and tell how fast and how complete the answers were."""
    # Here, so that a search need not wait for the engine to be loaded.
    from peers.evaluation.query_run import AnswerTally
    from peers.evaluation.query_run_screen import ask_mesh, end_unless_whole
    from peers.judging.trec import write_run

    tally = AnswerTally()
    write_run(run, ask_mesh(client, queries, k, tally, wait_s, is_partial=is_partial))
    report = {**tally.report(), "run": str(run)}
    print_json(report) if as_json else Console().print(
        f"{counted(report['queries'], 'query')} in {report['seconds']:.1f} s, "
        f"p50 {report['p50_ms']:.1f} ms, p99 {report['p99_ms']:.1f} ms: {escape(str(run))}"
    )
    end_unless_whole(tally, is_partial=is_partial)


def _record_reads(queries: Path | None, data: Path, out: Path, *, as_json: bool) -> None:
    """Write the reads of a peer's index, and tell how many a query makes."""
    if queries is None:
        raise typer.BadParameter("give --queries FILE, and neither a QUERY nor --run, with --record-reads")
    from peers.commands.recorded_search import record_reads

    told = record_reads(queries, data, out)
    print_json(told) if as_json else Console().print(
        f"{counted(told['queries'], 'query')}, of each {told['reads_each']:.1f} reads of "
        f"{told['read_kb']:.2f} kB on average, of {told['lists_mb']:.1f} MB of lists: {escape(str(out))}"
    )


def _show_found(answer: dict[str, Any]) -> None:
    console = Console(highlight=False)
    at_least = "" if answer["is_exact"] else "at least "
    any_of = ", some of the words are enough" if answer["relaxed"]["is_any"] else ""
    pages = counted(answer["total"], "page")
    console.print(f"[dim]{at_least}{pages}{any_of}, {answer['took_ms']:.1f} ms[/dim]")
    _show_reading(console, answer)
    for rank, hit in enumerate(answer["hits"], 1):
        _show_hit(console, rank, hit)
    for name, values in answer.get("facets", {}).items():
        shown = ", ".join(
            f"{escape(each['value'])} {each['count']:,}{_within(each)}"
            for each in values[:FACET_VALUES_SHOWN]
        )
        console.print(f"\n[bold]{name}[/bold] {shown}" if shown else "", end="")
    if answer["next"]:
        console.print(f"\n[dim]more: --cursor {escape(answer['next'])}[/dim]", soft_wrap=True)


def _show_reading(console: Console, answer: dict[str, Any]) -> None:
    """Say how much of the mesh has answered, and how it has read the query."""
    coverage, relaxed = answer["coverage"], answer["relaxed"]
    if coverage["missing"]:
        console.print(
            f"[red]{coverage['missing']:,} of {counted(coverage['slots'], 'slot')} did not answer[/red]"
        )
    if corrected := answer.get("corrected"):
        console.print(f"[yellow]a word is on no page: results for {escape(corrected)}[/yellow]")
    for remark in answer["remarks"]:
        console.print(f"[yellow]{escape(remark['text'])}[/yellow]")
    if relaxed["nowhere"]:
        console.print(f"[yellow]on no page: {escape(' '.join(relaxed['nowhere']))}[/yellow]")


def _show_groups(told: dict[str, Any]) -> None:
    console = Console(highlight=False)
    at_least = "" if told["is_exact"] else "at least "
    any_of = ", some of the words are enough" if told["relaxed"]["is_any"] else ""
    pages = counted(told["total"], "page")
    first = f"the first {told['n_grouped']:,} of " if told["groups"] else ""
    console.print(f"[dim]{first}{at_least}{pages}{any_of}[/dim]")
    _show_reading(console, told)
    for group in told["groups"]:
        name = ", ".join(group["names"]) or "others"
        console.print(f"\n[bold]{escape(name)}[/bold] ({len(group['hits']):,})")
        for hit in group["hits"]:
            console.print(f"   {hit['rank']}. {escape(hit['title'] or hit['url'])}")
            console.print(f"      [green]{escape(hit['url'])}[/green]", soft_wrap=True)


def _within(value: dict[str, Any]) -> str:
    """Say in which class a class is, whose count has the same pages; "" of other values."""
    return f" in {escape(value['below'])}" if value.get("below") else ""


def _show_hit(console: Console, rank: int, hit: dict[str, Any]) -> None:
    console.print(f"\n[bold]{rank}. {escape(hit['title'] or hit['url'])}[/bold]")
    console.print(f"   [green]{escape(hit['url'])}[/green]")
    defines = "[bold]Definition:[/bold] " if hit.get("definition") else ""
    console.print(f"   {defines}{escape(hit['snippet'])}")
    # A gateway of the version before tells of none of these.
    also_at = hit.get("also_at", ())
    if (copies := hit.get("copies", 0) - len(also_at)) > 0:
        console.print(f"   [dim]{counted(copies, 'more copy')}[/dim]")
    for url in also_at:
        console.print(f"   [dim]the same at {escape(url)}[/dim]")
    if near_copies := hit.get("near_copies", 0):
        console.print(f"   [dim]{near_copies:,} more like this[/dim]")
    if hit.get("has_more_of_site"):
        console.print(f"   [dim]more from this site: site:{escape(hit['host'])}[/dim]")
    if "explanation" in hit:
        _show_explanation(console, hit["explanation"])


def _show_explanation(console: Console, part: dict[str, Any], depth: int = 0) -> None:
    indent = "   " + "  " * depth
    console.print(
        f"{indent}[dim]{part['value']:.6f} {escape(part['name'])} = {escape(part['formula'])}[/dim]"
    )
    for inner in part["parts"]:
        _show_explanation(console, inner, depth + 1)
