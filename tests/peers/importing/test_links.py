"""What a controller makes of links of imported pages, and of the news that one is stored."""

from __future__ import annotations

from peers.crawler.model.wire_messages import FoundLink, LinksAccepted, LinksFound, LinkUse
from peers.storage.messages import LinkTextsChanged
from tests.peers.crawler.desk import ORIGIN, Desk

PAGE, OTHER = f"{ORIGIN}/page", f"{ORIGIN}/other"


def told(desk: Desk, *links: FoundLink) -> list[object]:
    """Hand links in as the importer does; return what the controller says to it."""
    desk.n_seeds += 1
    sends = desk.tell(LinksFound(desk.n_seeds, links), "importer")
    return [send.message for send in sends if send.target.actor == "importer"]


def test_a_page_that_is_stored_is_not_queued() -> None:
    desk = Desk()
    assert told(desk, FoundLink(PAGE, use=LinkUse.STORED)) == [LinksAccepted(1)]
    assert desk.state_of(PAGE) == "D200"
    desk.seed(PAGE)
    assert desk.state_of(PAGE) == "D200"
    assert desk.controller.observe().queued == 0


def test_a_page_that_was_queued_is_so_no_more_when_it_is_stored() -> None:
    desk = Desk()
    desk.seed(PAGE)
    assert desk.controller.observe().queued == 1
    told(desk, FoundLink(PAGE, use=LinkUse.STORED))
    assert (desk.state_of(PAGE), desk.controller.observe().queued) == ("D200", 0)


def test_the_text_of_a_link_is_kept_and_its_target_is_not_queued() -> None:
    desk = Desk()
    told(desk, FoundLink(OTHER, "words", use=LinkUse.TEXT))
    assert desk.state_of(OTHER) is None
    assert desk.anchors_of(OTHER) == ("words",)


def test_link_texts_go_to_the_index_together_when_no_more_pages_come() -> None:
    desk = Desk()

    def texts_given(after_s: float) -> list[tuple[str, ...]]:
        told = [each.message for each in desk.wake(after_s) if isinstance(each.message, LinkTextsChanged)]
        return [desk.anchors_of(message.url) for message in told]

    told(desk, FoundLink(OTHER, use=LinkUse.STORED), FoundLink(OTHER, "one", use=LinkUse.TEXT))
    assert texts_given(0.1) == [("one",)]  # the first at once, the next ones at their interval
    for text in ("two", "three"):
        told(desk, FoundLink(PAGE, use=LinkUse.STORED), FoundLink(OTHER, text, use=LinkUse.TEXT))
        assert texts_given(0.1) == []
    assert texts_given(2.0) == [("one", "three", "two")]
