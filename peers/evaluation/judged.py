"""Collections with queries and judgements, as they lie in folders beside the checkout.

    suites/ir/NAME/   corpus.jsonl, queries.jsonl, qrels.tsv: texts
    judged/lo.LANG.*  queries and judgements for the help of LibreOffice, whose pages come from a package
                      of Debian, libreoffice-help-LANG; whole pages as a crawler would get them, with the
                      texts of the links between them. Without these files the index of the help's
                      authors, which is in the package, is read itself

The pages of the help carry the very words of the queries in `meta` elements, since its authors' index was
made from both. No browser shows these and our parser does not read them: they would answer everything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from peers.crawler.frontier.anchor_rows import join_anchors
from peers.crawler.parsing.parser import parse_page
from peers.engine.pages.document import Document
from peers.judging.trec import Judgements, read_qrels, read_topics

HELP_LANGUAGES: Final = ("zh-CN", "en-US", "de")
HELP_PAGES: Final = "libreoffice-help-{}/usr/share/libreoffice/help"  # in a folder of unpacked packages
HELP_HOST: Final = "http://help.test/"
SUITE_HOST: Final = "http://suite.test/"


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents and judgements of which answer which query; names of documents are their URLs."""

    name: str
    documents: tuple[Document, ...]
    queries: Mapping[str, str]  # those with judgements, by id
    judgements: Judgements
    is_known_item: bool  # one page is looked for: MRR says more than nDCG


def collections_in(shared: Path, help_pages: Path | None) -> Iterator[tuple[str, Path | None]]:
    """Name the collections there could be, with the folder of the documents or None when it is missing.

    Args:
      shared: the folder with `suites` and `judged`.
      help_pages: a folder of unpacked packages.
    """
    for folder in sorted((shared / "suites" / "ir").glob("*/qrels.tsv")):
        yield folder.parent.name, folder.parent
    for language in HELP_LANGUAGES:
        pages = help_pages and help_pages / HELP_PAGES.format(language.lower())
        is_there = pages is not None and (pages / language).is_dir()
        yield f"lo.{language}", pages if is_there else None


def read_collection(name: str, folder: Path, shared: Path) -> Collection:
    """Read a collection that `collections_in` named."""
    if name.startswith("lo."):
        return read_help(folder, name.removeprefix("lo."), shared / "judged")
    return read_suite(folder)


def read_suite(folder: Path) -> Collection:
    """Read a folder of texts."""
    documents = tuple(
        Document(url=SUITE_HOST + entry["_id"], title=entry.get("title", ""), text=entry["text"])
        for entry in _json_lines(folder / "corpus.jsonl")
    )
    texts = {entry["_id"]: entry["text"] for entry in _json_lines(folder / "queries.jsonl")}
    judgements: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        judgements.setdefault(query, {})[SUITE_HOST + document] = int(grade)
    queries = {query: texts[query] for query in judgements}
    is_known_item = all(len(judged) == 1 for judged in judgements.values())
    return Collection(folder.name, documents, queries, judgements, is_known_item)


def read_help(pages: Path, language: str, judged: Path) -> Collection:
    """Read the pages of LibreOffice's help in a language, and the index of its authors."""
    documents: dict[str, Document] = {}
    anchors: dict[str, tuple[str, ...]] = {}
    for path in sorted((pages / language).rglob("*.html")):
        url = HELP_HOST + path.relative_to(pages).as_posix()
        page = parse_page(url, path.read_bytes(), "text/html")
        documents[url] = Document(
            url,
            page.title,
            page.headings,
            page.text,
            language=page.language,
            boilerplate=page.boilerplate,
        )
        for link in page.links:
            if link.anchor:
                anchors[link.url] = join_anchors(anchors.get(link.url, ()), (link.anchor,))
    linked = tuple(
        msgspec.structs.replace(document, anchors=anchors.get(url, ())) for url, document in documents.items()
    )
    texts, suffixes = _help_queries(pages, language, judged)
    judgements = {
        query: {f"{HELP_HOST}{language}/{suffix}": grade for suffix, grade in of_query.items()}
        for query, of_query in suffixes.items()
    }
    return Collection(
        f"lo.{language}", linked, {query: texts[query] for query in judgements}, judgements, True
    )


def _help_queries(pages: Path, language: str, judged: Path) -> tuple[Mapping[str, str], Judgements]:
    """Return the queries by id, and for each the pages below the folder of the language that it is about."""
    if (judged / f"lo.{language}.qrels").exists():
        topics = read_topics(judged / f"lo.{language}.queries.tsv")
        return dict(topics), read_qrels(judged / f"lo.{language}.qrels")
    of_text: dict[str, dict[str, int]] = {}
    script = (pages / language / "bookmarks.js").read_text("utf-8")
    for url, entry in _BOOKMARK.findall(script):
        text = " ".join(" ".join(entry.split("--")).split())  # "a -- b" is b, of a
        of_text.setdefault(text, {})[re.split("[?#]", url)[0].partition("/")[2]] = 1
    ids = {f"{language}-{number}": text for number, text in enumerate(of_text, 1)}
    return ids, {query: of_text[text] for query, text in ids.items()}


_BOOKMARK: Final = re.compile(r'\{url:"([^"]*)",\s*app:"[^"]*",\s*text:"([^"]*)"')


def _json_lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
