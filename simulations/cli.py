"""Where the commands `sim`, `trace`, `graph`, `report` and `log` are, loaded when they are called for."""

from __future__ import annotations

from typing import Final

from peers.application import LateCommand

COMMANDS: Final = {
    "sim": LateCommand(
        "simulations.commands:sim",
        "Run the peers' own code in virtual time, from one seed.",
    ),
    "trace": LateCommand(
        "simulations.traces.commands:app",
        "Look at recorded crawls, cut and merge them, grow them, make them of other files.",
    ),
    "graph": LateCommand(
        "simulations.link_graphs.commands:app",
        "Look at graphs of links, as `tianmesh export graph` writes them, and at ranks and hubs of a mesh.",
    ),
    "report": LateCommand(
        "simulations.web_reports.commands:app",
        "Look at crawls: pages, texts, titles, elements, links, duplicates; how alike linked pages are.",
    ),
    "log": LateCommand(
        "simulations.traces.log_commands:app",
        "The mesh's own log of searches, which is off unless its owner turns it on",
    ),
}


def register(commands: dict[str, LateCommand]) -> None:
    """Add the commands of this package to those of `tianmesh`."""
    commands.update(COMMANDS)
