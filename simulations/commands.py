"""The commands `tianmesh sim crawl`, `replay`, `faults` and `soak`; mounts experiments. [io]"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mesh.counts import counted
from mesh.errors import INTERRUPTED
from mesh.process.collector import relax_collector
from peers.options import JsonOption
from simulations.studies import commands as studies
from simulations.traces import commands as traces

if TYPE_CHECKING:
    from simulations.faults.fault_run import RunOutcome
    from simulations.faults.fault_runs import Sizes
    from simulations.world.results import FaultsResult

PROGRESS_EVERY_S: Final = 5.0  # a line in a log

sim = typer.Typer(
    callback=relax_collector,
    help="Run the peers' own code in virtual time, from one seed.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SeedOption = Annotated[int, typer.Option(help="Decides everything: same seed, same digest.")]


@sim.command(epilog="Example: tianmesh sim crawl --peers 8 --seed 7 --pages 100000 --json")
def crawl(
    peers: Annotated[int, typer.Option(min=1, max=1_000, help="Peers of the mesh.")] = 8,
    seed: SeedOption = 7,
    pages: Annotated[int, typer.Option(min=1, max=10_000_000, help="Pages of the synthetic web.")] = 10_000,
    replicas: Annotated[int, typer.Option(min=1, max=8, help="Peers that keep each page.")] = 2,
    delay: Annotated[float, typer.Option(min=0, help="Seconds between two fetches from a host.")] = 2.0,
    loss: Annotated[float, typer.Option(min=0, max=0.9, help="Share of frames that are lost.")] = 0.0,
    membership: Annotated[
        bool,
        typer.Option("--membership", help="Let the peers join and probe each other; slower."),
    ] = False,
    record: Annotated[Path | None, typer.Option(help="Trace to write, for `sim replay`.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Crawl a synthetic web to its end and check the promises of the mesh; exit code 1 if one is broken."""
    from mesh.trace import TracedPage, write_trace
    from peers.crawler.model.settings import CrawlSettings
    from simulations.report import crawl_table
    from simulations.world import experiments

    trace: list[TracedPage] | None = None if record is None else []
    with _progress(f"crawling with {counted(peers, 'peer')}") as progress:
        result = experiments.crawl(
            peers=peers,
            seed=seed,
            pages=pages,
            replicas=replicas,
            loss=loss,
            with_membership=membership,
            settings=CrawlSettings(delay_s=delay, is_recorded=trace is not None),
            trace=trace,
            progress=progress,
        )
    if record is not None and trace is not None:
        write_trace(record, trace)
    _print(result, crawl_table(result), as_json)
    if result.checks.total:
        raise typer.Exit(1)


@sim.command(epilog="Example: tianmesh sim replay crawl.trace --peers 1,2,4,8,16 --figure replay.png")
def replay(
    trace: Annotated[Path, typer.Argument(help="File that `up --record` or `sim crawl --record` wrote.")],
    peers: Annotated[str, typer.Option(help="Sizes of the mesh, by comma.")] = "1,2,4,8,16",
    seed: SeedOption = 7,
    delay: Annotated[float, typer.Option(min=0, help="Seconds between two fetches from a host.")] = 0.0,
    fetches: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Of each peer at a time; chosen by the hosts if absent."),
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Image to draw (.png, .svg, .pdf).")] = None,
    is_partial: traces.PartialOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let meshes of several sizes fetch a recorded crawl: balance, speed-up, traffic of cross links.

    The first experiment of Li, Yan, Wang 2004, section 6.2.
    """
    from simulations.report import draw_replay, replay_table
    from simulations.world import experiments

    pages = traces.load(trace, is_partial)
    with _progress("replaying") as progress:
        result = experiments.replay(
            pages,
            _peer_counts(peers),
            seed=seed,
            fetches_in_flight=fetches,
            delay_s=delay,
            progress=progress,
        )
    if figure is not None:
        draw_replay(result, figure)
    _print(result, replay_table(result), as_json)


@sim.command(epilog="Example: tianmesh sim faults --seeds 1000 --peers 3..9 --json")
def faults(
    seeds: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many runs.")] = 100,
    first_seed: Annotated[int, typer.Option(min=0, help="The seed of the first; the others follow.")] = 1,
    peers: Annotated[str, typer.Option(help="Peers of a mesh: a number, or a range such as 3..9.")] = "3..9",
    revisits: Annotated[
        bool,
        typer.Option("--revisits/--no-revisits", help="Pages change, vanish, hide, and are visited again."),
    ] = True,
    byzantine: Annotated[
        bool, typer.Option("--byzantine", help="One member lies, forges, repeats and floods.")
    ] = False,
    pins: Annotated[
        bool, typer.Option("--pins", help="Policies say now and then who is to crawl which slots.")
    ] = False,
    machines: Annotated[
        bool, typer.Option("--machines", help="Hosts share the machines that serve them.")
    ] = False,
    domains: Annotated[
        bool, typer.Option("--domains", help="Each host is of a registrable domain of its own.")
    ] = False,
    sites: Annotated[
        bool, typer.Option("--sites", help="People submit sites; links and the past are kept, too.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--everything", help="All stores that a policy can switch on are used and judged.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print the transcript of a single run while it lasts.")
    ] = False,
    only: Annotated[
        str, typer.Option(help="With --verbose: numbers of the faults to be had, by comma; for minimising.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Let meshes crawl and be searched while they have faults drawn from seeds; check that nothing is lost.

    Exit code 1 if anything that must hold did not, with the command that repeats the first such run.
    """
    from simulations.faults.fault_runs import run_all, sum_up
    from simulations.faults.run_extras import RunExtras
    from simulations.report import faults_report

    sizes = _sizes(peers)
    extras = RunExtras(revisits, byzantine, pins, machines, domains, sites, everything)._asdict()
    if verbose:
        if seeds != 1:
            raise typer.BadParameter("a transcript is of one run: give --seeds 1", param_hint="--verbose")
        told = _told(first_seed, sizes.of(first_seed), only, extras)
        result = sum_up([told], first_seed)
    else:
        with _progress("runs with faults") as progress:
            result = run_all(
                range(first_seed, first_seed + seeds),
                sizes,
                progress=lambda done, total, failed: progress(done, total),
                **extras,
            )
    _print(result, faults_report(result), as_json)
    _end(result, seeds)


@sim.command(epilog="Example: tianmesh sim soak --seeds 1000 --file soak.jsonl")
def soak(
    seeds: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many runs, of a new file.")] = 1_000,
    peers: Annotated[str, typer.Option(help="Peers of a mesh: a number, or a range such as 3..9.")] = "3..9",
    file: Annotated[Path, typer.Option(help="What is done; by it a soak goes on after Ctrl-C.")] = Path(
        "soak.jsonl"
    ),
) -> None:
    """Run seeds that nobody has seen, every second one with a malicious member, and go on where it stopped.

    Prints a line for each; at the end all failures with the commands that repeat them, and exit code 1.
    """
    from simulations.faults.soak import Soak

    runs = Soak(file, seeds, _sizes(peers))
    exit_code = 0
    try:
        runs.run(lambda done: print(done.describe(), flush=True))
    except KeyboardInterrupt:
        exit_code = INTERRUPTED
        print("stopped: the same command goes on", file=sys.stderr)
    for failure in runs.failures:
        print(failure.replay, *failure.violations, sep="\n  ")
    done, wanted = len(runs.finished), runs.campaign.seeds
    print(f"{done:,} of {counted(wanted, 'run')} done, {len(runs.failures):,} failed")
    if done == wanted:
        print(f"remove {file} for fresh seeds")
    if runs.failures or exit_code:
        raise typer.Exit(1 if runs.failures else exit_code)


def _end(result: FaultsResult, wanted: int) -> None:
    """End with the exit code of a result, and say so if not all runs that were wanted are done."""
    is_interrupted = result.seeds < wanted
    if is_interrupted:
        print(f"stopped: {result.seeds:,} of {counted(wanted, 'run')} done", file=sys.stderr)
    if is_interrupted or result.failures:
        raise typer.Exit(1 if result.failures else INTERRUPTED)


def _told(seed: int, peers: int, only: str, extras: dict[str, Any]) -> RunOutcome:
    """One run, with its plan and its transcript on stderr."""
    from simulations.faults.fault_run import run_faults
    from simulations.faults.faults import plan_of

    print(f"seed {seed}, {counted(peers, 'peer')}", file=sys.stderr)
    for number, planned in enumerate(plan_of(seed, peers).faults):
        print(f"fault {number} at {planned.at_s:.3f} s: {planned.fault}", file=sys.stderr)
    chosen = frozenset(int(part) for part in only.split(",")) if only else None
    tell = partial(print, file=sys.stderr)
    return run_faults(seed, peers, tell=tell, only=chosen, **extras)


def _sizes(text: str) -> Sizes:
    from simulations.faults.fault_runs import Sizes

    least, _, most = text.partition("..")
    try:
        sizes = Sizes(int(least), int(most or least))
    except ValueError:
        sizes = Sizes(0, 0)
    if not 3 <= sizes.least <= sizes.most <= 50:
        raise typer.BadParameter("give a number or a range from 3 to 50, such as 3..9", param_hint="--peers")
    return sizes


def _peer_counts(text: str) -> list[int]:
    try:
        counts = sorted({int(part) for part in text.split(",")})
    except ValueError:
        counts = []
    if not counts or counts[0] < 1 or counts[-1] > 1_000:
        raise typer.BadParameter(
            "give numbers from 1 to 1000 with commas, such as 1,2,4", param_hint="--peers"
        )
    return counts


def _print(result: msgspec.Struct, table: Any, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(result).decode())
    else:
        Console().print(table)


@contextmanager
def _progress(description: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr while it runs; where that is no terminal, a line now and then."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    is_terminal = sys.stderr.isatty()
    told = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), disable=not is_terminal, transient=True) as bar:
        task = bar.add_task(description, total=None)

        def update(done: int, total: int) -> None:
            nonlocal told
            bar.update(task, completed=done, total=total)
            if not is_terminal and time.monotonic() - told > PROGRESS_EVERY_S:
                told = time.monotonic()
                print(f"{description}: {done:,} of {total:,}", file=sys.stderr, flush=True)

        yield update


studies.mount(sim, _progress)
