"""The rule by which peers take more or fewer of the slots, by the lengths of the peers' queues.

Every peer hears the others' queue lengths with their pings and writes only its own weight. The rule is the
thesis's: nothing moves while the longest queue is below a threshold N; with K the ratio of the longest
to the shortest and K > a, the part f = 1/2 - 1/(2K) of what the longest has goes to the shortest, after
which both have about the same (K = 1 moves nothing, K of infinity half).

So that one move is over, and has shown what it does, before the next begins, a peer changes its weight
only when no other move is under way, and not again for a while. The longest and the shortest act at their own
time, in any order: a serving weight keeps the value from before until the slots have moved, so the second
one reckons with the same shares as the first.

A peer returns to the weight that a person gave it when all queues are very short, and much more slowly: a
peer that was too slow for its share will be so again.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from mesh.slot_ranking import WEIGHT_MAX

RETURN_PART: Final = 4  # of the way back to the wanted weight is gone at a time: one in so many parts,
RETURN_INTERVALS: Final = 30  # so many intervals after the last change of weight,
RETURN_SHARE: Final = 4  # while all queues are below this part of the threshold


class BalanceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When and how soon slots follow the queues."""

    is_enabled: bool = True  # whether the weight of this peer follows its queue
    # N: nothing moves while the longest queue has fewer URLs; minutes of work.
    threshold: Annotated[int, Meta(ge=1)] = 5_000
    # a: slots move when the longest queue is so many times the shortest. The rate at which URLs come moves
    # with them, so a smaller ratio overshoots and comes back.
    ratio: Annotated[float, Meta(gt=1)] = 3.5
    interval_s: Annotated[float, Meta(gt=0)] = 60.0  # between two changes of this peer's weight
    # A weight stays within this factor of the one given, up and down.
    stretch_max: Annotated[float, Meta(ge=1)] = 2.0
    # Cost of carrying a page, as a part of fetching one: 46 MB/s moved with the index, beside 3 MB/s crawled,
    # and the receiver crawls on meanwhile.
    page_cost: Annotated[float, Meta(ge=0)] = 0.1


class MemberLoad(NamedTuple):
    """The weights, the queue and the pages of a member, as it tells them."""

    weight: int
    serving: int  # its weight before the move that is under way, or the same
    queue: int | None  # None when it has not been heard
    pages: int = 0  # that it keeps as the owner of their slots


def fraction_to_move(longest: int, shortest: int) -> float:
    """f = 1/2 - 1/(2K), K = longest / shortest. Source: the thesis's dynamic load balance."""
    return 0.5 - 0.5 * shortest / longest if longest > shortest else 0.0


def weight_for(
    me: str,
    wanted: int,
    shares: Mapping[str, MemberLoad],
    settings: BalanceSettings,
    *,
    unchanged_s: float,
    empty_s: float = 0.0,
) -> int:
    """The weight that `me` should have now, mostly the one it has.

    Args:
      wanted: the weight that a person gave it.
      shares: all live members, `me` included.
      unchanged_s: time since `me` changed its weight by this rule, inf for never.
      empty_s: for so long has no queue had anything in it.
    """
    own = shares[me]
    queues = {peer: share.queue for peer, share in shares.items() if share.weight and share.queue is not None}
    moving = {peer for peer, share in shares.items() if share.weight != share.serving}
    is_settled = me not in moving and unchanged_s >= settings.interval_s
    if not settings.is_enabled or not wanted or me not in queues or not is_settled:
        return own.weight
    longest = max(queues, key=lambda peer: (queues[peer], peer))
    shortest = min(queues, key=lambda peer: (queues[peer], peer))
    if queues[longest] < settings.threshold:
        if empty_s >= settings.interval_s:
            return wanted
        is_quiet = RETURN_SHARE * queues[longest] < settings.threshold and not moving
        may_return = is_quiet and unchanged_s >= RETURN_INTERVALS * settings.interval_s
        return _nearer(own.weight, wanted) if may_return else own.weight
    is_balanced = queues[longest] <= settings.ratio * queues[shortest]
    is_worth_it = queues[longest] >= settings.page_cost * shares[longest].pages
    if is_balanced or not is_worth_it or me not in (longest, shortest) or moving - {longest, shortest}:
        return own.weight
    fraction = fraction_to_move(queues[longest], queues[shortest])
    # What the longest had before, if it has given its part already.
    moved = fraction * max(shares[longest].weight, shares[longest].serving)
    weight = own.weight - moved if me == longest else own.weight + moved
    return _bounded(weight, wanted, settings.stretch_max)


def _nearer(weight: int, wanted: int) -> int:
    """A step back towards the wanted weight, all of it when little is left."""
    step = (wanted - weight) / RETURN_PART
    return wanted if abs(step) * 8 < wanted else round(weight + step)


def _bounded(weight: float, wanted: int, stretch_max: float) -> int:
    most = min(floor(stretch_max * wanted), WEIGHT_MAX)
    return max(ceil(wanted / stretch_max), min(round(weight), most))
