"""The commands `tianmesh eval`: judge a running mesh, print the table of quality, fit weights. [io]

They need the extra `evaluation`, which peers do not: what it brings is imported when a command runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from mesh.client.gateway_client import GatewayClient
from mesh.counts import counted
from mesh.errors import ConfigError
from peers.evaluation import error_rate_command, invitation_commands, pool_commands
from peers.evaluation.error_rate_command import CondensedOption
from peers.evaluation.extra import needed_extra
from peers.evaluation.judgement_names import by_suffix, condensed
from peers.mesh_readiness import WAIT_S, PartialOption, WaitOption
from peers.options import DATA, GATEWAY, DataOption, GatewayOption, JsonOption, print_json

if TYPE_CHECKING:
    from peers.evaluation.measures import PairedDifference
    from peers.evaluation.quality import Row, Skipped
    from peers.evaluation.weight_fit import Fitted, LeftOut

RUN_DEPTH: Final = 100  # hits of a query, as in the table of quality
HELP_VARIABLE: Final = "HELP_PAGES"
NO_HELP: Final = Path()

eval_app = typer.Typer(
    help="Judge the answers of a running mesh, or of the engine beside others.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
pool_commands.mount(eval_app)
invitation_commands.mount(eval_app)
error_rate_command.mount(eval_app)

SharedOption = Annotated[Path, typer.Option("--shared", help="Folder with suites/ and judged/.")]
HelpOption = Annotated[
    Path,
    typer.Option(
        "--help-pages",
        envvar=HELP_VARIABLE,
        help="Folder of unpacked packages, libreoffice-help-zh-cn/, -en-us/ and -de/ in it.",
    ),
]
CollectionOption = Annotated[
    list[str] | None, typer.Option("--collection", help="Only this one; repeat for more.")
]


@eval_app.callback(
    invoke_without_command=True,
    epilog="Example: tianmesh eval --queries topics.tsv --qrels qrels.txt --run new.run --compare old.run",
)
def judge(
    context: typer.Context,
    queries: Annotated[Path | None, typer.Option(help="Queries, one a line: id TAB text.")] = None,
    qrels: Annotated[
        Path | None, typer.Option(help="TREC judgements; a document may be the end of a URL's path.")
    ] = None,
    run: Annotated[Path | None, typer.Option(help="TREC run to write.")] = None,
    judge_run: Annotated[
        Path | None, typer.Option("--judge", help="TREC run to judge instead of asking a mesh.")
    ] = None,
    compare: Annotated[Path | None, typer.Option(help="TREC run to compare with, by a t-test.")] = None,
    is_condensed: CondensedOption = False,
    wait: WaitOption = WAIT_S,
    partial: PartialOption = False,
    data: DataOption = DATA,
    gateway: GatewayOption = GATEWAY,
    as_json: JsonOption = False,
) -> None:
    """Judge the answers of a running mesh."""
    if context.invoked_subcommand is not None:
        return
    if qrels is None or (queries is None) == (judge_run is None):
        raise typer.BadParameter("give --qrels, and either --queries or a run to --judge")
    with needed_extra():
        from peers.evaluation.measures import differences, means, measured
        from peers.evaluation.query_run import AnswerTally
        from peers.evaluation.query_run_screen import ask_mesh, end_unless_whole
        from peers.judging.trec import read_qrels, read_run, write_run

    judgements = read_qrels(qrels)
    tally = AnswerTally()
    if queries is not None:
        with GatewayClient(gateway) as client:
            found = dict(ask_mesh(client, queries, RUN_DEPTH, tally, wait, is_partial=partial))
        judgements = {query: judgements[query] for query in found if query in judgements}
        if not judgements:
            raise ConfigError(f"{qrels} judges none of the queries of {queries}")
    else:
        assert judge_run is not None
        found = read_run(judge_run)
    if run is not None:
        write_run(run, found.items())
    named = condensed if is_condensed else by_suffix
    values = measured(named(found, judgements), judgements)
    compared = None
    if compare is not None:
        compared = differences(values, measured(named(read_run(compare), judgements), judgements))
    timing = tally.report() if queries is not None else {}
    report = {**timing, "queries": len(judgements), "measures": means(values)}
    if compared is not None:
        report["compared"] = msgspec.to_builtins(compared)
    print_json(report) if as_json else _show(report, compared)
    if queries is not None:
        end_unless_whole(tally, is_partial=partial)


@eval_app.command(epilog="Example: tianmesh eval quality --help-pages packages")
def quality(
    shared: SharedOption = Path("../shared"),
    help_pages: HelpOption = NO_HELP,
    collection: CollectionOption = None,
    leave_out: Annotated[
        bool, typer.Option(help="First judge each with weights fitted to the others; takes minutes.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Rank every collection there is with our engine and with others, in this process."""
    with needed_extra():
        from peers.evaluation.quality import left_out_of, table

    console = Console(stderr=True)
    left_out = []
    if leave_out:
        left_out = left_out_of(
            shared, _folder(help_pages), lambda what: console.print(escape(what)), collection or ()
        )
    if left_out and not as_json:
        Console().print(_left_out_table(left_out))
    with Progress(console=console) as progress:
        rows, skipped = table(shared, _folder(help_pages), _bars(progress), collection or ())
    if not rows:
        raise ConfigError(f"no collections in {shared}")
    if as_json:
        print_json(msgspec.to_builtins({"left_out": left_out, "rows": rows, "skipped": skipped}))
    else:
        _show_table(rows, skipped)


@eval_app.command(epilog="Example: tianmesh eval fit --help-pages packages --json > weights.json")
def fit(
    shared: SharedOption = Path("../shared"),
    help_pages: HelpOption = NO_HELP,
    collection: CollectionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the weights of ranking that fit the judged collections best; changes nothing.

    Takes some minutes. The weights of the kinds of entries are factors on those of the analysis.
    """
    with needed_extra():
        from peers.evaluation.judged import collections_in, read_collection
        from peers.evaluation.weight_fit import FitSample, fit

    wanted = frozenset(collection or ())
    console = Console(stderr=True)
    samples = []
    for name, folder in collections_in(shared, _folder(help_pages)):
        if folder is not None and (not wanted or name in wanted):
            console.print(f"reading {escape(name)}")
            samples.append(FitSample(read_collection(name, folder, shared)))
        elif folder is None:
            console.print(f"skipped: {escape(name)}: its pages are not here")
    if not samples:
        raise ConfigError(f"no collections in {shared}")
    bm25f, features = fit(samples, lambda what: console.print(f"fitting {what}"))
    if as_json:
        print_json({"bm25f": bm25f._asdict(), "features": features._asdict()})
        return
    for title, fitted in (("BM25F", bm25f), ("features", features)):
        Console().print(
            f"{title}: " + ", ".join(f"{name} {value:.3g}" for name, value in fitted.point.items())
        )
        Console().print(_fitted_table(fitted))


@eval_app.command(epilog="Example: tianmesh eval segmenters 199801.txt")
def segmenters(
    text: Annotated[Path, typer.Argument(help="Cut by hand: a sentence a line, spaces between words.")],
    runs: Annotated[int, typer.Option(min=1, help="Only the first runs of Han characters.")] = 100_000,
    as_json: JsonOption = False,
) -> None:
    """Compare ways to cut Chinese into words on a text that was cut by hand."""
    from peers.evaluation.segmenters import compare_segmenters, jieba_words, read_segmented

    scores = compare_segmenters(read_segmented(text)[:runs], jieba_words())
    if as_json:
        print_json(msgspec.to_builtins(scores))
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("method", "words", "precision", "recall", "F1", "characters/s"):
        table.add_column(name, justify="left" if name in ("method", "words") else "right")
    for each in scores:
        values = (f"{value:.4f}" for value in (each.precision, each.recall, each.f1))
        table.add_row(each.method, each.dictionary, *values, f"{each.chars_per_s:,.0f}")
    Console().print(table)


def _folder(help_pages: Path) -> Path | None:
    return None if help_pages == NO_HELP else help_pages


def _bars(progress: Progress) -> Callable[[str, int], Callable[[], None]]:
    def bar(what: str, total: int) -> Callable[[], None]:
        task = progress.add_task(escape(what), total=total)
        return lambda: progress.advance(task)

    return bar


def _show(report: dict[str, Any], compared: Sequence[PairedDifference] | None) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    names = (
        ("measure", "value") if compared is None else ("measure", "value", "other", "better", "worse", "p")
    )
    for name in names:
        table.add_column(name, justify="left" if name == "measure" else "right")
    for place, (name, value) in enumerate(report["measures"].items()):
        cells = [f"{value:.4f}"]
        if compared is not None:
            each = compared[place]
            sign = " *" if each.is_significant else ""
            cells += [f"{each.other_mean:.4f}", str(each.better), str(each.worse), f"{each.p:.3g}{sign}"]
        table.add_row(name, *cells)
    console = Console()
    console.print(table)
    timing = f", p50 {report['p50_ms']:.1f} ms, p99 {report['p99_ms']:.1f} ms" if "p50_ms" in report else ""
    console.print(f"{counted(report['queries'], 'query')}{timing}")
    if compared is not None:
        console.print("* such a difference comes by chance in less than 5 of 100 cases (paired t-test)")


def _fitted_table(fitted: Fitted) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("collection", "before", "fitted", "on folds fitted to", "on folds left out"):
        table.add_column(name, justify="left" if name == "collection" else "right")
    columns = fitted.before, fitted.figures, fitted.trained, fitted.tested
    for name in fitted.figures:
        table.add_row(name, *(f"{column[name]:.4f}" for column in columns))
    return table


def _left_out_table(left_out: Sequence[LeftOut]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("left out", "fitted to the others", "fitted to all", "weights there are"):
        table.add_column(name, justify="left" if name == "left out" else "right")
    for each in left_out:
        table.add_row(each.name, f"{each.others:.4f}", f"{each.own:.4f}", f"{each.now:.4f}")
    return table


def _show_table(rows: Sequence[Row], skipped: Sequence[Skipped]) -> None:
    shown = ("nDCG@10", "MAP", "MRR@10", "P@10", "S@1", "S@10", "S@100")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("collection", "engine", *shown, "p"):
        table.add_column(name, justify="left" if name in ("collection", "engine") else "right")
    last = ""
    for row in rows:
        if last and row.collection != last:
            table.add_section()
        against = "" if row.against_ours is None else f"{row.against_ours.p:.2g}"
        first = row.collection if row.collection != last else f"[dim]{counted(row.queries, 'query')}[/dim]"
        table.add_row(first, row.engine, *(f"{row.figures[name]:.4f}" for name in shown), against)
        last = row.collection
    console = Console(width=max(100, Console().width))
    console.print(table)
    console.print("p: of the difference to our engine by MRR@10 (known items) or nDCG@10, paired t-test")
    for each in skipped:
        console.print(f"skipped: {escape(each.what)}: {escape(each.reason)}")
