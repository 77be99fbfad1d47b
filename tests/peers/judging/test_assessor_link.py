from __future__ import annotations

import pytest

from peers.judging.assessor_link import AssessorLink, key_of, link_in

KEY = key_of("0123456789abcdef")
INVITED = AssessorLink("pool", "ann", 2_000)


def test_a_link_is_good_until_its_end_and_no_longer() -> None:
    code = INVITED.code(KEY)
    assert link_in("pool", "ann", code, KEY, 1_999.9) == INVITED
    assert link_in("pool", "ann", code, KEY, 2_000.0) is None


def test_a_link_is_of_one_pool_one_assessor_and_one_peer() -> None:
    code = INVITED.code(KEY)
    assert link_in("pool", "bob", code, KEY, 0.0) is None
    assert link_in("other", "ann", code, KEY, 0.0) is None
    assert link_in("pool", "ann", code, key_of("another-token-16"), 0.0) is None
    assert link_in("pool", "ann", code.replace("2000", "9000"), KEY, 0.0) is None


@pytest.mark.parametrize(
    "code",
    ["", "-", "2000", "2000-", "-ab", "²000-ab", "02000-ab", "9" * 10_000, "2000-\ud800", "1e9-ab", "+1-ab"],
)
def test_a_forged_link_is_none(code: str) -> None:
    assert link_in("pool", "ann", code, KEY, 0.0) is None


def test_a_number_is_read_in_one_spelling_alone() -> None:
    """Else one link would have several addresses."""
    mac = INVITED.code(KEY).partition("-")[2]
    assert link_in("pool", "ann", f"02000-{mac}", KEY, 0.0) is None
