"""The commands `tianmesh config`: check and change settings of the nodes of this machine. [io]"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from bootstrap.nodes import kind_of
from bootstrap.provision import BOOTSTRAP
from bootstrap.rendezvous import BootstrapConfig
from bootstrap.service import configs_in
from bootstrap.toml_edit import with_settings
from mesh.config import load_config, parse_config
from mesh.errors import ConfigError
from mesh.tables.private_files import write_private_text
from peers.config import PeerConfig, setting_value
from peers.options import DATA, DataOption, JsonOption, data_here, print_json

SET_EPILOG: Final = (
    "Examples: tianmesh config set crawl.delay_s 2.0   tianmesh config set crawl.contact you@example.org   "
    """tianmesh config set gateway.names '["search.example.org"]'"""
)
_AT_ONCE: Final = "gateway."  # settings that a peer takes while it runs
_NEVER_AT_ONCE: Final = "gateway.listen"

CHECK_EPILOG: Final = (
    "Examples: tianmesh config check mymesh   tianmesh config check mymesh/peer-1/config.toml"
)
app: Final = typer.Typer(
    no_args_is_help=True,
    help="The settings in config.toml of nodes of this machine: look whether they can be used, change one.",
)

KeyArgument = Annotated[str, typer.Argument(help="Table and name, as crawl.delay_s.", metavar="KEY")]
ValueArgument = Annotated[
    str, typer.Argument(help='As TOML has it: 2.0, true, ["a", "b"]; text as it is.', metavar="VALUE")
]


@app.command("set", epilog=SET_EPILOG)
def set_setting(
    key: KeyArgument, value: ValueArgument, data: DataOption = DATA, as_json: JsonOption = False
) -> None:
    """Change a setting in the config.toml of each peer in a folder; the rest of the file stays.

    Nothing is changed anywhere unless the setting exists and takes this value.
    """
    configs = [each for each in configs_in(data) if each.parent.name != BOOTSTRAP]
    if not configs:
        raise ConfigError(f"there is no peer in {data}: name its folder, or that of its mesh, with --data")
    new = {config: changed(config, key, value) for config in configs}
    is_changed = {config: config.read_text(encoding="utf-8") != text for config, text in new.items()}
    for config in configs:
        if is_changed[config]:
            _replace(config, new[config])
    if as_json:
        names = [str(config) for config in configs if is_changed[config]]
        print_json({"changed": names, "by_reload": counts_after_reload(key)})
        return
    console = Console(highlight=False, soft_wrap=True)
    for config in configs:
        console.print(f"{escape(str(config))}: {'set' if is_changed[config] else 'it is so already'}")
    if any(is_changed.values()):
        how = "after SIGHUP, or `systemctl reload`" if counts_after_reload(key) else "from its next start on"
        console.print(f"it counts {how}")


@app.command(epilog=CHECK_EPILOG)
def check(
    places: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Configurations, or folders that hold them.", metavar="[PLACE]...", show_default=f"{DATA}"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell whether configurations can be used, else which line is wrong; nothing is started or changed."""
    given = places or [data_here(DATA)]
    configs = [config for place in given for config in (configs_in(place) if place.is_dir() else [place])]
    if not configs:
        raise ConfigError(f"there is no config.toml in {', '.join(map(str, given))}: name a file or a folder")
    faults = {str(config): _fault_of(config) for config in configs}
    if as_json:
        print_json([{"config": config, "fault": fault} for config, fault in faults.items()])
    else:
        console = Console(highlight=False, soft_wrap=True)
        for config, fault in faults.items():
            console.print(escape(fault or f"{config}: can be used"))
    if any(faults.values()):
        raise typer.Exit(1)


def _fault_of(config: Path) -> str:
    try:
        if kind_of(config.parent.name) == BOOTSTRAP:
            load_config(config, BootstrapConfig)
        else:
            load_config(config, PeerConfig)
    except ConfigError as error:
        return str(error)
    return ""


def changed(config: Path, key: str, value: str) -> str:
    """Return the text of a peer's configuration with a setting changed.

    Args:
      value: TOML; what is none, or no value for this setting, is tried as text.

    Raises:
      ConfigError: there is no such setting, or it does not take this.
    """
    table, _, name = key.rpartition(".")
    if not table or not name:
        raise ConfigError(f"{key} is no setting: name its table, too, as in crawl.delay_s")
    if key.startswith("mesh."):
        raise ConfigError(f"{key} cannot be set: all peers agree on it for ever")
    load_config(config, PeerConfig)  # a slip of a person is told before anything is changed
    text = with_settings(config.read_text(encoding="utf-8"), {key: setting_value(key, value)}, str(config))
    parse_config(text, PeerConfig, str(config))
    return text


def counts_after_reload(key: str) -> bool:
    """Does a peer take this setting while it runs?"""
    return key.startswith(_AT_ONCE) and key != _NEVER_AT_ONCE


def _replace(config: Path, text: str) -> None:
    try:
        write_private_text(config, text)
    except OSError as error:
        raise ConfigError(f"cannot write {config}: {error.strerror}") from error
