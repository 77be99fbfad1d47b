"""Budgets of patterns: traps come to an end soon, and honest sites never."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import count

from peers.crawler.frontier.traps import PATTERNS_MAX, PatternBudgets, patterns_of
from peers.crawler.parsing.extraction import text_shape
from peers.crawler.parsing.parser import parse_page
from tests.helpers import fetched, parsed
from tests.peers.crawler.desk import HOME, ORIGIN, Desk, asked

REQUESTS_MAX = 5_000


def crawled(start: str, answer: Callable[[str], tuple[str, Iterable[str]]]) -> list[str]:
    """Crawl a host breadth-first within the budgets; return what was asked for, in order."""
    budgets, requested, queue, known = PatternBudgets(), list[str](), deque([start]), {start}
    while queue and len(requested) < REQUESTS_MAX:
        url = queue.popleft()
        if budgets.is_trap(url):
            continue
        requested.append(url)
        text, links = answer(url)
        page = parse_page(url, f"<title>{url}</title><p>{text}".encode(), "text/html")
        budgets.note(url, text_shape(page))
        new = [f"{ORIGIN}{link}" for link in links if f"{ORIGIN}{link}" not in known]
        known.update(new)
        queue += new
    return requested


def test_endless_paths_come_to_an_end() -> None:
    def answer(url: str) -> tuple[str, list[str]]:
        path = url.removeprefix(ORIGIN)
        return "a b c", [f"{path}a/", f"{path}b/"]

    assert len(crawled(f"{ORIGIN}/deep/", answer)) <= 50


def test_a_calendar_with_session_ids_comes_to_an_end() -> None:
    sessions = count()

    def answer(url: str) -> tuple[str, list[str]]:
        day = url.partition("d=")[2].partition("&")[0]
        return f"day {day} next again", [f"/cal?d={int(day) + 1}", f"/cal?d={day}&sid={next(sessions):032x}"]

    assert len(crawled(f"{ORIGIN}/cal?d=1", answer)) <= 90


def test_permutations_of_parameters_are_one_pattern() -> None:
    assert list(patterns_of(f"{ORIGIN}/x/list?b=1&a=2")) == list(patterns_of(f"{ORIGIN}/x/list?a=9&b=7"))
    assert list(patterns_of(f"{ORIGIN}/s/0123456789abcdef/x"))[-1] == "/s/0/x"


def test_a_real_site_with_50000_pages_in_one_folder_is_no_trap() -> None:
    budgets = PatternBudgets()
    for number in range(50_000):
        url = f"{ORIGIN}/wiki/{number}.html"
        assert not budgets.is_trap(url)
        budgets.note(url, 1 + number % 47_000 if number % 3 else 7)  # a third of them are stubs
    assert not budgets.is_trap(f"{ORIGIN}/wiki/other.html")


def test_the_rest_of_a_site_with_a_trap_is_crawled() -> None:
    honest, sessions = [f"/docs/{number}" for number in range(300)], count()

    def answer(url: str) -> tuple[str, list[str]]:
        path = url.removeprefix(ORIGIN)
        if path.startswith("/docs/"):
            number = int(path.removeprefix("/docs/").partition("?")[0])
            return f"page {'x' * number}", [f"/docs/{number}?session={next(sessions)}"]
        if path.startswith("/deep/"):
            return "a b c", [f"{path}a/", f"{path}b/"]
        return "home", ["/deep/", *honest]

    requested = crawled(f"{ORIGIN}/", answer)
    assert {f"{ORIGIN}{path}" for path in honest} <= set(requested)
    assert sum("/deep/" in url for url in requested) <= 50
    assert sum("session" in url for url in requested) <= 50


def test_patterns_of_a_host_are_bounded() -> None:
    budgets = PatternBudgets()
    for number in range(3 * PATTERNS_MAX):
        budgets.note(f"{ORIGIN}/{chr(0x4E00 + number)}/page", 1)
    assert len(budgets._patterns) == PATTERNS_MAX


def test_a_controller_leaves_out_what_is_like_too_many_copies() -> None:
    pages = [f"{ORIGIN}/s/{number}" for number in range(60)]
    desk = Desk(crawl_delay_max_s=1e4, robots_ttl_s=1e9).with_home_asked(*pages)
    requested = [HOME]
    desk.store(HOME)
    for _ in pages:
        new = asked(desk.wake(2.0))
        if not new:
            break
        (url,) = new
        requested.append(url)
        desk.tell(fetched(url, started_at=desk.now))
        desk.tell(parsed(url, text_shape=7), "parser")
    assert len(requested) == 1 + 32 + 8
    assert desk.observe().fetch_status["trap"] == 20
    assert desk.state_of(pages[-1]) == "Xtrap"
    desk.seed(f"{ORIGIN}/s/61")
    assert f"{ORIGIN}/s/61" in asked(desk.wake(2.0)) + list(desk.controller._visits.under_way)


def test_what_came_to_an_end_stays_so_after_a_restart() -> None:
    pages = [f"{ORIGIN}/s/{number}" for number in range(60)]
    desk = Desk(crawl_delay_max_s=1e4, robots_ttl_s=1e9).with_home_asked(*pages)
    desk.store(HOME)
    for _ in pages[:40]:
        (url,) = asked(desk.wake(2.0))
        desk.tell(fetched(url, started_at=desk.now))
        desk.tell(parsed(url, text_shape=7), "parser")
    desk.start()
    frontier = desk.controller._frontier
    state = frontier.find("a.test")
    assert state is not None
    assert frontier.traps.of(state).is_trap(f"{ORIGIN}/s/61")
    assert not frontier.traps.of(state).is_trap(f"{ORIGIN}/t/61")
