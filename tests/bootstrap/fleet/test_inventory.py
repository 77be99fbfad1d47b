"""Machines as a person writes them down."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.fleet.inventory import Inventory, chosen, load_inventory
from mesh.errors import ConfigError

TEXT = """
name = "lab"
[defaults]
user = "li"
folder = "/srv/tianmesh"
[[machines]]
address = "10.0.0.1"
[[machines]]
name = "mill"
address = "mill.example.org"
group = "rack-2"
weight = 50
gateway = "0.0.0.0:8018"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lab.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def _changed(file: Path, old: str, new: str) -> Inventory:
    assert old in TEXT
    file.write_text(TEXT.replace(old, new), encoding="utf-8")
    return load_inventory(file)


def test_what_a_machine_leaves_out_is_as_by_default(file: Path) -> None:
    first, mill = load_inventory(file).machines
    assert (first.name, first.ssh, first.user, first.folder) == (
        "10.0.0.1",
        "10.0.0.1",
        "li",
        "/srv/tianmesh",
    )
    assert (first.weight, first.gateway, first.python) == (100, "127.0.0.1:8017", "python3")
    assert (mill.name, mill.weight, mill.gateway, mill.group) == ("mill", 50, "0.0.0.0:8018", "rack-2")


def test_machines_are_chosen_by_name_and_group(file: Path) -> None:
    inventory = load_inventory(file)
    assert len(chosen(inventory, [])) == 2
    assert [machine.name for machine in chosen(inventory, ["rack-2"])] == ["mill"]
    assert [machine.name for machine in chosen(inventory, ["10.0.0.1", "mill"])] == ["10.0.0.1", "mill"]
    with pytest.raises(ConfigError, match=r"'well': there are .*mill, rack-2"):
        chosen(inventory, ["well"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "lab"', 'title = "lab"', "title"),
        ('name = "mill"', 'name = "10.0.0.1"', "two machines have the name 10.0.0.1"),
        ('"mill.example.org"', '"10.0.0.1"', "two machines have the place 10.0.0.1 /srv/tianmesh"),
        ('"mill.example.org"', '"0.0.0.0"', "others cannot connect to 0.0.0.0"),
        ('"/srv/tianmesh"', '"/srv/a b"', "choose a path without spaces"),
        ('"/srv/tianmesh"', '"../x"', "choose a path without spaces"),
        ('"0.0.0.0:8018"', '"8018"', "no HOST:PORT"),
        ('name = "mill"', 'name = "a b"', "no name for a machine"),
        ("weight = 50", "weight = 70000", "65536"),
        ('name = "mill"', 'ssh = "-oProxyCommand=touch x"', "not one plain word: options for ssh go into"),
        ('name = "mill"', 'python = "python3; touch x"', "not one plain word"),
        ('name = "mill"', 'python = "$(touch x)"', "not one plain word"),
        ('user = "li"', 'user = "-l root"', "not one plain word"),
        ("[[machines]]", "[[hosts]]", "hosts"),
    ],
)
def test_a_slip_is_told_in_a_sentence(file: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _changed(file, old, new)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load_inventory(tmp_path / "lab.toml")


@pytest.mark.parametrize(
    "url", ["http://mill.test:8443", "https://mill.test:x", "https://mill.test#sha256=1"]
)
def test_where_people_reach_a_gateway_is_over_https_with_a_whole_digest(file: Path, url: str) -> None:
    with pytest.raises(ConfigError, match="https://"):
        _changed(file, "weight = 50", f'url = "{url}"')
    good = f"https://mill.test:8443#sha256={'ab' * 32}"
    assert _changed(file, "weight = 50", f'url = "{good}"').machines[1].url == good
