"""A mesh started node by node from the configurations of `tianmesh init`, as on real machines."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from bootstrap.toml_edit import with_settings
from mesh.counts import counted
from mesh.keys.key_file import load_administrator
from tests.live.lab_process import node, tianmesh, wait_for, with_free_ports
from tests.live.sites import GBK_HOST, gbk_site
from tests.live.web import ServedWeb, served_web

pytestmark = pytest.mark.live

FIRST_PORT = 7_400  # as `tianmesh init` counts them


@pytest.fixture
def web() -> Iterator[ServedWeb]:
    with served_web(gbk_site()) as web:
        yield web


def test_init_bootstrap_peers_seed_search_and_status(
    web: ServedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = tmp_path / "mesh"
    founded = tianmesh("init", mesh, "--peers", "2")
    assert founded.returncode == 0
    commands = re.findall(r"tianmesh (bootstrap|peer) --config", founded.stdout)
    assert commands == ["bootstrap", "peer", "peer"]

    with ExitStack() as nodes:
        configs = with_free_ports(mesh)
        door = nodes.enter_context(node("bootstrap", configs[0]))["door"]
        for config in configs[1:]:
            # A peer's folder is all that its machine needs.
            machine = tmp_path / "machines" / config.parent.name
            shutil.copytree(config.parent, machine)
            _adapt(machine / "config.toml", door, web)
        config_1, config_2 = sorted(tmp_path.glob("machines/*/config.toml"))
        gateways = [
            nodes.enter_context(node("peer", config_1))["gateway"],
            nodes.enter_context(node("peer", config_2))["gateway"],
        ]

        def have_met() -> bool:
            status = tianmesh("status", "--gateway", gateways[1], "--json")
            return [peer["members"] for peer in json.loads(status.stdout)["peers"]] == [3, 3]

        wait_for(have_met, "mesh of three members")
        (tmp_path / "empty").mkdir()
        monkeypatch.setenv("TIANMESH_DATA", str(tmp_path / "empty"))
        refused = tianmesh("seed", *web.seeds, "--gateway", gateways[0])
        assert refused.returncode == 1
        assert "admin.token" in refused.stderr
        monkeypatch.setenv("TIANMESH_DATA", str(config_1.parent))
        seeded = tianmesh("seed", *web.seeds, "--gateway", gateways[0])
        assert seeded.returncode == 0
        assert seeded.stdout == f"{len(web.seeds)} of {counted(len(web.seeds), 'seed')} accepted\n"

        def is_done() -> bool:
            total = json.loads(tianmesh("status", "--gateway", gateways[0], "--json").stdout)["total"]
            return bool(total["idle"] and total["pages_indexed"] > 10)

        _check_tokens(mesh, [config_1.parent, config_2.parent], gateways)
        wait_for(is_done, "end of the crawl")
        found = json.loads(tianmesh("search", "软件包", "--gateway", gateways[1], "--json").stdout)
        assert found["hits"][0]["host"] == GBK_HOST
        shown = tianmesh("search", "软件包", "-k", "2", "--gateway", gateways[0])
        assert f"http://{GBK_HOST}/" in shown.stdout
        assert "\n2. " in shown.stdout
        assert "\n3. " not in shown.stdout
        table = tianmesh("status", "--gateway", gateways[0])
        assert table.returncode == 0
        assert "queue" in table.stdout
        _check_why(gateways[1], found["hits"][0]["url"], config_2.parent)
        _check_doctor(tmp_path / "machines", gateways)
        _check_run(tmp_path, gateways[1])
        _check_settings_read_again(config_1, gateways[0])
        _check_expelled_administrator(mesh, gateways)


def _check_tokens(mesh: Path, machines: list[Path], gateways: list[str]) -> None:
    """The key of the mesh opens every gateway, the token of a peer that of this peer alone."""
    for folder in (mesh, mesh / "peer-1"):
        for gateway in gateways:
            ordered = tianmesh("pause", "a.test", "--gateway", gateway, "--data", folder)
            assert ordered.returncode == 0, ordered.stderr
            ordered = tianmesh("resume", "a.test", "--gateway", gateway, "--data", folder)
            assert ordered.returncode == 0, ordered.stderr
    for machine in machines:
        told = [
            tianmesh("why", "idle", "--gateway", gateway, "--data", machine).returncode
            for gateway in gateways
        ]
        assert told == [machine is not each for each in machines]


def _check_expelled_administrator(mesh: Path, gateways: list[str]) -> None:
    """No gateway takes what it has signed, and every one what its successor signs."""

    def may_see(gateway: str, token: Path) -> bool:
        return tianmesh("why", "idle", "--gateway", gateway, "--token", f"@{token}").returncode == 0

    token = mesh / "token"
    token.write_text(tianmesh("token", "--for", "a script", "--data", mesh).stdout, encoding="ascii")
    assert all(may_see(gateway, token) for gateway in gateways)
    key = load_administrator(mesh / "admin.key").key.public.hex()
    expelled = tianmesh("expel", key, "--data", mesh, "--gateway", gateways[0])
    assert expelled.returncode == 0, expelled.stderr
    wait_for(lambda: not any(may_see(each, token) for each in gateways), "the end of the token")
    refused = tianmesh("pause", "--data", mesh, "--gateway", gateways[1])
    assert (refused.returncode, "expelled" in refused.stderr) == (1, True)
    (mesh / "admin.key").unlink()
    assert tianmesh("init", mesh, "--peers", "2").returncode == 0
    assert tianmesh("pause", "--data", mesh, "--gateway", gateways[1]).returncode == 0


def _check_doctor(machines: Path, gateways: list[str]) -> None:
    """Nothing is wrong with nodes and mesh; a gateway that is none is told."""
    looked = tianmesh("doctor", machines, "--gateway", gateways[0], "--json")
    findings = json.loads(looked.stdout)
    assert looked.returncode == 0, looked.stdout
    assert {"machine", "mesh", *(config.parent.name for config in machines.glob("*/config.toml"))} == {
        finding["about"] for finding in findings
    }
    grades = {finding["subject"]: finding["grade"] for finding in findings if finding["about"] == "mesh"}
    assert grades == {"members": "good", "versions": "good", "clock": "good"}
    shown = tianmesh("doctor", machines, "--gateway", "http://127.0.0.1:1")
    assert "no answer from http://127.0.0.1:1" in shown.stdout


def _check_why(gateway: str, url: str, data: Path) -> None:
    """What became of a page that is found, and why nothing is fetched after the crawl, from any peer."""
    told = json.loads(tianmesh("why", url, "--gateway", gateway, "--data", data, "--json").stdout)
    facts = told["peers"][told["owner"]]
    assert (facts["state"], facts["outcome"], facts["archive"]["is_indexed"]) == ("stored", "200", True)
    shown = tianmesh("why", url, "--gateway", gateway, "--data", data)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.endswith("It is stored, in the index.\n")
    idle = tianmesh("why", "idle", "--gateway", gateway, "--data", data)
    assert idle.returncode == 0, idle.stderr
    assert idle.stdout.count("\nslots ") == 2
    refused = tianmesh("why", "no-url", "--gateway", gateway, "--data", data)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def _check_settings_read_again(config: Path, gateway: str) -> None:
    """SIGHUP: the gateway has another name from then on, without a stop."""
    peers = json.loads(tianmesh("status", "--gateway", gateway, "--json", "--data", config.parent).stdout)[
        "peers"
    ]
    [pid] = [peer["pid"] for peer in peers if peer["gateway"] == gateway]

    def has_name() -> bool:
        request = Request(f"{gateway}/healthz", headers={"Host": "search.lab.test"})
        try:
            return bool(urlopen(request).status == 200)
        except HTTPError:
            return False

    assert not has_name()
    text = config.read_text()
    config.write_text(with_settings(text, {"gateway.names": ["search.lab.test"]}, ""))
    os.kill(pid, signal.SIGHUP)
    wait_for(has_name, "answer under the new name")


def _check_run(folder: Path, gateway: str) -> None:
    """A run for evaluation has `qid Q0 url rank score tag` on every line."""
    queries, run = folder / "queries.tsv", folder / "run.txt"
    queries.write_text("zh-1\t软件包\nzh-2\t安装 内核\nnone\tqqqqzzzz\n", encoding="utf-8")
    done = tianmesh("search", "--queries", queries, "--run", run, "-k", "5", "--gateway", gateway, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["queries"] == 3
    rows = [line.split(" ") for line in run.read_text(encoding="utf-8").splitlines()]
    assert {row[0] for row in rows} == {"zh-1", "zh-2"}
    for query in ("zh-1", "zh-2"):
        mine = [row for row in rows if row[0] == query]
        assert [int(row[3]) for row in mine] == list(range(1, len(mine) + 1))
        scores = [float(row[4]) for row in mine]
        assert scores == sorted(scores, reverse=True)
        assert {(row[1], row[5]) for row in mine} == {("Q0", "tianmesh")}
        assert all(row[2].startswith(f"http://{GBK_HOST}/") for row in mine)


def _adapt(config: Path, door: str, web: ServedWeb) -> None:
    """Name the bootstrap node's port, and a web that is served on loopback."""
    text = config.read_text()
    for old, new in (
        (f'"tcp://127.0.0.1:{FIRST_PORT + 2}"', json.dumps(door)),
        ('resolver = ""', f"resolver = {json.dumps(str(web.resolver))}"),
        ("allow_private = []", f"allow_private = {json.dumps(list(web.addresses))}"),
        ("delay_s = 1.0", "delay_s = 0.0"),
    ):
        assert old in text
        text = text.replace(old, new)
    config.write_text(text)
