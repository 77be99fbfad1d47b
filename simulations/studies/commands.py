"""The commands `tianmesh sim NAME`, made of the parameters of experiments, and `tianmesh sim all`. [io]"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from mesh.counts import counted
from mesh.errors import ConfigError
from peers.options import JsonOption
from simulations.outcomes.figures import figure_of
from simulations.outcomes.study import Outcome, Parameters, Study
from simulations.outcomes.tables import as_csv, as_json, outcome_table
from simulations.studies.catalogue import QUICK, STUDIES
from simulations.studies.report import report
from simulations.studies.sweep import Progress, sweep, varied

# Opens a bar with a description, which shows how many runs are done.
Bar = Callable[[str], AbstractContextManager[Progress]]

SeedsOption = Annotated[
    int | None, typer.Option(min=1, max=10_000, help="Repetitions; their spread makes the intervals.")
]
FirstOption = Annotated[int, typer.Option(min=0, help="Seed of the first; the others follow.")]
OutOption = Annotated[
    Path | None, typer.Option(help="Folder for CSV, JSON, PNG, SVG, and runs that need not be made again.")
]
VaryOption = Annotated[
    list[str] | None, typer.Option(help="NAME=VALUE,VALUE: run it with each; several go.", show_default=False)
]
JobsOption = Annotated[
    int | None, typer.Option(min=1, max=1_024, help="Processes; one for each core by default.")
]
SchedulerOption = Annotated[
    str, typer.Option(help="Address of a Dask scheduler, whose workers run it.", show_default=False)
]


def mount(app: typer.Typer, bar: Bar) -> None:
    """Add a command for each experiment, and one for all."""
    for study in STUDIES.values():
        app.command(study.name, epilog=f"Example: tianmesh sim {study.name} --out results")(
            _command_of(study, bar)
        )

    @app.command("all", epilog="Example: tianmesh sim all --out results")
    def run_all(
        out: Annotated[Path, typer.Option(help="Folder for the page and all files.")],
        seeds: SeedsOption = None,
        first_seed: FirstOption = 1,
        jobs: JobsOption = None,
        scheduler: SchedulerOption = "",
        is_quick: Annotated[
            bool, typer.Option("--quick", help="Few of everything, one seed: a look at what there is.")
        ] = False,
    ) -> None:
        """Run all experiments with their defaults, and write one HTML page of them.

        The same command goes on where it was stopped: what is done is kept, run by run.
        """
        outcomes = []
        for place, study in enumerate(STUDIES.values(), 1):
            chosen = range(first_seed, first_seed + (seeds or (1 if is_quick else study.seeds)))
            parameters = study.parameters(**(QUICK[study.name] if is_quick else {}))
            with bar(f"{place} of {len(STUDIES)}, {study.name}") as progress:
                (outcome,) = sweep(
                    study,
                    [parameters],
                    chosen,
                    jobs=jobs,
                    scheduler=scheduler,
                    kept=out / "runs",
                    progress=progress,
                )
            write(outcome, out, study.name)
            outcomes.append(outcome)
            held = [claim.holds for claim in outcome.claims()]
            print(f"{study.name}: {sum(held)} of {counted(len(held), 'statement')} of its source hold")
        page = out / "index.html"
        page.write_text(report(outcomes), encoding="utf-8")
        print(f"all of it: {page}")


def write(outcome: Outcome, folder: Path, name: str) -> None:
    """Write an outcome as CSV, JSON, PNG and SVG.

    Raises:
      ConfigError: the folder cannot be written, or matplotlib is not installed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.csv").write_text(as_csv(outcome), encoding="utf-8")
        (folder / f"{name}.json").write_bytes(
            msgspec.json.format(msgspec.json.encode(as_json(outcome)), indent=1)
        )
        for format in ("png", "svg"):
            (folder / f"{name}.{format}").write_bytes(figure_of(outcome, format))
    except OSError as error:
        raise ConfigError(f"cannot write into {folder}: {error.strerror}; give another --out") from error


def _command_of(study: Study, bar: Bar) -> Callable[..., None]:
    def command(
        seeds: int | None,
        first_seed: int,
        out: Path | None,
        vary: list[str] | None,
        jobs: int | None,
        scheduler: str,
        as_json: bool,
        **given: Any,
    ) -> None:
        chosen = range(first_seed, first_seed + (seeds or study.seeds))
        base = check(study.parameters(**given))
        named = varied(base, vary) if vary else [("", base)]
        with bar(study.name) as progress:
            outcomes = sweep(
                study,
                [parameters for _, parameters in named],
                chosen,
                jobs=jobs,
                scheduler=scheduler,
                kept=out / "runs" if out else None,
                progress=progress,
            )
        for (name, _), outcome in zip(named, outcomes, strict=True):
            _tell(outcome, name, out, is_json=as_json)

    command.__doc__ = f"{study.question}\n\nSource: {study.source}."
    command.__signature__ = inspect.Signature(list(_options(study)))  # type: ignore[attr-defined]
    return command


def _tell(outcome: Outcome, name: str, out: Path | None, *, is_json: bool) -> None:
    if is_json:
        print(msgspec.json.encode(as_json(outcome)).decode())
    else:
        console = Console()
        if name:
            console.print(Text(name, style="bold"))
        console.print(outcome_table(outcome))
        if words := outcome.study.in_words(outcome):
            console.print(Text(words))
    if out is not None:
        ending = "".join(letter if letter.isalnum() or letter in "=." else "-" for letter in name)
        write(outcome, out, f"{outcome.study.name}-{ending}" if name else outcome.study.name)


def _options(study: Study) -> Iterator[inspect.Parameter]:
    for field in msgspec.structs.fields(study.parameters):
        yield _keyword(field.name, _option_type(field.type), field.default)
    yield _keyword("seeds", SeedsOption, None)
    yield _keyword("first_seed", FirstOption, 1)
    yield _keyword("out", OutOption, None)
    yield _keyword("vary", VaryOption, None)
    yield _keyword("jobs", JobsOption, None)
    yield _keyword("scheduler", SchedulerOption, "")
    yield _keyword("as_json", JsonOption, False)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option_type(field_type: Any) -> Any:
    """The type of a field with its range and description, as the command line wants it."""
    assert get_origin(field_type) is Annotated
    plain, meta = get_args(field_type)
    least, most = meta.ge if meta.ge is not None else meta.gt, meta.le
    # What has to be greater than a bound is checked again when the parameters are made.
    return Annotated[plain, typer.Option(min=least, max=most, help=meta.description)]


def check(parameters: Parameters) -> Parameters:
    """Check parameters against their ranges: a program may have made them with any values.

    Raises:
      ConfigError: a value is out of its range.
    """
    try:
        return msgspec.convert(msgspec.to_builtins(parameters), type(parameters))
    except msgspec.ValidationError as error:
        raise ConfigError(_in_a_sentence(error, parameters)) from error


def _in_a_sentence(error: msgspec.ValidationError, parameters: Parameters) -> str:
    """Name the option, its range and its value instead of the type that was expected."""
    name = str(error).rpartition("$.")[2].rstrip("`")
    types = {field.name: field.type for field in msgspec.structs.fields(parameters)}
    if name not in types:
        return str(error)
    _, meta = get_args(types[name])
    bounds = {"at least": meta.ge, "above": meta.gt, "at most": meta.le, "below": meta.lt}
    wanted = " and ".join(f"{what} {bound:,.10g}" for what, bound in bounds.items() if bound is not None)
    return (
        f"--{name.replace('_', '-')} is to be {wanted}, not {getattr(parameters, name)}: {meta.description}"
    )
