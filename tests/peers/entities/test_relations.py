"""Posts and organisations are found where the plain list of all words finds them."""

from __future__ import annotations

import re
from random import Random
from typing import Final

import pytest

from peers.entities import relations

TEXTS: Final = 2_000


def plain(words: str) -> str:
    return "|".join(map(re.escape, sorted(words.split(), key=len, reverse=True)))


POST: Final = f"(?:{'|'.join(relations._BEFORE_TITLES.split())}){{0,2}}(?:{plain(relations._TITLES)})"
ORGANISATION: Final = (
    f"(?:(?![{relations._NOT_OF_NAMES}])[\u4e00-\u9fd5a-z0-9·]){{1,12}}?"
    f"(?:{plain(relations._ENDINGS)})(?!人|员|长)"
)
FILLER: Final = f"{POST}|{ORGANISATION}|{plain(relations._VERBS)}|\\W"


@pytest.mark.parametrize(
    ("pattern", "written_out"),
    [(relations.POST, POST), (relations.ORGANISATION, ORGANISATION), (relations._FILLER, FILLER)],
    ids=("post", "organisation", "filler"),
)
def test_a_pattern_finds_what_all_its_words_written_out_find(
    pattern: re.Pattern[str], written_out: str
) -> None:
    words = " ".join(
        (relations._TITLES, relations._ENDINGS, relations._VERBS, relations._BEFORE_TITLES)
    ).split()
    characters = sorted({*"".join(words), *relations._NOT_OF_NAMES, *"王x1· ，"})
    random, found = Random(1), 0
    for _ in range(TEXTS):
        text = "".join(
            random.choice(random.choice((words, characters))) for _ in range(random.randint(1, 12))
        )
        spans = [match.span() for match in re.finditer(written_out, text)]
        assert [match.span() for match in pattern.finditer(text)] == spans, text
        found += len(spans)
    assert found > TEXTS / 4
