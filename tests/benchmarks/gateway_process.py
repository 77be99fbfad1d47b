"""The gateway's application with three known pages, under one of two servers. [io]

    python -m tests.benchmarks.gateway_process (ours | hypercorn)

prints its port and serves until its standard input ends.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from hypercorn.typing import ASGIFramework

from peers.crawler.fetching.contact import visitor_of
from peers.crawler.model.settings import CrawlSettings
from peers.engine.pages.class_model import ClassModel
from peers.gateway.handling.backend import Made
from peers.gateway.http.asgi import respond
from peers.gateway.http.rights import Rights
from peers.gateway.http.server import HttpServer
from peers.gateway.http.shown_log import ShownLog
from peers.gateway.http_port import listen
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from peers.gateway.site.difference import Difference
from peers.gateway.site.stored_page import PageSnapshot
from peers.policy.rules import OF_SEEDS
from peers.topics.topic_list import TopicsInForce
from peers.watch.watch_list import WatchInForce
from tests.peers.gateway.fake_searcher import answer_to


class KnownPages:
    """A backend that has every answer at once, as a cache has."""

    settings = GatewaySettings()
    rights = Rights()
    visitor = visitor_of(CrawlSettings(), (), is_closed=True)
    policy = OF_SEEDS
    shown_log = ShownLog(lambda message: None, "")
    classes: ClassModel | None = None
    watch_list: WatchInForce | None = None
    topics: TopicsInForce | None = None

    async def ask(self, order: Any, answer: Any, actor: str = "searcher") -> Any:
        return answer_to(order(1))

    async def render(self, page: Callable[[], Made]) -> Made:
        return page()

    async def private_among(self, urls: Sequence[str], decreed: tuple[str, ...] = ()) -> Mapping[str, str]:
        return {}

    async def read_difference(self, url: str, before: bytes, after: bytes) -> Difference:
        raise AssertionError("nobody asks for it")

    async def read_stored(self, url: str, records: bytes, *, wants_text: bool = True) -> PageSnapshot:
        raise AssertionError("nobody asks for it")

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        raise AssertionError("nothing goes on after an answer")

    def take_seeds(self, client: str, count: int) -> float:
        return 0.0

    def take_changes(self, counts: Mapping[str, int]) -> float:
        return 0.0

    def take_submission(self, client: str, day_max: int) -> float:
        return 0.0

    def draw(self) -> bytes:
        raise AssertionError("nobody submits a site")

    def now(self) -> float:
        return trio.current_time()

    def metrics(self, media_type: str) -> str:
        return ""


async def main(server: str) -> None:
    listener = listen("127.0.0.1", 0)
    print(listener.getsockname()[1], flush=True)
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon({"ours": ours, "hypercorn": hypercorn}[server], listener, stopping)
        await trio.to_thread.run_sync(sys.stdin.read)
        stopping.set()


async def ours(listener: socket.socket, stopping: trio.Event) -> None:
    await HttpServer(listener, partial(respond, application(KnownPages()))).serve(stopping)


async def hypercorn(listener: socket.socket, stopping: trio.Event) -> None:
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.accesslog = config.errorlog = None
    config.keep_alive_max_requests = 1_000_000
    served = cast("ASGIFramework", application(KnownPages()))
    await serve(served, config, shutdown_trigger=stopping.wait, mode="asgi")


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
