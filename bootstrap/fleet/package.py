"""The package installed on the machines of a lab: the project's folder, a wheel, or a URL with checksum. [io]

No name for an index: nobody has published this project there, and whoever took the name would run code on
all machines.
"""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bootstrap.fleet.inventory import Inventory
from mesh.errors import ConfigError

CHECKED_URL: Final = r"https?://\S+#sha256=[0-9a-f]{64}"
ADVICE: Final = (
    'write install = "../tianmesh" (the folder with its pyproject.toml), a file .whl, or an https:// URL '
    "that ends in #sha256= and the checksum"
)


class Package(NamedTuple):
    """The package that pip installs on a machine, as a URL or a wheel."""

    requirement: str = ""  # a URL
    wheel: str = ""  # name of a file that is sent along instead
    content: str = ""  # of it, base64


def check_install(inventory: Inventory, beside: Path) -> None:
    """Find out before anything is done that nothing could be installed.

    Raises:
      ConfigError: the inventory says neither what to install, nor that it is there.
    """
    said = inventory.install
    place = beside / said
    is_there = bool(said) and (
        (place / "pyproject.toml").is_file() or (place.suffix == ".whl" and place.is_file())
    )
    if inventory.command or is_there or re.fullmatch(CHECKED_URL, said):
        return
    if not said:
        raise ConfigError(f"the inventory does not say what to install on the machines: {ADVICE}")
    raise ConfigError(
        f"install = {said!r} is neither a folder nor a wheel here nor a URL with checksum: {ADVICE}"
    )


def package_of(inventory: Inventory, beside: Path) -> Package:
    """Return the package that an inventory names; from the project's folder a wheel is built here.

    Raises:
      ConfigError: it cannot be built, or `check_install` refuses it.
    """
    check_install(inventory, beside)
    place = beside / inventory.install
    if place.is_file():
        return _sent(place)
    if not place.is_dir():
        return Package(inventory.install)
    with TemporaryDirectory(prefix="tianmesh-wheel-") as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder]
        done = subprocess.run([*command, str(place)], capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            raise ConfigError(f"no wheel can be built of {place}: {said[-1]}")
        return _sent(wheels[0])


def _sent(wheel: Path) -> Package:
    return Package("", wheel.name, base64.b64encode(wheel.read_bytes()).decode())
