"""In which version of the protocol each member is written to, by a peer of an invented next version."""

from __future__ import annotations

from mesh.actors.codec import PROTOCOL_VERSION
from mesh.actors.versions import Versions

NEXT = PROTOCOL_VERSION + 1


def test_a_member_not_heard_yet_is_written_to_in_the_version_that_all_members_speak() -> None:
    versions = Versions(NEXT)
    versions.note("b", NEXT)
    assert versions.with_peer("a") == versions.with_all({"a", "b"}) == PROTOCOL_VERSION


def test_a_member_that_speaks_our_version_or_a_newer_one_is_written_to_in_ours() -> None:
    versions = Versions(NEXT)
    versions.note("a", NEXT)
    versions.note("b", NEXT + 1)
    assert versions.with_peer("a") == versions.with_peer("b") == NEXT
    assert versions.with_all({"a", "b"}) == NEXT
    assert versions.n_behind == 0


def test_one_member_that_is_behind_holds_up_what_it_is_to_receive_and_nothing_else() -> None:
    versions = Versions(NEXT)
    versions.note("a", NEXT)
    versions.note("b", PROTOCOL_VERSION)
    assert versions.with_peer("a") == versions.with_all({"a"}) == NEXT
    assert versions.with_peer("b") == versions.with_all({"a", "b"}) == PROTOCOL_VERSION
    assert versions.n_behind == 1


def test_the_last_word_counts_when_a_member_is_upgraded_or_taken_back() -> None:
    versions = Versions(NEXT)
    for spoken in (PROTOCOL_VERSION, NEXT, PROTOCOL_VERSION, NEXT):
        versions.note("a", spoken)
        assert versions.with_peer("a") == versions.with_all({"a"}) == spoken
