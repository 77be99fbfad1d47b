from __future__ import annotations

from peers.index.sized_cache import SizedCache


def test_what_was_used_longest_ago_goes_first() -> None:
    cache = SizedCache[str, int](10)
    cache.keep("a", 1, 4)
    cache.keep("b", 2, 4)
    assert cache.find("a") == 1
    cache.keep("c", 3, 4)
    assert cache.find("b") is None
    assert (cache.find("a"), cache.find("c"), cache.size, len(cache)) == (1, 3, 8, 2)


def test_a_value_takes_the_place_of_the_one_before() -> None:
    cache = SizedCache[str, int](10)
    cache.keep("a", 1, 9)
    cache.keep("a", 2, 3)
    assert (cache.find("a"), cache.size) == (2, 3)


def test_what_is_too_large_is_not_kept() -> None:
    cache = SizedCache[str, int](10)
    cache.keep("a", 1, 5)
    cache.keep("b", 2, 11)
    assert (cache.find("a"), cache.find("b"), cache.size) == (1, None, 5)
    cache.keep("a", 3, 11)
    assert (cache.find("a"), cache.size) == (None, 0)
