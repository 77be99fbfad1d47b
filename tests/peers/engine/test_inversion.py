"""Documents analysed in bulk have the entries that their texts have one by one."""

from __future__ import annotations

from collections import Counter
from urllib.parse import unquote

from hypothesis import given, settings
from hypothesis import strategies as st

from peers.engine.document import Document
from peers.engine.inversion import Inverter
from peers.engine.kernels import DOCUMENT_SHIFT, FIELD_SHIFT, POSITION_MASK
from peers.text.analysis import analyse, atoms, frequency_entries, is_atom_key
from tests.peers.text.samples import any_text, han_text, signed_text

texts = any_text | han_text | signed_text
documents = st.builds(
    Document,
    url=texts.map("http://h/".__add__),
    title=texts,
    headings=texts,
    boilerplate=texts,
    text=texts,
    anchors=st.tuples(texts),
    language=st.sampled_from(["", "en", "de", "fr", "nb"]),
)


def fields_of(document: Document) -> list[str]:
    url = unquote(document.url.partition("://")[2], errors="replace")
    return [document.title, document.anchors[0], document.headings, document.text, url, document.boilerplate]


def expected_of(document: Document) -> tuple[Counter[tuple[str, int]], dict[tuple[int, int], str]]:
    """Return how often each entry is in each field, and the atoms by (field, position)."""
    frequencies: Counter[tuple[str, int]] = Counter()
    placed: dict[tuple[int, int], str] = {}
    for field, text in enumerate(fields_of(document)):
        found = atoms(text)
        placed |= {(field, position): entry for position, entry in enumerate(found)}
        entries = analyse(text) + frequency_entries(text, document.language)
        others = [entry for entry in entries if not is_atom_key(entry)]
        frequencies.update((entry, field) for entry in found + others)
    return frequencies, placed


@settings(deadline=None, max_examples=200)
@given(st.lists(documents, max_size=3))
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
