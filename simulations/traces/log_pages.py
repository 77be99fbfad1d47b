"""A trace of the pages that visitors of a site asked for, from the log of its web server. [io]

Apache's Common and Combined Log Format, which nginx writes as well. A page links to those that were asked
from it (referrer). Where the log ends a line with the seconds that the answer took, as nginx's
`$request_time`, these count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from mesh.errors import ConfigError
from mesh.trace import TracedPage
from mesh.urls import canonical

_LINE: Final = re.compile(
    r'\S+ \S+ \S+ \[(?P<at>[^\]]+)\] "(?P<method>[A-Z]+) (?P<path>\S+)[^"]*" '
    r"(?P<status>\d{3}) (?P<bytes>\d+|-)"
    r'(?: "(?P<referrer>[^"]*)" "[^"]*")?(?:.*? (?P<seconds>\d+\.\d+))?\s*$'
)
_NO_PAGE: Final = re.compile(
    r"\.(?:gif|jpe?g|png|svg|ico|css|js|woff2?|zip|gz|pdf|mp[34])(?:\?|$)", re.IGNORECASE
)


def pages_of_log(path: Path, site: str, seconds: float, damages: list[str]) -> Iterator[TracedPage]:
    """Yield each page that was answered with status 200, once, with the links that somebody followed.

    Args:
      site: the host of the log, or its origin (`https://www.example.org`).
      seconds: that a page took, where the log does not say.
      damages: takes the first of the lines that are none of a log.

    Raises:
      ConfigError: the file cannot be read.
    """
    base = canonical(site if "://" in site else f"http://{site}")
    if base is None:
        raise ConfigError(f"{site} is no host; give --site as www.example.org or https://www.example.org")
    pages: dict[str, TracedPage] = {}
    links: dict[str, dict[str, None]] = {}
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                match = _LINE.match(line)
                if match is None:
                    damages.append(f"{path} line {number:,}: not in the Common or Combined Log Format")
                    continue
                page = _page_of(match, base, seconds)
                if page is None:
                    continue
                pages.setdefault(page.url, page)
                source = canonical(match["referrer"] or "-")
                if source is not None and source != page.url:
                    links.setdefault(source, {})[page.url] = None
    except OSError as error:
        raise ConfigError(f"cannot read the log {path}: {error.strerror}; give another file") from error
    for url, page in pages.items():
        yield page._replace(links=tuple(links.get(url, ())))


def _page_of(match: re.Match[str], base: str, seconds: float) -> TracedPage | None:
    """The page that a line is about; None for an address that is no page, or was not there."""
    url = canonical(match["path"], base)
    if match["method"] != "GET" or match["status"] != "200" or url is None or _NO_PAGE.search(url):
        return None
    try:
        at = datetime.strptime(match["at"], "%d/%b/%Y:%H:%M:%S %z").timestamp()
    except ValueError:
        return None
    n_bytes = 0 if match["bytes"] == "-" else int(match["bytes"])
    return TracedPage(url, at, float(match["seconds"] or seconds), n_bytes, ())
