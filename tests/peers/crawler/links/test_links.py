"""What a controller makes of links that other peers send."""

from __future__ import annotations

import pytest

from mesh.actors.actor import Address
from mesh.actors.conduct import CONDUCT, Misbehaved, Offence
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.slots import SlotTable
from peers.crawler.model.wire_messages import FoundLink, LinksFound, LinkUse
from tests.helpers import ME, SLOT_COUNT
from tests.peers.crawler.desk import OTHER, Desk

URL = "http://stored.example/page"


def mesh_in_which(importers: tuple[str, ...]) -> OwnershipChanged:
    table = SlotTable({ME: 100}, SLOT_COUNT, 1)
    return OwnershipChanged(Ownership(ME, table, (ME, OTHER), importers=importers))


@pytest.mark.parametrize(("importers", "state"), [((ME, OTHER), "D200"), ((ME,), "")])
def test_only_who_may_import_says_that_a_page_need_not_be_fetched(
    importers: tuple[str, ...], state: str
) -> None:
    desk = Desk()
    desk.tell(mesh_in_which(importers), "membership")
    desk.tell(LinksFound(1, (FoundLink(URL, use=LinkUse.STORED),)), "controller", OTHER)
    assert (desk.state_of(URL) == "D200") is bool(state)


def test_who_sends_links_that_are_none_is_reported() -> None:
    desk = Desk()
    sends = desk.tell(LinksFound(1, (FoundLink("HTTP://Stored.example"),)), "controller", OTHER)
    assert (Address(ME, CONDUCT), Misbehaved(OTHER, Offence.ODD_LINKS)) in sends
