"""Many names at three addresses, visited again and again, while peers are killed, join and are drained."""

from __future__ import annotations

import itertools
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, cast

import pytest

from peers.crawler.frontier.store import COMPANY_S
from peers.crawler.gaps import LoggedFetch, audit
from tests.live.access_log import Access, Excuse, page_counts
from tests.live.lab_process import get, wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.raw_web import RawWeb, answer, served
from tests.live.web import ServedWeb

pytestmark = pytest.mark.live

ADDRESSES: Final = ("127.0.7.1", "127.0.7.2", "127.0.7.3")
NAMES: Final = tuple(f"h{number}.test" for number in range(12))
PAGES: Final = ("/", "/1", "/2")
DELAY_S: Final = 0.3
AGAIN_S: Final = 8.0  # each address has 12 pages and 4 robots.txt, which take 5 s
ANSWER_S: Final = 0.02
KILLS: Final = 10
KILLED_S: Final = 0.5
# What was asked so long before a kill, or answered to who was killed, need not have become durable.
UNSETTLED_S: Final = 5.0 + COMPANY_S


class _Web:
    """Stands for a `ServedWeb`: names at three addresses, whose pages are others at each visit."""

    def __init__(self, folder: Path, webs: list[RawWeb]) -> None:
        self.webs = webs
        self.addresses = dict.fromkeys(NAMES, "")
        self.seeds = [f"http://{name}/" for name in NAMES]
        self.resolver = folder / "resolver.json"
        table: dict[str, object] = {}
        for number, web in enumerate(webs):
            table |= web.resolving(NAMES[number :: len(webs)])
        self.resolver.write_text(json.dumps(table))

    def accesses(self) -> list[Access]:
        return sorted(access for web in self.webs for access in web.accesses)

    def visits(self) -> int:
        """How often the page was asked for that was asked for least often."""
        counts = page_counts(self.accesses())
        return min(counts[f"http://{name}{page}"] for name in NAMES for page in PAGES)

    def questions(self) -> Iterator[LoggedFetch]:
        for ip, web in zip(ADDRESSES, self.webs, strict=True):
            for each in web.accesses:
                yield LoggedFetch(each.began_s, each.ended_s, each.host, ip, each.url)


@contextmanager
def many_names(folder: Path) -> Iterator[_Web]:
    counts: dict[tuple[str, str], int] = defaultdict(int)

    def answer_to(host: str, path: str) -> bytes:
        time.sleep(ANSWER_S)
        if path not in PAGES:
            return answer(b"", status="404 Not Found")
        counts[host, path] += 1
        links = "".join(f"<a href={page}>page</a> " for page in PAGES)
        page = f"<title>page</title><p>{links}<p>version {counts[host, path]} of {path} at {host}"
        return answer(page.encode(), "Content-Type: text/html")

    with ExitStack() as stack:
        yield _Web(folder, [stack.enter_context(served(answer_to, address)) for address in ADDRESSES])


def test_names_and_addresses_keep_their_delay_and_every_version_is_kept_while_peers_come_and_go(
    tmp_path: Path,
) -> None:
    settings = {
        "web.spares_private": True,
        "crawl.revisit_after_s": AGAIN_S,
        "crawl.backoff_s": DELAY_S,
    }
    excuses: list[Excuse] = []
    with many_names(tmp_path) as web:
        described = cast(ServedWeb, web)  # as far as a mesh wants to know
        with mesh_of(tmp_path / "mesh", described, 4, delay_s=DELAY_S, settings=settings) as mesh:
            mesh.start(1, 2, 3)
            mesh.wait_until_met()
            mesh.seed()
            wait_for(lambda: web.visits() >= 1, "visit of every page", 400.0)
            for number in range(KILLS):
                if number == KILLS // 2:
                    mesh.start(4)
                _kill(mesh, 1 + number % 3, excuses)
            mesh.drain(4)
            before = web.visits()
            wait_for(lambda: web.visits() > before, "visit of every page after all that", 400.0)
            mesh.assert_logs_are_clean()
            last_s = time.time() - UNSETTLED_S
            _assert_all_versions_are_kept(mesh, web, excuses, last_s)
    judged = audit(web.questions(), DELAY_S)
    print(f"{judged.questions} requests; names {judged.names[0]}; addresses {judged.addresses}")
    assert judged.too_short == ()
    assert len(judged.addresses) == len(ADDRESSES)
    _assert_nothing_is_early(web, excuses)


def _kill(mesh: Mesh, number: int, excuses: list[Excuse]) -> None:
    """kill -9 of one peer, which comes back."""
    killed_s = time.time()
    mesh.kill(number)
    excuses.append(Excuse(number, killed_s - UNSETTLED_S, time.time() + ANSWER_S + 1.0))
    time.sleep(KILLED_S)
    mesh.start(number)
    time.sleep(1.5)


def _is_excused(access: Access, excuses: list[Excuse]) -> bool:
    return any(each.peer == access.peer and each.from_s <= access.ended_s <= each.until_s for each in excuses)


def _assert_nothing_is_early(web: _Web, excuses: list[Excuse]) -> None:
    visits: dict[str, list[Access]] = defaultdict(list)
    for access in web.accesses():
        if access.target in PAGES:
            visits[access.url].append(access)
    assert len(visits) == len(NAMES) * len(PAGES)
    for url, asked in visits.items():
        for before, after in itertools.pairwise(asked):
            pause_s = after.began_s - before.began_s
            # Due times are in whole seconds.
            assert pause_s >= AGAIN_S - 1.0 or _is_excused(before, excuses), f"{url} after {pause_s:.2f} s"


def _assert_all_versions_are_kept(mesh: Mesh, web: _Web, excuses: list[Excuse], last_s: float) -> None:
    gateway = mesh.gateways()[0]
    asked = [each for each in web.accesses() if each.target in PAGES and each.ended_s < last_s]
    kept: dict[str, list[float]] = {}
    for url in {each.url for each in asked}:
        status, body = get(gateway, "/api/versions", url=url)
        assert status == 200, body
        kept[url] = [version["fetched_at"] for version in json.loads(body)["versions"]]
    for access in asked:
        is_kept = any(abs(access.began_s - at_s) < AGAIN_S / 3 for at_s in kept[access.url])
        assert is_kept or _is_excused(access, excuses), f"{access} is not among {kept[access.url]}"
