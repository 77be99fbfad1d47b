from __future__ import annotations

import os
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
import zmq
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as struct_replace

from mesh.errors import ConfigError
from mesh.keys.certificate import Grant, Right, issue, read_certificate
from mesh.keys.identity import (
    PUBLISHED_CURVE_KEYS,
    Identity,
    bytes_of_z85,
    is_curve_key,
    verify_signature,
    z85_of,
)
from mesh.keys.key_file import (
    load_administrator,
    load_identity,
    load_root_key,
    new_identity,
    new_serial,
    new_signing_key,
    save_identity,
    save_root_key,
)
from mesh.keys.signing_key import SigningKey

PEER = Identity.of_secret(b"p" * 32)
ROOT = SigningKey.of_secret(b"r" * 32)
MESH_ID = b"m" * 16
GRANT = Grant("abcdefghijklmnop", 1e9, int(Right.CRAWL | Right.ANSWER), 7)


def test_zeromq_finds_the_same_public_curve_key() -> None:
    assert zmq.curve_public(PEER.curve_secret) == PEER.curve_public


def test_rfc32_z85_test_vector() -> None:
    assert z85_of(bytes((0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B))) == b"HelloWorld"


@given(st.binary(max_size=8).map(lambda data: data * 4))
def test_z85_is_read_back(data: bytes) -> None:
    assert bytes_of_z85(z85_of(data)) == data


@pytest.mark.parametrize("text", [b"#####", b"hell\x00", b"hello wor"])
def test_what_is_no_z85_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        bytes_of_z85(text)


def test_two_peers_share_a_secret_that_a_third_does_not_have() -> None:
    one, two, three = (Identity.of_secret(bytes([number]) * 32) for number in (1, 2, 3))
    shared = one.secret_shared_with(two.curve_public)
    assert shared is not None
    assert shared == two.secret_shared_with(one.curve_public)
    assert shared != three.secret_shared_with(two.curve_public)


def test_no_secret_is_shared_with_a_key_of_low_order() -> None:
    assert PEER.secret_shared_with(z85_of(bytes(32))) is None
    assert PEER.secret_shared_with(z85_of(bytes([1]) + bytes(31))) is None


def test_an_id_is_drawn_by_the_root_and_follows_from_no_key() -> None:
    assert new_serial() != new_serial()
    assert Grant(new_serial()).serial.isalnum()
    assert len(new_serial()) == 16


def test_secrets_do_not_show_in_the_text_of_an_identity() -> None:
    for secret in (repr(PEER.secret), repr(PEER.curve_secret)):
        assert secret not in repr(PEER)
    assert repr(ROOT.secret) not in repr(ROOT)


def test_a_signature_is_good_for_its_key_and_data_only() -> None:
    signature = PEER.sign(b"data")
    assert verify_signature(PEER.signing_public, b"data", signature)
    assert not verify_signature(PEER.signing_public, b"date", signature)
    assert not verify_signature(ROOT.public, b"data", signature)


@given(key=st.binary(max_size=40), signature=st.binary(max_size=70))
def test_malformed_keys_and_signatures_are_refused_without_an_error(key: bytes, signature: bytes) -> None:
    assert not verify_signature(key, b"data", signature)
    assert not verify_signature(PEER.signing_public, b"data", signature)


def test_a_certificate_is_valid_for_its_mesh_root_and_keys_only() -> None:
    certificate = issue(ROOT, MESH_ID, PEER.curve_public, PEER.signing_public, GRANT)
    assert certificate.is_valid(ROOT.public)
    assert not certificate.is_valid(PEER.signing_public)
    other = Identity.of_secret(b"o" * 32)
    assert not replace(certificate, mesh_id=b"n" * 16).is_valid(ROOT.public)
    assert not replace(certificate, curve_public=other.curve_public).is_valid(ROOT.public)
    assert not replace(certificate, signing_public=other.signing_public).is_valid(ROOT.public)
    assert not replace(certificate, signature=bytes(64)).is_valid(ROOT.public)
    for changes in ({"serial": "b" * 16}, {"valid_until": inf}, {"rights": 7}, {"weight_max": 8}):
        assert not replace(certificate, grant=struct_replace(GRANT, **changes)).is_valid(ROOT.public), changes


def test_a_certificate_comes_back_from_what_records_tell_of_it() -> None:
    keys = PEER.curve_public, PEER.signing_public
    certificate = issue(ROOT, MESH_ID, *keys, GRANT)
    assert len(certificate.encoded()) <= 128
    assert read_certificate(MESH_ID, *keys, certificate.encoded()) == certificate


@given(st.binary(max_size=130))
def test_malformed_certificates_are_none(encoded: bytes) -> None:
    read_certificate(MESH_ID, PEER.curve_public, PEER.signing_public, encoded)


def test_without_the_right_to_crawl_and_answer_no_weight_is_allowed() -> None:
    assert GRANT.weight_allowed == 7
    assert GRANT.allows(7, 7)
    assert not GRANT.allows(8, 0)
    assert not GRANT.allows(0, 8)
    for rights in (0, Right.CRAWL, Right.ANSWER, Right.IMPORT):
        assert struct_replace(GRANT, rights=int(rights)).weight_allowed == 0


@pytest.mark.parametrize("key", [*sorted(PUBLISHED_CURVE_KEYS), b"", b"x" * 39, b"x" * 41, b'"' * 40])
def test_published_and_malformed_curve_keys_get_no_certificate(key: bytes) -> None:
    assert not is_curve_key(key)
    with pytest.raises(ConfigError, match="published test key"):
        issue(ROOT, MESH_ID, key, PEER.signing_public, GRANT)
    forged = replace(issue(ROOT, MESH_ID, PEER.curve_public, PEER.signing_public, GRANT), curve_public=key)
    assert not forged.is_valid(ROOT.public)


def test_keys_come_back_from_files_that_only_their_owner_reads(tmp_path: Path) -> None:
    peer, root = new_identity(), new_signing_key()
    save_identity(tmp_path / "new" / "peer.key", peer)
    save_root_key(tmp_path / "root.key", root)
    assert load_identity(tmp_path / "new" / "peer.key") == peer
    assert load_root_key(tmp_path / "root.key") == root
    assert (tmp_path / "root.key").stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["new", "root.key"]


def test_an_existing_key_is_not_overwritten(tmp_path: Path) -> None:
    save_identity(tmp_path / "key", PEER)
    with pytest.raises(ConfigError, match="exists already: move it away"):
        save_identity(tmp_path / "key", new_identity())
    assert load_identity(tmp_path / "key") == PEER


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    save_identity(path, PEER)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match=f"run `chmod 600 {path}`"):
        load_identity(path)


@pytest.mark.parametrize(
    "text",
    [b"", b"peer_secret = 3", b"\xff", b'peer_secret = "00"', b'peer_secret = "z"', b"root_secret = ''"],
)
def test_a_damaged_key_file_is_said_in_one_sentence(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(text)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="restore"):
        load_identity(path)


def test_an_absent_key_file_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the key file"):
        load_identity(tmp_path / "key")


def test_an_absent_key_of_an_administrator_is_said_with_how_to_name_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no administrator's key at .*admin\.key: .* --data, .* --key"):
        load_administrator(tmp_path / "admin.key")


def test_a_root_key_is_not_taken_for_a_peers(tmp_path: Path) -> None:
    save_root_key(tmp_path / "key", ROOT)
    with pytest.raises(ConfigError, match="no key file with a peer_secret"):
        load_identity(tmp_path / "key")
