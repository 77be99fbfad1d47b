from __future__ import annotations

import pytest

from peers.gateway.http.rights import Rights, borne_by, client_behind

TOKEN = "0123456789abcdef"


def forwarded(*values: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", value) for value in values]


def test_only_a_trusted_proxy_names_the_client() -> None:
    headers = forwarded(b"198.51.100.9")
    assert client_behind("192.0.2.1", headers, ()) == "192.0.2.1"
    assert client_behind("192.0.2.1", headers, ("192.0.2.1",)) == "198.51.100.9"
    assert client_behind("::ffff:192.0.2.1", headers, ("192.0.2.1",)) == "198.51.100.9"


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        (forwarded(b"203.0.113.5, 198.51.100.9"), "198.51.100.9"),  # the first is what the client claims
        (forwarded(b"203.0.113.5", b"198.51.100.9"), "198.51.100.9"),
        (forwarded(b"2001:db8::5"), "2001:db8::/64"),
        (forwarded(b"unknown"), "192.0.2.1"),
        (forwarded(b"\xff"), "192.0.2.1"),
        ([], "192.0.2.1"),
    ],
)
def test_of_what_is_forwarded_the_proxys_own_word_counts(
    headers: list[tuple[bytes, bytes]], client: str
) -> None:
    assert client_behind("192.0.2.1", headers, ("192.0.2.1",)) == client


@pytest.mark.parametrize(
    ("given", "token", "bears"),
    [
        (b"Bearer " + TOKEN.encode(), TOKEN, True),
        (b"bearer " + TOKEN.encode(), TOKEN, True),
        (b"Bearer 0123456789abcdeF", TOKEN, False),
        (b"Basic " + TOKEN.encode(), TOKEN, False),
        (b"Bearer ", "", False),  # where there is no token nobody bears it
        (b"Bearer \xff", TOKEN, False),
    ],
)
def test_a_token_is_borne_as_rfc_6750_says(given: bytes, token: str, bears: bool) -> None:
    for headers, is_borne in (([(b"authorization", given)], bears), ([], False)):
        assert (Rights().of(borne_by(headers), token, 0.0).token is not None) == is_borne
