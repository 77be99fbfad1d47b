"""Nodes as services of a machine: units for systemd, made for this installation and these folders. [io]

A unit is of type notify: it counts as started when the gateway is open. A node that ends by itself or whose
event loop stands still is started again, and both are in the journal.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bootstrap.nodes import kind_of
from bootstrap.provision import ROOT_KEY
from mesh.client.admin_token import KEY_FILE, mesh_folder_of
from mesh.errors import ConfigError, unreadable
from peers.rendering.browser import NO_SANDBOX

SYSTEM_UNITS: Final = Path("/etc/systemd/system")
STOP_S: Final = 60  # pages in progress are stored and neighbours told before a peer ends
WATCHDOG_S: Final = 120  # for a sign of life; a disk may hold a peer up for seconds

_UNIT: Final = """\
[Unit]
Description=Tianmesh {kind} {name}
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
NotifyAccess=main
ExecStart={python} -m peers.cli {kind} --config {config}
ExecReload={python} -m peers.cli config check {config}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=5
TimeoutStartSec=infinity
TimeoutStopSec={stop_s}
WatchdogSec={watchdog_s}
LimitNOFILE=65536
UMask=0077
NoNewPrivileges=yes
{more}
[Install]
WantedBy={target}
"""
# What only the manager of the whole system can do.
_SYSTEM_LINES: Final = """\
User={user}
CapabilityBoundingSet=
LockPersonality=yes
InaccessiblePaths={keys}
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=read-only
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict
ReadWritePaths={writable}
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces={namespaces}
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
"""


@dataclass(frozen=True, slots=True)
class ServiceUnit:
    """A node as systemd knows it."""

    name: str  # of its file
    text: str


def units_of(folder: Path, *, user: str = "") -> list[ServiceUnit]:
    """Return a unit for each node that has a configuration in a folder, or in one below it.

    Args:
      user: who runs them, under the manager of the system; empty for the manager of whoever asks.

    Raises:
      ConfigError: there is none, or a path has characters that units cannot have.
    """
    configs = configs_in(folder)
    if not configs:
        raise ConfigError(
            f"no config.toml in {folder} or below it: make one with `tianmesh init` or `tianmesh join`"
        )
    return [_unit(config, user) for config in configs]


def configs_in(folder: Path) -> list[Path]:
    """Return the configurations of the nodes in a folder, that of a mesh or of one node."""
    folder = folder.resolve()
    return sorted({*folder.glob("config.toml"), *folder.glob("*/config.toml")})


def unit_folder(*, is_system: bool) -> Path:
    """Return where units of the machine, or of this user, belong."""
    if is_system:
        return SYSTEM_UNITS
    home = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(home) if home else Path.home() / ".config") / "systemd" / "user"


def install(units: Sequence[ServiceUnit], place: Path, *, is_system: bool, starts: bool) -> None:
    """Write units, and start them now and whenever the machine starts.

    Raises:
      ConfigError: they cannot be written, or systemd refuses.
    """
    _check_systemd()
    try:
        place.mkdir(parents=True, exist_ok=True)
        for unit in units:
            (place / unit.name).write_text(unit.text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot write units in {place} ({error.strerror}): run this as root, or with --user"
        ) from error
    _systemctl(["daemon-reload"], is_system=is_system)
    names = [unit.name for unit in units]
    _systemctl(["enable", *(["--now"] if starts else []), *names], is_system=is_system)


def remove(units: Sequence[ServiceUnit], place: Path, *, is_system: bool) -> list[str]:
    """Stop those of the units that are installed, and forget them; return their names.

    Raises:
      ConfigError: systemd refuses.
    """
    _check_systemd()
    names = [unit.name for unit in units if (place / unit.name).exists()]
    if names:
        _systemctl(["disable", "--now", *names], is_system=is_system)
        for name in names:
            (place / name).unlink()
        _systemctl(["daemon-reload"], is_system=is_system)
    return names


def _unit(config: Path, user: str) -> ServiceUnit:
    settings = _settings_in(config)
    kind = kind_of(config.parent.name)
    data = (config.parent / str(settings.get("storage", {}).get("folder", "data"))).resolve()
    # A unit does not start where one of these is not there.
    writable = {config.parent, data if data.is_dir() else data.parent}
    web = settings.get("web", {})
    # The sandbox of a browser is made of these; nothing else that a node starts makes any.
    has_sandbox = bool(web.get("render")) and NO_SANDBOX not in str(web.get("renderer", ""))
    lines = {"user": user, "writable": " ".join(sorted(map(_path, writable)))}
    home = mesh_folder_of(config.parent)  # the keys of the mesh, if they are on this machine
    lines["keys"] = " ".join(f"-{_path(home / name)}" for name in (ROOT_KEY, KEY_FILE))
    lines["namespaces"] = "user pid net" if has_sandbox else "yes"
    more = _SYSTEM_LINES.format(**lines) if user else ""
    name = "-".join(re.sub(r"[^0-9A-Za-z]+", "-", part).strip("-") for part in config.parts[-3:-1])
    text = _UNIT.format(
        kind=kind,
        name=config.parent.name,
        python=_path(Path(sys.executable)),
        config=_path(config),
        stop_s=STOP_S,
        watchdog_s=WATCHDOG_S,
        more=more,
        target="multi-user.target" if user else "default.target",
    )
    return ServiceUnit(f"tianmesh-{name}.service", text)


def _settings_in(config: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise unreadable(config, error) from error


def _path(path: Path) -> str:
    """A path as a unit has it: quoting rules differ from line to line, so only those that need none."""
    text = str(path)
    if not re.fullmatch(r"[\w/.+:@~-]+", text):
        raise ConfigError(f"a service cannot run in {text}: choose a path without spaces and signs")
    return text


def _check_systemd() -> None:
    if shutil.which("systemctl") is None:
        raise ConfigError(
            "there is no systemd here: run `tianmesh peer --config ...` under the service manager of this "
            "machine, `tianmesh service show` says how"
        )


def _systemctl(arguments: Sequence[str], *, is_system: bool) -> None:
    command = ["systemctl", *([] if is_system else ["--user"]), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise ConfigError(f"`{' '.join(command)}` failed: {said[-1]}")
