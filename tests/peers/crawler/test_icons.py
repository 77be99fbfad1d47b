"""The icon of a site on its way from the entrance that names it into the archive."""

from __future__ import annotations

import pytest

from peers.crawler.ancestors import with_ancestors
from peers.crawler.model.messages import PageParsed, ParseFailed, ParsePage
from peers.crawler.model.politeness import HostRecord, is_left_to_representative
from peers.crawler.model.url_rows import ICON_HOPS
from peers.crawler.model.web_request import FailureReason, FetchPage
from peers.crawler.model.wire_messages import FoundLink
from peers.crawler.parsing.extraction import extract, extract_again
from peers.documents.icon_image import ICON_BYTES_MAX
from peers.storage.messages import ParseRecords, StorePage
from tests.helpers import fetched, redirect
from tests.peers.crawler.desk import HOME, ORIGIN, Desk, asked, of_kind
from tests.peers.documents.icons import icon

ICON = f"{ORIGIN}/static/icon.png"
PNG = (("Content-Type", "image/png"),)
NAMED = FoundLink(ICON, hops=ICON_HOPS)


def named(head: str, url: str = HOME, **headers: str) -> list[str]:
    """Return the icons that a page has its crawler ask for."""
    told = (
        ("Content-Type", "text/html"),
        *((name.replace("_", "-"), text) for name, text in headers.items()),
    )
    body = f"<!doctype html><title>t</title>{head}<body><p>Some text <a href=/next>next</a>"
    parsed = extract(fetched(url, body=body.encode(), headers=told), 1)
    assert isinstance(parsed, PageParsed)
    again = (
        extract_again(ParseRecords(url, parsed.document.stamp, parsed.records)) if parsed.document else None
    )
    icons = [link.url for link in parsed.links if link.hops == ICON_HOPS]
    assert again is None or again.is_barred or icons == list(filter(None, [again.icon]))
    return icons


@pytest.mark.parametrize(
    ("head", "url"),
    [
        ('<link rel=icon href="/static/icon.png">', ICON),
        ('<link rel="shortcut icon" href=static/icon.png#x>', ICON),
        ('<base href="/static/"><LINK REL="ICON" HREF="icon.png">', ICON),
        (
            '<link rel=icon href=a.svg><link rel=icon href="data:image/png;base64,a"><link rel=icon href=b>',
            "b",
        ),
        ("<link rel=icon href=1.ico><link rel=icon href=2.ico>", "1.ico"),
        ("<link rel=icon href=http://images.a.test/icon>", "http://images.a.test/icon"),
    ],
)
def test_an_entrance_names_the_first_icon_of_its_domain_that_is_no_drawing(head: str, url: str) -> None:
    assert named(head) == [url if "://" in url else HOME + url]


@pytest.mark.parametrize(
    "head",
    [
        "",
        "<link rel=apple-touch-icon href=a.png><link rel=icons href=b.png><link rel=icon href=''>",
        "<link rel=icon href=http://other.test/icon.png>",
        "<link rel=icon href=/>",
        "<body><link rel=icon href=a.png>",
        "<noscript><link rel=icon href=a.png></noscript>",
        "<link rel=icon href=a.png><meta name=robots content=nofollow>",
        "<link rel=icon href=a.png><meta name=robots content=noarchive>",
        "<link rel=icon href=" + 3_000 * "a" + ">",
    ],
)
def test_a_page_without_an_icon_of_its_own_that_may_be_shown_names_none(head: str) -> None:
    assert named(head) == []


def test_pages_below_the_entrance_name_none_and_cost_nothing() -> None:
    head = "<link rel=icon href=/static/icon.png>"
    assert [named(head, HOME + path) for path in ("a", "a/", "?a", "static/icon.png")] == [[], [], [], []]


def test_what_a_header_forbids_is_not_asked_for() -> None:
    assert named("<link rel=icon href=/a.png>", X_Robots_Tag="noarchive") == []


def test_no_folders_are_guessed_above_an_icon() -> None:
    assert list(with_ancestors([NAMED])) == [NAMED]


def with_icon_asked() -> tuple[Desk, FetchPage]:
    desk = Desk(guesses_ancestors=True).with_home_asked()
    desk.store(HOME, NAMED)
    desk.wake(0.1)
    assert desk.wake(1.0) == []  # its host has its pause
    [question] = of_kind(desk.wake(2.0), FetchPage)
    assert question.url == ICON
    return desk, question


def test_an_icon_is_asked_for_in_its_turn_as_a_small_image_and_kept_without_a_document() -> None:
    desk, question = with_icon_asked()
    assert set(question.media_types) >= {"image/png", "image/x-icon"}
    assert not any(each.startswith(("text/", "image/svg")) for each in question.media_types)
    assert question.beginning_bytes == ICON_BYTES_MAX + 1
    answer = fetched(ICON, body=icon(), headers=PNG)
    [order] = of_kind(desk.tell(answer), ParsePage)
    parsed = extract(order.page, order.visit)
    assert isinstance(parsed, PageParsed)
    [kept] = of_kind(desk.tell(parsed, "parser"), StorePage)
    assert (kept.page.url, kept.page.document, kept.page.status) == (ICON, None, 200)
    assert kept.page.records


def test_an_icon_is_asked_for_only_as_its_robots_txt_allows() -> None:
    desk = Desk()
    desk.seed(HOME)
    assert asked(desk.allow(robots=b"User-agent: *\nDisallow: /static/")) == [HOME]
    desk.store(HOME, NAMED)
    assert asked(desk.wake(2.0)) == asked(desk.wake(2.0)) == []
    assert desk.state_of(ICON) == "Xrobots"


def test_an_icon_leads_nowhere() -> None:
    desk, _ = with_icon_asked()
    desk.tell(redirect(ICON, f"{ORIGIN}/other.png"))
    assert asked(desk.wake(2.0)) == []
    assert desk.state_of(ICON) == f"F{FailureReason.TOO_MANY_REDIRECTS}"


def test_a_link_of_strangers_does_not_make_a_page_of_an_ico_file() -> None:
    desk = Desk().with_home_asked()
    file = f"{ORIGIN}/favicon.ico"
    desk.seed(file, depth=3)
    desk.store(HOME, FoundLink(file, hops=ICON_HOPS))
    [question] = of_kind(desk.wake(2.0), FetchPage)
    assert question.url == file
    assert "text/html" not in question.media_types
    assert "image/x-icon" in question.media_types


def test_an_icon_of_an_alias_is_left_to_its_representative_as_a_page_is() -> None:
    host = HostRecord("a.test", alias_of="b.test")
    left = [
        is_left_to_representative(host, f"{ORIGIN}/{name}", 1, hops)
        for hops in (0, ICON_HOPS, 1)
        for name in range(50)
    ]
    assert left[:50] == left[50:100]
    assert any(left[:50])
    assert not any(left[100:])


def test_a_page_that_is_named_as_an_icon_and_linked_to_is_a_page() -> None:
    desk = Desk().with_home_asked()
    desk.store(HOME, FoundLink(f"{ORIGIN}/page"), FoundLink(f"{ORIGIN}/page", hops=ICON_HOPS))
    [question] = of_kind(desk.wake(2.0), FetchPage)
    assert "text/html" in question.media_types


@pytest.mark.parametrize(
    ("body", "is_whole", "reason"),
    [
        (b"<svg/>", True, FailureReason.NOT_HTML),
        (icon("PNG", (2_000, 2_000)), True, FailureReason.NOT_HTML),
        (icon() + bytes(ICON_BYTES_MAX), False, FailureReason.BODY_TOO_LARGE),
    ],
)
def test_what_is_no_small_image_is_not_kept(body: bytes, is_whole: bool, reason: FailureReason) -> None:
    answer = fetched(ICON, body=body, headers=PNG, is_whole=is_whole)
    assert extract(answer, 1) == ParseFailed(ICON, reason)
