"""A larger web of real documentation sites, for benchmarks and `make test-more`. [io]

What fetches it lies beside the repository. The sites are Debian packages (31 MB), unpacked and not installed,
fetched once into a cache folder of the user.
`TIANMESH_WEB_PACKAGES` names a folder that has them already, as `fetch_web.sh dev.packages FOLDER` makes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import pytest

from tests.live.sites import Site
from tests.shared_data import shared

PACKAGES_VARIABLE: Final = "TIANMESH_WEB_PACKAGES"
FETCH_S_MAX: Final = 300


def dev_sites(*, is_split: bool = False) -> list[Site]:
    """Return the five hosts of the dev web: some 5,000 pages.

    Args:
      is_split: every document under a host of its own, which makes 15.
    """
    return _sites("sites.dev", is_split=is_split)


def large_sites() -> list[Site]:
    """Return all hosts that the packages at hand make: some 60 with 170,000 pages of all there are."""
    return _sites("sites.bench", is_split=False)


def _sites(listed: str, *, is_split: bool) -> list[Site]:
    packages = web_packages()
    with tempfile.TemporaryDirectory() as folder:
        command = ["bash", str(shared("web/mkbench.sh")), str(packages)]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        lines = (Path(folder) / listed).read_text(encoding="utf-8").splitlines()
    folders: dict[str, dict[str, Path]] = {}
    seeds: dict[str, list[str]] = {}
    for host, directory, *options in (line.split() for line in lines if not line.startswith("#")):
        document = Path(directory)
        prefix = next((each.removeprefix("prefix=") for each in options if each.startswith("prefix=")), "/")
        if is_split:
            first, *_, last = document.relative_to(packages).parts
            host, prefix = f"{last.lower()}.{first}.test", "/"
        folders.setdefault(host, {})[prefix] = document
        named = [each.removeprefix("seed=") for each in options if each.startswith("seed=")]
        seeds.setdefault(host, []).extend(prefix + each for each in named or _entrances(document))
    return [Site(host, folders=folders[host], seeds=tuple(seeds[host])) for host in folders]


def _entrances(document: Path) -> list[str]:
    """The index of a document, or else those of its pages that look most like one."""
    for name in ("index.html", "index.htm"):
        if (document / name).is_file():
            return [""]
    pages = sorted(
        (path.relative_to(document) for path in document.rglob("*.html*") if path.is_file()),
        key=lambda path: (len(path.parts), "index" not in path.name, len(str(path)), path),
    )
    return [str(path) for path in pages[:8]]


def web_packages() -> Path:
    """Return the folder of the unpacked packages, fetched when they are not there yet."""
    named = os.environ.get(PACKAGES_VARIABLE)
    if named:
        return Path(named).resolve()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    packages = caches / "tianmesh-tests" / "web-packages"
    wanted = shared("web/dev.packages").read_text(encoding="utf-8").split()
    if all((packages / name).is_dir() for name in wanted):
        return packages
    if shutil.which("apt-get") is None:
        pytest.skip("no apt-get on this machine to fetch the pages of the dev web with")
    packages.mkdir(parents=True, exist_ok=True)
    with (packages / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process of tests at a time
        if not all((packages / name).is_dir() for name in wanted):
            _fetch_into(packages)
    return packages


def _fetch_into(packages: Path) -> None:
    for half_unpacked in packages.glob("*.part"):  # by a run that was interrupted
        shutil.rmtree(half_unpacked)
    fetched = _fetch(packages)
    if fetched.returncode and os.geteuid() == 0:  # most likely the lists of packages are missing or old
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True, timeout=FETCH_S_MAX, check=False)
        fetched = _fetch(packages)
    if fetched.returncode:
        pytest.skip(f"cannot fetch the packages of the dev web: {fetched.stderr.strip()[-300:]}")


def _fetch(packages: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(shared("web/fetch_web.sh")), str(shared("web/dev.packages")), str(packages)]
    return subprocess.run(command, capture_output=True, text=True, timeout=FETCH_S_MAX, check=False)
