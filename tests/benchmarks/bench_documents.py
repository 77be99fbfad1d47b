"""Documents of other formats than HTML through the process that takes pages apart, beside other readers.

    TIANMESH_DOCUMENTS=folder .venv/bin/python -m tests.benchmarks.bench_documents [N]

Of all files below it N (by default 1,000) are drawn, always the same, and each goes to a process of the
workshop as a server would send it. Printed for each kind: files, those without text and why, those that ended
their process, pages and files per CPU-second, memory at most, and the share of the words of another reader
which are found here too: of PDF by `pdftotext` (poppler-utils), of texts and workbooks by LibreOffice, where
it is installed; of their letters as well, for all cut words where glyphs are drawn apart. LibreOffice writes
the labels of lists, which are left out here, cells by their values where the file has them as they are shown
(so numbers do not count), and text that was deleted.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from unicodedata import normalize

import trio

from mesh.process.workshop import Answer, Workshop
from peers.crawler.fetching.content_encoding import DOCUMENT_BYTES_MAX
from peers.crawler.model.messages import PageParsed, ParsePage
from peers.crawler.model.page_tasks import decode_answer, encode
from peers.crawler.parsing import page_process
from peers.engine.pages.kinds import NAMES, kind_of
from tests.helpers import fetched

ENDINGS: Final = ("pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "rtf", "epub", "doc", "xls", "ppt")
TEXT: Final = "txt:Text (encoded):UTF8"
SHEETS: Final = "csv:Text - txt - csv (StarCalc):9,34,76,1,,0,false,true,false,false,false,-1"  # all of them
OFFICE: Final = {
    **dict.fromkeys(("doc", "docx", "odt", "rtf"), TEXT),
    **dict.fromkeys(("ods", "xls", "xlsx"), SHEETS),
}
_LABEL: Final = re.compile(
    r"^[ \t]*(?:\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivxIVX]{1,4})[.)]|[•–▪·])[ \t]+", re.MULTILINE
)
_CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # whose runs every program cuts where it likes
_WORD: Final = re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")
_ACCENTS: Final = dict(zip("´`¨ˆ˜ˇ", (0x301, 0x300, 0x308, 0x302, 0x303, 0x30C), strict=True))
_LOOSE: Final = re.compile("([A-Za-zı])([´`¨ˆ˜ˇ])")


class Read(NamedTuple):
    """What became of a file."""

    kind: str
    outcome: str  # "text", why there is none, or "ended" with its process
    cpu_s: float
    rss_bytes: int
    pages: int  # of PDF, as pdfinfo has it
    found: int  # words of pdftotext's
    all_words: int
    letters: float  # share of theirs that are here, wherever words are cut
    is_cut: bool


def files(folder: Path, count: int) -> list[Path]:
    """So many files, drawn evenly."""
    known = sorted(
        path for path in folder.rglob("*") if path.suffix[1:].lower() in ENDINGS and path.is_file()
    )
    known = [path for path in known if 0 < path.stat().st_size <= DOCUMENT_BYTES_MAX]
    return random.Random(15).sample(known, min(count, len(known)))


def words(text: str) -> Counter[str]:
    """Count words, whatever form letters have: pdftotext leaves ligatures, Arabic as drawn, accents apart."""
    text = _LOOSE.sub(lambda match: match[1].replace("ı", "i") + chr(_ACCENTS[match[2]]), text)
    return Counter(_WORD.findall(normalize("NFKC", text).lower()))


def letters(counted: Counter[str]) -> Counter[str]:
    """Count the letters and digits of words."""
    total = Counter[str]()
    for word, count in counted.items():
        for letter in word:
            total[letter] += count
    return total


def oracle(path: Path) -> tuple[int, Counter[str]]:
    """How many pages a PDF file has, 0 of others, and the words that another reader finds, if any does."""
    ending = path.suffix[1:].lower()
    return oracle_of_pdf(path) if ending == "pdf" else (0, words_by_office(path, OFFICE.get(ending, "")))


def words_by_office(path: Path, filter_name: str) -> Counter[str]:
    """The words that LibreOffice finds; of workbooks each once, and no numbers."""
    if not filter_name or shutil.which("soffice") is None:
        return Counter()
    with tempfile.TemporaryDirectory() as folder:
        order = [
            "soffice",
            f"-env:UserInstallation=file://{tempfile.gettempdir()}/bench-office",
            "--headless",
        ]
        order += ["--convert-to", filter_name, "--outdir", folder, str(path)]
        subprocess.run(order, capture_output=True, timeout=120, check=False)
        said = "\n".join(each.read_text("utf-8", "replace") for each in Path(folder).iterdir())
    if filter_name == SHEETS:
        return Counter(word for word in words(said.replace("\t", " ")) if not word.isdigit())
    return words(_LABEL.sub("", said.replace("\xad", "")))


def oracle_of_pdf(path: Path) -> tuple[int, Counter[str]]:
    """How many pages a file has, and its words; none when pdftotext does not read it either."""
    try:
        said = subprocess.run(["pdftotext", "-q", path, "-"], capture_output=True, timeout=120, check=True)
        told = subprocess.run(["pdfinfo", path], capture_output=True, timeout=60, check=True)
    except (subprocess.SubprocessError, OSError):
        return 0, Counter()
    match = re.search(rb"^Pages:\s+(\d+)", told.stdout, re.MULTILINE)
    return int(match[1]) if match else 0, words(said.stdout.decode("utf-8", "replace"))


async def read_all(paths: list[Path]) -> list[Read]:
    workshop = Workshop(page_process.COMMAND)
    done: list[Read] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workshop.run)
        for path in paths:
            done.append(await _read(path, workshop))
            if done[-1].outcome == "ended":
                print("ended its process:", path)
        nursery.cancel_scope.cancel()
    return done


async def _read(path: Path, workshop: Workshop) -> Read:
    ending = path.suffix[1:].lower()
    headers = (("Content-Type", NAMES[ending][0]),)
    order = ParsePage(fetched(f"http://a.test/{ending}", body=path.read_bytes(), headers=headers), 1)
    before = workshop.observe().cpu_seconds
    answers: list[Answer] = []
    await workshop.carry_out([encode(order)], answers.append)
    now = workshop.observe()
    answer = decode_answer(answers[0]) if isinstance(answers[0], bytes) else None
    document = answer.document if isinstance(answer, PageParsed) else None
    kind = kind_of(document.type) if document else ending
    if answer is None:
        outcome = "ended"
    else:
        outcome = str(answer.lack or "text") if isinstance(answer, PageParsed) else "refused"
    pages, expected = oracle(path) if document is not None else (0, Counter[str]())
    found = words(f"{document.title}\n{document.text}".replace("\xad", "") if document else "")
    return Read(
        kind=kind,
        outcome=outcome,
        cpu_s=now.cpu_seconds - before,
        rss_bytes=now.rss_bytes,
        pages=pages,
        found=(found & expected).total(),
        all_words=expected.total(),
        letters=(letters(found) & letters(expected)).total() / max(1, letters(expected).total()),
        is_cut=document is not None and len(document.text) > 990_000,
    )


def lines(done: list[Read]) -> Iterator[str]:
    by_kind: dict[str, list[Read]] = defaultdict(list)
    for read in done:
        by_kind[read.kind].append(read)
    for kind, reads in sorted(by_kind.items()):
        cpu_s = sum(read.cpu_s for read in reads)
        slowest, most = max(read.cpu_s for read in reads), max(read.rss_bytes for read in reads)
        yield (
            f"{kind:11} {len(reads):5} files {dict(Counter(read.outcome for read in reads))}; "
            f"{len(reads) / cpu_s:.0f} files per CPU-second, slowest {slowest:.2f} s, "
            f"at most {most >> 20} MiB"
        )
        yield from _recall([read for read in reads if read.all_words])


def _recall(reads: list[Read]) -> Iterator[str]:
    whole = [read for read in reads if not read.is_cut]
    if not whole:
        return
    shares = sorted(read.found / read.all_words for read in whole)
    pages, cpu_s = sum(read.pages for read in whole), sum(read.cpu_s for read in whole)
    found, all_words = sum(read.found for read in whole), sum(read.all_words for read in whole)
    yield (
        f"{'':11} {pages} pages, {pages / cpu_s:.0f} per CPU-second; recall {found / all_words:.4f} of all "
        f"words, mean of files {sum(shares) / len(shares):.4f}, median {shares[len(shares) // 2]:.4f}, "
        f"of their letters {sum(read.letters for read in whole) / len(whole):.4f}, "
        f"{sum(share < 0.9 for share in shares)} of {len(shares)} below .9; "
        f"{len(reads) - len(whole)} longer than is kept"
    )


def main() -> None:
    folder = Path(os.environ["TIANMESH_DOCUMENTS"])
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    print(*lines(trio.run(read_all, files(folder, count))), sep="\n")


if __name__ == "__main__":
    main()
