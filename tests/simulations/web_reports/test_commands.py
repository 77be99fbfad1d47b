"""`tianmesh report web` over the bundled demo web, over peers on disk, and over what is no page."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from typer.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

from bootstrap.demo_web import DEMO_WARC
from mesh.errors import INTERRUPTED, ConfigError
from peers.crawler.model.wire_messages import LinkUse
from peers.importing.json_lines import LineEntry
from peers.importing.messages import ImportedPage
from peers.importing.page import page_of_entry
from simulations.web_reports.commands import app
from simulations.web_reports.page_columns import TAG_WEIGHTS
from simulations.web_reports.sources import INTERRUPTED_PART, ReportPlan, gather
from simulations.web_reports.web_report import report_of_web
from tests.peers.exporting.test_export import Shelf, export, shelves

pytest.importorskip("scipy", reason="the extra `simulations` is not installed")


def run(*words: object) -> str:
    result = CliRunner().invoke(app, ["web", *map(str, words)])
    if isinstance(result.exception, ConfigError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def told(*words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--json"))
    return found


def entry(url: str, fetched_at: float, text: str = "some words") -> ImportedPage:
    links = (("http://a.test/1", "one"), ("http://b.test/", "b"))
    return page_of_entry(LineEntry(url, "Title", text, links=links), fetched_at, LinkUse.TEXT)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Keep two versions of a page, one of another, one that is equal to it; and what else a crawl knows."""
    [only] = shelves(tmp_path)
    only.keep(
        entry("http://a.test/", 50.0),
        entry("http://b.test/", 60.0, "other words"),
        entry("http://a.test/1", 70.0, "other words"),
        entry("http://a.test/", 80.0, "words as they are now"),
    )
    only.visit("http://a.test/", "D304", 2, 90.0)
    only.visit("http://a.test/gone", "F404", 1, 91.0)
    only.visit("http://b.test/secret", "Xrobots", 1, 92.0)
    only.visit("http://b.test/next", "Q", 0, 0.0)
    return only


def test_the_demo_web_is_as_other_readers_have_it() -> None:
    pages: list[LexborHTMLParser] = []
    statuses = Counter[str]()
    with DEMO_WARC.open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                statuses[record.http_headers.get_statuscode()] += 1
                if "html" in (record.http_headers.get_header("Content-Type") or ""):
                    pages.append(LexborHTMLParser(record.content_stream().read()))
    found = told(DEMO_WARC)
    assert found["pages"] == statuses["200"]
    assert found["answers"]["200"] == statuses["200"]
    assert sum(n for name, n in found["answers"].items() if name.startswith("status")) == statuses["302"]
    # As far as they are answers 200: those of 302 have no elements.
    pages = [page for page in pages if page.css_first("p") is not None or page.css_first("title") is not None]
    assert found["html_pages"] == len(pages)
    for name in TAG_WEIGHTS:
        if name.isalnum():
            n_pages = sum(page.css_first(name) is not None for page in pages)
            assert found["tags"][name] == pytest.approx(n_pages / len(pages)), name
    titles = [each.text(strip=True) for page in pages if (each := page.css_first("title")) is not None]
    assert found["titles"]["titled_share"] == sum(map(bool, titles)) / len(pages)


def test_pages_of_peers_are_their_newest_versions_and_dated_by_the_first(shelf: Shelf) -> None:
    found = told("--config", shelf.config)
    assert (found["pages"], found["hosts"], found["contents"]) == (3, 2, 2)
    assert found["mirror_degree_max"] == 2
    assert found["new_hosts"]["new"] == [1, 1, 0]  # a.test, b.test, a.test: as they came first
    assert found["links"]["links"] == 4  # to a.test/1 and b.test of two others each, one less for either


def test_answers_are_those_of_the_last_visits(shelf: Shelf) -> None:
    assert told("--config", shelf.config)["answers"] == {"304": 1, "404": 1, "queued": 1, "robots": 1}
    # Of some sites only the pages are known.
    found = told("--config", shelf.config, "--site", "b.test")
    assert (found["pages"], found["answers"]) == (1, {"200": 1})


def test_pages_of_two_peers_count_once(tmp_path: Path) -> None:
    one, other = shelves(tmp_path, 2)
    one.keep(entry("http://a.test/", 50.0, "first"))
    other.keep(entry("http://a.test/", 60.0, "second"), entry("http://b.test/", 55.0))
    one.visit("http://a.test/", "D200", 1, 50.0)
    other.visit("http://a.test/", "F404", 2, 70.0)
    found = told("--config", one.config, "--config", other.config)
    assert found == told("--config", one.config.parent.parent)
    assert (found["pages"], found["answers"]) == (2, {"404": 1})
    assert found["new_hosts"]["new"] == [1, 1]  # a.test was first fetched at 50


def test_an_export_tells_the_same_as_its_peers(shelf: Shelf, tmp_path: Path) -> None:
    shelf.keep(*(entry(f"http://c.test/{number}", 100.0 + number, f"text {number}") for number in range(9)))
    [file] = export("warc", [shelf], tmp_path / "out", "b.test", "c.test").files
    of_peers = told("--config", shelf.config, "--site", "b.test", "--site", "c.test")
    assert told(file) == of_peers == told(file, "--workers", 1)
    assert told(file, "--site", "c.test") == told("--config", shelf.config, "--site", "c.test")


def test_a_damaged_record_is_counted(tmp_path: Path) -> None:
    [only] = shelves(tmp_path)
    only.keep(entry("http://a.test/", 50.0), entry("http://b.test/", 60.0))
    only.damage(-40)  # of the last record
    found = told("--config", only.config)
    assert (found["pages"], found["damaged"]) == (1, 1)
    assert "1 record could not be read" in run("--config", only.config)


def test_a_part_says_so(shelf: Shelf) -> None:
    found = told("--config", shelf.config, "--pages-max", 2)
    assert (found["pages"], found["part"]) == (2, "the first 2 pages")
    assert "of a part only: the first 2 pages" in run("--config", shelf.config, "--pages-max", 2)


def test_ctrl_c_leaves_the_pages_so_far(shelf: Shelf) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    gathered = gather(ReportPlan([shelf.config], [], [], 0, 100), stop)
    assert gathered.part == INTERRUPTED_PART
    found = report_of_web(gathered.pages, gathered.answers, gathered.damaged, gathered.part)
    assert (found.part, found.pages) == ("interrupted", 3)


def test_ctrl_c_before_the_first_page_tells_that(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("peers.exporting.peer_files.PeerFiles.versions", stop)
    result = CliRunner().invoke(app, ["web", "--config", str(shelf.config)])
    assert result.exit_code == INTERRUPTED
    assert "stopped before the first page" in result.output


def test_the_report_is_for_people(shelf: Shelf) -> None:
    text = " ".join(run("--config", shelf.config).split())
    assert "3 pages of 2 hosts in 2 domains; a.test has 66.7% of them" in text
    assert "answers: 304 1, 404 1, queued 1, robots 1" in text
    assert "bytes of markup for one of main text" in text
    assert "new hosts in each 1 page, as fetched: 1 1 0; flat from page 2 on: the 1 behind it brought" in text


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "one of the two"),
        (("x.warc", "--config", "y"), "one of the two"),
        (("nowhere.warc",), "there is no file nowhere.warc"),
        (("--config", "nowhere"), "nowhere"),
    ],
)
def test_where_there_is_nothing_to_read_that_is_told(words: tuple[str, ...], error: str) -> None:
    with pytest.raises(ConfigError, match=error):
        run(*words)


def test_a_file_without_pages_tells_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "x.warc"
    file.write_bytes(b"no archive")
    with pytest.raises(ConfigError, match="no pages, and 1 of the records could not be read"):
        run(file)
