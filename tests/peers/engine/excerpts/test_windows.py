from __future__ import annotations

from itertools import product
from string import ascii_lowercase

from peers.engine.excerpts.windows import hash_of
from peers.engine.postings.word_numbers import SEED


def test_words_that_share_a_place_by_one_seed_do_not_by_another() -> None:
    words = map("".join, product("abcdef", *[ascii_lowercase] * 3))
    together = [word for word in words if hash_of(word, SEED + 1) % 1024 == 7]
    assert len(together) > 64
    assert len({hash_of(word) % 1024 for word in together}) > len(together) * 3 // 4
