from __future__ import annotations

import doctest

import peers.engine


def test_the_example_of_the_package_is_true() -> None:
    outcome = doctest.testmod(peers.engine)
    assert outcome.attempted > 10
    assert outcome.failed == 0
