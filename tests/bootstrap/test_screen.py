"""The lines of a lab on the terminal at its end."""

from __future__ import annotations

import pytest

from bootstrap.screen import Report, Screen


def test_pages_as_changed_on_the_way_are_pages(capsys: pytest.CaptureFixture[str]) -> None:
    frontier = {"hosts": 1, "queued": 0, "in_flight": 0}
    counts = {
        "pages_stored": 9,
        "pages_indexed": 9,
        "pages_fetched": 9,
        "pages_per_second": 0.0,
        "seconds": 1.0,
    }
    row = {**counts, "frontier": frontier, "fetch_status": {"200": 8, "203": 1, "404": 2}}
    report: Report = {"total": {**row, "idle": True}, "peers": []}
    with Screen(quiet=False).progress({}) as show:
        show(report)
    assert "no pages: 404 (2)" in capsys.readouterr().err.splitlines()
