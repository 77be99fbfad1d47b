"""Orders of a lab: what is asked of the machine that has the keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.fleet import mesh_commands
from bootstrap.fleet.inventory import load_inventory
from bootstrap.fleet.mesh_commands import run_command
from bootstrap.fleet.remote import Carried, MachineError, Remote
from mesh.errors import ConfigError
from tests.bootstrap.test_mistakes import run

LAB = """
name = "lab"
command = "tianmesh"
[[machines]]
name = "a"
address = "192.0.2.1"
gateway = "0.0.0.0:9017"
[[machines]]
name = "b"
address = "192.0.2.2"
"""
DONE = Carried(0, "done\n", "")
AT_A = ("--gateway", "http://127.0.0.1:9017", "--data", "{folder}/peer")


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    file = tmp_path / "lab.toml"
    file.write_text(LAB, encoding="utf-8")
    return file


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...], str]]:
    """What machines are asked: name, words, and what is given on standard input."""
    asked: list[tuple[str, tuple[str, ...], str]] = []

    def carry_out(remote: Remote, *words: str, given: str = "", timeout_s: float) -> Carried:
        asked.append((remote.machine.name, words, given))
        if "nowhere" in words:
            raise MachineError("no such host")
        if "private" in words:
            return Carried(1, "1 of 2 seeds accepted\n", "refused: private\nallow it with --allow-private\n")
        return DONE

    monkeypatch.setattr(Remote, "carry_out", carry_out)
    return asked


def test_an_order_goes_to_the_machine_with_the_keys_and_names_them_there(
    lab: Path, asked: list[tuple[str, tuple[str, ...], str]]
) -> None:
    lab.with_suffix(".founder").write_text("a\n", encoding="utf-8")
    assert run_command(load_inventory(lab), lab, "seed", ["http://x.test/"]) == DONE
    run_command(load_inventory(lab), lab, "policy", ["show"])
    run_command(load_inventory(lab), lab, "expel", ["k3v2"])
    assert asked == [
        ("a", ("seed", "http://x.test/", *AT_A), ""),
        ("a", ("policy", "show", *AT_A), ""),
        ("a", ("expel", "k3v2", *AT_A), ""),
    ]


def test_seeds_of_a_lab_may_be_where_its_inventory_allows_private_addresses(
    lab: Path, asked: list[tuple[str, tuple[str, ...], str]]
) -> None:
    lab.write_text('allow_private = ["intra.test", "10.1.0.0/16"]\n' + LAB, encoding="utf-8")
    lab.with_suffix(".founder").write_text("a\n", encoding="utf-8")
    run_command(load_inventory(lab), lab, "seed", ["http://intra.test/"])
    allowed = ("--allow-private", "intra.test", "--allow-private", "10.1.0.0/16")
    assert asked == [("a", ("seed", "http://intra.test/", *allowed, *AT_A), "")]


def test_a_policy_file_is_read_here(
    lab: Path, asked: list[tuple[str, tuple[str, ...], str]], tmp_path: Path
) -> None:
    lab.with_suffix(".founder").write_text("a\n", encoding="utf-8")
    policy = tmp_path / "policy.toml"
    policy.write_text("[[rules]]\n", encoding="utf-8")
    run_command(load_inventory(lab), lab, "policy", ["set", str(policy), "--until", "2030-01-01"])
    assert asked == [("a", ("policy", "set", "-", "--until", "2030-01-01", *AT_A), "[[rules]]\n")]
    with pytest.raises(ConfigError, match=r"cannot read the policy .*: there is no such file"):
        run_command(load_inventory(lab), lab, "policy", ["set", str(tmp_path / "none")])


def test_all_that_an_order_says_is_shown_and_its_exit_code_is_that_of_the_command(
    lab: Path, asked: list[tuple[str, tuple[str, ...], str]], capsys: pytest.CaptureFixture[str]
) -> None:
    lab.with_suffix(".founder").write_text("a\n", encoding="utf-8")
    assert run(["lab", "seed", "http://x.test/", "-i", str(lab)]) == 0
    assert capsys.readouterr().out == "done\n"
    assert run(["lab", "seed", "http://x.test/", "private", "-i", str(lab)]) == 1
    told = capsys.readouterr()
    assert told.out == "1 of 2 seeds accepted\n"
    assert told.err == "refused: private\nallow it with --allow-private\n"


@pytest.mark.parametrize(
    ("founder", "words", "said"),
    [
        (None, [], "tianmesh lab launch"),
        ("gone", [], "write it down again"),
        ("a", ["nowhere"], "a: no such host"),
    ],
)
def test_what_cannot_be_done_says_why(
    lab: Path,
    asked: list[tuple[str, tuple[str, ...], str]],
    founder: str | None,
    words: list[str],
    said: str,
) -> None:
    if founder is not None:
        lab.with_suffix(".founder").write_text(founder, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        run_command(load_inventory(lab), lab, "pause", words)
    assert mesh_commands.ORDERS.keys() == mesh_commands.EXAMPLES.keys()
