"""Readers of a list of results: which of them they click on, by two models of how they read. Pure.

By the *position-based* model a reader looks at each result with a probability that falls with its rank, and
clicks on one that is looked at with a probability that its relevance gives. By the *cascade* model a reader
goes down from the first result, clicks likewise, and may stop at each click, the sooner the better the page;
so a result is the less looked at the better those above it are.

Source: Craswell, Zoeter, Taylor, Ramsey, "An experimental comparison of click position-bias models", WSDM
2008; that a reader may go on after a click is Guo, Liu, Wang, "Efficient multiple-click models", WSDM 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

# By grade: 0 not relevant, 1 relevant, 2 highly relevant.
CLICKED_SHARES: Final = (0.05, 0.4, 0.8)  # of the results that are looked at
CONTENT_SHARES: Final = (0.1, 0.4, 0.8)  # of the clicks after which a reader of the cascade stops


def position_clicks(grades: Sequence[int], random: Random) -> list[int]:
    """Return the ranks, from 1, that a reader clicks on: that of rank r is looked at with probability 1 / r.

    Args:
      grades: of the results, in order.
    """
    return [
        rank
        for rank, grade in enumerate(grades, 1)
        if random.random() < 1.0 / rank and random.random() < CLICKED_SHARES[grade]
    ]


def cascade_clicks(grades: Sequence[int], random: Random) -> list[int]:
    """Return the ranks that a reader clicks on that goes down from the top and stops when content."""
    clicked = []
    for rank, grade in enumerate(grades, 1):
        if random.random() < CLICKED_SHARES[grade]:
            clicked.append(rank)
            if random.random() < CONTENT_SHARES[grade]:
                break
    return clicked
