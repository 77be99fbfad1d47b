"""The rankings that a mesh has compared by clicks of its readers, summed up over days and peers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date

import msgspec

from peers.gateway.model.log_json import LogPartJson
from peers.judging.sign_test import SignTest, sign_test


class ComparedRankings(msgspec.Struct, frozen=True):
    """A second ranking against the one in force."""

    comparison: str  # name of the second, and a digest of its weights
    first_day: date
    last_day: date
    test: SignTest  # wins are those of the second
    # Of each peer that keeps a part of the log: how many it tells for the second, for the other, and ties.
    by_peer: dict[str, tuple[int, int, int]]


def compared_rankings(parts: Iterable[LogPartJson]) -> list[ComparedRankings]:
    """Return all that the log still has, in the order of their first days."""
    by_peer: dict[str, dict[str, Counter[str]]] = {}
    days: dict[str, list[date]] = {}
    for part in parts:
        for each in part.compared:
            counted = by_peer.setdefault(each.comparison, {}).setdefault(part.peer, Counter())
            counted.update(second=each.second, first=each.first, ties=each.ties)
            days.setdefault(each.comparison, []).append(each.day)
    found = []
    for comparison, of_peers in by_peer.items():
        rows = {
            peer: (counted["second"], counted["first"], counted["ties"]) for peer, counted in of_peers.items()
        }
        test = sign_test(*map(sum, zip(*rows.values(), strict=True)))
        found.append(ComparedRankings(comparison, min(days[comparison]), max(days[comparison]), test, rows))
    return sorted(found, key=lambda each: (each.first_day, each.comparison))


def verdict_on(test: SignTest) -> str:
    """Tell the outcome of a test in a sentence, and no more than it shows."""
    if test.share is None:
        return "nobody has preferred either yet"
    if not test.is_significant:
        return f"no difference is shown: the second may be preferred in {test.low:.1%} to {test.high:.1%}"
    better = "the second ranking" if test.share > 0.5 else "the ranking in force"
    return f"readers prefer {better}: by chance less than 5 of 100 such comparisons come out so far from half"
