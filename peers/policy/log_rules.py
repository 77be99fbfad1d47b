"""The part of a policy about the mesh's own log of searches: how long it is kept, and queries forgotten.

Without it nothing is logged, and what was is deleted. A forgotten query is named by its digest, so that the
policy itself does not say what was searched for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

LOG_DAYS_MAX: Final = 3_650
FORGOTTEN_MAX: Final = 1_000  # queries; who wants more forgotten says before which day
DIGEST_BYTES: Final = 16
COMPARISON_BYTES: Final = 4  # of a digest of weights
# As much as being linked to by all the web has (`rescoring.model`): who pays clickers gets no more.
CLICK_WEIGHT_MAX: Final = 0.1
CLICK_GATEWAYS_MAX: Final = 10
RANKS_MAX: Final = 10  # of the first page of results
DAYS_AHEAD: Final = 1  # of a clock that is before ours at midnight
_EPOCH: Final = date(1970, 1, 1).toordinal()


class ForgottenQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A query of which nothing is kept that was logged up to a day."""

    digest: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$")]  # `query_digest`, in hexadecimal digits
    to: date  # the last day, UTC


Weight: TypeAlias = Annotated[float, Meta(ge=0, le=2)]


class SecondWeights(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """Weights of the features of the full model, `rescoring.model.ModelWeights`; None for those in force."""

    proximity: Weight | None = None
    title: Weight | None = None
    url: Weight | None = None
    coverage: Weight | None = None
    linking_hosts: Weight | None = None
    depth: Weight | None = None
    freshness: Weight | None = None
    newness: Weight | None = None

    @property
    def given(self) -> dict[str, float]:
        """Those that differ, by name."""
        return {name: weight for name, weight in msgspec.structs.asdict(self).items() if weight is not None}


class SecondRanking(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A ranking that is compared with the one in force, by the clicks of readers that have agreed to that."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,32}\Z")]
    weights: SecondWeights

    def __post_init__(self) -> None:
        if not self.weights.given:
            raise ValueError("a second ranking has no weights of its own: give one or more")

    @property
    def comparison(self) -> str:
        """The name under which clicks count: other weights are another comparison."""
        said = msgspec.json.encode(self.weights)
        return f"{self.name}.{blake2b(said, digest_size=COMPARISON_BYTES).hexdigest()}"


class QueryLogRules(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, dict=True
):
    """A log of searches is kept, for so long and without those that are to be forgotten."""

    days: Annotated[int, Meta(ge=1, le=LOG_DAYS_MAX)]  # today is the first
    clicks: bool = False  # links of results lead over the gateway, which notes them
    second: SecondRanking | None = None  # wants clicks
    # Of what readers open, in the rank, beside the features of the full model; wants clicks. 0 for none.
    click_weight: Annotated[float, Meta(ge=0, le=CLICK_WEIGHT_MAX)] = 0.0
    # Gateways whose readers have to open a page on a day before it has weight by that; none gives more than
    # one part in so many of it. 1 where there is one gateway, or all are believed.
    click_gateways: Annotated[int, Meta(ge=1, le=CLICK_GATEWAYS_MAX)] = 2
    # Shares of readers that look at each rank, as `tianmesh log clicks` estimates them; none: all look at it.
    examined: Annotated[tuple[Annotated[float, Meta(gt=0, le=1)], ...], Meta(max_length=RANKS_MAX)] = ()
    forgotten_to: date | None = None  # the last day of which nothing is kept, UTC
    forgotten: Annotated[tuple[ForgottenQuery, ...], Meta(max_length=FORGOTTEN_MAX)] = ()

    def __post_init__(self) -> None:
        if self.second is not None and not self.clicks:
            raise ValueError("a second ranking is compared by clicks: say clicks = true in [query_log]")
        if self.click_weight and not self.clicks:
            raise ValueError("click_weight wants clicks: say clicks = true in [query_log]")

    def keeps(self, digest: bytes, day: int, today: int) -> bool:
        """Is a row of a query kept?

        Args:
          digest: `query_digest`.
          day, today: since the epoch.
        """
        if not today - self.days < day <= today + DAYS_AHEAD:
            return False
        return day > self._all_to and day > self._forgotten_to.get(digest, -1)

    @cached_property
    def _all_to(self) -> int:
        return -1 if self.forgotten_to is None else day_number(self.forgotten_to)

    @cached_property
    def _forgotten_to(self) -> Mapping[bytes, int]:
        return {bytes.fromhex(each.digest): day_number(each.to) for each in self.forgotten}


def day_number(day: date) -> int:
    """Return the days from the epoch to a day."""
    return day.toordinal() - _EPOCH


def day_of(number: int) -> date:
    return date.fromordinal(number + _EPOCH)


def logged_text(query: str) -> str:
    """Return a query as the log has it: blanks do not tell two apart."""
    return " ".join(query.split())


def query_digest(text: str) -> bytes:
    """Return the name of a query in the log: BLAKE2b.

    Args:
      text: of `logged_text`.
    """
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()
