"""Where the commands are that found a mesh, start nodes of it and govern it.

They join the command `tianmesh` through the entry point `tianmesh.commands`; none is loaded before it is
called for.
"""

from __future__ import annotations

from typing import Final

from peers.application import LateCommand

COMMANDS: Final = {
    "init": LateCommand(
        "bootstrap.commands:init:INIT_EPILOG",
        "Found a mesh: write its keys and a commented configuration for every node.",
    ),
    "bootstrap": LateCommand(
        "bootstrap.commands:bootstrap:BOOTSTRAP_EPILOG",
        "Run a bootstrap node in the foreground: newcomers find the mesh at its door.",
    ),
    "start": LateCommand(
        "bootstrap.start_command:start:EPILOG",
        "Run the nodes of a folder in the foreground: a founder's door and peers, a joined machine's peer.",
    ),
    "up": LateCommand(
        "bootstrap.commands:up:UP_EPILOG",
        "Start several peers of one mesh on this machine and crawl from the seeds.",
    ),
    "demo": LateCommand(
        "bootstrap.commands:demo:DEMO_EPILOG",
        "Crawl the bundled demo web with three peers and search it; needs no network.",
    ),
    "expel": LateCommand(
        "bootstrap.owner_commands:expel:EXPEL_EPILOG",
        "Expel a member for ever: nothing is accepted from it any more",
    ),
    "renew": LateCommand(
        "bootstrap.owner_commands:renew:RENEW_EPILOG",
        "Let members stay for longer, without a stop: their new certificates reach them through the mesh.",
    ),
    "invite": LateCommand(
        "bootstrap.owner_commands:invite:INVITE_EPILOG",
        "Print a token with which other machines join: `tianmesh join` asks for it there.",
    ),
    "join": LateCommand(
        "bootstrap.owner_commands:join:JOIN_EPILOG",
        "Join a mesh: make the keys and the configuration of a new peer on this machine.",
    ),
    "doctor": LateCommand(
        "bootstrap.doctor.command:doctor:EPILOG",
        "Check this machine, its nodes and their mesh; report problems and how to solve them.",
    ),
    "config": LateCommand(
        "bootstrap.config_commands:app",
        "The settings in config.toml of nodes of this machine: look whether they can be used, change one.",
    ),
    "service": LateCommand(
        "bootstrap.service_commands:app",
        "Run the nodes of this machine as services of systemd: they start with it, and again when they end.",
    ),
    "lab": LateCommand(
        "bootstrap.fleet.commands:app",
        "A mesh on many machines, from one file: started, looked after and upgraded by ssh.",
    ),
}


def register(commands: dict[str, LateCommand]) -> None:
    """Add the commands of this package to those of `tianmesh`."""
    commands.update(COMMANDS)
