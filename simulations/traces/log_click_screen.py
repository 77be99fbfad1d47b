"""The figures of a log's clicks on a terminal. [io]"""

from __future__ import annotations

from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from mesh.counts import counted
from peers.judging.counterfactual import Estimate, RankingWorth
from simulations.traces.log_clicks import LogClicks, policy_line

ONE_GATEWAY: Final = (
    "this mesh has one gateway, so a click_weight in [query_log] counts nothing there without "
    "click_gateways = 1, which believes that gateway"
)


def show_clicks(found: LogClicks, n_gateways: int) -> None:
    """Print tables, and sentences that say no more than they show.

    Args:
      n_gateways: of the mesh; 0 where the reader may not see them.
    """
    console = Console(highlight=False)
    console.print(_ranks_table(found))
    for line in _sentences(found):
        console.print(line, markup=False, soft_wrap=True)
    if n_gateways == 1:
        console.print(ONE_GATEWAY, markup=False, soft_wrap=True)


def _ranks_table(found: LogClicks) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("rank", "shown", "clicks", "clicked", "looked at", "effect"):
        table.add_column(name, justify="right")
    for each in found.ranks:
        if each.shown:
            examined = "?" if each.examined is None else f"{each.examined:.1%}"
            effect = "?" if each.effect is None else f"{each.effect:.2f}"
            clicked = f"{each.clicks / each.shown:.1%}"
            table.add_row(str(each.rank), f"{each.shown:,}", f"{each.clicks:,}", clicked, examined, effect)
    return table


def _sentences(found: LogClicks) -> list[str]:
    seen = f"{counted(found.clicks, 'click')} of {counted(found.clients, 'client')}"
    said = [f"{seen} on {counted(found.lists, 'list')} of queries and days"]
    if not found.moved:
        said.append("no result was in several places, so nothing tells worth and place apart")
        return said
    models = {
        "position": "the place alone",
        "power": "a power of the rank",
        "cascade": "the results above, at which readers stop",
    }
    said.append(
        f"in several places: {counted(found.moved, 'result')}; how far readers look is best explained by "
        f"{models[found.model]}"
    )
    said += [f"these clicks do not rule out {models[rival]}: intervals hold both" for rival in found.rivals]
    if line := policy_line(found):
        said.append(f"in the policy, [query_log]: {line}")
    if found.shown is not None and found.ranking is not None:
        said += [_worth("as shown", found.shown), _worth("this ranking", found.ranking), _verdict(found)]
    return said


def _worth(name: str, worth: RankingWorth) -> str:
    left_out = f", {worth.unknown:,} at places of which nothing is known" if worth.unknown else ""
    return (
        f"{name}: {_interval(worth.clipped)} a reader, {_interval(worth.normalised)} of what is looked for "
        f"({counted(worth.clicks, 'click')}, {worth.unplaced:,} on results that it has not{left_out})"
    )


def _interval(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _verdict(found: LogClicks) -> str:
    assert found.shown is not None
    assert found.ranking is not None
    shown, ranking = found.shown.normalised, found.ranking.normalised
    if ranking.low > shown.high:
        return "by these clicks this ranking is better than that which was shown"
    if ranking.high < shown.low:
        return "by these clicks this ranking is worse than that which was shown"
    return "by these clicks neither is shown to be better"
