"""The commands `tianmesh classes`: collect, fit, report, set, show and end. [io]"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mesh.client.admin_token import key_in
from mesh.counts import counted
from mesh.errors import unwritable
from mesh.keys.decree import DECREE_BYTES_MAX
from peers.classes.collection import collected
from peers.classes.issuer import classes_in_force, end_classes, issue_classes, read_model
from peers.classes.model_fit import fitted_model
from peers.classes.report import comparison_of, k_told
from peers.classes.samples import append_samples, path_in, read_samples
from peers.engine.pages.class_model import ClassModel, ClassRow, model_in
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
    print_told,
    reader_of,
)
from peers.text.segmentation import load_dictionary

classes_app: Final = typer.Typer(
    no_args_is_help=True,
    help="Put the pages of the mesh into classes, up to three levels, by samples of each. Samples are lines "
    "of class, tab and text, or of class, URL and text (a class below another is written science/physics), "
    "or files in folders that are called like their classes.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

SamplesArgument = Annotated[Path, typer.Argument(help="File of lines, or folder.", metavar="SAMPLES")]
ModelArgument = Annotated[Path, typer.Argument(help="File that `classes fit` wrote.", metavar="MODEL")]


@classes_app.command(
    epilog="Example: tianmesh classes collect science/physics https://example.org/quarks.html --into s.tsv"
)
def collect(
    name: Annotated[str, typer.Argument(help="Class, as sports or science/physics.", metavar="CLASS")],
    urls: Annotated[list[str], typer.Argument(help="Pages that are examples of it.", metavar="URL...")],
    into: Annotated[Path, typer.Option(help="File that the samples are added to.")],
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Add stored pages of the mesh to a file of samples: title and main text of each."""
    path = path_in(name)
    with reader_of(gateway, token, data) as client:
        samples = collected(client, path, urls)
    append_samples(into, samples)
    print_told(as_json, {"samples": len(samples)}, f"{into} has {counted(len(samples), 'sample')} of {name}")


@classes_app.command(epilog="Example: tianmesh classes fit samples.tsv --into classes.model")
def fit(
    samples: SamplesArgument,
    into: Annotated[Path, typer.Option(help="File that the model is written to.")],
    as_json: JsonOption = False,
) -> None:
    """Fit the model that tells the classes of pages; a fifth of the samples gives the thresholds."""
    load_dictionary()
    found = read_samples(samples)
    model = fitted_model(found)
    try:
        into.write_bytes(model.body)
    except OSError as error:
        raise unwritable(into, error) from error
    told = {
        "classes": len(model.rows),
        "samples": len(found),
        "terms": len(model.vocabulary.numbers),
        "bytes": len(model.body),
        "bytes_max": DECREE_BYTES_MAX,
        "least_weight": model.least,
    }
    sentence = (
        f"{counted(told['classes'], 'class')} by {counted(told['samples'], 'sample')}, "
        f"{counted(told['terms'], 'word')}, "
        f"{told['bytes']:,} of {DECREE_BYTES_MAX:,} bytes: `tianmesh classes set {into}` has peers go by it"
    )
    print_told(as_json, told, sentence)


@classes_app.command(
    epilog="Examples: tianmesh classes report samples.tsv   tianmesh classes report a.tsv --judge b.tsv"
)
def report(
    samples: SamplesArgument,
    judge: Annotated[
        Path | None,
        typer.Option(help="Samples to judge by.", show_default="every fifth of each class"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print how well methods, features and thresholds tell the classes of samples: micro and macro F1.

    The tables of Li, Yan, Wang, Search Engine (2004), chapter 11, and beside them a linear model and the one
    that a mesh would go by.
    """
    load_dictionary()
    compared = comparison_of(read_samples(samples), None if judge is None else read_samples(judge))
    if as_json:
        print_json([row._asdict() for row in compared.rows()])
        return
    print(
        f"# {counted(len(compared.samples), 'sample')}, {len(compared.judged):,} judged, "
        f"{counted(len(compared.names), 'class')}, {counted(compared.vectors.n_terms, 'word')}, "
        f"{k_told()}; F1 by (11-3)"
    )
    table = ""
    for row in compared.rows():
        if row.table != table:
            table = row.table
            print(f"\n{table:28} micro  macro")
        print(f"{row.name:28} {row.micro:.4f} {row.macro:.4f}", flush=True)


@classes_app.command("set", epilog="Example: tianmesh classes set classes.model")
def set_classes(
    model: ModelArgument,
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Have every peer put its pages into the classes of a model; it replaces the one before."""
    body = read_model(model)
    with administrator_of(gateway, token, data, key) as client:
        number = issue_classes(client, key_in(data, key), body)
    n_classes = len(model_in(body).rows)
    print_told(
        as_json, {"number": number}, f"classes {number}, {n_classes} of them, are on their way to all peers"
    )


@classes_app.command(epilog="Examples: tianmesh classes show   tianmesh classes show classes.model")
def show(
    model: Annotated[
        Path | None, typer.Argument(help="File that `classes fit` wrote.", show_default="that of the mesh")
    ] = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Print the classes that are in force, or those of a file: name, samples, threshold, examples."""
    number = None
    if model is not None:
        classes = model_in(read_model(model))
    else:
        with reader_of(gateway, token, data) as client:
            in_force = classes_in_force(client)
        if in_force is None:
            print_told(
                as_json, None, "the pages of this mesh are in no classes: `tianmesh classes fit` makes some"
            )
            return
        number, classes = in_force[0]["number"], in_force[1]
    if as_json:
        print_json({"number": number, "classes": [_row_json(classes, row) for row in classes.rows]})
        return
    print(f"# classes{'' if number is None else f' {number}'}: {counted(len(classes.weights.terms), 'word')}")
    _print_below(classes, classes.children_of(-1), "")


@classes_app.command(epilog="Example: tianmesh classes end")
def end(
    key: KeyOption = None,
    gateway: GatewayOption = GATEWAY,
    token: TokenOption = "",
    data: DataOption = DATA,
    as_json: JsonOption = False,
) -> None:
    """Have the pages of the mesh in no classes any more."""
    with administrator_of(gateway, token, data, key) as client:
        number = end_classes(client, key_in(data, key))
    print_told(as_json, {"number": number}, f"classes end (decree {number})")


def _print_below(classes: ClassModel, numbers: range, indent: str) -> None:
    for number in numbers:
        row = classes.rows[number]
        print(
            f"{indent}{row.name}",
            counted(row.n_samples, "sample"),
            f"{row.threshold:+.3f}",
            *row.examples,
            sep="\t",
        )
        _print_below(classes, classes.children_of(number), indent + "  ")


def _row_json(classes: ClassModel, row: ClassRow) -> dict[str, Any]:
    parent = classes.rows[row.parent].name if row.parent >= 0 else None
    shown = {"name": row.name, "parent": parent, "samples": row.n_samples, "threshold": row.threshold}
    return {**shown, "examples": row.examples}
