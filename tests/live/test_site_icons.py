"""The icon of a site, from its own server over two peers to a page of results."""

from __future__ import annotations

import urllib.request
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import get, search_all, setting, up
from tests.live.raw_web import answer, served
from tests.peers.documents.icons import icon

pytestmark = pytest.mark.live

HOSTS: Final = ("a.test", "b.test")  # the second names no icon
HTML: Final = "Content-Type: text/html"
IMAGE: Final = icon("ICO")


def answer_to(host: str, path: str) -> bytes:
    match path:
        case "/robots.txt":
            return answer(b"", "Content-Type: text/plain")
        case "/static/icon":
            return answer(IMAGE, "Content-Type: image/x-icon")
    head = "<link rel=icon href=/static/icon>" if host == "a.test" else ""
    return answer(f"<title>{path}</title>{head}<body>words of {host} <a href=/next>next</a>".encode(), HTML)


def test_an_icon_is_fetched_once_from_its_site_and_shown_by_every_gateway(tmp_path: Path) -> None:
    with served(answer_to) as web:
        resolver = web.write_resolver(tmp_path, HOSTS)
        options = (*setting("web.resolver", resolver), "--peers", "2")
        with up(tmp_path, None, *options, seeds=[f"http://{host}/" for host in HOSTS], delay_s=0.1) as lab:
            lab.wait_until_idle()
            for gateway in lab.gateways():
                assert search_all(gateway, "words")["total"] == 4
                _, page = get(gateway, "/search", q="words")
                assert '<img src="/icon?url=http%3A%2F%2Fa.test%2F"' in page
                url = f"{gateway.rstrip('/')}/icon?url=http://a.test/"
                with urllib.request.urlopen(url) as reply:
                    assert reply.read() == IMAGE
                    assert reply.headers["content-type"] == "image/vnd.microsoft.icon"
                assert get(gateway, "/icon", url="http://b.test/")[0] == 404
    asked = [(host, path) for host, path in web.requests if path != "/robots.txt"]
    pages = [(host, path) for host in HOSTS for path in ("/", "/next")]
    assert sorted(asked) == sorted([*pages, ("a.test", "/static/icon")])
