"""The judge of politeness, without a server."""

from __future__ import annotations

import pytest

from tests.live.access_log import Access, assert_one_connection_at_a_time


def asked(at_s: float, client_port: int, server_port: int) -> Access:
    return Access(at_s, at_s, client_port, "a.example", "/", 200, "agent", server_port=server_port)


def test_a_client_may_use_a_port_again_for_another_port_of_a_server() -> None:
    assert_one_connection_at_a_time([asked(0, 40_000, 80), asked(1, 40_002, 443), asked(2, 40_000, 8080)])


def test_connections_that_take_turns_are_found() -> None:
    with pytest.raises(AssertionError, match="take turns"):
        assert_one_connection_at_a_time([asked(0, 40_000, 80), asked(1, 40_002, 443), asked(2, 40_000, 80)])


def test_a_request_that_begins_within_another_is_found() -> None:
    slow = asked(0, 40_000, 80)._replace(ended_s=1)
    with pytest.raises(AssertionError, match="overlap"):
        assert_one_connection_at_a_time([slow, asked(0.5, 40_000, 80)])


def test_another_connection_may_have_the_ports_of_an_earlier_one() -> None:
    ports = (asked(0, 40_000, 80), asked(1, 40_002, 443), asked(2, 40_000, 80))
    assert_one_connection_at_a_time([each._replace(serial=n) for n, each in enumerate(ports, 1)])
