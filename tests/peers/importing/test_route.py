"""POST /api/import: who may, and what is taken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest
from starlette.applications import Starlette

from mesh.actors.actor import Message
from peers.crawler.fetching.contact import visitor_of
from peers.crawler.model.settings import CrawlSettings
from peers.engine.pages.class_model import ClassModel
from peers.gateway.api_routes import IMPORT_BYTES_MAX
from peers.gateway.handling.backend import Answer, Made
from peers.gateway.http.rights import Rights
from peers.gateway.http.shown_log import ShownLog
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from peers.gateway.site.difference import Difference
from peers.gateway.site.stored_page import PageSnapshot, stored_page
from peers.importing.batch import encode
from peers.importing.messages import KNOWN, PAGES_MAX, STORED, ImportedPage, ImportPages, PagesImported
from peers.policy.rules import OF_SEEDS
from peers.topics.topic_list import TopicsInForce
from peers.watch.watch_list import WatchInForce
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.importing.test_importer import page_of

PAGES = [page_of("http://a.test/"), page_of("http://b.test/")]
TOKEN = "0123456789abcdef"


class FakeBackend:
    """Takes every page at once."""

    def __init__(self) -> None:
        self.settings = GatewaySettings(admin_token=TOKEN)
        self.rights = Rights()
        self.visitor = visitor_of(CrawlSettings(), (), is_closed=True)
        self.policy = OF_SEEDS
        self.shown_log = ShownLog(lambda message: None, TOKEN)
        self.classes: ClassModel | None = None
        self.watch_list: WatchInForce | None = None
        self.topics: TopicsInForce | None = None
        self.pages: list[ImportedPage] = []
        self.actors: list[str] = []

    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        ordered = order(7)
        assert isinstance(ordered, ImportPages)
        self.pages += ordered.pages
        self.actors.append(actor)
        outcomes = (STORED, KNOWN)[: len(ordered.pages)]
        done = PagesImported(7, "me", outcomes)
        assert isinstance(done, answer)
        return done

    async def render(self, page: Callable[[], Made]) -> Made:
        return page()

    async def private_among(self, urls: Sequence[str], decreed: tuple[str, ...] = ()) -> Mapping[str, str]:
        return {}

    async def read_difference(self, url: str, before: bytes, after: bytes) -> Difference:
        raise AssertionError("nobody asks for it")

    async def read_stored(self, url: str, records: bytes, *, wants_text: bool = True) -> PageSnapshot:
        return stored_page(url, records)

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
        return 100.0

    def metrics(self, media_type: str) -> str:
        return ""


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def gateway(backend: FakeBackend) -> Starlette:
    return application(backend)


async def post(gateway: Starlette, body: bytes, client: str = "127.0.0.1", **headers: str) -> Reply:
    given = {"Authorization": f"Bearer {TOKEN}"} | headers
    return await ask(gateway, "/api/import", "POST", given, body, client=client)


async def test_pages_go_to_the_importer_and_their_outcomes_come_back(
    gateway: Starlette, backend: FakeBackend
) -> None:
    reply = await post(gateway, encode(PAGES))
    assert (reply.status, reply.json) == (200, {"peer": "me", "outcomes": [STORED, KNOWN]})
    assert (backend.pages, backend.actors) == (PAGES, ["importer"])


async def test_no_pages_ask_only_for_leave(gateway: Starlette) -> None:
    assert (await post(gateway, encode([]))).json == {"peer": "me", "outcomes": []}


async def test_strangers_and_pages_of_other_sites_may_not_import(
    gateway: Starlette, backend: FakeBackend
) -> None:
    for reply in (
        await post(gateway, encode(PAGES), Authorization=""),
        await post(gateway, encode(PAGES), client="192.0.2.7", Authorization="Bearer 0123456789abcdeF"),
        await post(gateway, encode(PAGES), Origin="http://evil.test"),
    ):
        assert reply.status == 403
    assert backend.pages == []


@pytest.mark.parametrize("body", [b"", b"\x91", b"[]", b"\x91\x93\xa1x\x01\x02", b"\xc1" * 100])
async def test_what_are_no_pages_is_refused(gateway: Starlette, body: bytes) -> None:
    reply = await post(gateway, body)
    assert reply.status == 400
    assert "no pages of this version" in reply.json["error"]


async def test_too_many_or_too_large_pages_are_refused(gateway: Starlette, backend: FakeBackend) -> None:
    assert (await post(gateway, encode([PAGES[0]] * (PAGES_MAX + 1)))).status == 400
    assert (await post(gateway, bytes(IMPORT_BYTES_MAX + 1))).status == 413
    assert backend.pages == []
