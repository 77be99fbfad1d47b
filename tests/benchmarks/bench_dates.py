"""Days of publication that are found of pages whose day is known, by halves of their domains.

DATED_PAGES=FOLDER pytest tests/benchmarks/bench_dates.py --benchmark-enable -s

FOLDER has `htmldate` (1,000 pages, many of them German, of 2005 to 2023) and
`web-content-extraction-benchmark` (1,044 of its pages have a day, most of 2015 to 2026), both as their
repositories on GitHub are. The rules are fitted to the halves A; what does not win on the halves B, too, is
left out.

Of a page that says when it was published and when it was changed, the known day is that of the change now
and then: such pages count as wrong, and are told besides. In percent, 2026-11-28:

                    wrong   neither day   without a day
    htmldate        5.4     2.5           11.4             before these rules 6.2, 3.8, 8.9
      half B        5.0     1.6           12.0             6.0, 3.0, 9.6
    seven kinds     5.7     3.0           11.2             10.1, 7.0, 5.7
      half B        4.8     3.0           10.3             7.6, 5.5, 6.1
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from mesh.domains import registrable_domain
from mesh.urls import canonical, host_of
from peers.crawler.parsing.dates import page_date, published_at
from peers.crawler.parsing.parser import NotHtml, parse_page

PAGES: Final = "DATED_PAGES"
# Shares of the halves B: dated wrongly, known neither by publication nor by change, and without a day.
WRONG_MAX: Final = 0.055
NEITHER_MAX: Final = 0.035
WITHOUT_MAX: Final = 0.15
FETCHED_AT: Final = datetime(2026, 11, 1, tzinfo=UTC).timestamp()


class Dated(NamedTuple):
    """A page, and its day in ISO 8601."""

    url: str
    body: bytes
    day: str

    @property
    def is_fitted_to(self) -> bool:
        return sha256(registrable_domain(host_of(self.url)).encode()).digest()[0] % 2 == 0


class Found(NamedTuple):
    """Shares of some pages."""

    wrong: float
    neither: float  # of these, those that have another day of change, too
    without: float


def test_days_of_publication_are_found(benchmark: Any) -> None:
    place = os.environ.get(PAGES)
    if place is None:
        pytest.skip(f"{PAGES} names no folder with pages whose day is known")
    sets = {"htmldate": list(_of_htmldate(Path(place))), "seven kinds": list(_of_kinds(Path(place)))}
    for name, pages in sets.items():
        _tell(name, pages)
        _tell(f"{name}, half A", [page for page in pages if page.is_fitted_to])
        found = _tell(f"{name}, half B", [page for page in pages if not page.is_fitted_to])
        assert found.wrong <= WRONG_MAX
        assert found.neither <= NEITHER_MAX
        assert found.without <= WITHOUT_MAX
    benchmark.pedantic(lambda: [_days(page) for page in sets["htmldate"][:200]], rounds=3)


def _tell(name: str, pages: Sequence[Dated]) -> Found:
    days = [(page.day, *_days(page)) for page in pages]
    wrong = [each for each in days if each[1] not in ("", each[0])]
    neither = sum(known != changed for known, _, changed in wrong)
    without = sum(not published for _, published, _ in days)
    found = Found(*(n / len(days) for n in (len(wrong), neither, without)))
    print(f"\n{name:24} {len(days):5} " + " ".join(f"{100 * share:5.1f}" for share in found), end="")
    return found


def _days(page: Dated) -> tuple[str, str]:
    """Return the days of publication and of the last change that are found; "" for none."""
    try:
        parsed = parse_page(page.url, page.body, "text/html")
    except NotHtml:
        return "", ""
    changed = page_date(parsed.dates, None, FETCHED_AT)
    day = datetime.fromtimestamp(changed, UTC).date().isoformat() if changed else ""
    return published_at(parsed.published, FETCHED_AT)[:10], day


def _of_htmldate(folder: Path) -> Iterator[Dated]:
    folder /= "htmldate/tests"
    files = {path.name: path for path in folder.rglob("*") if path.is_file()}
    for name in ("eval_default.json", "eval_mediacloud_2020.json"):
        for url, known in json.loads((folder / name).read_text()).items():
            yield Dated(canonical(url) or url, files[known["file"]].read_bytes(), known["date"])


def _of_kinds(folder: Path) -> Iterator[Dated]:
    for part in ("dev", "test"):
        place = folder / "web-content-extraction-benchmark" / part
        for path in sorted((place / "ground-truth").iterdir()):
            told = json.loads(path.read_text())
            url, day = told.get("url"), told["ground_truth"].get("publish_date")
            if url and day:
                body = gzip.decompress((place / "html" / f"{path.stem}.html.gz").read_bytes())
                yield Dated(canonical(url) or url, body, day)
