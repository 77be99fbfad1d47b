"""Files of FTP servers, from the policy that opens them over two peers to pages of results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

from tests.ftp_server import FtpServer, FtpSite, served_by_ftp
from tests.live.lab_process import Up, get, search_all, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

DELAY_S: Final = 0.3
SOFTWARE: Final = quote("软件", encoding="gbk")
GBK: Final = FtpSite(
    {
        b"/": [(b"pub/", 0), (b"private/", 0)],
        b"/pub": [(b"debian-12-netinst.iso", 3_000_000), ("软件".encode("gbk") + b"/", 0)],
        b"/pub/" + "软件".encode("gbk"): [("数据年鉴.rar".encode("gbk"), 5_000)],
        b"/private": [(b"secret-debian.iso", 9_000_000)],
    },
    robots=b"User-agent: *\nDisallow: /private/\n",
    has_mlsd=False,
    has_utf8=False,
    has_epsv=False,
    passive_host="10,0,0,1",
)
UTF8: Final = FtpSite(
    {
        b"/": [(b"pub/", 0)],
        b"/pub": [(b"AnnualReport2019.zip", 2_000), ("数据年鉴.pdf".encode(), 7_000), (b"old/", 0)],
        b"/pub/old": [(b"netinst-debian-11.iso", 1_000)],
    },
    is_closed_after_each=True,
)


@contextmanager
def _servers(folder: Path) -> Iterator[tuple[list[FtpServer], Path, str]]:
    """Two FTP servers, the table that leads to them, and a page with a link to the second."""

    def answer_to(host: str, path: str) -> bytes:
        if path not in ("/", "/later", "/last"):
            return answer(b"", "Content-Type: text/plain", status="404 Not Found")
        body = b"<title>gneiss</title><a href='ftp://ftp.b.test/pub/AnnualReport2019.zip'>the report</a>"
        return answer(body, "Content-Type: text/html")

    with served(answer_to) as web, served_by_ftp(GBK) as one, served_by_ftp(UTF8) as two:
        table = json.loads(web.write_resolver(folder, ["a.test"]).read_text())
        table |= {"ftp.a.test": {"ip": "127.0.0.1", "ftp": one.port}}
        table |= {"ftp.b.test": {"ip": "127.0.0.1", "ftp": two.port}}
        resolver = folder / "both.json"
        resolver.write_text(json.dumps(table))
        yield [one, two], resolver, "http://a.test/"


def _found(gateway: str, query: str) -> list[tuple[str, str]]:
    hits = search_all(gateway, f"{query} copies:all")["hits"]
    return sorted((hit["url"], entry["name"]) for hit in hits for entry in hit["entries"])


def _is_found(gateway: str, query: str, file: tuple[str, str]) -> bool:
    return file in _found(gateway, query)


def _seed(lab: Up, *arguments: str) -> str:
    there = ("--gateway", lab.gateways()[0], "--data", lab.folder)
    done = tianmesh("seed", *arguments, *there)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_are_found_by_name_once_the_policy_names_their_servers(tmp_path: Path) -> None:
    with _servers(tmp_path) as (servers, resolver, seed):
        options = (*setting("web.resolver", resolver), "--peers", "2")
        with up(tmp_path, None, *options, seeds=[seed], delay_s=DELAY_S) as lab:
            lab.wait_until_idle()
            assert all(server.log == [] for server in servers)
            _seed(lab, "ftp://ftp.a.test/", f"{seed}later")  # which opens that server alone
            lab.wait_until_idle()
            assert servers[0].log
            assert servers[1].log == []
            _seed(lab, f"{seed}last", "--within", "ftp://ftp.b.test/pub/*")
            for gateway in lab.gateways():
                for query, url, name in (
                    ("debian netinst larger:2MB", "ftp://ftp.a.test/pub/", "debian-12-netinst.iso"),
                    ("年鉴 rar type:listing", f"ftp://ftp.a.test/pub/{SOFTWARE}/", "数据年鉴.rar"),
                    ("annual report", "ftp://ftp.b.test/pub/", "AnnualReport2019.zip"),
                    ("年鉴 pdf larger:6K", "ftp://ftp.b.test/pub/", "数据年鉴.pdf"),
                    ("netinst newer:2024-05 11", "ftp://ftp.b.test/pub/old/", "netinst-debian-11.iso"),
                ):
                    wait_for(partial(_is_found, gateway, query, (url, name)), f"{name} by {query}")
                assert _found(gateway, "secret") == []
            _, shown = get(lab.gateways()[0], "/search", q="netinst larger:2MB")
            assert 'href="ftp://ftp.a.test/pub/debian-12-netinst.iso"' in shown
            status, copy = get(lab.gateways()[1], "/page", url="ftp://ftp.a.test/pub/netinst.iso")
            assert (status, "debian-12-netinst.iso" in copy) == (200, True)
            told = tianmesh(
                "why", "ftp://ftp.b.test/pub/", "--gateway", lab.gateways()[0], "--data", lab.folder
            )
            assert told.returncode == 0, told.stderr
    _judge(servers)


def _judge(servers: list[FtpServer]) -> None:
    """Look at what the servers were asked for: one question at a time, and each after its delay."""
    for server in servers:
        assert server.sessions_at_once() == 1
        assert {event.what for event in server.commands("RETR")} == {"RETR /robots.txt"}
        transfers = [event.at_s for event in server.log if event.what == "data"]
        assert all(later - before >= DELAY_S for before, later in pairwise(transfers))
