"""The web sites of live tests: the bundled demo web, whole or on more hosts, made sites, a host of traps.

All of it is in the repository, so that a clone by itself has what its tests crawl.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from random import Random
from typing import Final

from bootstrap.demo_web import DemoWeb
from tests.live.links import links_of

ALLOW_ALL: Final = b"User-agent: *\nDisallow:\n"
GBK_HOST: Final = "gbk.maint-guide.test"  # in GBK under the label gb2312, as old Chinese sites are
NASTY_HOST: Final = "nasty.test"
NASTY_DELAY_S: Final = 0.5  # which its robots.txt wants

# Every document of the demo web under a host of its own; of two prefixes the longer one holds.
_DOCUMENTS: Final = {
    ("www.debian.org", "/doc/manuals/debian-reference/"): "reference.debian.test",
    ("www.debian.org", "/doc/manuals/debian-faq/"): "faq.debian.test",
    ("www.debian.org", "/doc/manuals/debmake-doc/"): "debmake.debian.test",
    ("httpd.apache.org", "/docs/2.4/en/"): "manual.httpd.test",
    ("httpd.apache.org", "/docs/2.4/en/howto/"): "howto.httpd.test",
    ("httpd.apache.org", "/docs/2.4/en/rewrite/"): "rewrite.httpd.test",
    ("httpd.apache.org", "/docs/2.4/en/vhosts/"): "vhosts.httpd.test",
    ("httpd.apache.org", "/docs/2.4/zh-cn/"): "zh-cn.httpd.test",
    ("www.postgresql.org", "/docs/15/"): "www.postgresql.test",
    ("help.libreoffice.org", "/"): "help.libreoffice.test",
    (GBK_HOST, "/"): GBK_HOST,
}


@dataclass(frozen=True, slots=True)
class Site:
    """What a host serves."""

    host: str
    pages: Mapping[str, bytes] = field(default_factory=dict)  # by path; "/" and what ends so is an index
    folders: Mapping[str, Path] = field(default_factory=dict)  # served besides, by the beginning of the path
    redirects: Mapping[str, str] = field(default_factory=dict)  # 302, by path
    seeds: Sequence[str] = ("/",)  # paths
    robots: bytes = ALLOW_ALL
    charset: str = ""  # that the server claims for its pages
    locations: str = ""  # more of the server's configuration; names {folder}


@cache
def demo_sites() -> tuple[Site, ...]:
    """The bundled web under its own names: 251 pages on five hosts, Chinese and English."""
    web = DemoWeb.load()
    return tuple(_recorded(web, host) for host in web.hosts)


@cache
def split_sites() -> tuple[Site, ...]:
    """The same pages on eleven hosts. The hosts are seeds; few links lead from one to another."""
    parts: dict[str, dict[str, bytes]] = {host: {} for host in _DOCUMENTS.values()}
    charsets: dict[str, str] = {}
    for site in demo_sites():
        for path, body in site.pages.items():
            fitting = [each for each in _DOCUMENTS if each[0] == site.host and path.startswith(each[1])]
            if path != "/" and fitting:
                host = _DOCUMENTS[max(fitting, key=lambda each: len(each[1]))]
                parts[host][path] = body
                charsets[host] = site.charset
    return tuple(
        Site(host, {"/": _start_page(host, pages), **pages}, charset=charsets[host])
        for host, pages in parts.items()
    )


def gbk_site() -> tuple[Site, ...]:
    """The smallest host of the demo web: eleven pages in GBK."""
    return tuple(site for site in demo_sites() if site.host == GBK_HOST)


def _recorded(web: DemoWeb, host: str) -> Site:
    found = {path: response for path, response in web.responses_of(host).items() if path != "/robots.txt"}
    robots = web.find(host, "/robots.txt")
    types = [dict(response.headers).get(b"content-type", b"") for response in found.values()]
    return Site(
        host,
        {path: response.body for path, response in found.items() if response.status == 200},
        redirects={
            path: dict(response.headers)[b"location"].decode()
            for path, response in found.items()
            if response.status == 302
        },
        robots=robots.body if robots else ALLOW_ALL,
        charset="utf-8" if any(b"charset=utf-8" in each for each in types) else "",
    )


def _start_page(host: str, pages: Mapping[str, bytes]) -> bytes:
    """Name so few pages that links lead from them to all others."""
    entrances: list[str] = []
    reached: set[str] = set()
    # Indexes first: they lead to most.
    for path in sorted(pages, key=lambda path: ("index" not in path, path.count("/"), path)):
        if path not in reached:
            entrances.append(path)
            reached |= _reached_from(path, host, pages)
    rows = "".join(f'<li><a href="{escape(path)}">{escape(path)}</a></li>\n' for path in entrances)
    return f"<!doctype html><title>{host}</title>\n<ul>\n{rows}</ul>\n".encode()


def _reached_from(path: str, host: str, pages: Mapping[str, bytes]) -> set[str]:
    seen = {path}
    queue = deque(seen)
    while queue:
        here = queue.popleft()
        for link in links_of(f"http://{host}{here}", pages[here]):
            there = link.partition("#")[0].removeprefix(f"http://{host}")
            if there in pages and there not in seen:
                seen.add(there)
                queue.append(there)
    return seen


def made_sites(hosts: int, pages: int, words: int) -> tuple[Site, ...]:
    """Sites of as many pages as a test wants, each leading to ten others; no two pages are alike.

    Args:
      words: on each page, of 8 letters on average.
    """
    random = Random(7)
    letters = "aeiou", "bdfgklmnprstv"
    vocabulary = [
        "".join(random.choice(letters[n % 2]) for n in range(random.randint(6, 10))) for _ in range(4_000)
    ]

    def page(number: int) -> bytes:
        links = "".join(
            f'<a href="/{n}.html">page {n}</a>\n'
            for n in range(10 * number + 1, 10 * number + 11)
            if n < pages
        )
        text = " ".join(random.choices(vocabulary, k=words))
        return f"<!doctype html><title>page {number}</title>\n<p>{text}</p>\n{links}".encode()

    return tuple(
        Site(f"made-{host}.test", {f"/{n}.html" if n else "/": page(n) for n in range(pages)})
        for host in range(1, hosts + 1)
    )


def nasty_site() -> Site:
    """A host of what traps crawlers: loops, endless paths, errors, slow, huge and lying bodies."""
    traps = (
        *("/loop/a", "/chain/1", "/deep/", "/cal?d=1", "/500", "/503", "/429", "/410", "/nowhere"),
        *("/slow.html", "/big.html", "/liar.html", "/robotted/x", "//nasty.test//double//slash"),
        *("/a/../b/./c", "/%7Euser/%e4%b8%ad", "http://nasty.test:1/", "http://no-such-host.test/"),
    )
    start = "<title>nasty</title>" + " ".join(f'<a href="{trap}">{trap}</a>' for trap in traps)
    paragraphs = (f'<p>a page without an end in sight <a href="/deep/{n}">{n}</a>\n' for n in range(500_000))
    return Site(
        NASTY_HOST,
        {
            "/": start.encode(),
            "/slow.html": b"<title>slow</title>" + b"slow " * 4_000,
            "/big.html": b"<title>big</title>" + "".join(paragraphs).encode(),
            "/liar.html": bytes(range(256)) * 400,
            "/chain/end.html": b"<title>end of the chain</title>",
        },
        robots=f"User-agent: *\nDisallow: /robotted/\nCrawl-delay: {NASTY_DELAY_S}\n".encode(),
        locations=_TRAPS,
    )


_TRAPS: Final = """
  default_type text/html;
  location = /loop/a { return 302 /loop/b; }
  location = /loop/b { return 302 /loop/a; }
  location ~ ^/chain/(1?[0-9])$ { return 301 /chain/1$1; }
  location ~ ^/chain/[0-9] { return 301 /chain/end.html; }
  location /deep/ { return 200 '<title>$uri</title><a href="$uri/a">a</a> <a href="$uri/b">b</a>'; }
  location = /cal { return 200 '<title>day $arg_d</title>
    <a href="/cal?d=1$arg_d">next</a> <a href="/cal?d=$arg_d&amp;sid=$request_id">again</a>'; }
  location = /500 { return 500; }
  location = /503 { add_header Retry-After 1 always; return 503; }
  location = /429 { add_header Retry-After 2 always; return 429; }
  location = /410 { return 410; }
  location = /slow.html { limit_rate 300; root "{folder}"; }
  location /robotted/ { return 200 '<title>nobody was to come here</title>'; }
"""
