"""Runs with all stores that a policy switches on: they pass, and whatever goes wrong in a store is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mesh.actors.actor import Address, Message
from peers.crawler.model.web_request import PageFetched
from peers.crawler.pages_in_progress import PagesInProgress
from peers.entities.sealed_row import SealedRow
from peers.handover.item_store import Item
from peers.link_graph.page_ranks import PageRanks
from peers.link_graph.source_row import SourceRow
from peers.query_log.query_log import OwnQueryLog
from peers.query_log.wire_messages import ToldRow
from peers.storage.take_downs import TakeDowns
from peers.topics.topics import Topics
from peers.topics.wire_messages import ToldVisit
from simulations.faults.fault_run import FaultRun, run_faults
from simulations.faults.faults import plan_of
from simulations.faults.stores.all_uses import ALL
from simulations.faults.stores.log_use import LogUse

