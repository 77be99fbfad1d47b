"""The commands `tianmesh lab`: a mesh on many machines, from one file. [io]"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bootstrap.config_commands import KeyArgument, ValueArgument
from bootstrap.fleet import deployment, upkeep
from bootstrap.fleet.crew import Crew, Note
from bootstrap.fleet.deployment import MachineOutcome, gateway_of, is_ready, reached, survey
from bootstrap.fleet.inventory import Inventory, LabMachine, chosen, load_inventory
from bootstrap.fleet.mesh_commands import EXAMPLES, ORDERS, run_command
from bootstrap.fleet.plan import Facts, expelled
from mesh.errors import ConfigError
from peers.options import JsonOption, print_json

app = typer.Typer(
    no_args_is_help=True,
    help="A mesh on many machines, from one file: started, looked after and upgraded by ssh.",
)

FILE: Final = Path("lab.toml")
_STYLES: Final = dict.fromkeys(("failed", "down", "expelled", "unreached"), "bold red")

FileOption = Annotated[
    Path, typer.Option("--inventory", "-i", envvar="TIANMESH_LAB", help="The machines, in TOML.")
]
NamesArgument = Annotated[
    list[str] | None, typer.Argument(help="Machines or groups.", show_default="all of the inventory")
]


@app.command(epilog="Examples: tianmesh lab init   tianmesh lab init campus.toml")
def init(
    inventory: Annotated[Path, typer.Argument(help="The file to write.", envvar="TIANMESH_LAB")] = FILE,
) -> None:
    """Write an example of an inventory, with a word on every line; a file that is there stays as it is."""
    try:
        with inventory.open("x", encoding="utf-8") as file:
            file.write(EXAMPLE.replace("{file}", str(inventory)))
    except FileExistsError:
        raise ConfigError(f"{inventory} is there already: edit it, or name another file") from None
    except OSError as error:
        raise ConfigError(f"cannot write {inventory} ({error.strerror}): name another file") from error
    typer.echo(f"{inventory}  written; name your machines in it, then: tianmesh lab launch {inventory}")


@app.command(epilog="Examples: tianmesh lab launch lab.toml   tianmesh lab launch lab.toml --json")
def launch(
    inventory: Annotated[Path, typer.Argument(help="The machines, in TOML.", envvar="TIANMESH_LAB")] = FILE,
    as_json: JsonOption = False,
) -> None:
    """Bring a peer onto every machine, and wait until they answer for all slots together.

    Needs ssh with a key and Python 3.11 on the machines, nothing else. Keys are made where they stay; the
    root key of the mesh on the first machine, in mesh/root.key of its folder. May be given again, also with
    more machines in the file: what is there stays as it is.
    """
    lab = load_inventory(inventory)
    outcomes = deployment.launch(lab, lab.machines, inventory, _note_to(as_json))
    _tell(outcomes, as_json)
    if not as_json and any(each.state == "new" for each in outcomes):
        where = "" if inventory == FILE else f" -i {inventory}"
        typer.echo(f"now give it pages to start from: tianmesh lab seed https://www.example.org/{where}")


@app.command(epilog="Examples: tianmesh lab status   tianmesh lab status rack-2 --json")
def status(names: NamesArgument = None, inventory: FileOption = FILE, as_json: JsonOption = False) -> None:
    """Show for each machine whether its peer runs and answers, and the conditions it still waits for."""
    lab, machines = _read(inventory, names)
    crew = Crew(machines, lab, _silent)
    facts = survey(crew, lab)
    running = [name for name, each in facts.items() if "peer" in each.running]
    waits_for = crew.each("asking", is_ready, running)
    unreached = crew.each("asking over https", lambda remote: reached(remote.machine), running)
    _tell([_standing(machine, crew, facts, waits_for, unreached) for machine in machines], as_json)


@app.command(epilog="Examples: tianmesh lab start   tianmesh lab start rack-2")
def start(names: NamesArgument = None, inventory: FileOption = FILE, as_json: JsonOption = False) -> None:
    """Start the nodes that do not run."""
    lab, machines = _read(inventory, names)
    _tell(upkeep.start(lab, machines, _note_to(as_json)), as_json)


@app.command(epilog="Examples: tianmesh lab stop   tianmesh lab stop mill-7")
def stop(names: NamesArgument = None, inventory: FileOption = FILE, as_json: JsonOption = False) -> None:
    """End the nodes in good order; nothing is lost, and `start` goes on."""
    lab, machines = _read(inventory, names)
    _tell(upkeep.stop(lab, machines, _note_to(as_json)), as_json)


@app.command(epilog="Examples: tianmesh lab restart   tianmesh lab restart rack-2")
def restart(names: NamesArgument = None, inventory: FileOption = FILE, as_json: JsonOption = False) -> None:
    """Stop and start the nodes, one machine after the other; searches go on meanwhile."""
    lab, machines = _read(inventory, names)
    _tell(upkeep.restart(lab, machines, _note_to(as_json)), as_json)


def _give(context: typer.Context, inventory: FileOption = FILE) -> None:
    done = run_command(load_inventory(inventory), inventory, context.info_name or "", context.args)
    typer.echo(done.out, nl=False)
    typer.echo(done.err, nl=False, err=True)
    if done.code:
        raise typer.Exit(done.code)


def _add_orders() -> None:
    """Make a command of each order; its words are those of `tianmesh ORDER`."""
    for name, text in ORDERS.items():
        app.command(
            name,
            help=f"{text} Carried out where the keys are; for its words see `tianmesh {name} --help`.",
            epilog=f"Example: tianmesh lab {EXAMPLES[name]}",
            context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        )(_give)


_add_orders()


@app.command(epilog="Examples: tianmesh lab backup /mnt/disk/lab   tianmesh lab backup /mnt/disk/lab mill-7")
def backup(
    place: Annotated[
        str, typer.Argument(help="Folder on each machine; in the home folder unless it begins with /.")
    ],
    names: NamesArgument = None,
    inventory: FileOption = FILE,
    as_json: JsonOption = False,
) -> None:
    """Copy the peer of each machine into a folder on it, and on the first one the keys of the mesh.

    Given again it copies only what is new. Whoever can read these folders can pose as the peers.
    """
    lab, machines = _read(inventory, names)
    _tell(upkeep.back_up(lab, machines, place.rstrip("/") or "/", _note_to(as_json)), as_json)


config_app: Final = typer.Typer(no_args_is_help=True, help="The settings of the peers of the lab.")
app.add_typer(config_app, name="config")


@config_app.callback()
def _group() -> None:
    """Have one command be one of several."""


@config_app.command("set", epilog="Example: tianmesh lab config set crawl.delay_s 2.0")
def set_setting(
    key: KeyArgument,
    value: ValueArgument,
    names: NamesArgument = None,
    inventory: FileOption = FILE,
    as_json: JsonOption = False,
) -> None:
    """Change a setting in the config.toml of each machine; those of the gateway count at once."""
    lab, machines = _read(inventory, names)
    _tell(upkeep.configure(lab, machines, key, value, _note_to(as_json)), as_json)


@app.command(epilog="Example: tianmesh lab upgrade, after `install` in lab.toml names another version")
def upgrade(names: NamesArgument = None, inventory: FileOption = FILE, as_json: JsonOption = False) -> None:
    """Install anew and restart, one machine after the other; searches go on meanwhile."""
    lab, machines = _read(inventory, names)
    _tell(upkeep.upgrade(lab, machines, inventory, _note_to(as_json)), as_json)


@app.command(epilog="Examples: tianmesh lab run 'df -h .'   tianmesh lab run uptime rack-2")
def run(
    command: Annotated[str, typer.Argument(help="For the shell there, in the home folder.")],
    names: NamesArgument = None,
    inventory: FileOption = FILE,
    as_json: JsonOption = False,
) -> None:
    """Run a command on every machine, and show each output. The exit code is 1 if it fails anywhere."""
    lab, machines = _read(inventory, names)
    crew = Crew(machines, lab, _silent)
    told = crew.each("running", lambda remote: remote.ask("run", words=command))
    failed = {name: {"code": 255, "out": "", "err": why} for name, why in crew.failed.items()}
    said: dict[str, Any] = {machine.name: (told | failed)[machine.name] for machine in machines}
    if as_json:
        print_json(said)
    for name, each in said.items() if not as_json else ():
        for line in (each["out"] + each["err"]).splitlines():
            typer.echo(f"{name}: {line}")
    if any(each["code"] for each in said.values()):
        raise typer.Exit(1)


@app.command(epilog="Examples: tianmesh lab logs mill-7   tianmesh lab logs --lines 100")
def logs(
    names: NamesArgument = None,
    inventory: FileOption = FILE,
    lines: Annotated[int, typer.Option(min=1, max=1_000, help="The last ones, of each node.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show the last lines of the nodes' logs; nodes that run as services write into the journal instead."""
    lab, machines = _read(inventory, names)
    crew = Crew(machines, lab, _silent)
    told = crew.each("reading", lambda remote: remote.ask_here("logs", lines=lines)["lines"])
    if as_json:
        print_json(told)
    for name, nodes in told.items() if not as_json else ():
        for node, written in nodes.items():
            for line in written:
                typer.echo(f"{name} {node}: {line}")
    _end(crew.failed)


@app.command(epilog="Examples: tianmesh lab remove mill-7   tianmesh lab remove --now --yes")
def remove(
    names: NamesArgument = None,
    inventory: FileOption = FILE,
    now: Annotated[bool, typer.Option("--now", help="Others need not take over what it has.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Take machines out of the lab: others take over their data, then the lab's folder there is deleted."""
    lab, machines = _read(inventory, names)
    named = ", ".join(machine.name for machine in machines)
    if not yes:
        typer.confirm(f"Delete the peers of {named}, with all their pages and keys?", abort=True)
    outcomes = upkeep.remove(lab, machines, inventory, _note_to(as_json), is_drained=not now)
    _tell(outcomes, as_json)


def _read(file: Path, names: list[str] | None) -> tuple[Inventory, list[LabMachine]]:
    inventory = load_inventory(file)
    return inventory, chosen(inventory, names or [])


def _note_to(as_json: bool) -> Note:
    """Show the progress of each machine: a line whenever a new step begins."""
    if as_json:
        return _silent
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    last: dict[str, str] = {}

    def note(name: str, doing: str) -> None:
        if last.get(name) != doing:
            last[name] = doing
            console.print(f"{escape(name)}: {escape(doing)}")

    return note


def _silent(name: str, doing: str) -> None:
    pass


def _standing(
    machine: LabMachine,
    crew: Crew,
    facts: dict[str, Facts],
    waits_for: dict[str, str],
    unreached: dict[str, str],
) -> MachineOutcome:
    name = machine.name
    if name in crew.failed:
        return MachineOutcome(name, "failed", said=crew.failed[name])
    each = facts[name]
    if "peer" not in each.has:
        return MachineOutcome(name, "empty", said="`tianmesh lab launch` brings a peer there")
    if set(each.has) - set(each.running):
        if each.is_expelled:
            return MachineOutcome(name, "expelled", said=expelled(name))
        lacking = ", ".join(node for node in each.has if node not in each.running)
        return MachineOutcome(name, "down", said=f"{lacking} does not run: `tianmesh lab start {name}`")
    state = "waits" if waits_for[name] else "unreached" if unreached[name] else "ready"
    return MachineOutcome(name, state, gateway_of(machine), waits_for[name] or unreached[name])


def _tell(outcomes: Sequence[MachineOutcome], as_json: bool) -> None:
    if as_json:
        print_json(msgspec.to_builtins(outcomes))
    else:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for column in ("machine", "state", "gateway", ""):
            table.add_column(column, overflow="fold")
        for each in outcomes:
            style = _STYLES.get(each.state, "")
            gateway = each.gateway.partition("#")[0]
            table.add_row(escape(each.name), each.state, escape(gateway), escape(each.said), style=style)
        Console(highlight=False).print(table)
    _end(each for each in outcomes if each.state in _STYLES)


def _end(failed: Any) -> None:
    if any(True for _ in failed):
        raise typer.Exit(1)


# An inventory to begin with, as `tianmesh lab init` writes it.
EXAMPLE: Final = """\
# The machines of a lab. `tianmesh lab launch {file}` brings a peer onto each of them, by ssh.
name = "campus"                  # of the mesh
contact = ""                     # e-mail or URL for webmasters; without it no public host is visited

# What pip installs there: the folder of the project, of which a wheel is built here and sent along; a wheel
# file; or a URL that ends in #sha256= and its checksum. Paths are relative to this file.
install = "."
# command = "/opt/tianmesh/bin/tianmesh"   # where it is installed already; then `install` is not needed

# allow_private = ["intranet.example.org", "10.1.0.0/16"]   # what of an intranet may be crawled
# replicas = 2                   # copies of every page, in a new mesh
# relays = 4                     # machines that can only dial out, which the first one relays
# ssh_options = ["-i", "lab.key"]   # words for every ssh

[defaults]                       # for machines that do not say otherwise
# user = "li"                    # who logs in and runs the peer; as ssh is configured
folder = "tianmesh"              # in the home folder, or /srv/tianmesh
gateway = "127.0.0.1:8017"       # where people ask; "0.0.0.0:8017" answers the whole network
# python = "python3.12"          # 3.11 or later

[[machines]]
address = "10.0.0.1"             # by which all other machines reach it

[[machines]]
name = "mill"
address = "10.0.0.2"
# ssh = "mill.example.org"       # where ssh finds it, if not at its address
# port = 2222                    # of sshd
# weight = 50                    # half the share of the others; 0 answers queries only
# url = "https://mill.example.org"   # where people reach its gateway, behind a proxy with TLS
# group = "rack-2"               # a name for several: `tianmesh lab stop rack-2`
"""
