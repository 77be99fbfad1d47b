"""The clicks of a log: how far down readers look by them, and the worth of a ranking that nobody saw. Pure.

The log tells a first page of results where five clients or more were shown it on a day, with their clicks by
place. So all figures are of queries that many ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from peers.gateway.model.log_json import LogPartJson
from peers.judging.counterfactual import RankingWorth, worth_of
from peers.judging.examination import Examination, ShownList, examination_of
from peers.query_log.click_weights import position_effect
from peers.query_log.log_row import LISTED_MAX, result_digest


class RankClicks(msgspec.Struct, frozen=True):
    """The clicks at one rank of the first page of results."""

    rank: int
    shown: int  # clients
    clicks: int
    examined: float | None  # share of readers that look at it, of the first one 1; None where nothing tells
    effect: float | None  # position effect c by which a click there counts: 1 / examined, clipped


class LogClicks(msgspec.Struct, frozen=True, omit_defaults=True):
    """The figures of the clicks of a log."""

    lists: int  # lists of results, each of one query and day, that five clients or more were shown
    clients: int  # that were shown them, by query and day
    clicks: int
    model: str  # of readers, that explains clicks left out best: position, power or cascade
    gain: float  # by which it does, mean log-likelihood of a click
    moved: int  # results that were at places of which different shares are looked at
    ranks: tuple[RankClicks, ...]
    shown: RankingWorth | None = None  # the worth of the lists as they were shown, where one was asked for
    ranking: RankingWorth | None = None  # and that of another ranking of the same queries
    rivals: tuple[str, ...] = ()  # models that these clicks do not tell from it: intervals hold theirs, too


def shown_lists(parts: Iterable[LogPartJson]) -> list[ShownList]:
    """Return the lists of a log, those of one query on several days each by itself."""
    return [
        ShownList(query.query, [bytes.fromhex(each) for each in shown.results], shown.clients, shown.clicks)
        for part in parts
        for query in part.queries
        for shown in query.lists
    ]


def clicks_of(lists: Sequence[ShownList], ranking_of: Mapping[str, Sequence[str]] | None = None) -> LogClicks:
    """Estimate how far down readers look, and the worth of a ranking.

    Args:
      ranking_of: URLs in order by query, as the log has it; None for no ranking.
    """
    found = examination_of(lists)
    shown, ranking = None, None
    if ranking_of is not None:
        kept = [number for number, each in enumerate(lists) if each.query in ranking_of]
        of_ranking = found.of_lists(kept)
        chosen = [lists[number] for number in kept]
        shown = worth_of(_as_shown(chosen), chosen, of_ranking)
        digests = {query: [*map(result_digest, urls)] for query, urls in ranking_of.items()}
        ranking = worth_of(digests, chosen, of_ranking)
    return LogClicks(
        lists=len(lists),
        clients=sum(each.clients for each in lists),
        clicks=sum(sum(each.clicks) for each in lists),
        model=found.model,
        rivals=tuple(each.model for each in found.rivals),
        gain=round(found.gain, 6),
        moved=found.moved,
        ranks=tuple(_rank_clicks(rank, lists, found) for rank in range(1, LISTED_MAX + 1)),
        shown=shown,
        ranking=ranking,
    )


def policy_line(found: LogClicks) -> str:
    """Return the line of a policy that has these shares; "" where but the first one is known."""
    known: list[str] = []
    for each in found.ranks:
        if each.examined is None:
            break
        known.append(f"{each.examined:.3g}")
    return f"examined = [{', '.join(known)}]" if len(known) > 1 else ""


def _rank_clicks(rank: int, lists: Sequence[ShownList], found: Examination) -> RankClicks:
    shown = sum(each.clients for each in lists if len(each.results) >= rank)
    clicks = sum(each.clicks[rank - 1] for each in lists if len(each.clicks) >= rank)
    examined = found.ranks[rank - 1]
    effect = None if examined is None else position_effect(2, (1.0, examined))
    return RankClicks(rank, shown, clicks, examined and round(examined, 4), effect and round(effect, 3))


def _as_shown(lists: Sequence[ShownList]) -> dict[str, Sequence[bytes]]:
    """Return by query the list that most clients were shown."""
    most = dict[str, ShownList]()
    for each in lists:
        if each.query not in most or each.clients > most[each.query].clients:
            most[each.query] = each
    return {query: each.results for query, each in most.items()}
