"""Counts of things in words, for people: `1 page`, `2,000 pages`."""

from __future__ import annotations

_SIBILANTS = ("s", "x", "z", "ch", "sh")


def counted(count: float, noun: str) -> str:
    """Say how many there are of something, or how many and a half.

    Args:
      noun: for one of them, with what stands before it: `more copy`.
    """
    number = f"{count:g}" if isinstance(count, float) else f"{count:,}"
    return f"{number} {noun if count == 1 else plural_of(noun)}"


def plural_of(noun: str) -> str:
    """Return the form of a regular noun for several."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(_SIBILANTS) else f"{noun}s"


class Count(str):
    """A number as it is shown, with the noun for one of its things as its format: `{n:page}`."""

    __slots__ = ()

    def __format__(self, noun: str) -> str:
        if not noun:
            return str(self)
        return f"{self} {noun if self == '1' else plural_of(noun)}"
