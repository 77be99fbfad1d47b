"""Which ports of a relay are lent to whom."""

from __future__ import annotations

from mesh.port_leases import RELAYED_MAX, PortLeases


def test_each_is_lent_three_and_what_is_left_over_is_not_lent() -> None:
    lending = PortLeases(range(9400, 9408))
    assert list(lending.offers("one", 0, set())) == [9400, 9403]
    lending.lend("one", 9400)
    assert list(lending.offers("two", 0, set())) == [9403]
    lending.lend("two", 9403)
    assert list(lending.offers("three", 0, set())) == []
    lending.end("one")
    assert list(lending.offers("three", 0, set())) == [9400]
    assert len(lending) == 1


def test_who_comes_back_has_first_what_it_had() -> None:
    lending = PortLeases(range(9400, 9412))
    lending.lend("one", 9400)
    assert list(lending.offers("two", 9406, {9403})) == [9406, 9409, 9403]
    assert next(lending.offers("one", 9400, set())) == 9400  # its own, as it asks anew


def test_ports_of_members_that_are_away_are_lent_last() -> None:
    lending = PortLeases(range(9400, 9406))
    assert list(lending.offers("new", 0, {9400})) == [9403, 9400]
    assert list(lending.offers("new", 0, {9400, 9403})) == [9400, 9403]


def test_what_is_no_port_of_the_relay_is_not_lent_though_one_had_it() -> None:
    assert list(PortLeases(range(9400, 9403)).offers("one", 9401, set())) == [9400]


def test_there_is_an_end_to_how_many_are_relayed() -> None:
    assert len(list(PortLeases(range(9400, 19400)).offers("one", 0, set()))) == RELAYED_MAX
