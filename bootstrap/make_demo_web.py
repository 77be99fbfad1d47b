"""Build the demo web's WARC file from unpacked Debian packages. [io]

A tool for maintainers; nothing else imports it. It takes real documentation pages as Debian
ships them, puts them under the host names where they live on the real web, and writes one WARC
1.1 file. The same packages give the same bytes. `DEMO_WEB.md` says what is inside and under
which licences, and lists every change made to a page; all of them are made here:

* links that name a host of the demo with https are written with http,
* the pages of the GBK host are recoded,
* every host gets a start page and a robots.txt, the only text that is not the documents' own,
* a directory, or a name without ending, that a page links to is answered by a redirect to the
  page which the real server would negotiate.

    mkdir x && cd x
    for p in $(python -m bootstrap.make_demo_web --names); do
      apt-get download $p && dpkg-deb -x ${p}_*.deb $p; done
    cd .. && python -m bootstrap.make_demo_web x bootstrap/demo_web.warc.gz
"""

from __future__ import annotations

import argparse
import base64
import email.utils
import fnmatch
import hashlib
import html
import re
import uuid
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from lxml import etree


@dataclass(frozen=True, slots=True)
class Mount:
    """A part of one document, placed in the URL space of a host."""

    package: str
    folder: str  # inside the unpacked package
    url: str  # of that folder; ends in a slash
    starts: tuple[str, ...]  # files in it from which its pages are gathered, breadth first
    patterns: tuple[str, ...]  # of the names to take, as fnmatch reads them
    title: str  # on the start page of the host
    encoding: str = "utf-8"  # of the copy
    charset: str = "utf-8"  # that the copy declares


@dataclass(frozen=True, slots=True)
class Host:
    name: str
    content_type: str  # of its pages
    disallow: tuple[str, ...]  # folders that its pages link to and that are not bundled
    mounts: tuple[Mount, ...]


@dataclass(frozen=True, slots=True)
class DemoPage:
    url: str
    body: bytes
    modified: datetime
    content_type: str
    location: str | None = None  # of a redirect


HOSTS = (
    Host(
        "www.debian.org",
        "text/html",  # as its server says; the pages declare utf-8 themselves
        (
            "/Bugs/",
            "/CD",
            "/MailingLists/",
            "/News/",
            "/devel/",
            "/distrib/",
            "/doc/debian-policy/",
            "/doc/manuals/debian-handbook/",
            "/doc/manuals/developers-reference/",
            "/doc/packaging-manuals/",
            "/ports/",
            "/releases",
            "/security/",
        ),
        (
            Mount(
                "debian-reference-zh-cn",
                "usr/share/debian-reference",
                "http://www.debian.org/doc/manuals/debian-reference/",
                ("index.zh-cn.html",),
                ("*.zh-cn.html",),
                "Debian 参考手册",
            ),
            Mount(
                "debian-reference-en",
                "usr/share/debian-reference",
                "http://www.debian.org/doc/manuals/debian-reference/",
                ("index.en.html",),
                ("*.en.html",),
                "Debian Reference",
            ),
            Mount(
                "debian-faq-zh-cn",
                "usr/share/doc/debian/FAQ/zh-cn",
                "http://www.debian.org/doc/manuals/debian-faq/",
                ("index.zh-cn.html",),
                ("*.zh-cn.html",),
                "Debian GNU/Linux FAQ（中文）",
            ),
            Mount(
                "debian-faq",
                "usr/share/doc/debian/FAQ",
                "http://www.debian.org/doc/manuals/debian-faq/",
                ("index.en.html",),
                ("*.en.html",),
                "The Debian GNU/Linux FAQ",
            ),
            Mount(
                "debmake-doc",
                "usr/share/doc/debmake-doc/html",
                "http://www.debian.org/doc/manuals/debmake-doc/",
                ("index.zh-cn.html",),
                ("*.zh-cn.html",),
                "Debian 维护者指南",
            ),
        ),
    ),
    Host(
        "gbk.maint-guide.test",
        "text/html",  # the charset is in the page only, so that it must be read there
        ("/private/",),
        (
            Mount(
                "maint-guide-zh-cn",
                "usr/share/doc/maint-guide-zh-cn/html",
                "http://gbk.maint-guide.test/maint-guide/",
                ("index.zh-cn.html",),
                ("*.zh-cn.html",),
                "Debian 新维护者手册",
                encoding="gbk",
                charset="gb2312",  # what nearly every page in GBK says; browsers read both as GBK
            ),
        ),
    ),
    Host(
        "httpd.apache.org",
        "text/html; charset=utf-8",
        (
            *(f"/docs/2.4/{language}/" for language in ("da", "de", "es", "fr", "ja", "ko", "pt-br", "tr")),
            "/docs/2.4/en/developer/",
            "/docs/2.4/en/mod/",
            "/docs/2.4/en/platform/",
            "/docs/2.4/en/programs/",
            "/docs/2.4/zh-cn/mod/",
        ),
        (
            Mount(
                "apache2-doc",
                "usr/share/doc/apache2-doc/manual/zh-cn",
                "http://httpd.apache.org/docs/2.4/zh-cn/",
                ("index.html",),
                # Pages of this folder that are Chinese; most others are copies of the English ones.
                ("index.html", "mpm.html", "handler.html", "[hrv]*/index.html"),
                "Apache HTTP 服务器文档",
            ),
            Mount(
                "apache2-doc",
                "usr/share/doc/apache2-doc/manual/en",
                "http://httpd.apache.org/docs/2.4/en/",
                ("index.html",),
                (
                    "bind.html",
                    "caching.html",
                    "configuring.html",
                    "content-negotiation.html",
                    "dns-caveats.html",
                    "filter.html",
                    "getting-started.html",
                    "glossary.html",
                    "index.html",
                    "install.html",
                    "logs.html",
                    "mpm.html",
                    "sections.html",
                    "stopping.html",
                    "suexec.html",
                    "urlmapping.html",
                    "howto/*.html",
                    "misc/*.html",
                    "rewrite/*.html",
                    "ssl/*.html",
                    "vhosts/*.html",
                ),
                "Apache HTTP Server Documentation",
            ),
        ),
    ),
    Host(
        "www.postgresql.org",
        "text/html; charset=utf-8",
        (
            "/docs/15/app-",
            "/docs/15/catalog",
            "/docs/15/functions",
            "/docs/15/runtime-config",
            "/docs/15/sql-",
            "/support/",
        ),
        (
            Mount(
                "postgresql-doc-15",
                "usr/share/doc/postgresql-doc-15/html",
                "http://www.postgresql.org/docs/15/",
                ("tutorial.html", "indexes.html", "performance-tips.html", "textsearch.html"),
                (
                    "explicit-joins.html",
                    "indexes*.html",
                    "mvcc*.html",
                    "non-durability.html",
                    "performance-tips.html",
                    "planner-stats*.html",
                    "populate.html",
                    "textsearch*.html",
                    "tutorial*.html",
                    "using-explain.html",
                ),
                "PostgreSQL 15 Documentation",
            ),
        ),
    ),
    Host(
        "help.libreoffice.org",
        "text/html",
        (
            "/7.4/zh-CN/text/scalc/0",
            "/7.4/zh-CN/text/shared/0",
            "/7.4/zh-CN/text/shared/guide/",
            "/7.4/zh-CN/text/shared/optionen/",
        ),
        (
            Mount(
                "libreoffice-help-zh-cn",
                "usr/share/libreoffice/help",
                "http://help.libreoffice.org/7.4/",
                ("zh-CN/text/scalc/guide/main.html",),
                ("zh-CN/text/scalc/guide/[a-f]*.html", "zh-CN/text/scalc/guide/main.html"),
                "LibreOffice Calc 帮助",
            ),
        ),
    ),
)


def build(packages: Path, licences: Path) -> bytes:
    """Return the WARC file made from the packages unpacked under `packages/<name>`."""
    pages = [page for host in HOSTS for page in host_pages(host, packages)]
    pages += redirects(pages)
    records = [
        warcinfo_record(max(page.modified for page in pages)),
        *(licence_record(path) for path in licence_paths(packages, licences)),
        *(response_record(page) for page in pages),
    ]
    return b"".join(gzip_member(record) for record in records)


def package_names() -> list[str]:
    return sorted({mount.package for host in HOSTS for mount in host.mounts})


def host_pages(host: Host, packages: Path) -> list[DemoPage]:
    """Return robots.txt, the start page and the real pages of a host."""
    pages = [page for mount in host.mounts for page in gather(host, mount, packages)]
    newest = max(page.modified for page in pages)
    return [robots_page(host, newest), start_page(host, newest), *pages]


def gather(host: Host, mount: Mount, packages: Path) -> Iterator[DemoPage]:
    """Yield the pages of a mount that links lead to from its first pages, breadth first."""
    root = packages / mount.package / mount.folder
    queue = deque(mount.starts)
    seen = set(queue)
    while queue:
        name = queue.popleft()
        source = (root / name).read_bytes()
        modified = datetime.fromtimestamp(int((root / name).stat().st_mtime), UTC)
        yield DemoPage(mount.url + name, bundled_copy(source, mount), modified, host.content_type)
        for link in links_of(source, mount.url + name, "utf-8"):
            target = link.removeprefix(mount.url)
            if target not in seen and is_taken(target, mount) and (root / target).is_file():
                seen.add(target)
                queue.append(target)


def is_taken(name: str, mount: Mount) -> bool:
    """Match the name against the patterns, of which `*` stands for anything but a slash."""
    return any(
        name.count("/") == pattern.count("/") and fnmatch.fnmatchcase(name, pattern)
        for pattern in mount.patterns
    )


def links_of(source: bytes, url: str, encoding: str) -> list[str]:
    """Return the absolute targets of a page's links, without fragments, in order."""
    tree = etree.fromstring(source, etree.HTMLParser(encoding=encoding, huge_tree=True))
    base = urljoin(url, next(iter(tree.xpath("//base/@href")), ""))
    targets = (urljoin(base, href.strip()) for href in tree.xpath("//a/@href"))
    return list(dict.fromkeys(target.partition("#")[0] for target in targets))


def bundled_copy(source: bytes, mount: Mount) -> bytes:
    """Return the page as bundled: demo hosts named with http, in the encoding of the mount."""
    text = HTTPS_LINK.sub(r"http://\1", source.decode("utf-8"))
    if mount.encoding != "utf-8":
        text = declare_charset(text, mount.charset)
    return text.encode(mount.encoding, "xmlcharrefreplace")


HTTPS_LINK = re.compile(rf"https://({'|'.join(re.escape(host.name) for host in HOSTS)})\b(?![.-])")


def declare_charset(text: str, charset: str) -> str:
    """Return the page with one declaration of `charset` in place of its own declarations."""
    text = re.sub(r"^\s*<\?xml[^>]*\?>\s*", "", text)
    text = re.sub(r"<meta[^>]+charset[^>]*>", "", text, flags=re.IGNORECASE)
    meta = f'<meta http-equiv="Content-Type" content="text/html; charset={charset}" />'
    return re.sub(r"<head[^>]*>", lambda head: head[0] + meta, text, count=1)


def start_page(host: Host, modified: datetime) -> DemoPage:
    """Make the page at the root of a host: links to its documents and to the other hosts."""
    documents = (
        (urlsplit(mount.url).path + name, f"{mount.title} ({name})")
        for mount in host.mounts
        for name in mount.starts
    )
    others = ((f"http://{other.name}/", other.name) for other in HOSTS if other is not host)
    text = START_PAGE.format(
        host=host.name,
        documents=list_items(documents),
        others=list_items(others),
        charset=host.mounts[0].charset,
    )
    return DemoPage(f"http://{host.name}/", text.encode(host.mounts[0].encoding), modified, host.content_type)


def list_items(links: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f'<li><a href="{url}">{html.escape(text)}</a></li>' for url, text in links)


START_PAGE = """<!DOCTYPE html>
<html lang="zh-CN">
<head>
<meta http-equiv="Content-Type" content="text/html; charset={charset}">
<title>{host}: start page of this demo 演示网起始页</title>
</head>
<body>
<h1>{host}</h1>
<p>This start page belongs to the demo, not to the real site. The documents it links to are real.</p>
<p>本起始页属于演示网，不属于真实网站；它所链接的文档是真实的。</p>
<ul>
{documents}
</ul>
<p>Other hosts of the demo 演示网的其他主机</p>
<ul>
{others}
</ul>
</body>
</html>
"""


def robots_page(host: Host, modified: datetime) -> DemoPage:
    """Make a robots.txt that allows the bundled pages and forbids most linked pages that are not bundled."""
    rules = "".join(f"Disallow: {path}\n" for path in host.disallow)
    text = f"User-agent: *\n{rules}Allow: /\n"
    return DemoPage(f"http://{host.name}/robots.txt", text.encode(), modified, "text/plain")


def redirects(pages: list[DemoPage]) -> list[DemoPage]:
    """Make a redirect for every short name in a link that the real server would complete.

    It does so by content negotiation: `/manual/` to `/manual/index.en.html`, `/ch12` to `/ch12.en.html`.
    """
    encodings = {host.name: host.mounts[0].encoding for host in HOSTS}
    by_url = {page.url: page for page in pages}
    linked = {
        link
        for page in pages
        if page.content_type.startswith("text/html")
        for link in links_of(page.body, page.url, encodings[urlsplit(page.url).netloc])
    }
    found = []
    for url in sorted(linked - by_url.keys()):
        stem = url + "index" if url.endswith("/") else url
        target = next(
            (stem + end for end in (".html", ".en.html", ".zh-cn.html") if stem + end in by_url), None
        )
        if target is not None:
            found.append(DemoPage(url, b"", by_url[target].modified, "text/html", target))
    return found


# The licences that the copyright files name by a file of Debian's base-files.
LICENCES = ("Apache-2.0", "GPL-2", "MPL-2.0")


def licence_paths(packages: Path, licences: Path) -> list[tuple[Path, str]]:
    """Return the files that carry copyright and licence of the pages, with their place in Debian."""
    copyrights = [(name, f"usr/share/doc/{name}/copyright") for name in package_names()]
    return [
        *((packages / name / path, f"file:///{path}") for name, path in copyrights),
        *((licences / name, f"file:///usr/share/common-licenses/{name}") for name in LICENCES),
    ]


def warcinfo_record(created: datetime) -> bytes:
    fields = (
        "software: tianmesh bootstrap/make_demo_web.py\r\n"
        "format: WARC File Format 1.1\r\n"
        "description: demo web of Tianmesh, documentation from Debian packages; licences in DEMO_WEB.md\r\n"
    )
    return record("warcinfo", None, created, "application/warc-fields", fields.encode())


def licence_record(place: tuple[Path, str]) -> bytes:
    path, url = place
    modified = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
    return record("resource", url, modified, "text/plain; charset=utf-8", path.read_bytes())


def response_record(page: DemoPage) -> bytes:
    """Write the response as the demo's server repeats it."""
    status = "200 OK" if page.location is None else "302 Found"
    headers = {
        "Content-Type": page.content_type,
        "Content-Length": str(len(page.body)),
        "Last-Modified": email.utils.format_datetime(page.modified, usegmt=True),
    }
    if page.location is not None:
        headers["Location"] = page.location
    head = f"HTTP/1.1 {status}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    block = head.encode() + b"\r\n" + page.body
    return record("response", page.url, page.modified, "application/http; msgtype=response", block, page.body)


def record(
    kind: str, url: str | None, date: datetime, content_type: str, block: bytes, payload: bytes | None = None
) -> bytes:
    """Write one WARC 1.1 record; the record's id follows from its content, so a rebuild gives the same."""
    headers = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{kind} {url} {digest(block)}')}>",
        "WARC-Date": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    if url is not None:
        headers["WARC-Target-URI"] = url
    if payload is not None:
        headers["WARC-Payload-Digest"] = digest(payload)
    headers |= {
        "WARC-Block-Digest": digest(block),
        "Content-Type": content_type,
        "Content-Length": str(len(block)),
    }
    head = "WARC/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return head.encode() + b"\r\n" + block + b"\r\n\r\n"


def digest(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def gzip_member(data: bytes) -> bytes:
    """Compress as hard as zlib can; its header carries no time, so that a rebuild gives the same bytes."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    return compressor.compress(data) + compressor.flush()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bootstrap.make_demo_web", description="Build the demo web."
    )
    parser.add_argument("packages", type=Path, nargs="?", help="folder of unpacked packages")
    parser.add_argument("warc", type=Path, nargs="?", help="file to write")
    parser.add_argument("--names", action="store_true", help="print the names of the packages and stop")
    parser.add_argument("--licences", type=Path, default=Path("/usr/share/common-licenses"))
    arguments = parser.parse_args()
    if arguments.names:
        print(*package_names())
    elif arguments.warc is None:
        parser.error("give the folder of packages and the file to write")
    else:
        arguments.warc.write_bytes(build(arguments.packages, arguments.licences))


if __name__ == "__main__":
    main()
