from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.peers.engine.plain_terms import plain_terms


@pytest.fixture(scope="module", autouse=True)
def _plain_terms() -> Iterator[None]:
    with plain_terms():
        yield
