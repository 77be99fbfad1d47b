"""What the commands that start nodes tell before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.cli import copies_warning, up
from mesh.errors import ConfigError


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


def test_an_empty_mesh_that_is_to_end_when_all_is_crawled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to crawl"):
        up(data=tmp_path / "mesh", once=True)
    assert not any(tmp_path.iterdir())
