"""The command `tianmesh eval error-rate`: how sure a comparison of runs is. [io]"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mesh.counts import counted
from peers.evaluation.error_rate import FUZZINESS, Factor, PairOutcome, error_rate, outcomes_of
from peers.evaluation.extra import needed_extra
from peers.evaluation.judgement_names import by_suffix, condensed
from peers.judging.trec import read_qrels, read_run
from peers.options import JsonOption, print_json

if TYPE_CHECKING:
    from peers.evaluation.measures import PairedDifference

CondensedOption = Annotated[
    bool,
    typer.Option("--condensed", help="Leave pages without a judgement out of the runs: for those of a pool."),
]


def mount(app: typer.Typer) -> None:
    """Add the command to `tianmesh eval`."""
    app.command(
        "error-rate",
        epilog="Example: tianmesh eval error-rate ours.run theirs.run --qrels pool.qrels --vary queries",
    )(show_error_rate)


def show_error_rate(
    runs: Annotated[list[Path], typer.Argument(help="TREC runs, two or more.")],
    qrels: Annotated[list[Path], typer.Option(help="TREC judgements; again for those of each assessor.")],
    vary: Annotated[Factor, typer.Option(help="In what the repetitions differ.")] = Factor.QUERIES,
    repeat: Annotated[int, typer.Option(min=1, max=1_000_000, help="Repetitions.")] = 1_000,
    size: Annotated[
        int | None, typer.Option(min=1, help="Queries in a set.", show_default="half of those judged")
    ] = None,
    measure: Annotated[str, typer.Option(help="As `tianmesh eval` names them.")] = "nDCG@10",
    fuzziness: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of the larger mean within which two are equal.")
    ] = FUZZINESS,
    seed: Annotated[int, typer.Option(help="Of what is drawn.")] = 0,
    is_condensed: CondensedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tell how often a comparison of runs comes out the other way.

    Each repetition draws a set of queries (--vary queries), or for each query one of its assessors (--vary
    assessor); with --vary measure each measure is one repetition. The error rate is the share of repetitions
    that the run won which loses to the other in most. Beside it: a paired t-test over all queries.
    """
    if len(runs) < 2:
        raise typer.BadParameter("give two runs or more to compare")
    with needed_extra():
        from peers.evaluation.judged_runs import JudgedRuns

    named = condensed if is_condensed else by_suffix
    judged = JudgedRuns([read_run(run) for run in runs], [read_qrels(path) for path in qrels], measure, named)
    outcomes = outcomes_of(judged.repetitions(vary, size, repeat, Random(seed)), fuzziness)
    tests = [judged.difference(each.one, each.other) for each in outcomes]
    names = [run.name for run in runs]
    if not as_json:
        _show(names, outcomes, tests, f"vary the {vary}; judged: {counted(len(judged.queries), 'query')}")
        return
    pairs = [
        {**msgspec.to_builtins(each), "one": names[each.one], "other": names[each.other], "t_test": test}
        for each, test in zip(outcomes, tests, strict=True)
    ]
    report = {
        "vary": vary,
        "queries": len(judged.queries),
        "error_rate": error_rate(outcomes),
        "pairs": pairs,
    }
    print_json(msgspec.to_builtins(report))


def _show(
    names: Sequence[str], outcomes: Sequence[PairOutcome], tests: Sequence[PairedDifference], told: str
) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("A", "B", "|A>B|", "|B>A|", "|A==B|", f"{tests[0].measure} of A", "of B", "p"):
        table.add_column(name, justify="left" if name in ("A", "B") else "right")
    for each, test in zip(outcomes, tests, strict=True):
        counts = (f"{count:,}" for count in (each.better, each.worse, each.equal))
        p = f"{test.p:.3g}{' *' if test.is_significant else ''}"
        means = (f"{test.mean:.4f}", f"{test.other_mean:.4f}", p)
        table.add_row(escape(names[each.one]), escape(names[each.other]), *counts, *means)
    console = Console()
    console.print(table)
    n_repetitions = outcomes[0].better + outcomes[0].worse + outcomes[0].equal
    console.print(f"error rate {error_rate(outcomes):.2%}: {counted(n_repetitions, 'repetition')} {told}")
    console.print("* such a difference comes by chance in less than 5 of 100 cases (paired t-test)")
