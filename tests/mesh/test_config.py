"""Configuration files: what is wrong with them is said in one sentence that names file and field."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mesh.config import MeshConfig, load_config
from mesh.errors import ConfigError
from peers.config import PeerConfig

ROOT = "ab" * 32
MESH = f'[mesh]\nname = "m"\nroot_key = "{ROOT}"\nanalysis_version = 6\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_fill_what_is_not_said(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, MESH + "[member]\n"), PeerConfig)
    assert config.mesh == MeshConfig(name="m", root_key=ROOT, analysis_version=6)
    assert (config.mesh.slot_count, config.mesh.replicas, config.member.listen) == (50_000, 2, "127.0.0.1")
    assert config.crawl.delay_s == 1.0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[member]\n", "missing required field `mesh`"),
        ("[mesh]\n[member]\n", "missing required field `name` - at `$.mesh`"),
        (MESH + "surprise = 1\n[member]\n", "unknown field `surprise` - at `$.mesh`"),
        (MESH + "[member]\nport = 1\n", "unknown field `port` - at `$.member`"),
        (MESH + "[member]\n[crawling]\n", "unknown field `crawling`"),
        (MESH + "slot_count = 0\n[member]\n", "`$.mesh.slot_count`"),
        (MESH + "slot_count = 65537\n[member]\n", "`$.mesh.slot_count`"),
        (MESH + 'slot_count = "many"\n[member]\n', "`$.mesh.slot_count`"),
        (MESH + "replicas = 9\n[member]\n", "`$.mesh.replicas`"),
        (MESH.replace(ROOT, "AB" * 32) + "[member]\n", "`$.mesh.root_key`"),
        (MESH.replace(ROOT, "ab") + "[member]\n", "`$.mesh.root_key`"),
        (MESH.replace('"m"', '""') + "[member]\n", "`$.mesh.name`"),
        (MESH + "[member]\ninbox_port = 70000\n", "`$.member.inbox_port`"),
        (MESH + "[member]\nweight = -1\n", "`$.member.weight`"),
        (MESH + '[member]\ncertificate = "abc"\n', "`$.member.certificate`"),
        (MESH + '[member]\nrelay = "perhaps"\n', "`$.member.relay`"),
        (MESH + '[member]\nrelay_ports = "9400"\n', "`$.member.relay_ports`"),
        (MESH + '[member]\nrelay_ports = "9400-9401"\n', "'9400-9401' are no three ports: first-last"),
        (MESH + '[member]\nrelay_ports = "65534-65536"\n', "are no three ports: first-last, up to 65535"),
        (
            MESH + '[member]\nrelay = "always"\nrelay_ports = "9400-9402"\n',
            "a node that is always reached over a relay cannot be one",
        ),
        (MESH + '[member]\ncertificate = "zz"\n', "`$.member.certificate`"),
        (MESH + '[[member.doors]]\nendpoint = "http://x"\nkey = ""\n', "`$.member.doors[0]"),
        (MESH + "[member]\n[crawl]\ndelay_s = -1\n", "`$.crawl.delay_s`"),
        (MESH + "[member]\n[machine]\nmemory_max_bytes = 0\n", "`$.machine.memory_max_bytes`"),
        (MESH + '[member]\n[gateway]\nlisten = "8017"\n', "`$.gateway.listen`"),
        (MESH + "[member]\n[web]\nrenderer = ''\n", "`$.web.renderer`"),
        ("[mesh\n", "line 1"),
        ("mesh = 1\nmesh = 2\n", "line 2"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_field(tmp_path: Path, text: str, complaint: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, PeerConfig)
    sentence = str(caught.value)
    assert re.match(re.escape(str(path)) + r"(, line \d+)?: ", sentence)
    assert complaint in sentence
    assert sentence.endswith("start again")
    assert "\n" not in sentence


def test_a_relay_lends_the_ports_from_the_first_to_the_last(tmp_path: Path) -> None:
    text = MESH + '[member]\nrelay_ports = "9400-9402"\n'
    assert load_config(written(tmp_path, text), PeerConfig).member.ports_lent() == range(9_400, 9_403)
    assert not load_config(written(tmp_path, MESH + "[member]\n"), PeerConfig).member.ports_lent()


@pytest.mark.parametrize("kind", ["absent", "a folder", "not UTF-8"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.toml"
    if kind == "a folder":
        path.mkdir()
    elif kind == "not UTF-8":
        path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"config\.toml .*give a config\.toml that `tianmesh init`"):
        load_config(path, PeerConfig)


def test_the_digest_of_a_mesh_changes_with_every_field() -> None:
    mesh = MeshConfig(name="m", root_key=ROOT, analysis_version=6)
    others = [
        MeshConfig(name="n", root_key=ROOT, analysis_version=6),
        MeshConfig(name="m", root_key="cd" * 32, analysis_version=6),
        MeshConfig(name="m", root_key=ROOT, slot_count=1, analysis_version=6),
        MeshConfig(name="m", root_key=ROOT, replicas=1, analysis_version=6),
        MeshConfig(name="m", root_key=ROOT, analysis_version=7),
    ]
    digests = {config.digest() for config in [mesh, *others]}
    assert len(digests) == 6
    assert {len(digest) for digest in digests} == {16}
    assert MeshConfig(root_key=ROOT, name="m", analysis_version=6).digest() == mesh.digest()
