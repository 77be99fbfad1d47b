"""Exports of peers on disk, each read back by a tool that is not ours; and what comes back when imported."""

from __future__ import annotations

import errno
import gzip
import json
import zipfile
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

import duckdb
import msgspec
import pyarrow.parquet
import pytest
from fastwarc.warc import ArchiveIterator
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from xxhash import xxh3_64_intdigest

from bootstrap.provision import create_mesh, write_peer
from mesh.config import load_config
from mesh.errors import ConfigError, StorageError, StorageFull
from mesh.keys.certificate import peer_in
from mesh.slots import slot_of
from mesh.tables.layout import note_layout
from mesh.tables.lmdb_table import LmdbTable
from mesh.tables.table import TableSection
from mesh.urls import fingerprint, host_of
from peers.actors import CELL_SECTION, CONTROLLER_SECTION
from peers.config import PeerConfig
from peers.crawler.controller import FRONTIER_SECTION
from peers.crawler.frontier.items import host_hash
from peers.crawler.frontier.keys import url_key
from peers.crawler.model.url_rows import UrlRow, row_bytes
from peers.crawler.model.wire_messages import LinkUse
from peers.engine.pages.document import Document
from peers.exporting.command import ExportFormat, configs_in, export_files
from peers.exporting.export_run import ExportPlan, ExportSummary, of_sites, run
from peers.exporting.peer_files import PeerFiles
from peers.exporting.rows import ExportedPage
from peers.exporting.tianwang import PackageWriter
from peers.exporting.writers import PART, WarcWriter
from peers.importing.json_lines import Line, LineEntry, entry_of, read_lines
from peers.importing.messages import ImportedPage
from peers.importing.originals import with_originals
from peers.importing.packed_file import packing_of
from peers.importing.page import page_of_entry, page_of_record
from peers.importing.positions import Position
from peers.importing.tianwang import DESCRIPTION, read_described, read_package, read_raw, read_soif
from peers.importing.warc_file import Record, read_warc
from peers.storage.archive.archive import Archive, segment_path
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place

SLOTS = 50_000
AT = 1_700_000_000.123456
TEXTS = {
    entry.url: entry
    for entry in (
        LineEntry("http://www.debian.org/a", "Ä <title>", "One\nwords & more\n中文 分词", "One", "zh"),
        LineEntry("http://www.debian.org/b", "B", "second page", date="2020-01-02T03:04:05Z"),
        LineEntry("http://cc.test/", "", "text\twith a tab"),
        LineEntry("http://cc.test/plain.txt", "plain.txt", "plain words", type="text/plain"),
    )
}


def page_at(url: str, fetched_at: float = AT) -> ImportedPage:
    return page_of_entry(TEXTS[url], fetched_at, LinkUse.FETCH)


class Shelf:
    """The files of a peer."""

    def __init__(self, home: Path) -> None:
        self.config = home / "config.toml"
        self.data = home / "data"
        self.peer = peer_in(load_config(home / "config.toml", PeerConfig).member.certificate)

    def keep(self, *pages: ImportedPage) -> None:
        """Store pages as the cell does, and commit."""
        table = LmdbTable(self.data / "table")
        note_layout(table)
        ledger = Ledger(TableSection(table, CELL_SECTION))
        with Archive(self.data / "archive", self.peer, None) as archive:
            for page in pages:
                [extent] = archive.append([page.records])
                assert extent is not None
                has_document = page.document is not None
                checksum = xxh3_64_intdigest(page.records)
                at = (extent.segment, extent.offset, extent.length)
                place = Place(page.url, page.fetched_at, 200, *at, checksum, has_document)
                ledger.keep(identity_of(slot_of(host_of(page.url), SLOTS), page.url), place)
        ledger.save()
        table.commit()
        table.close()

    def visit(self, url: str, outcome: str, number: int, at: float) -> None:
        """Note a visit as the crawler does, and commit."""
        table = LmdbTable(self.data / "table")
        frontier = TableSection(TableSection(table, CONTROLLER_SECTION), FRONTIER_SECTION)
        row = UrlRow(host_hash(host_of(url)), 0, 0, 0, outcome, number, at + 9.0, at, url=url)
        frontier.put(url_key(slot_of(host_of(url), SLOTS), fingerprint(url)), row_bytes(row))
        table.commit()
        table.close()

    def damage(self, offset: int) -> None:
        path = segment_path(self.data / "archive", self.peer, 1)
        data = bytearray(path.read_bytes())
        data[offset] ^= 1
        path.write_bytes(data)


def shelves(tmp_path: Path, count: int = 1) -> list[Shelf]:
    mesh = create_mesh(tmp_path / "mesh", "test", 2)
    for number in range(1, count + 1):
        write_peer(mesh, number)
    return [Shelf(home) for home in mesh.peers]


def export(form: str, shelved: Sequence[Shelf], out: Path, *sites: str) -> ExportSummary:
    return run(
        ExportPlan(form, [each.config for each in shelved], out, list(sites), 0), lambda done, total: None
    )


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    [only] = shelves(tmp_path)
    only.keep(*map(page_at, TEXTS))
    return only


def test_warc_is_read_by_warcio_and_fastwarc(shelf: Shelf, tmp_path: Path) -> None:
    summary = export("warc", [shelf], tmp_path / "out")
    [file] = summary.files
    assert (summary.pages, summary.damaged) == (len(TEXTS), 0)
    with open(file, "rb") as opened:
        records = [
            (
                record.rec_type,
                record.rec_headers.get_header("WARC-Target-URI"),
                record.content_stream().read(),
            )
            for record in WarcioIterator(opened)
        ]
    assert records[0][0] == "warcinfo"
    bodies = {url: body for kind, url, body in records if kind == "response"}
    assert bodies.keys() == TEXTS.keys()
    assert "中文 分词".encode() in bodies["http://www.debian.org/a"]
    with open(file, "rb") as opened:
        fast = {each.headers.get("WARC-Target-URI") for each in ArchiveIterator(opened)}
        assert fast >= TEXTS.keys()


def test_warc_has_all_versions_and_tables_the_newest(shelf: Shelf, tmp_path: Path) -> None:
    shelf.keep(page_at("http://cc.test/", AT + 5.0), page_at("http://cc.test/", AT - 5.0))
    assert export("warc", [shelf], tmp_path / "out").pages == len(TEXTS) + 2
    export("jsonl", [shelf], tmp_path / "out")
    rows = rows_of(tmp_path / "out" / "pages.jsonl.gz")
    assert [row["fetched_at"] for row in rows if row["url"] == "http://cc.test/"] == [
        "2023-11-14T22:13:25.123456Z"
    ]


def test_visits_that_found_a_page_as_it_was_are_revisit_records(shelf: Shelf, tmp_path: Path) -> None:
    url = "http://cc.test/"
    shelf.keep(page_at(url, AT + 5.0), page_at(url, AT + 9.0))
    shelf.visit(url, "D304", 8, AT + 20.0)
    shelf.visit("http://cc.test/plain.txt", "D200", 8, AT + 20.0)
    summary = export("warc", [shelf], tmp_path / "out")
    assert (summary.pages, summary.revisits) == (len(TEXTS) + 2, 3)
    [file] = summary.files
    with open(file, "rb") as opened:
        found = [
            (record.rec_type, dict(record.rec_headers.headers), record.content_stream().read())
            for record in WarcioIterator(opened, check_digests="raise")
            if record.rec_headers.get_header("WARC-Target-URI") == url
        ]
    first = next(headers for kind, headers, _ in found if kind == "response")
    again = [(headers, body) for kind, headers, body in found if kind == "revisit"]
    profiles = [headers["WARC-Profile"].rpartition("/")[2] for headers, _ in again]
    assert profiles == ["identical-payload-digest"] * 2 + ["server-not-modified"]
    for headers, body in again:
        assert headers["WARC-Refers-To"] == first["WARC-Record-ID"]
        assert headers["WARC-Refers-To-Date"] == first["WARC-Date"]
        assert (headers["WARC-Refers-To-Target-URI"], body) == (url, b"")
    assert len({headers["WARC-Record-ID"] for headers, _ in again}) == 3
    packing = packing_of(Path(file).read_bytes())
    imported = [
        page_of_record(each, LinkUse.FETCH, is_own=True)
        for each in with_originals(read_warc(packing), packing)
        if isinstance(each, Record) and each.headers["warc-type"] == "response"
    ]
    versions = [page for page in imported if page.url == url]
    assert [page.fetched_at for page in versions] == [AT, AT + 5.0, AT + 9.0, AT + 20.0]
    assert versions[-1].visit == 8
    assert len({page.document.text for page in versions if page.document is not None}) == 1


def test_a_page_that_has_changed_is_written_whole(shelf: Shelf, tmp_path: Path) -> None:
    url = "http://cc.test/"
    other = page_of_entry(LineEntry(url, "", "another text"), AT + 5.0, LinkUse.FETCH)
    shelf.keep(other, page_at(url, AT + 6.0))
    assert export("warc", [shelf], tmp_path / "out").revisits == 0


def test_warc_goes_on_in_another_file_at_its_limit(shelf: Shelf, tmp_path: Path) -> None:
    writer = WarcWriter(tmp_path, bytes_max=1_000)
    for url in TEXTS:
        writer.write_records(page_at(url).records)
    writer.close()
    assert len(writer.files) > 1
    assert all(path.name.endswith(".warc.gz") and path.is_file() for path in writer.files)
    n_found = 0
    for path in writer.files:
        with path.open("rb") as file:
            n_found += sum(record.rec_type == "response" for record in WarcioIterator(file))
    assert n_found == len(TEXTS)


def query(sql: str) -> list[tuple[object, ...]]:
    found = duckdb.sql(sql)
    assert found is not None
    return found.fetchall()


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_jsonl_is_read_by_json_and_duckdb(shelf: Shelf, tmp_path: Path) -> None:
    summary = export("jsonl", [shelf], tmp_path)
    [file] = summary.files
    rows = {row["url"]: row for row in rows_of(Path(file))}
    assert rows.keys() == TEXTS.keys()
    row = rows["http://www.debian.org/a"]
    assert (row["title"], row["language"], row["type"], row["headings"]) == (
        "Ä <title>",
        "zh",
        "text/html",
        "One",
    )
    assert row["text"] == "One\nwords & more\n中文 分词"
    assert rows["http://www.debian.org/b"]["date"] == "2020-01-02T03:04:05Z"
    [(count, oldest)] = query(f"select count(*), year(min(date)) from '{file}'")
    assert (count, oldest) == (len(TEXTS), 2020)


def test_parquet_is_read_by_pyarrow_and_duckdb(shelf: Shelf, tmp_path: Path) -> None:
    [file] = export("parquet", [shelf], tmp_path).files
    table = pyarrow.parquet.read_table(file)
    assert table.column_names == [
        "url",
        "title",
        "text",
        "headings",
        "language",
        "type",
        "date",
        "fetched_at",
        "published",
    ]
    assert set(table["url"].to_pylist()) == TEXTS.keys()
    found = query(f"select url, text, epoch(date), epoch_us(fetched_at) from '{file}' where date is not null")
    assert found == [("http://www.debian.org/b", "second page", 1_577_934_245.0, 1_700_000_000_123_456)]


def test_links_are_lines_of_source_target_and_text(tmp_path: Path) -> None:
    body = b'<p><a href="/x">one\tlink</a> <a href="http://b.test/">\xe4\xb8\xad</a> <a href="/y"></a>'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    headers = {
        "warc-type": "response",
        "warc-target-uri": "http://a.test/",
        "warc-date": "2024-01-02T03:04:05Z",
        "content-type": "application/http",
    }
    [only] = shelves(tmp_path)
    only.keep(page_of_record(Record(0, None, headers, head + body), LinkUse.TEXT))  # type: ignore[arg-type]
    [file] = export("links", [only], tmp_path).files
    found = query(f"select * from read_csv('{file}', delim='\t', header=false, quote='', all_varchar=true)")
    assert found == [
        ("http://a.test/", "http://a.test/x", "one link"),
        ("http://a.test/", "http://b.test/", "中"),
        ("http://a.test/", "http://a.test/y", None),
    ]


def test_errors_in_the_markup_of_pages_are_lines_of_numbers(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/%s\r\n\r\n"
    [only] = shelves(tmp_path)
    pages = {"a": (b"html", b"<p>a<b>b</div>"), "b": (b"plain", b"<b>"), "c": (b"html", b"<!doctype html>")}
    for name, (kind, body) in pages.items():
        headers = {
            "warc-type": "response",
            "warc-target-uri": f"http://a.test/{name}",
            "warc-date": "2024-01-02T03:04:05Z",
            "content-type": "application/http",
        }
        record = Record(0, Position(0), headers, head % kind + body)
        only.keep(page_of_record(record, LinkUse.TEXT))
    export("syntax", [only], tmp_path / "s.tsv")
    lines = (tmp_path / "s.tsv").read_text().splitlines()
    assert sorted(lines) == ["http://a.test/a\t3\t1\t1\t0\t0\t1", "http://a.test/c\t0\t0\t0\t0\t0\t0"]


def test_archive_links_are_lines_apart_from_links(tmp_path: Path) -> None:
    [only] = shelves(tmp_path)
    markup = (
        '<base href="/d/"><title>T</title><link rel=stylesheet href="../a.css"><a href="x">\u4e2d</a>'
        '<img src="\u4e2d.png"><img src=p.png#1><img src=p.png><img src="mailto:x"><script src="//b.test/s">'
    )
    at = {"warc-type": "response", "warc-target-uri": "http://a.test/", "warc-date": "2024-01-01T00:00:00Z"}
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=gbk\r\n\r\n"
    headers = {**at, "content-type": "application/http"}
    record = Record(0, Position(0), headers, head + markup.encode("gbk"))
    only.keep(page_of_record(record, LinkUse.TEXT))
    summary = export("archive-links", [only], tmp_path / "a.tsv")
    lines = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()]
    assert lines == [
        ["http://a.test/", "http://a.test/a.css", "link"],
        ["http://a.test/", "http://a.test/d/%E4%B8%AD.png", "img"],
        ["http://a.test/", "http://a.test/d/p.png", "img"],
        ["http://a.test/", "http://b.test/s", "script"],
    ]
    assert (summary.archive_links, summary.links) == (4, 1)
    export("links", [only], tmp_path / "l.tsv")
    assert (tmp_path / "l.tsv").read_text() == "http://a.test/\thttp://a.test/d/x\t\u4e2d\n"


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("jsonl", "p.jsonl.gz"),
        ("jsonl", "p.jsonl"),
        ("links", "p.tsv.gz"),
        ("links", "p.tsv"),
        ("archive-links", "p.tsv"),
        ("parquet", "p.parquet"),
        ("warc", "p.warc.gz"),
    ],
)
def test_what_is_named_as_a_file_is_one(form: str, name: str, shelf: Shelf, tmp_path: Path) -> None:
    out = tmp_path / "new" / name
    assert export(form, [shelf], out).files == [str(out)]
    assert [path.name for path in out.parent.iterdir()] == [name]
    written = out.read_bytes()
    assert written.startswith(b"\x1f\x8b") == name.endswith(".gz")
    if form == "jsonl":
        lines = gzip.decompress(written) if name.endswith(".gz") else written
        assert {json.loads(line)["url"] for line in lines.splitlines()} == TEXTS.keys()


def test_a_folder_may_have_such_a_name_and_a_file_that_of_its_format_only(
    shelf: Shelf, tmp_path: Path
) -> None:
    folder = tmp_path / "p.jsonl.gz"
    folder.mkdir()
    assert export("jsonl", [shelf], folder).files == [str(folder / "pages.jsonl.gz")]
    with pytest.raises(
        ConfigError, match=r"p\.parquet is no name for jsonl: end it in \.jsonl\.gz or \.jsonl, or"
    ):
        export("jsonl", [shelf], tmp_path / "p.parquet")


def test_formats_of_older_engines_come_back_as_they_went(shelf: Shelf, tmp_path: Path) -> None:
    for form in ("tianwang", "webobjects"):
        summary = export(form, [shelf], tmp_path / form)
        file, *described = map(Path, summary.files)
        read = read_raw if form == "tianwang" else read_package
        found = [each for each in read(file.read_bytes()) if isinstance(each, Record)]
        for path in described:
            assert path == file.with_name(file.name + ".desc")
            again = list(read_described(path.read_bytes(), file.read_bytes()))
            assert [each.block for each in again if isinstance(each, Record)] == [
                each.block for each in found
            ]
        pages = [page_of_record(each, LinkUse.FETCH) for each in found]
        assert {page.url for page in pages} == set(TEXTS)
        texts = {page.url: page.document.text for page in pages if page.document}
        assert texts["http://www.debian.org/a"] == TEXTS["http://www.debian.org/a"].text
        assert {int(page.fetched_at) for page in pages} == {int(AT)}
    export("soif", [shelf], tmp_path / "pages.soif")
    lines = [each for each in read_soif((tmp_path / "pages.soif").read_bytes()) if isinstance(each, Line)]
    entries = {entry.url: entry for entry in (entry_of(each.text) for each in lines)}
    assert entries.keys() == set(TEXTS)
    said = entries["http://www.debian.org/a"]
    assert (said.title, said.text, said.headings, said.fetched_at) == (
        "Ä <title>",
        TEXTS[said.url].text,
        "One",
        int(AT),
    )


def test_a_transfer_file_has_a_package_and_its_description(shelf: Shelf, tmp_path: Path) -> None:
    out = tmp_path / "pages.spf"
    assert export("webobjects", [shelf], out).files == [str(out)]
    assert [path.name for path in tmp_path.glob("pages.*")] == ["pages.spf"]
    with zipfile.ZipFile(out) as packed:
        assert packed.namelist() == ["pages.webop", "pages.webop.desc"]
        package, description = map(packed.read, packed.namelist())
    urls = [each.headers["warc-target-uri"] for each in read_package(package) if isinstance(each, Record)]
    assert set(urls) == set(TEXTS)
    assert [line.split()[0].decode() for line in description[DESCRIPTION.size :].splitlines()] == urls


def test_a_long_export_has_a_description_of_each_package(shelf: Shelf, tmp_path: Path) -> None:
    writer = PackageWriter(tmp_path, bytes_max=1)
    for url in TEXTS:
        writer.write_records(page_at(url).records)
    writer.close()
    packages = sorted(tmp_path.glob("*.webop"))
    assert len(packages) == len(TEXTS)
    for package, url in zip(packages, TEXTS, strict=True):
        description = package.with_name(package.name + ".desc")
        (record,) = read_described(description.read_bytes(), package.read_bytes())
        assert isinstance(record, Record)
        assert record.headers["warc-target-uri"] == url


def test_soif_has_the_keywords_and_links_of_a_page(tmp_path: Path) -> None:
    entry = LineEntry(
        "http://a.test/", "Crawlers", "crawlers crawl", links=(("http://b.test/x", "more"), ("/y", ""))
    )
    [only] = shelves(tmp_path)
    only.keep(page_of_entry(entry, AT, LinkUse.TEXT))
    export("soif", [only], tmp_path / "pages.soif")
    written = (tmp_path / "pages.soif").read_bytes()
    assert b"Keywords{8}:\tcrawlers\n" in written
    (line,) = read_soif(written)
    assert isinstance(line, Line)
    said = entry_of(line.text)
    assert (said.text, said.links) == (
        "crawlers crawl",
        (("http://b.test/x", "more"), ("http://a.test/y", "")),
    )


def test_only_wanted_sites_are_exported(shelf: Shelf, tmp_path: Path) -> None:
    export("jsonl", [shelf], tmp_path, "debian.org")
    assert {row["url"] for row in rows_of(tmp_path / "pages.jsonl.gz")} == {
        "http://www.debian.org/a",
        "http://www.debian.org/b",
    }
    is_wanted = of_sites(["Debian.org", "https://a.test/"])
    assert [is_wanted(f"http://{name}/") for name in ("debian.org", "x.debian.org", "a.test:81")] == [
        True
    ] * 3
    assert [is_wanted(f"http://{name}/") for name in ("notdebian.org", "test")] == [False] * 2


def test_pages_of_several_peers_come_once_and_from_who_has_them_sound(tmp_path: Path) -> None:
    pair = shelves(tmp_path, 2)
    urls = list(TEXTS)
    pair[0].keep(*map(page_at, urls[:3]))
    pair[1].keep(*map(page_at, urls[1:]), page_at(urls[0], AT + 9.0))
    # The first page of the first peer is also the newest version of nobody; the next two are at both.
    pair[0].damage(len(page_at(urls[0]).records) + 300)
    summary = export("jsonl", pair, tmp_path)
    assert summary.damaged == 0
    rows = rows_of(tmp_path / "pages.jsonl.gz")
    assert sorted(row["url"] for row in rows) == sorted(urls)
    assert next(row for row in rows if row["url"] == urls[0])["fetched_at"].endswith(":29.123456Z")
    assert export("warc", pair, tmp_path).pages == len(urls) + 1
    summary = export("warc", pair[:1], tmp_path)
    assert (summary.pages, summary.damaged) == (2, 1)


def test_what_a_running_peer_commits_meanwhile_does_not_disturb(shelf: Shelf, tmp_path: Path) -> None:
    files = PeerFiles(shelf.config)
    versions = files.versions()
    first = next(versions)
    pages = [page_at(url, AT + n) for n in range(1, 50) for url in TEXTS]
    writer = get_context("spawn").Process(target=shelf.keep, args=pages)  # as LMDB wants it
    writer.start()
    writer.join()
    assert writer.exitcode == 0
    rest = list(versions)
    assert {first.place.url, *(version.place.url for version in rest)} == TEXTS.keys()
    assert all(files.read(version.place) for version in rest)
    files.close()


def documents_of(pages: Sequence[ImportedPage]) -> list[Document | None]:
    return sorted((page.document for page in pages), key=lambda document: document.url if document else "")


def test_warc_that_is_imported_again_gives_the_same_pages(shelf: Shelf, tmp_path: Path) -> None:
    [file] = export("warc", [shelf], tmp_path).files
    records = [each for each in read_warc(packing_of(Path(file).read_bytes())) if isinstance(each, Record)]
    again = [
        page_of_record(each, LinkUse.FETCH) for each in records if each.headers["warc-type"] == "response"
    ]
    by_url = {page.url: page for page in again}
    assert by_url == {url: page_at(url) for url in TEXTS}


def test_jsonl_that_is_imported_again_gives_equal_documents(shelf: Shelf, tmp_path: Path) -> None:
    [file] = export("jsonl", [shelf], tmp_path).files
    lines = [each for each in read_lines(packing_of(Path(file).read_bytes())) if isinstance(each, Line)]
    again = [page_of_entry(entry_of(each.text), 1.0, LinkUse.FETCH) for each in lines]
    assert documents_of(again) == documents_of([page_at(url) for url in TEXTS])
    types = {document.url: document.type for document in documents_of(again) if document}
    assert types["http://cc.test/plain.txt"] == "text/plain"


def test_an_export_that_fails_leaves_no_file_that_looks_whole(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(WarcWriter, "write_records", fail)
    out = tmp_path / "out"
    with pytest.raises(OSError, match="no space"):
        export("warc", [shelf], out)
    assert [path for path in out.iterdir() if not path.name.endswith(PART)] == []


def test_an_export_to_a_full_disk_ends_with_a_sentence(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(WarcWriter, "write_records", full)
    with pytest.raises(StorageFull, match=r"no space is left for the export in .*: free some"):
        export_files(ExportFormat.WARC, [shelf.config], tmp_path / "out", workers=1, as_json=True)


def test_a_peer_is_named_by_its_configuration_or_a_folder_around_it(shelf: Shelf) -> None:
    peer = shelf.config.parent
    assert configs_in([peer.parent]) == configs_in([peer]) == configs_in([shelf.config]) == [shelf.config]
    with pytest.raises(ConfigError, match="there is no peer"):
        configs_in([peer / "data"])
    with pytest.raises(ConfigError, match="no table"):
        PeerFiles(_config_without_data(shelf.config))


def test_files_that_another_version_wrote_are_refused(shelf: Shelf) -> None:
    table = LmdbTable(shelf.data / "table")
    table.delete(b"\x00layout")
    table.put(b"key", b"value")
    table.commit()
    table.close()
    with pytest.raises(StorageError, match="export its pages with that version"):
        PeerFiles(shelf.config)


def _config_without_data(config: Path) -> Path:
    other = config.with_name("other.toml")
    other.write_text(config.read_text().replace('folder = "data"', 'folder = "elsewhere"'))
    return other


def test_an_entry_has_the_fields_of_an_exported_row() -> None:
    fields = {field.name for field in msgspec.structs.fields(LineEntry)}
    assert set(ExportedPage.__struct_fields__) == fields - {"links"}  # which are exported by themselves
