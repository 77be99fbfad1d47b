"""Pages with a known main text, and how much of it a reader finds: precision, recall and F1 of tokens.

A token is a word, or one character of Chinese, Japanese or Korean; each counts as often as both have it.
The figures of a set are the means over its pages. Six public sets are read, none of which is in this
repository, from a folder with what was fetched of them:

    article-extraction-benchmark             181 English articles of 2019 (Scrapinghub)
    GeneralNewsExtractor or gne-*            20 Chinese news pages, with what that extractor found in them
    web-content-extraction-benchmark         2,008 pages of seven kinds, in two parts (Foley)
    Dataset-for-web-main-content-extraction  1,077 pages of ten Chinese sites (wwwxmu)
    Chinese-Web-Content-Extraction-Dataset   69 Chinese pages, their text taken by hand (immortal-autumn)
    readability/test/test-pages              130 pages, many without anything around their main text (Mozilla)
"""

from __future__ import annotations

import ast
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from resiliparse.extract.html2text import extract_plain_text

PAGES: Final = "MAIN_TEXT_PAGES"  # in the environment: the folder

LABEL_TOKENS_MIN: Final = 20  # fewer are no main text: the page was not there any more

_TOKEN: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\\W_]+")
_GNE_RESULT: Final = re.compile(r">{5,}(\S+?)>{5,}\n(.*?)\n<{5,}", re.DOTALL)


class KnownPage(NamedTuple):
    """A page and its main text."""

    name: str  # in the third set with the kind of page behind a colon
    body: bytes
    main_text: str


class MainTextScore(NamedTuple):
    """How much of a main text was found."""

    precision: float
    recall: float
    f1: float


def tokens_of(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def found_of(text: str, main_text: str) -> MainTextScore:
    """Compare a text with the main text of its page."""
    got, wanted = Counter(tokens_of(text)), Counter(tokens_of(main_text))
    common, n_got, n_wanted = (got & wanted).total(), got.total(), wanted.total()
    precision, recall = common / max(n_got, 1), common / max(n_wanted, 1)
    return MainTextScore(precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))


def mean_found(pages: Iterable[KnownPage], read: Callable[[bytes], str]) -> MainTextScore:
    """Return the means of a reader's precision, recall and F1 over some pages, at least one."""
    found = [found_of(read(page.body), page.main_text) for page in pages]
    return MainTextScore(*(sum(column) / len(found) for column in zip(*found, strict=True)))


def english_articles(folder: Path) -> list[KnownPage]:
    """Read the 181 articles. FileNotFoundError."""
    folder /= "article-extraction-benchmark"
    known = json.loads((folder / "ground-truth.json").read_text())
    return [
        KnownPage(name, _unpacked(folder / "html" / f"{name}.html.gz"), page["articleBody"])
        for name, page in sorted(known.items())
    ]


def chinese_news(folder: Path) -> list[KnownPage]:
    """Read the 20 pages. FileNotFoundError."""
    places = [folder / "GeneralNewsExtractor", *sorted(folder.glob("gne-*"))]
    place = next((place for place in places if place.is_dir()), places[0])
    results = _GNE_RESULT.findall((place / "result.txt").read_text())
    return [
        KnownPage(name, (place / name).read_bytes(), json.loads(result, strict=False)["content"])
        for name, result in results
    ]


def pages_of_kinds(folder: Path, part: str) -> list[KnownPage]:
    """Read a part, `dev` or `test`, of the pages of seven kinds. FileNotFoundError."""
    return list(_pages_of_kinds(folder / "web-content-extraction-benchmark" / part))


def _pages_of_kinds(folder: Path) -> Iterator[KnownPage]:
    for path in sorted((folder / "ground-truth").iterdir()):
        told = json.loads(path.read_text())
        known = told["ground_truth"]
        known = ast.literal_eval(known) if isinstance(known, str) else known
        if (known.get("main_content") or "").strip():
            kind = told["_internal"]["page_type"]["primary"]
            body = _unpacked(folder / "html" / f"{path.stem}.html.gz")
            yield KnownPage(f"{path.stem}:{kind}", body, known["main_content"])


def chinese_sites(folder: Path) -> list[list[KnownPage]]:
    """Read the pages of the ten Chinese sites, a list a site. FileNotFoundError."""
    folder /= "Dataset-for-web-main-content-extraction"
    sites = sorted(place for place in (folder / "label_content").iterdir() if place.is_dir())
    return [list(_labelled(folder / "source_html" / site.name, site)) for site in sites]


def chinese_pages(folder: Path) -> list[KnownPage]:
    """Read the 69 Chinese pages. FileNotFoundError."""
    folder /= "Chinese-Web-Content-Extraction-Dataset"
    return list(_labelled(folder / "original", folder / "cleaned"))


def _labelled(pages: Path, texts: Path) -> Iterator[KnownPage]:
    for path in sorted(texts.iterdir()):
        page, text = pages / f"{path.stem}.html", path.read_text(errors="replace")
        if page.exists() and len(tokens_of(text)) >= LABEL_TOKENS_MIN:
            yield KnownPage(path.stem, page.read_bytes(), text)


def reader_pages(folder: Path) -> list[KnownPage]:
    """Read the 130 pages of Readability. FileNotFoundError."""
    folder /= "readability/test/test-pages"
    return [
        KnownPage(path.name, (path / "source.html").read_bytes(), _visible(path / "expected.html"))
        for path in sorted(folder.iterdir())
    ]


def _visible(path: Path) -> str:
    html = re.sub(r"(?s)<(script|style|noscript)\b.*?</\1>", "", path.read_text(errors="replace"))
    return str(extract_plain_text(f"<html><body>{html}", alt_texts=False))


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())
