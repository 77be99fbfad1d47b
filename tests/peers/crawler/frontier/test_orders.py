"""Orders of new pages: what each of them says of a link, and where a crawl goes by it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from mesh.tables.memory_table import MemoryTable
from peers.crawler.ancestors import ancestors_of, with_ancestors
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.items import Items, QueuedItem, decode_items, encode_items, locate
from peers.crawler.frontier.order_in_force import OrderInForce
from peers.crawler.frontier.orders import (
    BEHIND,
    LinkTarget,
    PageSeen,
    lane_of,
    onward,
    rank_of,
    weight_of_url,
)
from peers.crawler.frontier.relevance import GuideWords
from peers.crawler.model.course import UNLIMITED, Course, course_in
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.wire_messages import FoundLink, LinkUse
from peers.engine.pages.document import Document
from peers.policy.crawl_order import PLAIN, CrawlOrder, Order
from peers.policy.policy_file import read_policy, write_policy
from peers.policy.rules import Action, Policy, Rule
from peers.storage.messages import PageStored, StorePage
from tests.helpers import fetched, owned_by, parsed
from tests.peers.crawler.desk import HOME, ORIGIN, Desk, asked, of_kind
from tests.peers.crawler.frontiers import queue

GUIDE = ("climate", "气候")
WEIGHT, DEPTH = CrawlOrder(order=Order.WEIGHT), CrawlOrder(order=Order.DEPTH)
LAYERS = CrawlOrder(order=Order.LAYERS)
GUIDED = CrawlOrder(order=Order.WEIGHT, guide_words=GUIDE)
FISH = CrawlOrder(order=Order.FISH, guide_words=GUIDE, width=2, steps=1)
FOCUSED = CrawlOrder(order=Order.FOCUSED, guide_words=GUIDE, steps=1)


def rank(ordering: CrawlOrder, link: FoundLink, citations: int = 0) -> int:
    return rank_of(LinkTarget(link, citations), ordering, GuideWords(ordering.guide_words))


def followed(ordering: CrawlOrder, seen: PageSeen, *links: FoundLink) -> list[FoundLink]:
    found = onward(seen, links, ordering, GuideWords(ordering.guide_words))
    return [link for link in found if link.use is LinkUse.FETCH]


def seen(relevance: float = 0.0, course: Course | None = None) -> PageSeen:
    return PageSeen(course, relevance, relevance)


# --- What is relevant ---


@pytest.mark.parametrize(
    ("text", "is_more"),
    [
        ("the climate of today", True),
        ("CLIMATE", True),
        ("今天的气候变化", True),
        ("acclimated", False),
        ("weather", False),
        ("", False),
    ],
)
def test_guide_words_count_where_they_stand_as_words_and_in_han_anywhere(text: str, is_more: bool) -> None:
    assert (GuideWords(GUIDE).of_page(Document(HOME, text=text)) > 0.0) is is_more
    assert (GuideWords(GUIDE).of_link(f"{ORIGIN}/1", text) > 0.0) is is_more


def test_a_title_says_more_than_a_text_and_saying_it_often_no_more_than_thrice() -> None:
    guide = GuideWords(["climate"])
    once, often = (
        guide.of_page(Document(HOME, text="climate")),
        guide.of_page(Document(HOME, text="climate " * 9)),
    )
    assert guide.of_page(Document(HOME, title="climate")) == often > once
    assert guide.of_page(None) == 0.0
    assert guide.of_link(f"{ORIGIN}/the_climate/1", "") > 0.6


# --- Where a link stands ---


@pytest.mark.parametrize(
    ("url", "weight"),
    [
        ("http://www.pku.edu.cn/", 10),
        ("http://www.pku.edu.cn/cs", 8),
        ("http://www.pku.edu.cn/cs/", 8),
        ("http://a.test/b/c.html", 6),
        ("http://a.test/list?page=2&by=date", 6),
        ("http://a.test/search", 6),
        ("http://proxy.test/", 8),
        ("http://a.test/1/2/3/4/5/6/7", 0),
    ],
)
def test_book_3_5_the_weight_of_a_url_begins_with_ten(url: str, weight: int) -> None:
    assert weight_of_url(url) == weight


def test_breadth_goes_to_the_nearest_and_depth_to_the_furthest() -> None:
    near, far = FoundLink(HOME, depth=1), FoundLink(HOME, depth=7)
    assert rank(PLAIN, near) < rank(PLAIN, far)
    assert rank(DEPTH, near) > rank(DEPTH, far)


def test_book_6_1_a_weight_is_predicted_by_url_parent_text_and_citations() -> None:
    link = FoundLink(f"{ORIGIN}/a")
    for better in (
        replace(link, url=HOME),
        replace(link, parent=900),
        replace(link, anchor="the climate"),
        replace(link, url=f"{ORIGIN}/climate"),
    ):
        assert rank(GUIDED, better) < rank(GUIDED, link)
    assert rank(GUIDED, link, citations=9) < rank(GUIDED, link, citations=1) < rank(GUIDED, link)
    assert rank(WEIGHT, replace(link, anchor="the climate")) == rank(WEIGHT, link), "nothing is wanted"


def test_fish_prefer_links_of_relevant_pages_and_of_these_those_to_other_sites() -> None:
    inside = FoundLink(HOME, depth=3)
    other = replace(inside, linker="0123456789abcdef")
    ranks = [rank(FISH, replace(link, parent=parent)) for parent in (900, 100) for link in (other, inside)]
    assert ranks == sorted(ranks)
    assert len({lane_of(each) for each in ranks}) == 4


def test_what_is_not_ahead_is_behind_when_a_crawl_starts_anew() -> None:
    anew = CrawlOrder(starts_anew=True)
    ahead, known = FoundLink(HOME, depth=900, is_ahead=True), FoundLink(HOME, depth=1)
    assert rank(anew, ahead) < BEHIND <= rank(anew, known)
    assert lane_of(rank(anew, ahead)) < lane_of(rank(anew, known))


# --- Which links are followed ---


def test_who_leads_away_from_what_is_relevant_gets_a_few_steps_and_no_more() -> None:
    links = FoundLink(f"{ORIGIN}/1"), FoundLink(f"{ORIGIN}/2", "on climate")
    for ordering in (FISH, FOCUSED):
        at_end = seen(course=Course(0, steps=0))
        assert [link.steps for link in followed(ordering, seen(0.9, Course(0, steps=0)), *links)] == [1, 1]
        assert [link.url for link in followed(ordering, at_end, *links)] == [f"{ORIGIN}/2"], (
            "it promises more"
        )
        assert {link.url: link.steps for link in followed(ordering, seen(), *links)} == {
            f"{ORIGIN}/1": 0,
            f"{ORIGIN}/2": 1,
        }


def test_a_page_that_is_relevant_may_have_half_as_many_links_more_followed() -> None:
    links = [FoundLink(f"{ORIGIN}/{number}") for number in range(9)]
    assert len(followed(FISH, seen(), *links)) == 2
    assert len(followed(FISH, seen(0.9), *links)) == 3
    assert len(list(onward(seen(), links, FISH, GuideWords(GUIDE)))) == 9, "texts of the others are kept"


def test_levels_of_a_seed_are_counted_down_by_whatever_order() -> None:
    for ordering in (PLAIN, WEIGHT, FOCUSED):
        (link,) = followed(ordering, seen(0.9, Course(0, levels=2)), FoundLink(HOME))
        assert link.levels == 1
        assert followed(ordering, seen(0.9, Course(0, levels=0)), FoundLink(HOME)) == []
    (link,) = followed(PLAIN, seen(), FoundLink(HOME))
    assert link.levels == UNLIMITED


# --- In the frontier ---


def frontier_of(ordering: CrawlOrder) -> Frontier:
    frontier = Frontier(MemoryTable(), CrawlSettings(delay_s=0.0, ordering=ordering))
    frontier.hold([1])
    return frontier


def taken_in_order(frontier: Frontier) -> Iterator[str]:
    while state := frontier.take_host(0.0):
        taken = frontier.take_url(state, 0.0)
        assert taken is not None
        frontier.save(state, replace(state.record, fetched=state.record.fetched + 1))
        frontier.release(state, 0.0)
        yield taken.url


def test_hosts_wait_in_lanes_and_who_promises_most_is_asked_first() -> None:
    frontier = frontier_of(FISH)
    ranks = [700, 10, 300, 900, 20]
    for number, each in enumerate(ranks):
        queue(frontier, f"http://h{number}.test/", f"h{number}.test", 1, 5, 0, 0.0, Course(each))
    order = [ranks[int(url[8])] for url in taken_in_order(frontier)]
    assert order == [10, 20, 300, 700, 900]


def test_book_13_2_a_layer_of_all_hosts_comes_before_the_next_of_any() -> None:
    depths = ((1, 1, 1, 1), (1, 2, 3), (2, 2))  # by host
    pages = [(host, depth) for host, of_host in enumerate(depths) for depth in of_host]

    def depths_of(ordering: CrawlOrder) -> list[int]:
        order, frontier = OrderInForce(ordering), frontier_of(ordering)
        for number, (host, depth) in enumerate(pages):
            url = f"http://h{host}.test/{number}"
            course = order.course_of(FoundLink(url, depth=depth))
            queue(frontier, url, f"h{host}.test", 1, depth, 0, 0.0, course)
        return [pages[int(url.rpartition("/")[2])][1] for url in taken_in_order(frontier)]

    assert depths_of(LAYERS) == sorted(depth for _, depth in pages)
    assert depths_of(PLAIN) != depths_of(LAYERS), "breadth gives each host its turn, whatever its pages"
    assert rank(LAYERS, FoundLink(HOME, depth=90)) == rank(LAYERS, FoundLink(HOME, depth=15)), "the last lane"


def test_n_are_taken_by_weight_and_m_at_random() -> None:
    frontier = frontier_of(replace(WEIGHT, by_weight=3, at_random=1))
    for number in range(400):
        queue(frontier, f"{ORIGIN}/{number}", "a.test", 1, 5, 0, 0.0, Course(number))
    order = [int(url.rpartition("/")[2]) for url in taken_in_order(frontier)]
    assert sorted(order) == list(range(400)), "each once"
    first = order[:80]
    by_weight = [number for place, number in enumerate(first) if place % 4 != 3]
    at_random = [number for place, number in enumerate(first) if place % 4 == 3]
    assert by_weight == sorted(by_weight)
    assert max(by_weight) < 80
    assert sum(at_random) / len(at_random) > 120, "from anywhere in the queue"


def test_a_course_crosses_the_wire_beside_the_item_that_versions_before_know() -> None:
    item = QueuedItem(HOME, 3, 0, 0, b"\x00\x07\x02\x03\x01")
    items = decode_items(encode_items(Items(queued=(item,))))
    assert items.queued == (item,)
    assert course_in(item.course) == Course(7, 2, 3, True)
    odd = replace(item, course=b"odd")
    assert locate(Items(queued=(odd,)), 64).refused == 1


# --- In a crawl ---


def test_a_crawl_follows_what_is_relevant_and_lets_go_of_the_rest() -> None:
    desk = Desk(ordering=FOCUSED).with_home_asked()
    desk.store(HOME, f"{ORIGIN}/1", FoundLink(f"{ORIGIN}/2", "on climate"))
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/2"], "it promises more than what came before"
    desk.store(f"{ORIGIN}/2")
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/1"]
    desk.store(f"{ORIGIN}/1", f"{ORIGIN}/3")
    assert asked(desk.wake(1e6)) == [], "one click from the seed, and nothing was relevant"


def test_seeds_go_as_many_levels_as_they_are_given() -> None:
    desk = Desk()
    desk.seed(HOME, levels=1)
    desk.allow()
    desk.store(HOME, f"{ORIGIN}/1")
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/1"]
    desk.store(f"{ORIGIN}/1", f"{ORIGIN}/2")
    assert asked(desk.wake(1e6)) == []
    assert desk.state_of(f"{ORIGIN}/2") is None
    assert desk.observe().is_idle


def test_a_link_that_was_not_followed_is_where_another_page_has_it_from_which_one_may_go_on() -> None:
    desk = Desk()
    desk.seed(HOME, levels=0)
    desk.allow()
    desk.seed(f"{ORIGIN}/b", levels=1)
    desk.store(HOME, f"{ORIGIN}/x")
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/b"]
    assert desk.state_of(f"{ORIGIN}/x") is None
    desk.store(f"{ORIGIN}/b", f"{ORIGIN}/x")
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/x"]


def test_a_relevant_page_brings_what_others_link_to_as_well_to_the_front() -> None:
    desk = Desk(ordering=FISH).with_home_asked(f"{ORIGIN}/about")
    desk.store(HOME, f"{ORIGIN}/1")
    before = desk.controller._frontier.row_of(f"{ORIGIN}/1", owned_by().slot_of("a.test"))
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/about"]
    page = f"{ORIGIN}/about"
    desk.tell(fetched(page))
    document = Document(page, title="On climate", text="climate")
    stamp = of_kind(desk.tell(parsed(page, f"{ORIGIN}/1", document=document), "parser"), StorePage)[
        0
    ].page.stamp
    desk.tell(PageStored(page, stamp), "cell")
    after = desk.controller._frontier.row_of(f"{ORIGIN}/1", owned_by().slot_of("a.test"))
    assert before is not None
    assert after is not None
    assert after.rank < before.rank


def test_another_order_gives_what_is_queued_other_places_even_after_a_restart() -> None:
    desk = Desk().with_home_asked(f"{ORIGIN}/near", f"{ORIGIN}/middle", f"{ORIGIN}/far")
    desk.store(HOME)
    desk.change(ordering=DEPTH)
    desk.start()
    while desk.controller.wake_at() <= desk.now:
        desk.wake()
    urls = asked(desk.wake(2.0))
    for _ in range(2):
        desk.store(urls[-1])
        urls += asked(desk.wake(2.0))
    assert urls == [f"{ORIGIN}/{name}" for name in ("far", "middle", "near")]


def test_a_policy_says_the_order_and_when_the_crawl_is_over() -> None:
    text = (
        'ends_at = 2027-01-01T00:00:00Z\n[[rules]]\naction = "crawl"\n'
        '[ordering]\norder = "focused"\nguide_words = ["climate", "气候"]\nsteps = 1\n'
    )
    policy = read_policy(text, "policy.toml")
    assert policy.ordering == FOCUSED
    assert read_policy(write_policy(policy), "again") == policy
    end_s = datetime(2027, 1, 1, tzinfo=UTC).timestamp()
    assert policy.next_end_s(end_s - 1.0) == end_s
    assert not policy.at(end_s - 1.0).pauses_all
    assert policy.at(end_s).pauses_all
    order = OrderInForce(PLAIN)
    order.change_decreed(policy.ordering)
    assert order.ordering == FOCUSED


def test_what_is_taken_down_stays_so_when_a_crawl_is_over() -> None:
    rules = Rule(action=Action.TAKE_DOWN, urls=(HOME,)), Rule(action=Action.CRAWL)
    policy = Policy(rules=rules, ends_at=datetime(2027, 1, 1, tzinfo=UTC)).at(1e10)
    assert policy.is_taken_down(HOME)
    assert policy.pauses_all


@pytest.mark.parametrize("order", [Order.FISH, Order.FOCUSED])
def test_an_order_by_guide_words_without_any_is_refused(order: Order) -> None:
    with pytest.raises(ValueError, match="guide_words"):
        CrawlOrder(order=order)


# --- Guessing ---


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("", []),
        ("a/b/c.html", ["a/b/", "a/", ""]),
        ("a/b/", ["a/", ""]),
        ("a/?x=/y/", ["a/", ""]),
    ],
)
def test_the_ancestors_of_a_page_are_its_folders(path: str, above: list[str]) -> None:
    assert list(ancestors_of(HOME + path)) == [HOME + each for each in above]


def test_ancestors_are_guessed_once_and_not_where_a_link_leads_there() -> None:
    links = [FoundLink(f"{ORIGIN}/a/b/1"), FoundLink(f"{ORIGIN}/a/b/2"), FoundLink(f"{ORIGIN}/a/")]
    guessed = [link.url for link in with_ancestors(links)][3:]
    assert guessed == [f"{ORIGIN}/a/b/", HOME]
