"""Bodies that are coming in take so much memory together and no more; the largest gives way."""

from __future__ import annotations

import trio

from peers.crawler.fetching.body_budget import PIECE_BYTES, BodyBudget
from peers.crawler.fetching.connection import FetchLimits
from peers.crawler.model.politeness import Blame, blame_for
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage, FetchResult, PageFetched
from tests.patience import PATIENCE_S
from tests.peers.crawler.web_host import Behaviour, WebHost, fetcher_for, page, saying

LIMITS = FetchLimits(total_s=20.0, bodies_bytes_max=1 << 20)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"


def stalling(n_sent: int) -> Behaviour:
    """Announces a byte more than it ever sends."""

    async def behaviour(stream: trio.abc.Stream, head: bytes) -> None:
        await stream.send_all(HEAD % (n_sent + 1) + b"x" * n_sent)
        await trio.sleep_forever()

    return behaviour


async def test_what_is_complete_counts_no_more() -> None:
    budget = BodyBudget(1_000)
    with budget.body() as body:
        budget.count(body, 100)
        assert budget.n_bytes == 100 + PIECE_BYTES
    assert budget.n_bytes == 0


async def test_the_largest_gives_way_whoever_asks_for_more() -> None:
    budget = BodyBudget(1_000)
    with budget.body() as large, budget.body() as small:
        budget.count(large, 600)
        budget.count(small, 300)
        assert large.scope.cancel_called
        assert not small.scope.cancel_called
        budget.count(large, 600)  # it has not noticed so far
        assert budget.n_bytes == 300 + PIECE_BYTES


async def test_a_body_of_many_small_pieces_counts_as_python_keeps_it() -> None:
    budget = BodyBudget(1 << 20)
    with budget.body() as body:
        for _ in range(100):
            budget.count(body, 1)
        assert budget.n_bytes == 100 * (1 + PIECE_BYTES)


async def test_stalled_bodies_do_not_take_more_memory_than_the_budget(nursery: trio.Nursery) -> None:
    host = WebHost(stalling(300_000))
    await host.start(nursery)
    fetcher = fetcher_for(*[host] * 31, limits=LIMITS)
    results: list[FetchResult] = []

    async def fetch(number: int) -> None:
        results.append(await fetcher.fetch(FetchPage(f"http://h{number}.test/")))

    for number in range(20):  # 6 MB
        nursery.start_soon(fetch, number)
    with trio.fail_after(PATIENCE_S):
        while len(results) < 17:
            assert fetcher.observe().bytes_coming_in <= LIMITS.bodies_bytes_max
            await trio.sleep(0.01)
    assert {result.reason for result in results if isinstance(result, FetchFailed)} == {FailureReason.CROWDED}
    host.behaviour = saying(page(b"x" * 100_000))
    with trio.fail_after(PATIENCE_S):
        result = await fetcher.fetch(FetchPage("http://h30.test/"))
    assert isinstance(result, PageFetched), "an ordinary page is disturbed"
    fetcher.close()


def test_who_gave_way_is_asked_again_later() -> None:
    assert blame_for(FailureReason.CROWDED) is Blame.HOST
