"""Sites that are made anew from time to time: pages edited, added and deleted, others left as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from xxhash import xxh3_64_hexdigest

from tests.live.lab_process import search, search_all, setting, up, wait_for
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

AGAIN_S: Final = 3.0
PAGES: Final = 8  # of a site at first
ROUNDS: Final = 3
SITES: Final = {f"{word}.test": word for word in ("marmot", "okapi", "quagga", "tapir", "zebra")}
EDITIONS: Final = ("primero", "segundo", "tercero", "cuarto")
WORDS: Final = (*SITES.values(), *EDITIONS)


class Sites:
    """What all sites have: by round, which is the number of times that they were made anew."""

    def __init__(self) -> None:
        self.round = 0
        self.answers: Counter[tuple[str, str, str]] = Counter()  # host, path and ETag of whole answers

    def edition(self, site: int, number: int) -> int | None:
        """In which round a page was written as it is now; None when it is not there."""
        first = max(0, number - PAGES + 1)
        if self.round < first or (number and (number + site) % 7 < self.round):
            return None
        edits = [each for each in range(first, self.round + 1) if (number + each + site) % 4 == 0]
        return self.round if number == 0 else max([first, *edits])  # the home page has the links of now

    def pages(self, site: int) -> Iterator[int]:
        return (number for number in range(PAGES + ROUNDS) if self.edition(site, number) is not None)

    def title(self, host: str, number: int) -> str:
        return f"{SITES[host]} {number} {EDITIONS[self.edition([*SITES].index(host), number) or 0]}"

    def shown(self) -> dict[str, dict[str, str]]:
        """The titles of all pages that are there, by the words in them: a title may be newer than the hit."""
        numbers = [(host, number) for site, host in enumerate(SITES) for number in self.pages(site)]
        titles = {f"http://{host}/{number or ''}": self.title(host, number) for host, number in numbers}
        return {
            word: {url: title for url, title in titles.items() if word in title.split()} for word in WORDS
        }

    def answer_to(self, host: str, path: str) -> bytes:
        name, site = path[1:] or "0", [*SITES].index(host)
        if not name.isdecimal() or self.edition(site, int(name)) is None:
            return answer(b"", status="404 Not Found")
        links = "" if name != "0" else "".join(f'<p><a href="/{n}">page</a>' for n in self.pages(site) if n)
        title = self.title(host, int(name))
        page = f"<title>{title}</title><p>What is said of {title} there.{links}".encode()
        etag = f'"{xxh3_64_hexdigest(page)}"'
        self.answers[host, path, etag] += 1
        return answer(page, "Content-Type: text/html", f"ETag: {etag}")


def found(gateway: str) -> dict[str, dict[str, str]]:
    """All pages by the words that all of a site and all of an edition have.

    Nothing where a page is counted but not shown: its standby knows already that it is gone.
    """
    hits: dict[str, dict[str, str]] = {}
    for word in WORDS:
        answer = search(gateway, word, 100)
        hits[word] = {hit["url"]: hit["title"] for hit in answer["hits"]}
        if answer["coverage"]["missing"] or answer["total"] != len(hits[word]):
            hits[word] = {}
    return hits


def scores(gateway: str, word: str) -> dict[str, float]:
    return {hit["url"]: hit["score"] for hit in search_all(gateway, word, 100)["hits"]}


def test_after_every_round_the_answers_are_those_of_a_fresh_crawl(tmp_path: Path) -> None:
    sites = Sites()
    with served(sites.answer_to) as web:
        options = (*setting("web.resolver", web.write_resolver(tmp_path, SITES)), "--peers", "2")
        seeds = [f"http://{host}/" for host in SITES]
        again = (*setting("crawl.revisit_after_s", AGAIN_S), *setting("crawl.gone_after_s", AGAIN_S))
        with up(tmp_path / "again", None, *options, *again, seeds=seeds) as lab:
            gateway = lab.gateways()[0]
            for sites.round in range(ROUNDS + 1):
                wait_for(lambda: found(gateway) == sites.shown(), f"answers of round {sites.round}")
            said = {word: scores(gateway, word) for word in WORDS}
        answers, not_modified = sites.answers.copy(), Counter(web.not_modified)
        with up(tmp_path / "fresh", None, *options, seeds=seeds) as lab:
            fresh = lab.gateways()[0]
            wait_for(lambda: found(fresh) == sites.shown(), "answers of a fresh crawl")
            for word, hits in said.items():
                assert hits == pytest.approx(scores(fresh, word), abs=1e-6)
    versions = Counter((host, path) for host, path, _ in answers)
    times = Counter[tuple[str, str]]()
    for (host, path, _), count in answers.items():
        times[host, path] += count
    assert sum(versions.values()) > len(versions) > PAGES * len(SITES), "pages were edited, and added"
    for page, n_versions in versions.items():
        n_whole = times[page] - not_modified[page]
        assert n_whole == n_versions, f"{page}: each is sent once, and a 304 is all else"
    assert sum(not_modified.values()) > len(versions)
