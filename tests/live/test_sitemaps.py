"""A site whose pages no link leads to: they are found by its sitemaps and its feed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import setting, up
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

HOST: Final = "a.test"
OTHER: Final = "b.test"  # which need not be of the same peer
HTML: Final = "Content-Type: text/html"
NAMESPACE: Final = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
INDEX: Final = (
    f"<sitemapindex {NAMESPACE}><sitemap><loc>http://{HOST}/pages.xml.gz</loc></sitemap></sitemapindex>"
)
PAGES: Final = f"<urlset {NAMESPACE}>" + "".join(
    f"<url><loc>http://{host}/{number}</loc></url>" for host in (HOST, OTHER) for number in range(3)
)
FEED: Final = "<rss><channel><item><link>/fed</link></item></channel></rss>"
FEED_LINK: Final = '<link rel="alternate" type="application/rss+xml" href="/news">'


def answer_to(host: str, path: str) -> bytes:
    match host, path:
        case (_, "/robots.txt"):
            return answer(f"Sitemap: http://{HOST}/map\n".encode(), "Content-Type: text/plain")
        case (_, "/map"):
            return answer(INDEX.encode(), "Content-Type: text/xml")
        case (_, "/pages.xml.gz"):
            return answer(
                gzip.compress(f"{PAGES}</urlset>".encode()), "Content-Type: application/octet-stream"
            )
        case (_, "/news"):
            return answer(FEED.encode(), "Content-Type: application/rss+xml")
    return answer(f"<title>{path}</title>{FEED_LINK if path == '/' else ''}<p>text of {path}".encode(), HTML)


def test_pages_that_only_a_sitemap_or_a_feed_names_are_stored(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with served(answer_to) as web:
        resolver = web.write_resolver(tmp_path, (HOST, OTHER))
        options = (*setting("web.resolver", resolver), "--once", "--report", report, "--peers", "2")
        with up(tmp_path, None, *options, seeds=[f"http://{HOST}/", f"http://{OTHER}/"], delay_s=0.1) as lab:
            assert lab.end() == 0, lab.messages
    asked = {(host, path) for host, path in web.requests if path != "/robots.txt"}
    pages = {(host, path) for host in (HOST, OTHER) for path in ("/", "/0", "/1", "/2", "/fed", "/news")}
    assert asked == pages | {(HOST, "/map"), (HOST, "/pages.xml.gz")}
    assert json.loads(report.read_text())["total"]["pages_stored"] == 2 * 6  # the feed is one
