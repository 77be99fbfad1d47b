"""An outcome as a table, as CSV and as JSON."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.metadata import version
from io import StringIO
from typing import Any, Final

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from simulations.outcomes.study import Outcome, Row, ends_of

ROWS_ACROSS: Final = 3  # of a table that is shown with rows and columns exchanged


def cell(row: Row, name: str) -> str:
    """A value, with its 95 % interval where there is one that can be seen."""
    value = row[name]
    if isinstance(value, str):
        return value
    low, high = ends_of(row, name)
    is_seen = high - low > 0.001 * abs(value)
    return f"{_short(value)} [{_short(low)}, {_short(high)}]" if is_seen else _short(value)


def seeds_in_words(outcome: Outcome) -> str:
    """Name the seeds, and explain the brackets behind means."""
    first, last = outcome.seeds[0], outcome.seeds[-1]
    if len(outcome.seeds) == 1:
        return f"seed {first} alone, so that nothing is known of chance"
    is_row = outcome.seeds == tuple(range(first, last + 1))
    named = f"{first} to {last}" if is_row else ", ".join(map(str, outcome.seeds))
    return f"means over the seeds {named}; [from, to] are their 95 % intervals"


def shown_columns(rows: Sequence[Row], outcome: Outcome) -> list[str]:
    """Those that are not the same everywhere."""
    names = [name for name in outcome.study.columns if name in rows[0]]
    return [name for name in names if len(rows) == 1 or len({row[name] for row in rows}) > 1]


def outcome_table(outcome: Outcome) -> RenderableType:
    """For people: the table, the meaning of its columns, the claims of the source beside the results."""
    rows = outcome.headline()
    names = shown_columns(rows, outcome)
    chosen = [name for name in names if name in outcome.study.shown or not outcome.study.shown]
    if len(rows) <= ROWS_ACROSS:
        return Group(_across(rows, names, outcome), _legend(rows, [], outcome))
    table = Table(title=outcome.study.question, pad_edge=False, padding=(0, 1, 0, 0), box=SIMPLE_HEAD)
    for name in chosen:
        is_text = isinstance(rows[0][name], str)
        table.add_column(name.replace("_", "\n", 1), justify="left" if is_text else "right")
    for row in rows:
        table.add_row(*(cell(row, name).replace(" [", "\n[") for name in chosen))
    return Group(table, _legend(rows, chosen, outcome))


def _across(rows: Sequence[Row], names: Sequence[str], outcome: Outcome) -> Table:
    """A column for each of a few rows, and the meaning of the values beside them."""
    key, *others = names
    table = Table(title=outcome.study.question, pad_edge=False, padding=(0, 1, 0, 0), box=SIMPLE_HEAD)
    for heading in (key, *(cell(row, key) for row in rows), "what it is"):
        table.add_column(heading.replace("_", " "))
    for name in others:
        table.add_row(name.replace("_", " "), *(cell(row, name) for row in rows), outcome.study.columns[name])
    return table


def _legend(rows: Sequence[Row], told: Sequence[str], outcome: Outcome) -> Text:
    columns = outcome.study.columns
    lines = [f"{name}: {columns[name]}" for name in told]
    for name in columns:
        if len(rows) > 1 and len({row[name] for row in rows}) == 1:
            lines.append(f"{name}: {cell(rows[0], name)}, {columns[name]}")
    lines.append(seeds_in_words(outcome))
    for claim in outcome.claims():
        verdict = "as said" if claim.holds else "NOT as said"
        lines.append(f"{verdict} ({claim.source}): {claim.says}; here {claim.ours}")
    return Text("\n".join(lines))


def as_csv(outcome: Outcome) -> str:
    """All rows of the summary, with columns `NAME low` and `NAME high` beside each that was measured."""
    rows = outcome.summary()
    buffer = StringIO()
    writer = csv.DictWriter(
        buffer, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Everything, to make it all again: parameters, seeds, version, every row of every run."""
    return {
        "study": outcome.study.name,
        "source": outcome.study.source,
        "version": version("tianmesh"),
        "parameters": msgspec.to_builtins(outcome.parameters),
        "seeds": list(outcome.seeds),
        "columns": outcome.study.columns,
        "summary": outcome.summary(),
        "runs": [list(run) for run in outcome.runs],
        "in_words": outcome.study.in_words(outcome),
        "claims": [msgspec.to_builtins(claim) for claim in outcome.claims()],
    }


def _short(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
