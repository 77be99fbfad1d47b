"""What one client may have, without a server."""

from __future__ import annotations

import pytest

from peers.gateway.http.quotas import (
    BAD_TOKENS_PER_S,
    BYTES_BURST_S,
    CLIENTS_MAX,
    QUERIES_BURST_S,
    Quotas,
    client_of,
)
from peers.gateway.model.settings import GatewaySettings

SETTINGS = GatewaySettings(client_queries_per_s=2.0, client_bytes_per_s=1_000, client_seeds_per_hour=3_600)
BURST = int(2.0 * QUERIES_BURST_S)


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::99", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("no address", "no address"),
    ],
)
def test_a_client_is_an_address_or_what_a_provider_gives_to_one_customer(address: str, client: str) -> None:
    assert client_of(address) == client


def test_only_tokens_that_do_not_count_are_counted() -> None:
    quotas = Quotas(SETTINGS)
    for _ in range(100):
        assert quotas.wait_for_token("a", 0.0) == 0.0
    for _ in range(int(BAD_TOKENS_PER_S)):
        assert quotas.wait_for_token("a", 0.0) == 0.0
        quotas.note_bad_token("a", 0.0)
    assert quotas.wait_for_token("a", 0.0) == pytest.approx(1 / BAD_TOKENS_PER_S)
    assert quotas.wait_for_token("b", 0.0) == 0.0
    assert quotas.wait_for_token("a", 1 / BAD_TOKENS_PER_S) == 0.0


def test_queries_come_at_a_rate_after_a_burst() -> None:
    quotas = Quotas(SETTINGS)
    assert [quotas.take_query("a", 10.0) for _ in range(BURST)] == [0.0] * BURST
    assert quotas.take_query("a", 10.0) == 0.5
    assert quotas.take_query("a", 10.4) == pytest.approx(0.1)
    assert quotas.take_query("a", 10.5) == 0.0
    assert quotas.take_query("b", 10.0) == 0.0  # others have their own
    assert quotas.refused == 2


def test_a_share_of_a_query_takes_no_more_than_that() -> None:
    quotas = Quotas(SETTINGS)
    assert [quotas.take_query("a", 0.0, 0.125) for _ in range(8 * BURST)] == [0.0] * 8 * BURST
    assert quotas.take_query("a", 0.0, 0.125) == pytest.approx(0.125 / 2.0)


def test_bytes_may_be_overdrawn_and_are_waited_for() -> None:
    quotas = Quotas(SETTINGS)
    assert quotas.wait_for_bytes("a", 0.0) == 0.0
    quotas.note_bytes("a", int(1_000 * BYTES_BURST_S) + 5_000, 0.0)
    assert quotas.wait_for_bytes("a", 0.0) == pytest.approx(5.001)
    assert quotas.wait_for_bytes("a", 6.0) == 0.0


def test_seeds_are_counted_by_the_hour() -> None:
    quotas = Quotas(SETTINGS)
    assert quotas.take_seeds("a", 3_600, 0.0) == 0.0
    assert quotas.take_seeds("a", 60, 0.0) == 60.0
    assert quotas.take_seeds("a", 60, 60.0) == 0.0
    assert quotas.take_seeds("b", 1_000_000, 0.0) == 0.0  # more than there ever is: of a full bucket
    assert quotas.take_seeds("b", 1, 0.0) > 3_600.0


def test_zero_is_no_limit() -> None:
    quotas = Quotas(GatewaySettings(client_queries_per_s=0.0, client_bytes_per_s=0, client_seeds_per_hour=0))
    quotas.note_bytes("a", 1 << 60, 0.0)
    assert quotas.wait_for_bytes("a", 0.0) == 0.0
    assert all(quotas.take_query("a", 0.0) == 0.0 for _ in range(1_000))
    assert quotas.take_seeds("a", 1 << 40, 0.0) == 0.0


def test_other_settings_count_from_then_on() -> None:
    quotas = Quotas(SETTINGS)
    assert [quotas.take_query("a", 0.0) for _ in range(BURST + 1)][-1] > 0.0
    quotas.change_settings(GatewaySettings(client_queries_per_s=1_000.0))
    assert quotas.take_query("a", 0.0) == 0.0


def test_clients_are_remembered_in_bounded_room() -> None:
    quotas = Quotas(SETTINGS)
    for number in range(CLIENTS_MAX + 50):
        quotas.take_query(str(number), 0.0)
    assert len(quotas) == CLIENTS_MAX


def test_changes_of_a_host_are_counted_whoever_tells_them_all_or_none() -> None:
    quotas = Quotas(GatewaySettings(host_changes_per_hour=10))
    assert quotas.take_changes({"a.test": 8, "b.test": 1}, 0.0) == 0.0
    wait_s = quotas.take_changes({"a.test": 4, "b.test": 1}, 0.0)
    assert wait_s == pytest.approx(720.0)
    assert quotas.take_changes({"b.test": 9}, 0.0) == 0.0, "nothing was taken of it"
    assert quotas.take_changes({"a.test": 4}, 720.0) == 0.0
