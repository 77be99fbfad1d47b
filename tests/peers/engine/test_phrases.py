"""Phrases in documents of all lengths, by the kernel that also ranks them, beside plain Python."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from peers.engine.pages.document import Document
from peers.engine.queries.query import ANY_FIELD, Literal, LiteralKind, Query
from peers.engine.snapshot import View
from tests.peers.engine.samples import index_of

COUNT = 600
FREQUENT = ["red", "green", "blue"]  # lists of several blocks
RARE = ["rust", "teal"]  # lists of one block, without a skip table
TITLE, HEADING, BODY = 0, 2, 3

Fields = dict[int, list[str]]


def words(chance: random.Random, n: int) -> list[str]:
    return [chance.choice(RARE if chance.random() < 0.01 else FREQUENT) for _ in range(n)]


def texts_of(seed: int) -> list[Fields]:
    """Texts of which few are long: positions are skipped by single bytes, by words and by many words."""
    chance = random.Random(seed)
    lengths = [0, 1, 2, 9, 40, 700]
    return [
        {
            TITLE: words(chance, chance.choice([0, 0, 0, 3])),
            HEADING: words(chance, chance.choice([0, 0, 4])),
            BODY: words(chance, chance.choice(lengths)),
        }
        for _ in range(COUNT)
    ]


def view_of(texts: Sequence[Fields]) -> View:
    pages = [
        Document(
            f"http://a.test/{number:04}",
            title=" ".join(text[TITLE]),
            headings=" ".join(text[HEADING]),
            text=" ".join(text[BODY]),
        )
        for number, text in enumerate(texts)
    ]
    return index_of([(0, page) for page in pages]).snapshot().everything()


PLACES = 1_024  # of a field, more than any has
STARTS = ((1 << PLACES - 8) - 1).to_bytes(PLACES // 8, "little")  # where a phrase of a text may begin
Places = dict[int, dict[str, int]]  # of words in all texts, by field: the bit text * PLACES + place


def places_of(texts: Sequence[Fields]) -> Places:
    places: Places = {}
    for number, text in enumerate(texts):
        for field, present in text.items():
            of_text: dict[str, int] = {}
            for place, word in enumerate(present):
                of_text[word] = of_text.get(word, 0) | 1 << place
            of_field = places.setdefault(field, {})
            for word, bits in of_text.items():
                of_field[word] = of_field.get(word, 0) | bits << number * PLACES
    return places


def having(places: Places, atoms: Sequence[str], distances: Sequence[int], fields: int) -> set[int]:
    """Return the texts with a start in some field from which every atom stands at its distance."""
    starts = 0
    for field, of_field in places.items():
        if fields == ANY_FIELD or fields >> field & 1:
            of_phrase = int.from_bytes(STARTS * COUNT, "little")
            for atom, distance in zip(atoms, distances, strict=True):
                of_phrase &= of_field.get(atom, 0) >> distance
            starts |= of_phrase
    size = PLACES // 8
    content = starts.to_bytes(COUNT * size, "little")
    return {number for number in range(COUNT) if any(content[number * size : (number + 1) * size])}


@pytest.mark.parametrize("seed", range(4))
def test_a_phrase_is_found_where_its_atoms_stand_at_their_distances(seed: int) -> None:
    texts = texts_of(seed)
    view = view_of(texts)
    places = places_of(texts)
    chance = random.Random(seed)
    n_found = 0
    for _ in range(150):
        atoms = [chance.choice(FREQUENT + RARE[:1]) for _ in range(chance.randint(1, 5))]
        distances = list(range(len(atoms)))
        if len(atoms) > 1 and chance.random() < 0.3:
            distances = [chance.randrange(4) for _ in atoms]
        fields = chance.choice([ANY_FIELD, 1 << BODY, 1 << TITLE, 1 << TITLE | 1 << HEADING])
        literal = Literal(LiteralKind.PHRASE, tuple(atoms), tuple(distances), fields)
        scoring = tuple(dict.fromkeys(atoms))
        query = Query((), scoring, (1.0,) * len(scoring), ((literal,),))
        statistics = view.statistics(scoring)
        total, is_exact, hits = view.search(query, statistics, COUNT)
        expected = having(places, atoms, distances, fields)
        assert {int(hit.url[-4:]) for hit in hits} == expected
        assert (total, is_exact) == (len(expected), True)
        # Two clauses are found by other kernels, and scored afterwards.
        twice = Query((), scoring, query.weights, ((literal,), (literal,)))
        assert view.search(twice, statistics, COUNT)[2] == hits
        n_found += len(expected)
    assert n_found > 1000
