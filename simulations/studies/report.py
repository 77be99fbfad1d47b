"""One HTML page with all experiments: figures, tables, the claims of the sources beside our results. [io]

The page needs nothing else: figures are SVG inside it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from importlib.metadata import version

import msgspec

from simulations.outcomes.figures import figure_of
from simulations.outcomes.study import Outcome, Row
from simulations.outcomes.tables import cell, seeds_in_words, shown_columns

STYLE = """
body{font:16px/1.5 Georgia,serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}
h1,h2{font-weight:normal;line-height:1.2}h2{margin-top:3rem;border-top:1px solid #999;padding-top:1rem}
figure{margin:1rem 0}figure svg{max-width:100%;height:auto}figcaption,small,dl{font-size:.85rem;color:#444}
table{border-collapse:collapse;font-size:.85rem;display:block;overflow-x:auto;margin:1rem 0}
th,td{padding:.2rem .6rem;border-bottom:1px solid #ccc;text-align:right;vertical-align:top}
th.text,td.text{text-align:left}dt{font-weight:bold;float:left;clear:left;margin-right:.5rem}
"""


def report(outcomes: Sequence[Outcome]) -> str:
    """Write the page."""
    held = [claim.holds for outcome in outcomes for claim in outcome.claims()]
    made = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    parts = [
        "<!doctype html>",
        f'<html lang="en"><meta charset="utf-8"><title>Simulations</title><style>{STYLE}</style>',
        "<h1>Simulations of a mesh</h1>",
        f"<p>tianmesh {version('tianmesh')}, {made}.",
        f"{sum(held)} of {len(held)} statements of the sources hold here.</p>",
        "<ul>",
        *(
            f'<li><a href="#{o.study.name}">{o.study.name}</a>: {escape(o.study.question)}</li>'
            for o in outcomes
        ),
        "</ul>",
        *(_section(outcome) for outcome in outcomes),
        "</html>",
    ]
    return "\n".join(parts)


def _section(outcome: Outcome) -> str:
    study = outcome.study
    svg = figure_of(outcome, "svg").decode()
    rows = outcome.headline()
    names = shown_columns(rows, outcome)
    parameters = msgspec.to_builtins(outcome.parameters)
    words = study.in_words(outcome)
    return "\n".join(
        [
            f'<h2 id="{study.name}">{study.name}: {escape(study.question)}</h2>',
            f"<p>{escape(words)}</p>" if words else "",
            f"<figure>{svg[svg.index('<svg') :]}<figcaption>{escape(study.caption)}</figcaption></figure>",
            _claims(outcome),
            _table(rows, names),
            f"<dl>{''.join(f'<dt>{name}</dt><dd>{escape(study.columns[name])}</dd>' for name in names)}</dl>",
            f"<p><small>Source: {escape(study.source)}; {seeds_in_words(outcome)}. Parameters: "
            + escape(", ".join(f"{name} = {value}" for name, value in parameters.items() if value != ""))
            + ".</small></p>",
        ]
    )


def _claims(outcome: Outcome) -> str:
    rows: list[Row] = [
        {"source": each.source, "says": each.says, "here": each.ours, "holds": "yes" if each.holds else "no"}
        for each in outcome.claims()
    ]
    return _table(rows, list(rows[0])) if rows else ""


def _table(rows: Sequence[Row], names: Sequence[str]) -> str:
    kinds = {name: ' class="text"' if isinstance(rows[0][name], str) else "" for name in names}
    head = "".join(f"<th{kinds[name]}>{escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(f'<td{kinds[name]}>{escape(cell(row, name))}</td>' for name in names)}</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
