"""Pages that are visited again at an interval, on a web that changes in between."""

from __future__ import annotations

import itertools
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import get, search, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

AGAIN_S: Final = 6.0
HOSTS: Final = ("first.test", "second.test")  # which need not be of one peer
HTML: Final = "Content-Type: text/html"
OLD: Final = {"/changes": "quagga", "/vanishes": "thylacine", "/hides": "okapi", "/stays": "tapir"}
NEW: Final = {"/changes": "zebra", "/stays": "tapir"}  # what is to be found in the end


class ChangingWeb:
    """Two hosts with the same pages; what they answer changes at once, when it is told."""

    def __init__(self) -> None:
        self.has_changed = False
        self.asked_s: dict[tuple[str, str], list[float]] = defaultdict(list)  # by host and path

    def answer_to(self, host: str, path: str) -> bytes:
        if path != "/robots.txt":
            self.asked_s[host, path].append(time.monotonic())
        if path == "/":
            links = "".join(f'<p><a href="{name}">link</a>' for name in OLD)
            return answer(f"<title>home</title>{links}".encode(), HTML)
        words = OLD | NEW if self.has_changed else OLD
        if path not in words or (self.has_changed and path == "/vanishes"):
            return answer(b"", status="404 Not Found")
        robots = '<meta name="robots" content="noindex">' if self.has_changed and path == "/hides" else ""
        page = f"<html><head><title>page</title>{robots}</head><body><p>The {words[path]} of {host}"
        return answer(page.encode(), HTML, f'ETag: "{len(robots)} {words[path]}"')

    def visits(self) -> int:
        """How often the page that was visited least often was asked for."""
        return min(len(self.asked_s[host, path]) for host in HOSTS for path in ("/", *OLD))


def found(gateway: str, word: str, address: str = "") -> set[str]:
    """The pages that an answer for all slots has for a word, asked from an address."""
    answered = search(gateway, word, address=address)
    return {hit["url"] for hit in answered["hits"]} if not answered["coverage"]["missing"] else {"?"}


def finds(gateway: str, word: str, urls: set[str]) -> bool:
    return found(gateway, word) == urls


def finds_just(gateways: list[str], words: dict[str, str]) -> bool:
    """Do all gateways find these pages by their words, and nothing by any other word?"""
    others = {*OLD.values(), *NEW.values()} - {*words.values()}
    expected = {word: {f"http://{host}{path}" for host in HOSTS} for path, word in words.items()}
    expected |= {word: set() for word in others}
    return all(found(gateway, word) == urls for gateway in gateways for word, urls in expected.items())


def test_what_changes_vanishes_or_hides_is_found_as_the_last_visit_saw_it(tmp_path: Path) -> None:
    changing = ChangingWeb()
    with served(changing.answer_to) as web:
        resolver = web.write_resolver(tmp_path, HOSTS)
        options = (
            "--peers",
            "2",
            *setting("web.resolver", resolver),
            *setting("crawl.revisit_after_s", AGAIN_S),
            *setting("crawl.gone_after_s", AGAIN_S),
        )
        with up(tmp_path, None, *options, seeds=[f"http://{host}/" for host in HOSTS], delay_s=0.1) as lab:
            gateways = lab.gateways()
            assert len(gateways) == 2
            wait_for(lambda: finds_just(gateways, OLD), "page of the first visits")
            changing.has_changed = True
            wait_for(lambda: finds_just(gateways, NEW), "page of the visits after")
            visits = changing.visits()
            wait_for(lambda: changing.visits() >= visits + 2, "visits further on")
            assert finds_just(gateways, NEW), "and so it stays"
            assert {(host, path) for host in HOSTS for path in NEW} <= set(web.not_modified)
            for gateway, host in itertools.product(gateways, HOSTS):
                status, gone = get(gateway, "/page", url=f"http://{host}/vanishes")
                assert status == 200
                assert "the page was not there any more" in gone
                assert "thylacine" in gone, "the last copy with a text"
                status, there = get(gateway, "/page", url=f"http://{host}/stays")
                assert (status, "not there any more" in there) == (200, False)
            assert lab.interrupt() == 0, lab.messages
    for page, times in changing.asked_s.items():
        for before, after in itertools.pairwise(times):
            assert after - before >= AGAIN_S, f"{page} was asked again after {after - before:.3f} s"


def test_what_is_not_believed_is_visited_again_and_what_is_for_some_is_shown_to_them(tmp_path: Path) -> None:
    word, asked = "quagga", Counter[tuple[str, str]]()

    def answer_to(host: str, path: str) -> bytes:
        if path == "/robots.txt":
            return answer(b"", status="404 Not Found")
        asked[host, path] += 1
        page = f"<html><head><title>page</title></head><body><p>The {word} of {host}"
        return answer(page.encode(), HTML, 'ETag: "always the same"')

    def order(*words: str, given: str = "") -> str:
        done = tianmesh("policy", *words, "--data", lab.folder, "--gateway", lab.gateways()[0], given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    homes = {f"http://{host}/" for host in HOSTS}
    began = datetime.now(UTC).replace(microsecond=0)
    with served(answer_to) as web:
        resolver = web.write_resolver(tmp_path, HOSTS)
        with up(
            tmp_path, None, *setting("web.resolver", resolver), "--peers", "2", seeds=sorted(homes)
        ) as lab:
            wait_for(partial(finds, lab.gateways()[0], "quagga", homes), "pages of the first visits")
            word = "zebra"
            order("undo", "--since", f"{began:%Y-%m-%dT%H:%M:%S}")
            for gateway in lab.gateways():
                wait_for(partial(finds, gateway, "zebra", homes), "pages as they are")
                assert found(gateway, "quagga") == set()
            inside = '[[inside]]\ndomains = ["second.test"]\nnetworks = ["127.0.0.2"]\n'
            order("set", "-", given=order("show") + inside)
            for gateway in lab.gateways():
                wait_for(partial(finds, gateway, "zebra", {"http://first.test/"}), "answer without the rest")
                assert found(gateway, "zebra", "127.0.0.2") == homes
                assert get(gateway, "/page", url="http://second.test/")[0] == 404
                assert get(gateway, "/page", address="127.0.0.2", url="http://second.test/")[0] == 200
            assert lab.interrupt() == 0, lab.messages
    assert asked == Counter({(host, "/"): 2 for host in HOSTS})
    assert web.not_modified == [], "all of each page was asked for"
