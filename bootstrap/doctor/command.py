"""The command `tianmesh doctor`. [io]"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from bootstrap.doctor.finding import DoctorFinding, Grade, fault, good, worst_of
from bootstrap.doctor.machine import machine_findings
from bootstrap.doctor.mesh import mesh_findings
from bootstrap.doctor.node import node_findings
from bootstrap.service import configs_in
from mesh.client.admin_token import tokens_for
from mesh.errors import ConfigError
from peers.options import DATA, JsonOption, TokenOption, gateway_in, print_json, reader_of

EPILOG: Final = (
    "Examples: tianmesh doctor mymesh   tianmesh doctor mymesh/peer-2 --json   "
    "tianmesh doctor --gateway http://10.0.0.5:8017"
)
_SIGNS: Final = {
    Grade.GOOD: ("ok", "green"),
    Grade.WARNING: ("warning", "yellow"),
    Grade.FAULT: ("FAULT", "bold red"),
}


def doctor(
    folder: Annotated[
        Path, typer.Argument(envvar="TIANMESH_DATA", help="Of a mesh, or of one node of this machine.")
    ] = DATA,
    gateway: Annotated[
        str, typer.Option(help="Of any peer.", show_default="those of the nodes in the folder")
    ] = "",
    token: TokenOption = "",
    as_json: JsonOption = False,
) -> None:
    """Check this machine, its nodes and their mesh; report problems and how to solve them.

    Changes nothing. The exit code is 1 if something does not work.
    """
    console = Console(highlight=False, soft_wrap=True)
    findings: list[DoctorFinding] = []
    for finding in _findings(folder, gateway, token):
        findings.append(finding)
        if not as_json:
            console.print(_line(finding))
    if as_json:
        print_json([{**finding._asdict(), "grade": finding.grade.value} for finding in findings])
    else:
        console.print(_summary(findings))
    if worst_of(findings) is Grade.FAULT:
        raise typer.Exit(1)


def _findings(folder: Path, gateway: str, token: str) -> Iterator[DoctorFinding]:
    yield from machine_findings()
    configs = configs_in(folder)
    if folder != DATA and not folder.is_dir():
        advice = "name the folder that `tianmesh init` or `join` made"
        yield fault("machine", "nodes", f"there is no folder {folder}", advice)
    elif not configs:
        yield good("machine", "nodes", f"none in {folder}, whose configurations would be looked at")
    for config in configs:
        yield from node_findings(config)
    tried: list[DoctorFinding] = []
    for each in [gateway] if gateway else filter(None, map(gateway_in, configs)):
        of_it = [config.parent for config in configs if gateway_in(config) == each]
        tried = _asked(each, token, [*of_it, folder, *(config.parent for config in configs)])
        if tried[0].subject != "gateway":
            break  # one that answers speaks for all
    yield from tried


def _asked(gateway: str, token: str, folders: Sequence[Path]) -> list[DoctorFinding]:
    """Ask a gateway, with the token of the first folder that has one for it."""
    try:
        data = next((each for each in folders if tokens_for(each)()), folders[0])
        with reader_of(gateway, token, data) as client:
            return list(mesh_findings(client))
    except ConfigError as error:
        return [fault("mesh", "gateway", str(error))]


def _line(finding: DoctorFinding) -> Text:
    sign, style = _SIGNS[finding.grade]
    line = Text(f"{sign:<8}", style=style)
    line.append(f"{finding.about} {finding.subject}: {finding.said}", style="")
    if finding.advice:
        line.append(f"\n        {finding.advice}", style="bold")
    return line


def _summary(findings: list[DoctorFinding]) -> str:
    counts = Counter(finding.grade for finding in findings)
    faults, warnings = counts[Grade.FAULT], counts[Grade.WARNING]
    if not faults and not warnings:
        return "all is well"
    return f"faults: {faults}, warnings: {warnings}; what to do stands below each"
