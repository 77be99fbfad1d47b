"""What is installed on the machines of a lab."""

from __future__ import annotations

import base64
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from msgspec.structs import replace

from bootstrap.fleet.inventory import Inventory, LabMachine, load_inventory
from bootstrap.fleet.package import Package, check_install, package_of
from mesh.errors import ConfigError
from tests.bootstrap.test_mistakes import run

LAB = Inventory(name="lab", machines=(LabMachine(address="10.0.0.1"),))
URL = "https://www.example.org/tianmesh-0.1.0-cp311-abi3-linux_x86_64.whl#sha256=" + "0" * 64


def _with(install: str) -> Inventory:
    return replace(LAB, install=install)


@pytest.mark.parametrize(
    "install", ["", "tianmesh", "tianmesh==0.1.0", "nowhere", URL.partition("#")[0], "notes.txt"]
)
def test_a_name_that_anybody_could_take_is_refused_with_what_to_write(install: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "tianmesh").mkdir()  # without a project in it
    for ask in (check_install, package_of):
        with pytest.raises(
            ConfigError, match=r"write install = .* file \.whl, or an https:// URL .* #sha256="
        ):
            ask(_with(install), tmp_path)


def test_a_program_that_is_there_needs_nothing(tmp_path: Path) -> None:
    check_install(replace(LAB, command="/opt/tianmesh/bin/tianmesh"), tmp_path)


def test_a_wheel_is_sent_along_and_a_url_is_given_to_pip_with_its_checksum(tmp_path: Path) -> None:
    (tmp_path / "tianmesh-9.whl").write_bytes(b"wheel")
    sent = Package("", "tianmesh-9.whl", base64.b64encode(b"wheel").decode())
    assert package_of(_with("tianmesh-9.whl"), tmp_path) == sent
    assert package_of(_with(URL), tmp_path) == Package(requirement=URL)


def test_of_a_folder_with_a_project_a_wheel_is_built_and_sent(tmp_path: Path) -> None:
    project = tmp_path / "clone"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "build"\nbackend-path = ["."]\n'
        '[project]\nname = "made"\nversion = "9.8"\n'
    )
    # The smallest builder there is, so that nothing is fetched for it.
    (project / "build.py").write_text(
        "import pathlib, zipfile\n"
        "def build_wheel(folder, settings=None, metadata=None):\n"
        "    with zipfile.ZipFile(pathlib.Path(folder, 'made-9.8-py3-none-any.whl'), 'w') as wheel:\n"
        "        about = 'Metadata-Version: 2.1\\nName: made\\nVersion: 9.8\\n'\n"
        "        wheel.writestr('made-9.8.dist-info/METADATA', about)\n"
        "        tags = 'Wheel-Version: 1.0\\nTag: py3-none-any\\n'\n"
        "        wheel.writestr('made-9.8.dist-info/WHEEL', tags)\n"
        "        wheel.writestr('made-9.8.dist-info/RECORD', '')\n"
        "    return 'made-9.8-py3-none-any.whl'\n"
    )
    package = package_of(_with("clone"), tmp_path)
    assert (package.requirement, package.wheel) == ("", "made-9.8-py3-none-any.whl")
    names = zipfile.ZipFile(BytesIO(base64.b64decode(package.content))).namelist()
    assert "made-9.8.dist-info/METADATA" in names


def test_what_cannot_be_built_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[build-system]\n")
    with pytest.raises(ConfigError, match="no wheel can be built of"):
        package_of(_with("."), tmp_path)


def test_an_example_of_an_inventory_can_be_read_and_is_never_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["lab", "launch"]) == 2
    assert (
        "cannot read lab.toml, in which the machines would stand: `tianmesh lab init`"
        in capsys.readouterr().err
    )
    assert run(["lab", "init"]) == 0
    written = (tmp_path / "lab.toml").read_text(encoding="utf-8")
    assert [machine.name for machine in load_inventory(tmp_path / "lab.toml").machines] == [
        "10.0.0.1",
        "mill",
    ]
    # What stands behind a # holds, too, when that is taken away.
    lines = [line.removeprefix("# ") if " = " in line else line for line in written.splitlines()]
    (tmp_path / "whole.toml").write_text("\n".join(lines), encoding="utf-8")
    whole = load_inventory(tmp_path / "whole.toml")
    assert (whole.machines[1].port, whole.machines[1].group, whole.relays) == (2222, "rack-2", 4)
    assert run(["lab", "init"]) == 2
    assert "lab.toml is there already" in capsys.readouterr().err
    assert (tmp_path / "lab.toml").read_text(encoding="utf-8") == written
