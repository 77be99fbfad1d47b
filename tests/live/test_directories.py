"""Files of directories that nginx lists, from their server over two peers to a page of results."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import get, search_all, setting, up
from tests.live.sites import Site
from tests.live.web import served_web

pytestmark = pytest.mark.live

FILES: Final = {
    "/pub/debian-12-netinst.iso": b"\0" * 3_000_000,
    "/pub/debian-12-notes.txt": b"What is new in this release.",
    "/pub/old/AnnualReport2019.zip": b"PK\3\4" + b"\0" * 2_000,
    "/pub/old/数据年鉴.rar": b"Rar!" + b"\0" * 5_000,
}
SITES: Final = [
    Site("a.test", pages=FILES, seeds=("/pub/",), locations="autoindex on;"),
    Site("b.test", pages=FILES, seeds=("/pub/",), locations="autoindex on; autoindex_format json;"),
]


def test_files_are_found_by_name_and_size_and_none_is_downloaded(tmp_path: Path) -> None:
    with served_web(SITES) as web:
        options = (*setting("web.resolver", web.resolver), "--peers", "2")
        with up(tmp_path, None, *options, seeds=web.seeds, delay_s=0.1) as lab:
            lab.wait_until_idle()
            for gateway in lab.gateways():
                for query, names in (
                    ("debian netinst larger:2MB newer:2020", ["debian-12-netinst.iso"]),
                    ("annual report type:listing", ["AnnualReport2019.zip"]),
                    ("年鉴 larger:4K", ["数据年鉴.rar"]),
                    ("netinst larger:5MB", []),
                ):
                    found = search_all(gateway, f"{query} copies:all")
                    hosts = {"a.test", "b.test"} if names else set[str]()
                    assert {hit["host"] for hit in found["hits"]} == hosts
                    for hit in found["hits"]:
                        assert hit["entries"][0]["name"] == names[0]
                        assert hit["entries"][0]["url"].startswith(hit["url"])
                _, page = get(gateway, "/search", q="netinst larger:2MB")
                assert (
                    '/pub/debian-12-netinst.iso" rel="noreferrer"><bdi>debian-12-netinst.iso</bdi></a>'
                    in page
                )
        asked = {access.target for access in web.accesses()}
    assert asked == {"/robots.txt", "/", "/pub/", "/pub/old/", "/pub/debian-12-notes.txt"}
