"""Crawl an FTP server of many names over real peers, look for some: `python -m tests.benchmarks.ftp_files`.

Names are made of words of both languages, in GBK under one half of the folders. Printed are the questions of
the server, the most sessions at a time, the least time between two transfers, and how many of a sample of
names the gateway of another peer finds by their words, each as the entry that it is. What it does not find
is asked for once more: on a busy machine a page may be read too late to be shown with its entries.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final

from tests.ftp_server import FtpServer, FtpSite, served_by_ftp
from tests.live.lab_process import search, setting, tianmesh, up

LATIN: Final = (
    "annual",
    "report",
    "data",
    "survey",
    "linux",
    "kernel",
    "music",
    "lecture",
    "notes",
    "thesis",
)
CHINESE: Final = ("年鉴", "数据", "报告", "讲义", "论文", "地图", "图片", "软件", "音乐", "视频", "资料")
ENDINGS: Final = ("iso", "zip", "rar", "pdf", "tar.gz", "mp3")


def site_of(folders: int, names: int) -> FtpSite:
    """Make a server with so many folders below its root, and so many names in each."""
    random = Random(5)
    tree: dict[bytes, list[tuple[bytes, int]]] = {b"/": [(b"f%d/" % n, 0) for n in range(folders)]}
    for folder in range(folders):
        codec = "gbk" if folder % 2 else "utf-8"
        tree[b"/f%d" % folder] = [
            (_name(random, folder * names + n).encode(codec), random.randrange(1 << 32)) for n in range(names)
        ]
    return FtpSite(tree, has_utf8=False)


def _name(random: Random, number: int) -> str:
    words = random.choice(LATIN), random.choice(CHINESE)
    return f"{words[0]}-{number}-{words[1]}.{random.choice(ENDINGS)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", type=int, default=400)
    parser.add_argument("--names", type=int, default=500)
    parser.add_argument("--peers", type=int, default=2)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--sample", type=int, default=200)
    asked = parser.parse_args()
    site = site_of(asked.folders, asked.names)
    with tempfile.TemporaryDirectory() as name, served_by_ftp(site) as server:
        print(json.dumps(_measured(Path(name), server, site, asked)))


def _measured(folder: Path, server: FtpServer, site: FtpSite, asked: argparse.Namespace) -> dict[str, object]:
    table = folder / "table.json"
    table.write_text(json.dumps({"ftp.a.test": {"ip": "127.0.0.1", "ftp": server.port}}))
    options = (
        *setting("web.resolver", table),
        *setting("crawl.delay_factor", 0),
        "--peers",
        str(asked.peers),
    )
    with up(folder, None, *options, delay_s=asked.delay) as lab:
        began_s = time.monotonic()
        done = tianmesh("seed", "ftp://ftp.a.test/", "--gateway", lab.gateways()[0], "--data", lab.folder)
        assert done.returncode == 0, done.stderr
        pages = asked.folders + 1
        lab.wait_until(lambda report: report["total"]["documents"] >= pages, timeout=3_600)
        crawled_s = time.monotonic() - began_s
        lab.wait_until_idle(600)
        found, again, seconds = _found(lab.gateways()[-1], site, asked.sample)
    transfers = [event.at_s for event in server.log if event.what == "data"]
    return {
        "names": asked.folders * asked.names,
        "crawled_s": round(crawled_s, 1),
        "listings": len(transfers),
        "files_fetched": len(server.commands("RETR")) - 1,  # but /robots.txt
        "sessions": len(server.commands("opened")),
        "sessions_at_once": server.sessions_at_once(),
        "least_pause_s": round(min(later - before for before, later in pairwise(transfers)), 3),
        "found": found,
        "of_these_asked_for_again": again,
        "of": asked.sample,
        "query_p50_ms": round(1_000 * sorted(seconds)[len(seconds) // 2], 1),
    }


def _found(gateway: str, site: FtpSite, n: int) -> tuple[int, int, list[float]]:
    """Return how many of a sample are found, how many of these only when asked again, and seconds of each."""
    random = Random(7)
    folders = [path for path in site.folders if path != b"/"]
    found = again = 0
    seconds: list[float] = []
    for _ in range(n):
        folder = random.choice(folders)
        octets, size = random.choice(site.folders[folder])
        name = octets.decode("gbk" if int(folder[2:]) % 2 else "utf-8")
        url = f"ftp://ftp.a.test{folder.decode()}/"
        began_s = time.perf_counter()
        is_there = _is_found(gateway, url, name, size)
        seconds.append(time.perf_counter() - began_s)
        if not is_there and _is_found(gateway, url, name, size):
            is_there = True
            again += 1
        found += is_there
    return found, again, seconds


def _is_found(gateway: str, url: str, name: str, size: int) -> bool:
    hits = search(gateway, " ".join(name.replace(".", "-").split("-")))["hits"]
    entries = [entry for hit in hits if hit["url"] == url for entry in hit["entries"]]
    return any(entry["name"] == name and entry["size"] == size for entry in entries)


if __name__ == "__main__":
    main()
