"""Characters a second: texts analysed in bulk, beside the segmenter alone and a plain cut by an expression.

Bulk is all that indexing does before postings are written: fold, cut, segment, stem, pair, number. Measured
on one of two busy cores (Python 3.11), millions of characters a second, best of five:

               bulk    segmenter alone    findall of \\w+    bulk without forms, compounds and pairs
    Chinese     1.9                5.8               43                                       2.7
    English    13.1                  -               43                                      22
    mixed       2.9               11.8               39                                       4.0

The last column is the analysis before these were entries, measured in turn with the first. Texts are short
and all different here, so much of the difference is new words and pairs, which grow rarer with the index: of
the larger and more uniform LibreOffice help it was 15.2 for 18.7 (English) before pairs.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

import pytest

from peers.engine.pages.document import Document
from peers.engine.segments.inversion import Inverter
from peers.text.folding import fold
from peers.text.segmentation import segment_han
from tests.shared_data import shared

CHARS = 1_000_000
ROUNDS = 5


def texts_of(collection: str) -> list[str]:
    """Return texts of a collection, `CHARS` characters in all."""
    lines = shared(f"suites/ir/{collection}/corpus.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    repeated = texts * (CHARS // sum(map(len, texts)) + 1)
    chosen, n_chars = [], 0
    for text in repeated:
        chosen.append(text)
        n_chars += len(text)
        if n_chars >= CHARS:
            break
    return chosen


def mixed() -> list[str]:
    """Return Chinese texts with an English one after each."""
    pairs = zip(texts_of("cmrc2018-known-item"), texts_of("cranfield"), strict=False)
    return [f"{chinese}\n{english[: len(chinese)]}" for chinese, english in pairs]


KINDS: dict[str, Callable[[], list[str]]] = {
    "Chinese": lambda: texts_of("cmrc2018-known-item"),
    "English": lambda: texts_of("cranfield"),
    "mixed": mixed,
}


def megachars(work: Callable[[], object], n_chars: int) -> float:
    """Return millions of characters a second of processor time, of the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return n_chars / best / 1e6


@pytest.mark.parametrize("kind", KINDS)
def test_bulk_analysis(kind: str) -> None:
    texts = KINDS[kind]()
    documents = [Document(f"http://h/{number}", text=text) for number, text in enumerate(texts)]
    n_chars = sum(map(len, texts))
    joined = "\n".join(texts)
    han = "\n".join(re.findall("[\u4e00-\u9fd5]+", fold(joined)))

    def bulk() -> None:
        inverter = Inverter(len(documents))
        for number, document in enumerate(documents):
            inverter.add(number, document)
        inverter.finish()

    ours = megachars(bulk, n_chars)
    segmenter = megachars(lambda: segment_han(han), n_chars) if han else float("inf")
    plain = megachars(lambda: re.findall(r"\w+", joined.lower()), n_chars)
    print(f"\n{kind}: bulk {ours:.1f}, segmenter alone {segmenter:.1f}, findall {plain:.1f} Mchar/s")
    assert ours > 0.1 * min(segmenter, plain), "an order of magnitude slower than its slowest part"
