"""What was recorded of the wire is read as it was meant: peers that run already send and expect just that.

A test that fails here says that a message has changed. Peers of two programs
would misunderstand each other while a mesh is upgraded, so:

* A message or a field that is new: it is fine, if the field stands last and has a default. Record it with
  `python -m tests.peers.golden_frames`, which adds and changes nothing that was recorded before.
* Anything else (a field that is gone, renamed, moved, of another type or meaning) takes a new version of the
  protocol: raise `mesh.actors.codec.PROTOCOL_VERSION` and record the new version. Before the first release
  `OLDEST_VERSION` is raised with it, and the file of the version before goes. From then on it stays one
  below: `encode` writes the message as that version knows it when it writes in that, `Decoder` reads it, and
  both files are kept.
* `MemberRecord`, `Decree` and `Grant` are signed, and passed on by peers that drop fields they do not know: a
  new field makes their signatures invalid there. It takes a new version as well, and may be set only when all
  members speak it (`mesh.actors.versions`). The same is true of the fields of `MeshConfig`: its digest is
  the mesh.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from mesh.actors.codec import OLDEST_VERSION, PROTOCOL_VERSION, encode
from mesh.config import MeshConfig
from peers.wire_tags import WIRE_TAGS
from tests.peers.golden_frames import FOLDER, changes_in, example_of, golden, golden_file, names, said

VERSIONS = range(OLDEST_VERSION, PROTOCOL_VERSION + 1)
READ = [(version, kind) for version in VERSIONS for kind in golden(version)]


@pytest.mark.parametrize(("version", "kind"), READ, ids=lambda each: str(each))
def test_recorded_frames_say_what_they_said(version: int, kind: str) -> None:
    assert changes_in(golden(version)[kind]) == []


def test_every_message_is_recorded_with_all_its_fields() -> None:
    recorded = {kind: names(each["says"]) for kind, each in golden(PROTOCOL_VERSION).items()}
    assert recorded == {kind.__name__: names(said(example_of(kind))) for kind in WIRE_TAGS.values()}


def test_nothing_is_recorded_that_no_peer_of_a_mesh_speaks() -> None:
    assert set(FOLDER.iterdir()) == set(map(golden_file, VERSIONS))


def test_the_id_of_a_mesh_does_not_change_with_the_program() -> None:
    config = MeshConfig(name="golden", root_key="0f" * 32, analysis_version=3)
    assert config.digest().hex() == "f70988f07c95cc57cc8a81819939ac10"


@pytest.mark.parametrize(
    "change",
    [
        lambda says: {**says, "sequence": 2},  # of another value
        lambda says: {**says, "renamed": 1},
        lambda says: {**says, "queue": str(says["queue"])},
        lambda says: {**says, "gossip": says["gossip"][:1]},
    ],
)
def test_a_change_is_found(change: Any) -> None:
    message = example_of(WIRE_TAGS[1])
    frame = encode("from", "to", message).hex()
    assert changes_in({"frame": frame, "says": said(message)}) == []
    assert changes_in({"frame": frame, "says": change(said(message))}) != []


def test_a_frame_that_cannot_be_read_any_more_is_found() -> None:
    assert changes_in({"frame": encode("from", "to", example_of(WIRE_TAGS[1])).hex()[:-2], "says": {}}) != []


def test_recorded_files_are_as_the_recorder_writes_them() -> None:
    for version in VERSIONS:
        text = golden_file(version).read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
