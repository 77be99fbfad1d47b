"""Documents analysed in bulk have the entries that their texts have one by one."""

from __future__ import annotations

from collections import Counter
from urllib.parse import unquote

from hypothesis import example, given, settings
from hypothesis import strategies as st

from peers.engine.native.kernels import (
    ANCHORS,
    BODY,
    BOILERPLATE,
    DOCUMENT_SHIFT,
    FIELD_SHIFT,
    POSITION_MASK,
    URL,
)
from peers.engine.pages.document import Document
from peers.engine.pages.site_names import names_of
from peers.engine.pages.suggested_texts import texts_of_links, texts_of_title
from peers.engine.segments.inversion import Inverter
from peers.text.analysis import analyse, atoms, frequency_entries, is_atom_key
from peers.text.folding import fold
from peers.text.line_languages import PART_MIN, PART_SHARE
from peers.text.spellings import SPELLED_SHARE_MAX, spellings_of
from tests.peers.text.samples import any_text, han_text, signed_text
from tests.peers.text.test_line_languages import LINES, told

texts = any_text | han_text | signed_text
long_texts = st.lists(st.sampled_from(LINES) | texts, max_size=6).map("\n".join)
documents = st.builds(
    Document,
    url=texts.map("http://h/".__add__),
    title=texts,
    headings=texts,
    boilerplate=texts | long_texts,
    text=texts | long_texts,
    anchors=st.tuples(texts),
    language=st.sampled_from(["", "en", "de", "fr", "nb", "hu", "zh"]),
)


def fields_of(document: Document) -> list[str]:
    url = unquote(document.url.partition("://")[2], errors="replace")
    return [document.title, document.anchors[0], document.headings, document.text, url, document.boilerplate]


def other_language_of(document: Document) -> str:
    """Return what a part of the text of a document is in, as `line_languages` describes it, line by line."""
    sizes: Counter[str] = Counter()
    for line in fold(document.text).split("\n"):
        sizes[told(line, document.language)] += len(atoms(line))
    total = sizes.total()
    others = [
        each for each in sizes if each not in ("", "no" if document.language == "nb" else document.language)
    ]
    best = max(others, key=lambda each: sizes[each], default="")
    return best if sizes[best] >= PART_MIN and PART_SHARE * sizes[best] >= total else ""


def entries_of(text: str, document: Document) -> list[str]:
    """Return all entries of one of the texts of a document."""
    own, other = document.language, other_language_of(document)
    found: list[str] = []
    for line in fold(text).split("\n"):
        language = told(line, own) if other else ""
        known = "no" if own == "nb" else own
        languages = [own, other]  # what does not tell may be in either
        if language:
            languages = [other] if language == other else [own] if language == known else languages
        found += analyse(line) + frequency_entries(line, *languages)
    return found


def expected_of(document: Document) -> tuple[Counter[tuple[str, int]], dict[tuple[int, int], str]]:
    """Return how often each entry is in each field, and the atoms by (field, position)."""
    frequencies: Counter[tuple[str, int]] = Counter()
    placed: dict[tuple[int, int], str] = {}
    for field, text in enumerate(fields_of(document)):
        found = atoms(text)
        placed |= {(field, position): entry for position, entry in enumerate(found)}
        others = [entry for entry in entries_of(text, document) if not is_atom_key(entry)]
        others += spellings_of(text, SPELLED_SHARE_MAX if field in (BODY, BOILERPLATE) else 1.0)
        frequencies.update((entry, field) for entry in found + others)
    frequencies.update((name, URL) for name in names_of(document))
    frequencies.update((text, 0) for text in texts_of_title(document))
    frequencies.update((text, ANCHORS) for text in texts_of_links(document))
    return frequencies, placed


PAGE = Document("http://h/", "", "crawler", f"{LINES[1]}\n{LINES[1]}", ("",))

# Some characters more than a part in another language has, and some atoms less.
THAI = Document("http://h/", "", "", "天网" * 8 + "meshpeerภาษาไทย", ("",), "de")


@settings(deadline=None, max_examples=200)
@given(st.lists(documents, max_size=3))
@example([PAGE])
@example([THAI])
def test_bulk_and_single_analysis_agree(given_documents: list[Document]) -> None:
    inverter = Inverter(len(given_documents))
    for number, document in enumerate(given_documents):
        inverter.add(number, document)
    found = inverter.finish()
    frequencies: list[Counter[tuple[str, int]]] = [Counter() for _ in given_documents]
    placed: list[dict[tuple[int, int], str]] = [{} for _ in given_documents]
    for i, entry in enumerate(found.entries):
        keys = found.keys[found.starts[i] : found.starts[i + 1]].tolist()
        assert keys == sorted(keys)
        for key in keys:
            number, field = key >> DOCUMENT_SHIFT, key >> FIELD_SHIFT & 15
            frequencies[number][entry, field] += 1
            if is_atom_key(entry):
                placed[number][field, key & POSITION_MASK] = entry
    for number, document in enumerate(given_documents):
        assert (frequencies[number], placed[number]) == expected_of(document)
        assert inverter.lengths[number].tolist() == [len(analyse(text)) for text in fields_of(document)]
