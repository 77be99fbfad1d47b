"""When a crawl stops for what its disk holds."""

from __future__ import annotations

from peers.storage.disk_limit import DiskLimit, DiskUse

GB = 1_000_000_000


def test_without_limits_nothing_stops() -> None:
    assert DiskLimit().stop(DiskUse(500 * GB, 0)) == ""


def test_what_is_used_stops_from_its_limit_on() -> None:
    limit = DiskLimit(max_bytes=2 * GB)
    assert limit.stop(DiskUse(2 * GB - 1, 0)) == ""
    assert limit.stop(DiskUse(2 * GB, 100 * GB)) == "2.00 GB are used of at most 2.00 GB (disk_max_bytes)"


def test_what_is_free_stops_below_its_limit_and_not_where_nobody_knows() -> None:
    limit = DiskLimit(free_min_bytes=5 * GB)
    assert limit.stop(DiskUse(0, 5 * GB)) == ""
    assert limit.stop(DiskUse(0, GB)) == "1.00 GB are free of at least 5.00 GB (disk_free_min_bytes)"
    assert limit.stop(DiskUse(0, None)) == ""
