"""The folders of a mesh: what is written can be read back, by its owner only, and explains itself."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
import trio

from bootstrap.provision import (
    ROOT_KEY,
    ROOT_KEY_AT,
    MeshFolder,
    create_mesh,
    doors_of,
    draw_serials,
    identity_in,
    make_administrator,
    open_mesh,
    ports_from,
    write_bootstrap,
    write_peer,
)
from bootstrap.rendezvous import BootstrapConfig
from mesh.config import DoorConfig, load_config
from mesh.errors import ConfigError
from mesh.keys.certificate import WEIGHT_MAX_DEFAULT, peer_in, read_certificate
from mesh.keys.decree import POLICY, Authority
from mesh.keys.key_file import load_administrator
from mesh.process.workshop import Answer, Workshop
from mesh.slots import SlotTable, slot_of
from peers.config import PeerConfig
from peers.crawler.model.settings import CrawlConfig
from tests.patience import PATIENCE_S

DOOR = DoorConfig(endpoint="tcp://192.0.2.1:7402", key="rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7")


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
    write_bootstrap(mesh)
    for number in (2, 1, 10):
        write_peer(mesh, number)
    files = sorted(str(path.relative_to(mesh.folder)) for path in mesh.folder.rglob("*") if path.is_file())
    members = [file for file in files if file.startswith("members/")]
    assert len(members) == 4
    assert sorted(set(files) - set(members)) == [
        "admin.key",
        "bootstrap/config.toml",
        "bootstrap/peer.key",
        "mesh.toml",
        "peer-1/admin.token",
        "peer-1/config.toml",
        "peer-1/peer.key",
        "peer-10/admin.token",
        "peer-10/config.toml",
        "peer-10/peer.key",
        "peer-2/admin.token",
        "peer-2/config.toml",
        "peer-2/peer.key",
        "root.key",
    ]
    assert [path.name for path in mesh.peers] == ["peer-1", "peer-2", "peer-10"]


def test_only_their_owner_reads_keys(mesh: MeshFolder) -> None:
    write_peer(mesh, 1)
    for path in (mesh.folder / "root.key", mesh.folder / "peer-1" / "peer.key"):
        assert path.stat().st_mode & 0o777 == 0o600
    for path in mesh.folder.rglob("*.toml"):
        text = path.read_text()
        assert mesh.root.secret.hex() not in text
        assert identity_in(mesh.folder / "peer-1").secret.hex() not in text


def test_the_defaults_of_a_new_peer_are_those_of_the_program(mesh: MeshFolder) -> None:
    write_peer(mesh, 1)
    config = peer_config(mesh)
    assert config.mesh == mesh.mesh
    assert config.crawl == CrawlConfig()
    bare = PeerConfig(mesh=config.mesh, member=config.member)
    assert config == bare


def test_what_is_chosen_is_what_is_read(mesh: MeshFolder) -> None:
    settings = {
        **ports_from(7_400),
        "member.listen": "0.0.0.0",
        "member.announce": "crawler.example",
        "member.weight": 250,
        "member.doors": (DOOR, DOOR),
        "gateway.listen": "[::1]:0",
        "crawl.delay_s": 0.25,
        "crawl.pages_per_host_max": 9,
        "web.resolver": 'a "quoted" \\ name\n天网.json',
        "web.allow_private": ("a.test", "b.test"),
        "web.trace": "trace file",
    }
    write_peer(mesh, 1, settings)
    config = peer_config(mesh)
    member = config.member
    assert (member.inbox_port, member.multicast_port, member.door_port) == (7_400, 7_401, 7_402)
    read = msgspec.structs.asdict
    assert settings == {name: _setting(config, name) for name in settings}
    assert read(config.crawl) == read(CrawlConfig()) | {
        "delay_s": 0.25,
        "pages_per_host_max": 9,
    }


def _setting(config: PeerConfig, name: str) -> object:
    table, key = name.split(".")
    return getattr(getattr(config, table), key)


def test_a_setting_that_no_peer_would_take_is_refused_before_anything_is_written(mesh: MeshFolder) -> None:
    for settings in ({"crawl.delay_s": -1.0}, {"crawl.no_such_thing": 1}, {"crawl.is_recorded": True}):
        with pytest.raises(ConfigError, match=r"crawl|trace"):
            write_peer(mesh, 1, settings)
        assert not (mesh.folder / "peer-1" / "config.toml").exists()
    write_peer(mesh, 1)
    before = (mesh.folder / "peer-1" / "config.toml").read_text()
    with pytest.raises(ConfigError, match="delay_s"):
        write_peer(mesh, 1, {"crawl.delay_s": -1.0})
    assert (mesh.folder / "peer-1" / "config.toml").read_text() == before


def test_what_a_person_wrote_stays_when_a_peer_is_written_again(mesh: MeshFolder) -> None:
    write_peer(mesh, 1, {"crawl.delay_s": 1.0})
    path = mesh.folder / "peer-1" / "config.toml"
    agent = 'user_agent = "ours/2.0 (+https://lab.example/bot)"  # agreed with the computing centre'
    lines = [agent if line.startswith("user_agent") else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(["# our first machine", *lines]) + "\n")
    before = path.read_text()
    write_peer(mesh, 1)
    assert path.read_text() == before
    write_peer(mesh, 1, {"crawl.delay_s": 0.0, "member.doors": (DOOR,)})
    changed = [
        new for new, old in zip(path.read_text().split("\n"), before.split("\n"), strict=True) if new != old
    ]
    assert changed == [
        f'doors = [{{endpoint = "{DOOR.endpoint}", key = "{DOOR.key}"}}]',
        "delay_s = 0.0",
    ]
    assert peer_config(mesh).crawl.user_agent == "ours/2.0 (+https://lab.example/bot)"


def test_a_slip_in_an_edited_configuration_is_told_and_the_file_left_alone(mesh: MeshFolder) -> None:
    write_peer(mesh, 1)
    path = mesh.folder / "peer-1" / "config.toml"
    path.write_text(path.read_text().replace("delay_s = 1.0", "delay_s = 1,0"))
    before = path.read_text()
    with pytest.raises(ConfigError, match=r"config\.toml: .*line \d+.*; correct that line"):
        write_peer(mesh, 1, {"crawl.delay_s": 0.0})
    assert path.read_text() == before


def test_the_door_of_the_bootstrap_node_moves_and_others_stay(mesh: MeshFolder) -> None:
    other = DoorConfig(endpoint="tcp://192.0.2.9:1", key="x" * 40)
    path = mesh.folder / "peer-1" / "config.toml"
    assert doors_of(path, DOOR) == (DOOR,)
    write_peer(mesh, 1, {"member.doors": (DOOR, other)})
    moved = msgspec.structs.replace(DOOR, endpoint="tcp://192.0.2.1:9999")
    assert doors_of(path, moved) == (other, moved)


def test_the_bootstrap_node_has_a_configuration_of_its_own(mesh: MeshFolder) -> None:
    identity = write_bootstrap(mesh, ports_from(7_400))
    config = load_config(mesh.folder / "bootstrap" / "config.toml", BootstrapConfig)
    assert (config.mesh, config.member.weight, config.member.door_port) == (mesh.mesh, 0, 7_402)
    assert identity_in(mesh.folder / "bootstrap") == identity


def test_certificates_are_from_this_mesh(mesh: MeshFolder) -> None:
    identity = write_peer(mesh, 1)
    keys = identity.curve_public, identity.signing_public
    encoded = bytes.fromhex(peer_config(mesh).member.certificate)
    certificate = read_certificate(mesh.mesh.digest(), *keys, encoded)
    assert certificate is not None
    assert certificate.is_valid(mesh.root.public)
    assert certificate.grant.weight_allowed == WEIGHT_MAX_DEFAULT


def test_writing_a_peer_again_keeps_its_key(mesh: MeshFolder) -> None:
    first = write_peer(mesh, 1)
    second = write_peer(mesh, 1, {"crawl.delay_s": 0.0})
    assert first == second
    assert peer_config(mesh).crawl.delay_s == 0.0
    assert write_peer(mesh, 2) != first


def test_ids_can_be_drawn_so_that_every_peer_owns_a_host(mesh: MeshFolder) -> None:
    hosts = ["a.test", "b.test", "c.test", "d.test"]
    draw_serials(mesh, 3, hosts)
    for number in (1, 2, 3):
        write_peer(mesh, number)
    peers = [peer_in(peer_config(mesh, number).member.certificate) for number in (1, 2, 3)]
    table = SlotTable(dict.fromkeys(peers, 100), mesh.mesh.slot_count, mesh.mesh.replicas)
    owners = {table.owner_of(slot_of(host, mesh.mesh.slot_count)) for host in hosts}
    assert owners == set(peers)


def test_the_configuration_explains_itself(mesh: MeshFolder) -> None:
    write_peer(mesh, 1, {"member.doors": (DOOR,)})
    text = (mesh.folder / "peer-1" / "config.toml").read_text()
    lines = text.splitlines()
    unexplained = [line for above, line in pairwise(lines) if line[:1] not in ("", "#") and above[:1] != "#"]
    assert unexplained == []
    assert max(map(len, (line for line in lines if line.startswith("#")))) <= 102
    assert list(tomllib.loads(text)) == list(PeerConfig.__struct_fields__)


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
    with pytest.raises(ConfigError, match=r"there is no mesh in .*tianmesh init"):
        open_mesh(tmp_path)


def test_a_place_where_nothing_can_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError, match="cannot make"):
        create_mesh(tmp_path / "file" / "mesh", "name", replicas=2)


def test_a_setting_that_is_no_text_is_refused(mesh: MeshFolder) -> None:
    with pytest.raises(ConfigError, match="a setting is no text but bytes"):
        write_peer(mesh, 1, {"web.resolver": "\udcff"})


def test_the_administrator_of_a_new_mesh_may_decree_there_and_nowhere_else(mesh: MeshFolder) -> None:
    administrator = load_administrator(mesh.folder / "admin.key")
    decree = administrator.decree(POLICY, "", 1, b"rules")
    root = bytes.fromhex(mesh.mesh.root_key)
    assert Authority(root, mesh.mesh.digest()).refusal_of(decree) == ""
    assert Authority(root, bytes(16)).refusal_of(decree)
    assert (mesh.folder / "admin.key").stat().st_mode & 0o077 == 0


# --- the root key is for signing, and for nothing else ---


def test_a_mesh_without_its_root_key_is_started_and_lets_nobody_in(mesh: MeshFolder) -> None:
    write_bootstrap(mesh)
    write_peer(mesh, 1)
    (mesh.folder / ROOT_KEY).unlink()
    again = open_mesh(mesh.folder)
    make_administrator(again)
    write_bootstrap(again)
    write_peer(again, 1, {"crawl.delay_s": 3.0})
    assert peer_config(mesh).crawl.delay_s == 3.0
    with pytest.raises(ConfigError, match=f"bring it back .* or set {ROOT_KEY_AT}"):
        write_peer(again, 2)


def test_a_root_key_is_found_where_a_variable_names_it_and_only_that_of_the_mesh(
    mesh: MeshFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe = tmp_path / "safe.key"
    (mesh.folder / ROOT_KEY).rename(safe)
    monkeypatch.setenv(ROOT_KEY_AT, str(safe))
    write_peer(open_mesh(mesh.folder), 1)
    other = create_mesh(tmp_path / "other", "another", replicas=1)
    assert other.root.public.hex() == other.mesh.root_key, "its own comes first"
    monkeypatch.setenv(ROOT_KEY_AT, str(other.folder / ROOT_KEY))
    with pytest.raises(ConfigError, match="root key of another mesh"):
        write_peer(open_mesh(mesh.folder), 2)


PRYING = """
from mesh.process.workshop_process import serve
from {module} import LIMITS
def carry_out(order):
    try:
        return open(order, "rb").read()
    except OSError as error:
        return type(error).__name__.encode()
serve(carry_out, LIMITS)
"""


@pytest.mark.parametrize("name", ["page_process", "guarded_reader"])
async def test_no_process_that_works_on_pages_or_documents_can_open_the_keys_of_a_mesh(
    mesh: MeshFolder, name: str
) -> None:
    lacking = subprocess.run(
        [sys.executable, "-P", "-m", "mesh.process.confinement"], capture_output=True, text=True, check=True
    ).stdout
    if lacking:
        pytest.skip(lacking)
    write_peer(mesh, 1)
    keys = [path for path in mesh.folder.rglob("*.key") if path.is_file()]
    assert len(keys) == 3
    workshop = Workshop([sys.executable, "-c", PRYING.format(module=f"peers.crawler.parsing.{name}")])
    answers: list[Answer] = []
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(workshop.run)
            await workshop.carry_out([str(path).encode() for path in keys], answers.append)
            nursery.cancel_scope.cancel()
    assert answers == [b"PermissionError"] * len(keys)
