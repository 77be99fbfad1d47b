"""Folders of files of this machine, as pages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mesh.errors import ConfigError
from mesh.urls import is_of_files
from peers.crawler.fetching.content_encoding import DOCUMENT_BYTES_MAX
from peers.crawler.model.wire_messages import LinkUse
from peers.importing import command
from peers.importing.batch import ImportTask, decode, make
from peers.importing.checkpoint import Checkpoint
from peers.importing.folder import Gone, Seen, bytes_in, read_folder, site_of
from peers.importing.import_run import ImportPlan, ImportSummary, run
from peers.importing.inventory import FolderInventory
from peers.importing.json_lines import Line
from peers.importing.page import is_private, page_of_record
from peers.importing.positions import FileDamage, Position
from peers.importing.warc_file import Record
from tests.peers.documents import files
from tests.peers.importing.test_import_run import FakeGateway, gateway

__all__ = ["gateway"]
SITE = "http://notes.localhost/"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    inside = tmp_path / "My notes" / "2024"
    inside.mkdir(parents=True)
    (inside / "汇 报.docx").write_bytes(files.word(files.paragraph("said in it")))
    (inside / "a.txt").write_text("plain words", encoding="utf-8")
    (inside / "c.unknown").write_bytes(files.word(files.paragraph("told by its bytes")))
    (inside / ".secret").write_text("hidden", encoding="utf-8")
    (inside / "empty.txt").touch()
    hidden = tmp_path / "My notes" / ".git"
    hidden.mkdir()
    (hidden / "b.txt").write_text("hidden", encoding="utf-8")
    (inside / "passwd").symlink_to("/etc/passwd")
    os.utime(inside / "a.txt", (1_600_000_000, 1_600_000_000))
    return tmp_path / "My notes"


def records(folder: Path, seen: dict[Path, Seen] | None = None, begin: int = 0) -> list[Record]:
    found = list(read_folder(folder, SITE, Position(0, begin), seen))
    return [each for each in found if isinstance(each, Record)]


def test_files_are_pages_by_their_names_types_and_dates(notes: Path) -> None:
    text, unknown, word = (page_of_record(record, LinkUse.TEXT) for record in records(notes))
    assert text.url == f"{SITE}2024/a.txt"
    assert word.url == f"{SITE}2024/%E6%B1%87%20%E6%8A%A5.docx"
    assert text.document is not None
    assert word.document is not None
    assert unknown.document is not None
    assert (text.document.text, text.document.type) == ("plain words", "text/plain")
    assert text.document.date == 1_600_000_000
    assert word.document.text == "said in it"
    assert unknown.document.text == "told by its bytes"


def test_a_folder_is_read_on_from_where_it_was_and_what_has_not_changed_is_passed_over(notes: Path) -> None:
    last = records(notes)[1]
    assert last.after.offset == bytes_in(notes) - (notes / "2024" / "汇 报.docx").stat().st_size
    assert [record.headers for record in records(notes, begin=last.after.skip)] == [records(notes)[2].headers]
    seen: dict[Path, Seen] = {}
    assert len(records(notes, seen)) == 3
    assert records(notes, seen) == []
    (notes / "2024" / "a.txt").write_text("other words", encoding="utf-8")
    assert [record.headers["warc-target-uri"] for record in records(notes, seen)] == [f"{SITE}2024/a.txt"]


def test_a_deleted_file_is_gone_and_one_that_comes_back_is_newer(notes: Path, tmp_path: Path) -> None:
    def versions() -> dict[str, tuple[int, float]]:
        """Of each page its status and version, as a process of its own reads them."""
        inventory = FolderInventory(tmp_path / "state" / "folder.json")
        read = list(read_folder(notes, SITE, inventory=inventory))
        inventory.note_gone()
        found: list[Record | Line | Gone] = [each for each in read if not isinstance(each, FileDamage)]
        made = make(ImportTask(found, [], Position(0), 0.0, LinkUse.TEXT))
        pages = [page for body in made.bodies for page in decode(body)]
        assert made.n_gone == sum(page.status == 410 and page.document is None for page in pages)
        assert made.n_noindex == 0
        return {page.url: (page.status, page.fetched_at) for page in pages}

    url, path, away = f"{SITE}2024/a.txt", notes / "2024" / "a.txt", tmp_path / "a.txt"
    before = versions()
    assert len(before) == 3
    path.rename(away)
    without = versions()
    assert without.keys() == before.keys()
    assert without[url][0] == 410
    assert without[url][1] > before[url][1]
    assert url not in versions(), "it is said once"
    away.rename(path)
    again = versions()
    assert again[url][0] == 200
    assert again[url][1] > without[url][1]
    assert versions() == again


def test_what_is_in_a_folder_that_cannot_be_read_is_not_gone(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scandir(path: Path) -> Any:
        if str(path).endswith("2024"):
            raise PermissionError(13, "not for you")
        return whole(path)

    whole, inventory = os.scandir, FolderInventory()
    assert len(list(read_folder(notes, SITE, inventory=inventory))) == 3
    monkeypatch.setattr("os.scandir", scandir)
    assert list(read_folder(notes, SITE, inventory=inventory)) == []


def test_pages_of_a_folder_under_another_address_stay(notes: Path) -> None:
    inventory = FolderInventory()
    assert len(list(read_folder(notes, SITE, inventory=inventory))) == 3
    other = list(read_folder(notes, "http://other.test/", inventory=inventory))
    assert not any(isinstance(each, Gone) for each in other)


def test_what_is_no_inventory_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ConfigError):
        FolderInventory(tmp_path / "folder.json")


def test_the_place_of_a_folder_is_not_told_but_tells_folders_of_one_name_apart(tmp_path: Path) -> None:
    here, there = site_of(tmp_path / "My notes"), site_of(tmp_path / "b" / "My notes")
    assert here != there
    assert here == site_of(tmp_path / "My notes")
    assert here.startswith("http://my-notes-")
    assert is_private(here)
    assert is_of_files(here)
    assert site_of(tmp_path / "文").startswith("http://xn--")
    assert site_of(Path("/")).startswith("http://folder-")
    assert not any(part in here for part in tmp_path.parts[1:])


def test_a_folder_may_be_the_copy_of_a_site(tmp_path: Path) -> None:
    assert site_of(tmp_path, "https://A.test/docs") == "https://a.test/docs/"
    for wrong in ("ftp://a.test/", "http://a.test/?q", "notes"):
        with pytest.raises(ConfigError):
            site_of(tmp_path, wrong)


def test_what_is_too_large_is_told_and_not_read(notes: Path) -> None:
    large = notes / "film.bin"
    large.touch()
    os.truncate(large, DOCUMENT_BYTES_MAX + 1)
    assert [
        each.what.partition(" is")[0] for each in read_folder(notes, SITE) if isinstance(each, FileDamage)
    ] == [str(large)]


def test_a_folder_goes_to_the_gateway_once(notes: Path, gateway: FakeGateway) -> None:
    def imported() -> ImportSummary:
        plan = ImportPlan([notes], gateway.url, "", LinkUse.TEXT, 0, pause_s=0.0, sites={notes: SITE})
        return run(plan, Checkpoint(notes.with_name("checkpoint"), "me"), lambda file, done, summary: None)

    assert imported().stored == 3
    again = imported()
    assert (again.stored, again.known, again.n_damaged) == (0, 3, 0)


def test_a_folder_that_is_watched_is_imported_again_as_far_as_it_changes(
    notes: Path, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(seconds: float) -> None:
        """Change a file in the first pause, delete it in the second; then somebody has enough."""
        pauses.append(seconds)
        if len(pauses) == 1:
            (notes / "2024" / "a.txt").write_text("other words", encoding="utf-8")
        elif len(pauses) == 2:
            (notes / "2024" / "a.txt").unlink()
        elif len(pauses) > 3:
            raise KeyboardInterrupt

    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", wait)
    console = Console(record=True)
    plan = ImportPlan([notes], gateway.url, "", LinkUse.TEXT, 0, pause_s=0.0, sites={notes: SITE}, seen={})
    plan = plan._replace(inventories={notes: FolderInventory()})
    checkpoint = notes.with_name("checkpoint")
    run(plan, Checkpoint(checkpoint, "me"), lambda file, done, summary: None)
    with pytest.raises(KeyboardInterrupt):
        command._watch(plan, lambda: Checkpoint(checkpoint, "me"), 60.0, console)
    assert pauses == [60.0] * 4
    assert console.export_text() == (
        "1 changed file, 0 new versions\n1 changed file, 1 of them deleted, 0 new versions\n"
    ), "the gateway knows its URL"
