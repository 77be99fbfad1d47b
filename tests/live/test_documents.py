"""A PDF that its server calls nothing is crawled by a real peer, and what it links to as well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import setting, up
from tests.live.raw_web import answer, served
from tests.peers.documents import files

pytestmark = pytest.mark.live

HOST: Final = "a.test"
PDF: Final = files.pdf(files.line("The text of a paper"), link="/linked")


def answer_to(host: str, path: str) -> bytes:
    match path:
        case "/robots.txt":
            return answer(b"", "Content-Type: text/plain")
        case "/paper":
            return answer(PDF, "Content-Type: application/octet-stream")
        case "/broken":
            return answer(b"%PDF-1.7 broken", "Content-Type: application/pdf")
        case "/image":
            return answer(b"\x89PNG" * 1_000, "Content-Type: application/octet-stream")
    links = "<a href=/paper>a</a> <a href=/broken>b</a> <a href=/image>c</a>"
    return answer(f"<title>{path}</title>{links}".encode(), "Content-Type: text/html")


def test_documents_are_crawled_and_their_links_followed(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with served(answer_to) as web:
        options = (
            *setting("web.resolver", web.write_resolver(tmp_path, (HOST,))),
            "--once",
            "--report",
            report,
        )
        with up(tmp_path, None, *options, seeds=[f"http://{HOST}/"], delay_s=0.1) as lab:
            assert lab.end() == 0, lab.messages
    asked = {path for _, path in web.requests if path != "/robots.txt"}
    assert asked == {"/", "/paper", "/broken", "/image", "/linked"}
    total = json.loads(report.read_text())["total"]
    assert total["pages_stored"] == 4
    assert total["fetch_status"]["document_damaged"] == 1
