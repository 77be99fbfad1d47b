"""What is seen of a lab from where its inventory lies."""

from __future__ import annotations

from http.server import HTTPServer
from pathlib import Path

import pytest

from bootstrap.fleet import upkeep
from bootstrap.fleet.commands import _standing
from bootstrap.fleet.crew import Crew
from bootstrap.fleet.deployment import gateway_of, reached
from bootstrap.fleet.inventory import Inventory, LabMachine
from bootstrap.fleet.plan import Facts
from mesh.errors import ConfigError
from tests.mesh.client.test_gateway_client import Gateway, pinned_url, server

__all__ = ["server"]  # the fixture


def test_a_gateway_over_https_is_asked_by_the_digest_of_its_certificate_that_the_inventory_names(
    server: HTTPServer,
) -> None:
    Gateway.answers["/readyz"] = (200, b'{"status": "ready", "waits_for": []}')
    url = pinned_url(server)
    mill = LabMachine(address="mill.test", gateway="127.0.0.1:8017", url=url)
    assert gateway_of(mill) == url
    assert reached(mill) == ""
    other = LabMachine(address="mill.test", gateway="127.0.0.1:8017", url=f"{url[:-64]}{'0' * 64}")
    assert "another certificate" in reached(other)
    assert reached(LabMachine(address="mill.test", gateway="127.0.0.1:8017")) == ""


def test_status_names_a_machine_that_runs_and_is_not_reached_over_https() -> None:
    mill = LabMachine(name="mill", address="mill.test", gateway="127.0.0.1:8017", url="https://mill.test")
    crew = Crew([mill], Inventory(name="lab", machines=(mill,)), lambda name, doing: None)
    facts = {"mill": Facts(python=(3, 11, 2), clock_s=0.0, free_bytes=1, has=("peer",), running=("peer",))}
    standing = _standing(mill, crew, facts, {"mill": ""}, {"mill": "no answer"})
    assert (standing.state, standing.said) == ("unreached", "no answer")
    assert _standing(mill, crew, facts, {"mill": "slots"}, {"mill": "no answer"}).state == "waits"
    assert _standing(mill, crew, facts, {"mill": ""}, {"mill": ""}).state == "ready"


@pytest.mark.parametrize(("noted", "said"), [("", "tianmesh lab launch"), ("gone", "write it down again")])
def test_a_machine_is_drained_only_where_it_is_known_which_one_has_the_keys(
    tmp_path: Path, noted: str, said: str
) -> None:
    if noted:
        (tmp_path / "lab.founder").write_text(noted, encoding="utf-8")
    machines = tuple(LabMachine(name=name, address=f"{name}.test") for name in ("mill", "weir"))
    lab = Inventory(name="lab", machines=machines)
    with pytest.raises(ConfigError, match=said):
        upkeep.remove(lab, machines[:1], tmp_path / "lab.toml", lambda name, doing: None, is_drained=True)
