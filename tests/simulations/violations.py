"""Runs that break off with what they are to find: the rest of a run would show no more."""

from __future__ import annotations

from collections.abc import Callable


class Found(BaseException):
    """All is found. No peer's code catches it."""


def missed(run: Callable[[Callable[[str], None]], object], *sentences: str) -> list[str]:
    """Return those of some sentences that are in no violation which a run tells; end it with the last."""
    left = list(sentences)

    def look(line: str) -> None:
        if " VIOLATION " in line:
            left[:] = [each for each in left if each not in line]
            if not left:
                raise Found

    try:
        run(look)
    except Found:
        pass
    return left
