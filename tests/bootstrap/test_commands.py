"""What the commands that start nodes tell before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from bootstrap.commands import copies_warning, init, refusals, up
from bootstrap.rendezvous import BootstrapConfig
from mesh.config import load_config
from mesh.errors import ConfigError
from mesh.urls import NO_URL, WITH_LOGIN
from peers.config import PeerConfig
from peers.options import seconds_in


@pytest.mark.parametrize(
    ("replicas", "peers", "told"),
    [
        (1, 3, "one copy of every page: when a disk dies"),
        (1, 1, "one copy of every page: when a disk dies"),
        (2, 1, "one peer keeps the only copy"),
        (2, 2, ""),
        (3, 2, ""),
    ],
)
def test_who_keeps_one_copy_is_told_what_a_dead_disk_costs(replicas: int, peers: int, told: str) -> None:
    warning = copies_warning(replicas, peers)
    assert warning.startswith(told)
    assert bool(warning) == bool(told)


def test_an_empty_mesh_that_is_to_end_when_all_is_crawled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to crawl"):
        up(data=tmp_path / "mesh", once=True)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("1.5h", 5_400.0), ("1d", 86_400.0), ("2 w", 1_209_600.0), ("5m", 300.0)],
)
def test_times_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert seconds_in(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0.5", "d", "1y", "-3", "1 d 2 h", "١"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="such as 1d"):
        seconds_in(text)


def test_a_founder_shows_its_doors_and_its_peers_know_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mesh"
    init(folder, peers=2, host="192.0.2.1")
    shown = [line.partition("=")[0] for line in capsys.readouterr().out.splitlines() if "door " in line]
    assert shown == [f"door tcp://192.0.2.1:{port}" for port in (7_402, 7_412, 7_422)]
    doors = load_config(folder / "peer-2" / "config.toml", PeerConfig).member.doors
    assert [f"door {door.endpoint}" for door in doors] == shown


def test_a_bootstrap_node_relays_as_many_as_its_founder_wants(tmp_path: Path) -> None:
    folder = tmp_path / "mesh"
    init(folder, host="192.0.2.1")
    config = folder / "bootstrap" / "config.toml"
    assert not load_config(config, BootstrapConfig).member.ports_lent()
    init(folder, host="192.0.2.1", relays=4)
    assert load_config(config, BootstrapConfig).member.ports_lent() == range(9_400, 9_412)
    assert not load_config(folder / "peer-1" / "config.toml", PeerConfig).member.ports_lent()


def test_every_seed_that_is_not_taken_is_told_with_the_remedy() -> None:
    private = ["10.1.2.3 leads to 10.1.2.3, which is not public: allow it"]
    answer = {
        "accepted": 1,
        "invalid": [{"url": "x:", "reason": NO_URL}],
        "left_out": ["http://a.test/"],
        "private": private,
    }
    told = refusals(answer)
    assert [line.partition(":")[0] for line in told[:3]] == [
        "left out",
        "left out by the policy of the mesh, see `tianmesh policy show`",
        "refused",
    ]
    assert told[2].endswith(private[0])
    assert "--allow-private" in told[3]
    assert refusals({"accepted": 3, "invalid": [], "left_out": [], "private": []}) == []
    login = {"url": "http://a.test/", "reason": WITH_LOGIN}
    assert refusals({"accepted": 0, "invalid": [login]}) == [f"left out: http://a.test/ {WITH_LOGIN}"]


def test_a_contact_that_is_given_later_reaches_the_peers_that_there_are(tmp_path: Path) -> None:
    folder = tmp_path / "mesh"
    init(folder)
    init(folder, peers=2, contact="you@example.org")
    configs = [load_config(folder / f"peer-{number}" / "config.toml", PeerConfig) for number in (1, 2)]
    assert [config.crawl.contact for config in configs] == ["you@example.org"] * 2
    init(folder, peers=2)
    assert load_config(folder / "peer-1" / "config.toml", PeerConfig).crawl.contact == "you@example.org"


def test_a_node_added_with_another_address_knows_the_doors_that_there_are(tmp_path: Path) -> None:
    folder = tmp_path / "mesh"
    init(folder, host="192.0.2.1")
    init(folder, peers=2, host="192.0.2.9")
    doors = load_config(folder / "peer-2" / "config.toml", PeerConfig).member.doors
    assert doors[0].endpoint == "tcp://192.0.2.1:7402"
    first = load_config(folder / "peer-1" / "config.toml", PeerConfig).member
    assert first.announce == "192.0.2.1"


def test_all_ports_of_a_mesh_count_from_its_first_one(tmp_path: Path) -> None:
    folder = tmp_path / "mesh"
    init(folder, relays=1, port=7_500)
    init(folder, peers=2)  # as before
    door = load_config(folder / "bootstrap" / "config.toml", BootstrapConfig).member
    assert (door.inbox_port, door.door_port, door.ports_lent()) == (7_500, 7_502, range(9_500, 9_503))
    peers = [load_config(folder / f"peer-{n}" / "config.toml", PeerConfig) for n in (1, 2)]
    assert [(peer.member.inbox_port, peer.gateway.listen) for peer in peers] == [
        (7_510, "127.0.0.1:8117"),
        (7_520, "127.0.0.1:8118"),
    ]
    with pytest.raises(ConfigError, match="count from 7500: leave out --port"):
        init(folder, peers=3, port=7_600)
