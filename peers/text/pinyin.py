"""How Chinese characters are read aloud: pinyin without tones, of characters and of typed letters.

Readings are those of `pinyin.txt`, whose head says where they are from. A syllable has several spellings: ü
is typed as v or u, and many people do not tell zh from z, ng from n, l from n.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Final

_TABLE: Final = Path(__file__).with_name("pinyin.txt")
SYLLABLE_CHARS_MAX: Final = 6  # zhuang
_TONES: Final = re.compile("(?<=[a-z])[1-5]")
# Pairs of beginnings, and of ends, that are not told apart.
_INITIALS: Final = ({"zh", "z"}, {"ch", "c"}, {"sh", "s"}, {"l", "n"})
_FINALS: Final = ({"ang", "an"}, {"eng", "en"}, {"ing", "in"})
_PARTS: Final = re.compile("([zcs]h|[bpmfdtnlgkhjqxrzcswy])?([aeiouv]+[a-z]*)")


@cache
def readings() -> dict[str, tuple[str, ...]]:
    """Return the syllables of each character."""
    found: dict[str, list[str]] = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        syllable, characters = line.split(" ")
        for character in characters:
            found.setdefault(character, []).append(syllable)
    return {character: tuple(syllables) for character, syllables in found.items()}


@cache
def _characters() -> dict[str, list[str]]:
    """Return the characters of each syllable."""
    found: dict[str, list[str]] = {}
    for character, of_character in readings().items():
        for syllable in of_character:
            found.setdefault(syllable, []).append(character)
    return found


@cache
def syllables() -> tuple[str, ...]:
    """Return all syllables, sorted."""
    return tuple(sorted({syllable for of_character in readings().values() for syllable in of_character}))


@cache
def spellings_of_syllable(syllable: str) -> tuple[str, ...]:
    """Return how a syllable may be typed, the right way first: at most four ways."""
    plain = syllable.replace("v", "u")
    match = _PARTS.fullmatch(plain)
    if match is None:
        return (plain,)
    initial, final = match[1] or "", match[2]
    if "v" in syllable:
        return syllable, plain
    initials = next((sorted(pair - {initial}) for pair in _INITIALS if initial in pair), [])
    ending = next((pair for pair in _FINALS if any(final.endswith(end) for end in pair)), set[str]())
    own = next((end for end in sorted(ending, reverse=True) if final.endswith(end)), "")
    finals = [final.removesuffix(own) + other for other in ending - {own}] if own else []
    return tuple(a + b for a, b in product([initial, *initials], [final, *finals]))


def sounding_like(character: str) -> dict[str, bool]:
    """Return the other characters that sound nearly alike: is a syllable of both the same?"""
    found: dict[str, bool] = {}
    for syllable in readings().get(character, ()):
        for spelling in spellings_of_syllable(syllable):
            for other in _characters().get(spelling, ()):
                if other != character:
                    found[other] = found.get(other, False) or spelling == syllable
    return found


def without_tones(typed: str) -> str:
    """Return folded pinyin without the numbers of tones: ruan3jian4 is ruanjian."""
    return _TONES.sub("", typed)


def places_of(typed: str) -> list[int]:
    """Return the places at which syllables may begin in typed letters; none where there are others too."""
    spellings, n_chars = _as_typed(), len(typed)
    reached, ends_of = {0}, dict[int, list[int]]()
    for place in range(n_chars):
        if place in reached:  # most words of other languages end here soon
            ends = range(place + 1, min(place + SYLLABLE_CHARS_MAX, n_chars) + 1)
            ends_of[place] = [end for end in ends if typed[place:end] in spellings]
            reached.update(ends_of[place])
    leading = {n_chars}
    for place, ends_here in reversed(ends_of.items()):
        if not leading.isdisjoint(ends_here):
            leading.add(place)
    return [place for place in ends_of if place in leading]


def is_read_as(word: str, typed: str) -> bool:
    """Tell whether letters are exactly how Chinese characters are read, nothing taken for its like."""
    return _is_read(word, typed, lambda syllable: {syllable, syllable.replace("v", "u")})


def is_read_nearly_as(word: str, typed: str) -> bool:
    """Tell whether letters spell how Chinese characters are read, or a sound that is like it."""
    return _is_read(word, typed, spellings_of_syllable)


def _is_read(word: str, typed: str, spellings_of: Callable[[str], Iterable[str]]) -> bool:
    known = readings()
    ends = {0}
    for character in word:
        ends = {
            end + len(spelling)
            for end in ends
            for syllable in known.get(character, ())
            for spelling in spellings_of(syllable)
            if typed.startswith(spelling, end)
        }
    return len(typed) in ends


def has_initials(word: str, letters: str) -> bool:
    """Tell whether each Chinese character of a word has a reading that begins with its letter."""
    known = readings()
    return len(word) == len(letters) and all(
        any(reading.startswith(letter) for reading in known.get(character, ()))
        for character, letter in zip(word, letters, strict=True)
    )


@cache
def _as_typed() -> frozenset[str]:
    return frozenset(spelling for syllable in syllables() for spelling in spellings_of_syllable(syllable))
