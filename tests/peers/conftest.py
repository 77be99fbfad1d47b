"""Fixtures of tests of commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.peers.fake_gateway import FakeGateway, fake_gateway


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    """A gateway that answers from memory."""
    with fake_gateway() as gateway:
        yield gateway
