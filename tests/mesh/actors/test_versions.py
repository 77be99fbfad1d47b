"""Who is written to in which version of the protocol."""

from __future__ import annotations

from mesh.actors.codec import PROTOCOL_VERSION, VERSION_BEFORE
from mesh.actors.versions import Versions


def test_who_was_not_heard_is_written_to_in_the_version_that_all_members_speak() -> None:
    versions = Versions()
    versions.note("b", PROTOCOL_VERSION)
    assert versions.with_peer("a") == versions.with_all({"a", "b"}) == VERSION_BEFORE


def test_who_speaks_our_version_or_a_newer_one_is_written_to_in_ours() -> None:
    versions = Versions()
    versions.note("a", PROTOCOL_VERSION)
    versions.note("b", PROTOCOL_VERSION + 1)
    assert versions.with_peer("a") == versions.with_peer("b") == PROTOCOL_VERSION
    assert versions.with_all({"a", "b"}) == PROTOCOL_VERSION
    assert versions.n_behind == 0


def test_one_member_that_is_behind_holds_up_what_it_is_to_receive_and_nothing_else() -> None:
    versions = Versions()
    versions.note("a", PROTOCOL_VERSION)
    versions.note("b", VERSION_BEFORE)
    assert versions.with_peer("a") == versions.with_all({"a"}) == PROTOCOL_VERSION
    assert versions.with_peer("b") == versions.with_all({"a", "b"}) == VERSION_BEFORE
    assert versions.n_behind == 1


def test_the_last_word_counts_when_a_member_is_upgraded_or_taken_back() -> None:
    versions = Versions()
    for spoken in (VERSION_BEFORE, PROTOCOL_VERSION, VERSION_BEFORE, PROTOCOL_VERSION):
        versions.note("a", spoken)
        assert versions.with_peer("a") == versions.with_all({"a"}) == spoken
