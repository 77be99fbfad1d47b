"""Counts calls of Python functions while a block runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from cProfile import Profile
from pathlib import Path
from types import CodeType
from typing import Final

ROOT: Final = Path(__file__).parents[2]


class Calls:
    """How often which function was called, when the block is over."""

    def __init__(self) -> None:
        self.total = 0
        self._by_function: Counter[str] = Counter()

    def of(self, function: str) -> int:
        """How often a function was called, named as `mesh/actors/node.py:Node.wake`."""
        return self._by_function[function]

    def take(self, profile: Profile) -> None:
        """Count what a profile has seen."""
        for entry in profile.getstats():
            if isinstance(entry.code, CodeType):
                self.total += entry.callcount
                self._by_function[name_of(entry.code)] += entry.callcount


def name_of(code: CodeType) -> str:
    """A function's file and qualified name; the file as seen from the checkout."""
    path = Path(code.co_filename)
    place = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f"{place}:{code.co_qualname}"


@contextmanager
def counted() -> Iterator[Calls]:
    """Count what this thread calls."""
    calls, profile = Calls(), Profile(builtins=False)
    profile.enable()
    try:
        yield calls
    finally:
        profile.disable()
        calls.take(profile)
