"""Judge the posts and organisations that `peers.entities.relations` tells in sentences, on CLUENER2020.

    python -m tests.benchmarks.entity_recognition cluener/dev.json

Exact spans: a post is right where `position` has it; an organisation where `organization`, `company` or
`government` has. Beside it the relation: of the names in a sentence that has a post, those that stand in a
close relation to one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from peers.entities.relations import Occurrence, organisations_in, posts_in
from peers.text.folding import fold

KINDS: Final[dict[str, tuple[tuple[str, ...], Callable[[str], list[Occurrence]]]]] = {
    "posts": (("position",), posts_in),
    "organisations": (("organization", "company", "government"), organisations_in),
}


def sentences_in(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON values of a file, a line each or over several lines."""
    text, place, decoder = path.read_text(encoding="utf-8").strip(), 0, json.JSONDecoder()
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        yield value
        while place < len(text) and text[place] in " \r\n,":
            place += 1


def gold_of(sentence: dict[str, Any], kinds: tuple[str, ...]) -> set[tuple[int, int]]:
    labels = sentence["label"]
    places = (place for kind in kinds for found in labels.get(kind, {}).values() for place in found)
    return {(start, last + 1) for start, last in places}


def main() -> None:
    sentences = list(sentences_in(Path(sys.argv[1])))
    for name, (kinds, find) in KINDS.items():
        right = told = there = 0
        since = time.process_time()
        for sentence in sentences:
            text = sentence["text"]
            folded = fold(text)
            found = {tuple(each) for each in find(folded)} if len(folded) == len(text) else set()
            gold = gold_of(sentence, kinds)
            right, told, there = right + len(found & gold), told + len(found), there + len(gold)
        seconds = time.process_time() - since
        precision, recall = right / max(told, 1), right / max(there, 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        print(
            f"{name}: {there:,} in {len(sentences):,} sentences, precision {precision:.3f}, recall "
            f"{recall:.3f}, F1 {f1:.3f}; {len(sentences) / seconds:,.0f} sentences a second of CPU time"
        )


if __name__ == "__main__":
    main()
