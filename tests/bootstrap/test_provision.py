"""The folders of a mesh: what is written can be read back, by its owner only, and explains itself."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from bootstrap.provision import (
    MeshFolder,
    NodeOptions,
    PeerOptions,
    create_mesh,
    draw_keys,
    identity_in,
    open_mesh,
    quoted,
    write_bootstrap,
    write_peer,
)
from bootstrap.rendezvous import BootstrapConfig
from mesh.certificate import Certificate
from mesh.config import DoorConfig, load_config
from mesh.errors import ConfigError
from mesh.slots import SlotTable, slot_of
from peers.config import PeerConfig
from peers.crawler.settings import CrawlSettings

DOOR = ("tcp://192.0.2.1:7402", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7")


@pytest.fixture
def mesh(tmp_path: Path) -> MeshFolder:
    return create_mesh(tmp_path / "mesh", "test mesh", replicas=3)


def peer_config(mesh: MeshFolder, number: int = 1) -> PeerConfig:
    return load_config(mesh.folder / f"peer-{number}" / "config.toml", PeerConfig)


def test_a_mesh_that_was_made_can_be_opened(mesh: MeshFolder) -> None:
    again = open_mesh(mesh.folder)
    assert (again.mesh, again.root.public) == (mesh.mesh, mesh.root.public)
    assert (again.mesh.name, again.mesh.replicas, again.mesh.slot_count) == ("test mesh", 3, 50_000)
    assert again.peers == []


def test_the_files_are_where_they_are_said_to_be(mesh: MeshFolder) -> None:
    write_bootstrap(mesh, NodeOptions(weight=0))
    for number in (2, 1, 10):
        write_peer(mesh, number, NodeOptions(), PeerOptions())
    files = sorted(str(path.relative_to(mesh.folder)) for path in mesh.folder.rglob("*") if path.is_file())
    assert files == [
        "bootstrap/config.toml",
        "bootstrap/peer.key",
        "mesh.toml",
        "peer-1/config.toml",
        "peer-1/peer.key",
        "peer-10/config.toml",
        "peer-10/peer.key",
        "peer-2/config.toml",
        "peer-2/peer.key",
        "root.key",
    ]
    assert [path.name for path in mesh.peers] == ["peer-1", "peer-2", "peer-10"]


def test_only_their_owner_reads_keys(mesh: MeshFolder) -> None:
    write_peer(mesh, 1, NodeOptions(), PeerOptions())
    for path in (mesh.folder / "root.key", mesh.folder / "peer-1" / "peer.key"):
        assert path.stat().st_mode & 0o777 == 0o600
    for path in mesh.folder.rglob("*.toml"):
        text = path.read_text()
        assert mesh.root.secret.hex() not in text
        assert identity_in(mesh.folder / "peer-1").secret.hex() not in text


def test_the_defaults_of_a_new_peer_are_those_of_the_program(mesh: MeshFolder) -> None:
    write_peer(mesh, 1, NodeOptions(), PeerOptions())
    config = peer_config(mesh)
    assert config.mesh == mesh.mesh
    assert config.crawl == CrawlSettings()
    bare = PeerConfig(mesh=config.mesh, member=config.member)
    assert config == bare


def test_what_is_chosen_is_what_is_read(mesh: MeshFolder) -> None:
    node = NodeOptions("0.0.0.0", "crawler.example", 7_400, 250, (DOOR, DOOR))
    peer = PeerOptions(
        gateway="[::1]:0",
        delay_s=0.25,
        backoff_s=1.5,
        host_failures_max=7,
        pages_per_host_max=9,
        resolver='a "quoted" \\ name\n天网.json',
        allow_private=("a.test", "b.test"),
        trace="trace file",
    )
    write_peer(mesh, 1, node, peer)
    config = peer_config(mesh)
    member = config.member
    assert (member.listen, member.announce, member.weight) == ("0.0.0.0", "crawler.example", 250)
    assert (member.inbox_port, member.multicast_port, member.door_port) == (7_400, 7_401, 7_402)
    assert member.doors == (DoorConfig(endpoint=DOOR[0], key=DOOR[1]),) * 2
    assert config.gateway.listen == peer.gateway
    crawl = config.crawl
    assert (crawl.delay_s, crawl.backoff_s, crawl.host_failures_max) == (0.25, 1.5, 7)
    assert (crawl.pages_per_host_max, crawl.is_recorded) == (9, True)
    assert (config.web.resolver, config.web.allow_private) == (peer.resolver, peer.allow_private)
    assert config.web.trace == "trace file"


def test_the_bootstrap_node_has_a_configuration_of_its_own(mesh: MeshFolder) -> None:
    identity = write_bootstrap(mesh, NodeOptions(first_port=7_400, weight=0))
    config = load_config(mesh.folder / "bootstrap" / "config.toml", BootstrapConfig)
    assert (config.mesh, config.member.weight, config.member.door_port) == (mesh.mesh, 0, 7_402)
    assert identity_in(mesh.folder / "bootstrap").peer_id == identity.peer_id


def test_certificates_are_from_this_mesh(mesh: MeshFolder) -> None:
    identity = write_peer(mesh, 1, NodeOptions(), PeerOptions())
    certificate = Certificate(
        mesh.mesh.digest(),
        identity.curve_public,
        identity.signing_public,
        bytes.fromhex(peer_config(mesh).member.certificate),
    )
    assert certificate.is_valid(mesh.root.public)


def test_writing_a_peer_again_keeps_its_key(mesh: MeshFolder) -> None:
    first = write_peer(mesh, 1, NodeOptions(), PeerOptions())
    second = write_peer(mesh, 1, NodeOptions(), PeerOptions(delay_s=0.0))
    assert first.peer_id == second.peer_id
    assert peer_config(mesh).crawl.delay_s == 0.0
    assert write_peer(mesh, 2, NodeOptions(), PeerOptions()).peer_id != first.peer_id


def test_keys_can_be_drawn_so_that_every_peer_owns_a_host(mesh: MeshFolder) -> None:
    hosts = ["a.test", "b.test", "c.test", "d.test"]
    draw_keys(mesh, 3, hosts)
    peers = [write_peer(mesh, number, NodeOptions(), PeerOptions()).peer_id for number in (1, 2, 3)]
    table = SlotTable(dict.fromkeys(peers, 100), mesh.mesh.slot_count, mesh.mesh.replicas)
    owners = {table.owner_of(slot_of(f"http://{host}", mesh.mesh.slot_count)) for host in hosts}
    assert owners == set(peers)


def test_the_configuration_explains_itself(mesh: MeshFolder) -> None:
    write_peer(mesh, 1, NodeOptions(doors=(DOOR,)), PeerOptions())
    text = (mesh.folder / "peer-1" / "config.toml").read_text()
    for key in ("root_key", "slot_count", "replicas", "listen", "announce", "weight", "delay_s", "parsers"):
        lines = [line for line in text.splitlines() if line.startswith(f"{key} = ")]
        assert lines
        assert all("# " in line for line in lines)
    sections = tomllib.loads(text)
    assert list(sections) == ["mesh", "member", "storage", "gateway", "crawl", "web"]


# --- What is wrong is one sentence ---


def test_a_mesh_is_not_made_over_another_one(mesh: MeshFolder) -> None:
    before = (mesh.folder / "mesh.toml").read_bytes()
    with pytest.raises(ConfigError, match="holds a mesh already: name another folder"):
        create_mesh(mesh.folder, "new", replicas=1)
    assert (mesh.folder / "mesh.toml").read_bytes() == before


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_name_that_no_peer_would_take_is_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(ConfigError, match=r"Expected `str` of length [<>]= \d+ - at `\$\.name`; choose"):
        create_mesh(tmp_path / "mesh", name, replicas=2)
    assert not (tmp_path / "mesh").exists()


def test_a_number_of_replicas_that_no_peer_would_take_is_refused(tmp_path: Path) -> None:
    for replicas in (0, 9):
        with pytest.raises(ConfigError, match=r"`\$\.replicas`; choose another value"):
            create_mesh(tmp_path / "mesh", "name", replicas=replicas)


def test_a_folder_without_a_mesh_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*mesh\.toml.*tianmesh init"):
        open_mesh(tmp_path)


def test_a_mesh_without_its_root_key_is_named(mesh: MeshFolder) -> None:
    (mesh.folder / "root.key").unlink()
    with pytest.raises(ConfigError, match=r"cannot read the key file .*root\.key"):
        open_mesh(mesh.folder)


def test_a_place_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match="cannot write"):
        create_mesh(tmp_path / "file" / "mesh", "name", replicas=2)


def test_a_setting_that_is_no_text_is_refused(mesh: MeshFolder) -> None:
    with pytest.raises(ConfigError, match="a setting is no text but bytes"):
        write_peer(mesh, 1, NodeOptions(), PeerOptions(resolver="\udcff"))


@pytest.mark.parametrize("value", ["", 'a"b', "a\\b", "tab\t", "天网", "\x00\x1f", "\x7f", "line\nline"])
def test_any_text_survives_as_a_toml_string(value: str) -> None:
    assert tomllib.loads(f"x = {quoted(value)}") == {"x": value}
