"""What the head of an answer says besides what `test_fetcher` sees of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.model.web_request import retry_after_s
from tests.helpers import fetched

AT_S = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110, 5.6.7


def asked_for(value: str, *more: tuple[str, str]) -> float:
    headers = (("Retry-After", value), *more)
    return retry_after_s(fetched("http://a.test/", 503, headers=headers, started_at=AT_S - 1.0, seconds=1.0))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("120", 120.0), ("0", 0.0), ("", 0.0), ("-5", 0.0), ("9" * 8, 0.0), ("١٢٠", 0.0), ("1.5", 0.0)],
)
def test_retry_after_is_read_in_seconds(value: str, seconds: float) -> None:
    assert asked_for(value) == seconds


@pytest.mark.parametrize(
    "date", ["Sun, 06 Nov 1994 08:51:37 GMT", "Sunday, 06-Nov-94 08:51:37 GMT", "Sun Nov  6 08:51:37 1994"]
)
def test_rfc9110_10_2_3_retry_after_may_be_a_date(date: str) -> None:
    assert asked_for(date) == 120.0


def test_a_date_is_held_against_the_clock_of_who_wrote_it() -> None:
    until = "Sun, 06 Nov 1994 12:00:00 GMT"
    assert asked_for(until, ("Date", "Sun, 06 Nov 1994 11:58:00 GMT")) == 120.0
    assert asked_for(until, ("Date", "nonsense")) == 11_423.0


@pytest.mark.parametrize(
    "date",
    ["Sun, 06 Nov 1994 08:49:00 GMT", "Wed, 21 Oct", "tomorrow", "Sun, 06 Nov 99999999999 08:49:37 GMT"],
)
def test_a_date_that_has_passed_or_is_none_asks_for_nothing(date: str) -> None:
    assert asked_for(date) == 0.0


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_value_is_read(value: str, date: str) -> None:
    assert asked_for(value, ("Date", date)) >= 0.0
