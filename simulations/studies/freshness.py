"""How fresh are pages, by each policy of visiting again, for each budget of visits?

Pages change as in the model of `simulations.model.freshness`; two of the policies are those of the peers, and
what they make of a budget is held against what is possible for rates of change that are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from mesh.errors import ConfigError
from simulations.model.freshness import Visiting, compare
from simulations.outcomes.figures import lines, measure, name_axes
from simulations.outcomes.study import Claim, Outcome, Parameters, Row, Study, amounts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHO_2000: Final = "Cho and Garcia-Molina 2000, the evolution of the web"
CHO_2003: Final = "Cho and Garcia-Molina 2003, effective page refresh policies"


class FreshnessParameters(Parameters, frozen=True, kw_only=True):
    """Pages that change as those of the year 2000 did, and the budgets of visits."""

    pages: Annotated[int, Meta(ge=1_000, le=100_000_000, description="Pages that change.")] = 20_000
    days: Annotated[
        int, Meta(ge=10, le=100_000, description="How long; what is measured is the second half.")
    ] = 720
    periods: Annotated[
        str, Meta(description="Budgets by comma: days in which there are as many visits as pages.")
    ] = "7,15,30,60,120"
    policies: Annotated[str, Meta(description="Policies of visiting again, by comma.")] = ",".join(Visiting)


def run(parameters: FreshnessParameters, seed: int) -> list[Row]:
    """A row for each budget and policy."""
    policies = _policies(parameters.policies)
    rows = []
    for period in amounts(parameters.periods, "--periods", least=1.0, most=100_000.0):
        result = compare(policies, parameters.pages, parameters.days, period, seed)
        for each in result.policies:
            rows.append(
                {
                    "policy": each.policy,
                    "period_days": period,
                    "freshness": each.freshness,
                    "optimum": result.optimum,
                    "beside_fixed": each.beside_fixed,
                    "age_days": each.age_days,
                    "spent": each.visits_per_page * period,
                    "changed_50d": result.changed_in_50_days,
                }
            )
    return rows


def _policies(text: str) -> list[Visiting]:
    wanted = text.split(",")
    if not set(wanted) <= set(Visiting):
        raise ConfigError(f"--policies are {', '.join(Visiting)} with commas between; not {text!r}")
    return [Visiting(name) for name in dict.fromkeys(wanted)]


def draw(figure: Figure, outcome: Outcome) -> None:
    left, right = figure.subplots(1, 2)
    rows = outcome.summary()
    shares = [{**row, **measure(row, "freshness", "share", 100)} for row in rows]
    lines(left, shares, "policy", "period_days", "share")
    possible = {row["period_days"]: 100 * row["optimum"] for row in rows}
    left.plot(
        list(possible),
        list(possible.values()),
        color="0.5",
        linestyle=":",
        linewidth=3,
        label="possible, rates known",
    )
    left.set_ylim(bottom=0)
    lines(right, rows, "policy", "period_days", "age_days")
    right.set_yscale("log")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(list(possible), [f"{period:g}" for period in possible])
        axes.minorticks_off()
    budget = "budget: days for as many visits as pages"
    name_axes(left, "Pages that are as on the web", budget, "% of pages")
    name_axes(right, "Age of the copies, mean of all pages", budget, "days since a change")


def claims(outcome: Outcome) -> Iterable[Claim]:
    rows = {(row["policy"], row["period_days"]): row for row in outcome.summary()}
    periods = sorted({period for _, period in rows})
    days = ", ".join(f"{period:g}" for period in periods)
    changed = next(iter(rows.values()))["changed_50d"]
    yield Claim(CHO_2000, "half of the pages change in 50 days", f"{changed:.0%}", abs(changed - 0.5) < 0.05)
    fixed, cho, optimal = (
        [rows[policy, period]["freshness"] for period in periods] if (policy, periods[0]) in rows else []
        for policy in (Visiting.FIXED, Visiting.CHO, Visiting.OPTIMAL)
    )
    if fixed and cho:
        fresher = [
            outcome.paired("freshness", _of(Visiting.FIXED, period), _of(Visiting.CHO, period))
            for period in periods
        ]
        yield Claim(
            CHO_2003,
            "all pages alike is fresher than each as often as it changes, whatever the rates",
            f"budgets of {days} days: {_shares(fixed)}; as often as they change {_shares(cho)}; seed by seed "
            f"fresher by {', '.join(map(str, fresher))}",
            all(each.is_above for each in fresher),
        )
    if fixed:
        possible = [rows[Visiting.FIXED, period]["optimum"] for period in periods]
        learned = f"; where rates are learned, {_shares(optimal)}" if optimal else ""
        yield Claim(
            CHO_2003,
            "who knows the rates and gives up what changes too fast is fresher than who visits all alike",
            f"budgets of {days} days: possible {_shares(possible)}, all alike {_shares(fixed)}{learned}",
            all(a > b for a, b in zip(possible, fixed, strict=True)),
        )


def _of(policy: Visiting, period: float) -> Row:
    return {"policy": policy, "period_days": period}


def _shares(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.1%}" for value in values)


STUDY: Final = Study(
    name="freshness",
    question="How fresh are pages, by each policy of visiting again, for each budget of visits?",
    source=f"{CHO_2000}; {CHO_2003}",
    parameters=FreshnessParameters,
    run=run,
    keys=("policy", "period_days"),
    columns={
        "policy": "how it is decided when a page is visited again, as `crawl.revisit` has it, and others",
        "period_days": "the budget: in so many days there are as many visits as pages",
        "freshness": "pages that are as on the web, mean share",
        "optimum": "the most that is possible, for rates of change that are known",
        "beside_fixed": "freshness, as a multiple of that where all are visited alike, by its formula",
        "age_days": "days since a page has changed, 0 for those that are fresh, mean",
        "spent": "of the budget, share",
        "changed_50d": "pages that have changed after 50 days, share",
    },
    draw=draw,
    caption="Freshness and age against the budget, beside what is possible for rates that are known.",
    seeds=2,
    claims=claims,
)
