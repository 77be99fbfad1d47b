"""The stores that are used and judged in runs with faults, in one table, and the policy that has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from peers.policy.rules import EVERYTHING, Policy
from simulations.faults.stores.directories import DirectoryUse
from simulations.faults.stores.hub_lists import HubUse
from simulations.faults.stores.links import GraphUse
from simulations.faults.stores.notices import WatchUse
from simulations.faults.stores.page_classes import ClassUse
from simulations.faults.stores.past import PastUse
from simulations.faults.stores.ranks import RankUse
from simulations.faults.stores.sealed_rows import EntityUse
from simulations.faults.stores.searches import LogUse
from simulations.faults.stores.store_use import StoreUse
from simulations.faults.stores.submitter import Submitter
from simulations.faults.stores.taken_down import TakeDownUse
from simulations.faults.stores.topic_visits import TopicUse

SITES: Final[tuple[type[StoreUse], ...]] = (Submitter, GraphUse, PastUse)
ALL: Final[tuple[type[StoreUse], ...]] = (
    Submitter,
    RankUse,
    PastUse,
    LogUse,
    EntityUse,
    TopicUse,
    TakeDownUse,
    ClassUse,
    WatchUse,
    DirectoryUse,
    HubUse,
)


def policy_of(uses: Iterable[StoreUse]) -> Policy:
    """Return the policy that has everything crawled, and all that these are of switched on."""
    switches: dict[str, Any] = {}
    rules = EVERYTHING.rules
    for use in uses:
        switches |= use.switches
        rules = (*use.rules(), *rules)
    return Policy(rules=rules, **switches)
