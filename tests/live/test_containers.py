"""The commands of docs/containers/compose.yaml make a mesh: run as they stand, in namespaces for containers.

No image is built here: that takes a daemon.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bootstrap import commands, newcomer
from peers.gateway.model.settings import GatewaySettings
from tests.live.lab_process import wait_for
from tests.live.namespaces import small_internet
from tests.live.place import Place

pytestmark = pytest.mark.live

FOLDER = Path(__file__).parents[2] / "docs" / "containers"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))


def test_the_services_of_the_file_become_a_mesh_and_go_on_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "invitation").mkdir()
    with small_internet(3) as internet:
        places = {"bootstrap": internet.peers[0]}
        places |= {f"peer-{number}": place for number, place in enumerate(internet.peers, 1)}
        for _ in range(2):
            with ExitStack() as services:
                services.enter_context(_running("bootstrap", places, tmp_path))
                wait_for(partial(_is_healthy, "bootstrap", places), "an open door")
                for name in ("peer-1", "peer-2", "peer-3"):
                    services.enter_context(_running(name, places, tmp_path))
                for place in internet.peers:
                    ready = partial(_is_ready, f"http://{place.gateway}:8017/readyz")
                    wait_for(ready, "an answer for all slots")
        folders = [tmp_path / name for name in places]
        assert all((folder / "config.toml").is_file() for folder in folders[1:])
        assert all("kept out" not in (folder / "log").read_text() for folder in folders)


def test_the_image_opens_the_ports_that_peers_take_and_is_run_by_no_root() -> None:
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    ports = re.findall(r"^EXPOSE (.*)$", text, re.M)[0].split()
    gateway = GatewaySettings().listen.rpartition(":")[2]
    assert ports == [f"{first}-{first + 2}" for first in (commands.FIRST_PORT, newcomer.FIRST_PORT)] + [
        gateway
    ]
    users = re.findall(r"^(?:USER|FROM) (\S+)", text, re.M)
    assert users[-1] == "tianmesh"
    for service in COMPOSE["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_the_build_is_given_all_that_the_wheel_is_made_of() -> None:
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = {*packages, "pyproject.toml", project["project"]["readme"]}
    assert {f"!{name}" for name in needed} <= set(ignored)


@contextmanager
def _running(service: str, places: dict[str, Place], folder: Path) -> Iterator[None]:
    """A service of the file, in the namespace that stands for its container."""
    (script,) = COMPOSE["services"][service]["command"]
    for name, place in places.items():
        script = script.replace(f"--host {name}", f"--host {place.listen}")
    own = folder / service
    own.mkdir(exist_ok=True)
    for inside, outside in {"/data": own, "/mesh": own, "/invitation": folder / "invitation"}.items():
        script = script.replace(f"{inside}/", f"{outside}/").replace(f"{inside} ", f"{outside} ")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with (own / "log").open("ab") as log:
        process = subprocess.Popen(
            [*places[service].command, *COMPOSE["x-node"]["entrypoint"], script],
            env={**os.environ, "PATH": path},
            stdout=log,
            stderr=log,
        )
        try:
            yield
        finally:
            process.terminate()
            assert process.wait(100) == 0, (own / "log").read_text()


def _is_healthy(service: str, places: dict[str, Place]) -> bool:
    """What the file says of when others that depend on it may start."""
    _, program, *words = COMPOSE["services"][service]["healthcheck"]["test"]
    assert program == "python"
    place = places[service]
    words = [word.replace(f"'{service}'", f"'{place.listen}'") for word in words]
    tried = subprocess.run([*place.command, sys.executable, *words], capture_output=True, check=False)
    return tried.returncode == 0


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60.0) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
