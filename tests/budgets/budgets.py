"""The limits of `tests/budgets.toml`, and how a count is held against them. [io]"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[1] / "budgets.toml"
LOWERED_BY: Final = 0.03  # a count so much below its limit asks for a lower one
SPREADS: Final = "spread"  # the table of how much the counts of a section may differ from run to run


@cache
def limits() -> dict[str, dict[str, float]]:
    """The limits by section and name."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def spread_of(section: str) -> float:
    """By how much the counts of a section differ from run to run, as a share."""
    return limits()[SPREADS].get(section, 0.0)


def hold(section: str, counts: dict[str, float]) -> list[str]:
    """Fail for what costs more than its limit; return a sentence for each limit that can be lowered.

    Raises:
      AssertionError: some counts are too high, or have no limit, or a limit has no count.
    """
    limit, spread = limits()[section], spread_of(section)
    assert limit.keys() == counts.keys(), limit.keys() ^ counts.keys()
    above = {
        name: (count, limit[name]) for name, count in counts.items() if count > limit[name] * (1 + spread)
    }
    assert not above, f"{section}: more than tests/budgets.toml allows: {above}"
    return [
        f"{section}.{name}: {count:g} of {limit[name]:g}"
        for name, count in counts.items()
        if count < limit[name] * (1 - spread - LOWERED_BY)
    ]
