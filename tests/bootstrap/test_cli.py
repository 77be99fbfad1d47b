"""What the commands that start nodes tell before anything is started."""

from __future__ import annotations

import pytest

from bootstrap.cli import copies_warning


@pytest.mark.parametrize(
    ("replicas", "peers", "told"),
    [
        (1, 3, "one copy of every page: when a disk dies"),
        (1, 1, "one copy of every page: when a disk dies"),
        (2, 1, "one peer keeps the only copy"),
        (2, 2, ""),
        (3, 2, ""),
    ],
)
def test_who_keeps_one_copy_is_told_what_a_dead_disk_costs(replicas: int, peers: int, told: str) -> None:
    warning = copies_warning(replicas, peers)
    assert warning.startswith(told)
    assert bool(warning) == bool(told)
