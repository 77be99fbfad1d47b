"""When a page is visited again, by policies that have names. Pure.

A visit finds something (`Finding`); what all visits of a page have found is remembered in its row
(`visit_memory`); a policy says for how long to wait then. All of them are functions of one shape, over that
memory, the finding, the time and the settings, and none knows of another:

    fixed     the same interval for every page (Spider's cycle)
    optimal   where a visit adds most to the time that pages are fresh (Cho and Garcia-Molina 2003), for the
              rate that their estimator finds: -log((n - X + few) / (n + few)) / t, for n visits, of which X
              have found a change, t apart in the mean. A page that changes once per `revisit_after_s` is
              visited as often, slower ones more often than they change, and what has changed at every visit
              less and less

Others are in the model `simulations.model.freshness`, which compares them: for the same visits they keep .69
to .90 of the pages fresh that `fixed` does, `optimal` .97 to 1.04.

A site may say itself that a page has changed, by the `lastmod` of its sitemaps or to a gateway: then it is
due at once, unless it was visited since, or a moment ago (`made_due`).

What has gone (404, 410) is shown until it was missed by so many visits and for so long (`is_given_up`), and
what cannot be had for other reasons for much longer. The same goes for a whole host (`politeness.is_lost`):
its pages leave together then, and are due at once, whenever it comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from math import e, exp, inf, log, nextafter
from typing import Final, NamedTuple, TypeAlias

from peers.crawler.model.settings import CrawlSettings, Revisit
from peers.crawler.model.url_rows import Conclusion, UrlRow, concluded, due_at
from peers.crawler.model.visit_memory import NOTHING, VisitMemory, whole_s, with_check, with_miss

TOLD_PAUSE_S: Final = 60.0  # from a visit to the next, however often a site says that the page has changed
STRETCH_MAX: Final = 2.0  # of an interval from one to the next: a page that was seen twice may change yet
# In place of 0.5 in the estimator: after three visits that all found a change a page counts as one that
# changes all the time. With 0.5 that takes twenty, and pages that are to be given up cost most of all visits.
SURE: Final = 0.05
OPTIMAL_WORTH: Final = 1.0 - 2.0 / e  # x = 1: as often as it changes
_HALVINGS: Final = 30


class Finding(Enum):
    """The state of a page that a visit has shown, such as changed or gone."""

    FIRST = auto()  # it is there, and nothing is known to compare it with
    SAME = auto()
    CHANGED = auto()
    MISSED = auto()  # it is shown to searchers, and its server says that there is none
    UNANSWERED = auto()  # it is shown, and there was no answer, or one that may pass
    GONE = auto()  # there is none, and none is shown any more
    LOST = auto()  # its host has not answered for so long that it is shown no more
    NOTHING = auto()  # it was not asked for, or is no page, or has never been there


Policy: TypeAlias = Callable[[VisitMemory, Finding, float, CrawlSettings], float]


def concluded_by(
    settings: CrawlSettings, outcome: str, before: UrlRow | None, finding: Finding, now: float, text: int = 0
) -> Conclusion:
    """Conclude a visit, and have the next one when the policy of these settings wants it.

    Args:
      before: the row of the URL before the visit; None of one that was never visited.
      text: what is remembered of the text of the page, see `visit_memory`; 0 when it was not seen.
    """
    memory = _remembered(memory_of(before), finding, now)
    if text:
        memory = memory._replace(text=text)
    after_s = POLICIES[settings.revisit](memory, finding, now, settings)
    memory = memory._replace(interval_s=0 if after_s == inf else whole_s(after_s))
    due_s = 0.0 if finding is Finding.LOST else min(after_s, _grace(finding, settings).pause_s)
    return concluded(outcome, now, due_s, memory)


def finding_of(before: UrlRow | None, digest: bytes, text: int) -> Finding:
    """Tell whether a page that was seen is unchanged: by its text if that is known, else by its body.

    Args:
      before: its row before the visit; None if it was never visited.
    """
    if before is None or not before.is_stored:
        return Finding.FIRST
    if text and before.memory.text:
        return Finding.SAME if text == before.memory.text else Finding.CHANGED
    return Finding.SAME if digest == before.digest else Finding.CHANGED


def is_given_up(before: UrlRow | None, finding: Finding, now: float, settings: CrawlSettings) -> bool:
    """Tell whether a page that is shown, and was missed or unanswered now, is to be shown no more.

    Args:
      before: its row before this visit.
    """
    memory, grace = with_miss(memory_of(before), now), _grace(finding, settings)
    return memory.misses >= grace.visits and now - memory.missed_s >= grace.for_s


def made_due(row: UrlRow, changed_s: float, now: float, visitor: int) -> UrlRow | None:
    """Have a page visited at once that is said to have changed; None when there is no reason.

    Args:
      changed_s: when, as it is said; what is yet to come is not believed.
      visitor: as for `due_now`.
    """
    was_seen_since = changed_s <= row.visited_s or row.visited_s + TOLD_PAUSE_S > now
    if row.visit == 0 or row.outcome[0] == "X" or changed_s > now or was_seen_since or row.due_s <= now:
        return None
    return due_now(row, now, visitor)


def sooner_due(row: UrlRow, now: float, visitor: int, settings: CrawlSettings) -> UrlRow | None:
    """Have a page that searchers ask for visited after half of its interval; None when it is as soon due.

    Args:
      visitor: as for `due_now`.
    """
    after_s = max(row.memory.interval_s / 2, settings.revisit_min_s)
    due_s = due_at(max(row.visited_s + after_s, now))
    if not row.is_stored or not row.memory.interval_s or row.due_s <= due_s:
        return None
    return due_now(row, now, visitor)._replace(due_s=due_s)


def due_now(row: UrlRow, now: float, visitor: int) -> UrlRow:
    """Return a row that is due at once, and wins over the old row: as if its visit were a bit later.

    Args:
      visitor: `visitor_tag` of the peer that wants it.
    """
    return row._replace(due_s=due_at(now), visited_s=nextafter(row.visited_s, inf), visitor=visitor)


def is_out_of_turn(row: UrlRow) -> bool:
    """Tell whether a page is due sooner than its policy wants."""
    return row.memory.interval_s > 0 and row.due_s + 1.0 < row.visited_s + row.memory.interval_s


def memory_of(row: UrlRow | None) -> VisitMemory:
    return NOTHING if row is None else row.memory


class _Grace(NamedTuple):
    """How often in a row, and for how long, a page has to be missed."""

    visits: int
    for_s: float

    @property
    def pause_s(self) -> float:
        """After how long it is looked for again, so that it can be given up in time."""
        return self.for_s / (self.visits - 1) if self.visits > 1 else inf


def _grace(finding: Finding, settings: CrawlSettings) -> _Grace:
    match finding:
        case Finding.MISSED:
            return _Grace(settings.gone_visits, settings.gone_after_s)
        case Finding.UNANSWERED:
            return _Grace(settings.lost_visits, settings.lost_after_s)
        case _:
            return _Grace(1, 0.0)


def _remembered(memory: VisitMemory, finding: Finding, now: float) -> VisitMemory:
    match finding:
        case Finding.FIRST:
            return memory._replace(checked_s=whole_s(now), misses=0, missed_s=0)
        case Finding.SAME | Finding.CHANGED:
            return with_check(memory, now, is_changed=finding is Finding.CHANGED)
        case Finding.MISSED | Finding.UNANSWERED:
            return with_miss(memory, now)
        case Finding.GONE | Finding.LOST:
            return memory._replace(misses=0, missed_s=0)
        case Finding.NOTHING:
            return memory


def _fixed(memory: VisitMemory, finding: Finding, now: float, settings: CrawlSettings) -> float:
    return settings.revisit_after_s


def _optimal(memory: VisitMemory, finding: Finding, now: float, settings: CrawlSettings) -> float:
    last_s = _last_s(memory, settings)
    if not memory.checks or not memory.span_s or settings.revisit_after_s == inf:
        return _clamped(last_s, settings)
    n = memory.checks
    rate = -log((n - memory.changes + SURE) / (n + SURE)) * n / memory.span_s
    wanted_s = changes_between(OPTIMAL_WORTH * settings.revisit_after_s * rate) / rate if rate else inf
    return _clamped(min(STRETCH_MAX * last_s, wanted_s), settings)


def changes_between(worth: float) -> float:
    """Return after how many changes a page is to be visited: x of 1 - e^-x (1 + x) = worth; inf for never.

    Args:
      worth: what a visit has to add to the time that pages are fresh, times the rate of the page.
    """
    if worth >= 1.0:
        return inf
    least, most = 0.0, 1.0
    while 1.0 - exp(-most) * (1.0 + most) < worth:
        least, most = most, 2.0 * most
    for _ in range(_HALVINGS):
        middle = (least + most) / 2.0
        if 1.0 - exp(-middle) * (1.0 + middle) < worth:
            least = middle
        else:
            most = middle
    return most


def _last_s(memory: VisitMemory, settings: CrawlSettings) -> float:
    return memory.interval_s or settings.revisit_after_s


def _clamped(interval_s: float, settings: CrawlSettings) -> float:
    """Keep an interval between the least and the longest; but never, where pages are visited once."""
    if settings.revisit_after_s == inf:
        return inf
    return min(max(interval_s, settings.revisit_min_s), settings.revisit_max_s)


POLICIES: Final[dict[Revisit, Policy]] = {Revisit.FIXED: _fixed, Revisit.OPTIMAL: _optimal}
