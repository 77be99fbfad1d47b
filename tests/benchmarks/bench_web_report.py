"""The memory of `tianmesh report web`: made-up facts of many pages, counted as those of a crawl.

`python -m tests.benchmarks.bench_web_report 1000000` takes a minute and a gigabyte.
"""

from __future__ import annotations

import resource
import sys
import time
from random import Random
from typing import Any

from simulations.web_reports.page_columns import PageColumns
from simulations.web_reports.page_facts import PageFacts, page_number
from simulations.web_reports.web_report import report_of_web

LINKS = 10  # of a page, most of them near it


def main(n_pages: int) -> None:
    random = Random(7)
    urls = [f"http://h{number // 500}.test/d/{number}" for number in range(n_pages)]
    numbers = list(map(page_number, urls))
    before = _peak_mb()
    began = time.process_time()
    columns = PageColumns()
    for at, url in enumerate(urls):
        near = [min(n_pages - 1, max(0, at + int(random.gauss(0, 200)))) for _ in range(LINKS)]
        sizes, tags = (400, 100, 200, 30, 20), frozenset(("title", "p"))
        said = ("T", False, at % (n_pages // 2 + 1) + 1, True, False, tags)
        targets = [numbers[each] for each in near]
        facts: Any = (url, at, "text/html", "en", *sizes, *said, (LINKS, 0, 0), targets)
        columns.add(PageFacts._make(facts))
    taken_s, taken_mb = time.process_time() - began, _peak_mb()
    found = report_of_web(columns, {})
    print(
        f"{found.pages:,} pages, {found.links.links if found.links else 0:,} links: columns of "
        f"{columns.held_bytes / 1e6:,.0f} MB in {taken_s:,.1f} CPU s, {taken_mb - before:,.0f} MB more than "
        f"names; counted in {time.process_time() - began - taken_s:,.1f} CPU s, {_peak_mb() - before:,.0f} MB"
    )


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
