"""Directories are found by their files alike in any mesh: by name, size and date of one and the same file."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from random import Random

import pytest

from peers.engine.pages.directory_entries import Entry, lines_of
from peers.engine.pages.document import Document
from peers.engine.pages.kinds import LISTING
from peers.gateway.model.listed_file import listed_files
from tests.peers.gateway.test_exactness import Mesh

WORDS = ("linux", "kernel", "Manual", "report", "数据", "年鉴", "ubuntu", "desktop", "slides")
SIZES = (900, 5 << 10, 20 << 20, 700 << 20, 5 << 30)
DAY_S = 86_400
BEGIN_S = int(datetime(2022, 1, 1, tzinfo=UTC).timestamp())
MB = 1 << 20


def _entry(random: Random, number: int) -> Entry:
    name = "-".join(random.sample(WORDS, 2)) + f"_{number}.bin"
    if random.random() < 0.15:
        return Entry(f"{name[:-4]}/", date=BEGIN_S)
    has_date = random.random() < 0.9
    date = BEGIN_S + random.randrange(1_000) * DAY_S if has_date else 0
    return Entry(name, random.choice(SIZES), random.random() < 0.5, date)


def _directory(number: int, random: Random) -> tuple[Document, list[Entry]]:
    entries = [_entry(random, n) for n in range(random.randrange(1, 6))]
    path = f"/pub/{random.choice(WORDS[:4])}/{number}/"
    lines = lines_of(entries)
    return (
        Document(
            f"http://files{number % 37}.test{path}",
            f"Index of {path}",
            text=lines.names,
            heading_ids=lines.details,
            type=LISTING,
            date=float(max(entry.date for entry in entries)),
            fetched_at=2e9,
        ),
        entries,
    )


DIRECTORIES = [_directory(number, Random(number)) for number in range(250)]
# A page with the lines of a directory is none.
PAGES = [
    Document(
        f"http://pages{n}.test/", "linux kernel", text=f"linux kernel 数据 {n}", heading_ids="9999999999\t9\t"
    )
    for n in range(60)
]


def expected(words: Iterable[str], size: int = -1, since: int = 0) -> set[str]:
    """URLs of the directories that have such a file, by looking at every one."""
    return {
        document.url
        for document, entries in DIRECTORIES
        if any(
            entry.size >= size
            and (not since or entry.date >= since)
            and all(word.lower() in f"{document.url}{entry.name}".lower() for word in words)
            for entry in entries
        )
    }


@pytest.fixture(scope="module")
def meshes() -> Iterable[list[Mesh]]:
    with ExitStack() as stack:
        meshes = [Mesh([f"peer{n}" for n in range(count)], stack) for count in (1, 3, 5)]
        for mesh in meshes:
            mesh.index([*(document for document, _ in DIRECTORIES), *PAGES])
        yield meshes


@pytest.mark.parametrize(
    ("text", "words", "size", "since"),
    [
        ("larger:1MB", (), MB, 0),
        ("larger:500M newer:2024", (), 500 * MB, BEGIN_S + 730 * DAY_S),
        ("newer:2024-06-01", (), -1, BEGIN_S + 882 * DAY_S),
        ("linux larger:1GB", ("linux",), 1 << 30, 0),
        ("linux ubuntu larger:10MB newer:2023", ("linux", "ubuntu"), 10 * MB, BEGIN_S + 365 * DAY_S),
        ("数据 larger:4.5G", ("数据",), int(4.5 * (1 << 30)), 0),
        ("manuals newer:2023-05", ("manual",), -1, BEGIN_S + 485 * DAY_S),
        ("kernel larger:1000000000000", ("kernel",), 10**12, 0),
    ],
)
def test_words_size_and_date_are_of_one_file_on_1_3_and_5_peers(
    meshes: list[Mesh], text: str, words: tuple[str, ...], size: int, since: int
) -> None:
    wanted = expected(words, size, since)
    answers = [mesh.search(peer, text, k=100) for mesh in meshes for peer in mesh.nodes]
    for found in answers:
        assert (found.total, found.is_exact) == (len(wanted), True)
        assert {hit.url for hit in found.hits} <= wanted
        assert [(hit.url, hit.score, hit.entries) for hit in found.hits] == [
            (hit.url, hit.score, hit.entries) for hit in answers[0].hits
        ]
    known = {document.url: entries for document, entries in DIRECTORIES}
    for hit in answers[0].hits:
        assert hit.entries
        for entry, shown in zip(hit.entries, listed_files(hit.url, hit.entries), strict=True):
            assert Entry(entry.name, entry.size, entry.is_rounded, entry.date) in known[hit.url]
            assert entry.size >= size
            assert entry.date >= since
            assert all(word in f"{hit.url}{entry.name}".lower() for word in words)
            assert shown.url.startswith(hit.url)


def test_conditions_on_files_can_be_left_out_and_be_one_of_several(meshes: list[Mesh]) -> None:
    everything = {document.url for document, _ in DIRECTORIES}
    large, new = expected((), 1 << 30), expected((), -1, BEGIN_S + 882 * DAY_S)
    for mesh in meshes:
        assert mesh.search("peer0", "type:listing").total == len(everything)
        assert mesh.search("peer0", "type:listing -larger:1GB").total == len(everything - large)
        assert mesh.search("peer0", "(larger:1GB OR newer:2024-06-01)").total == len(large | new)
        assert mesh.search("peer0", "linux type:html").total == 0
        assert mesh.search("peer0", "linux kernel -type:listing").total == len(PAGES)
