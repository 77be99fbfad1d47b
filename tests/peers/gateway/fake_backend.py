"""What stands behind an application under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mesh.actor import Message
from peers.crawler.contact import visitor_of
from peers.crawler.settings import CrawlSettings
from peers.gateway.difference import Difference, difference
from peers.gateway.routes import Answer
from peers.gateway.settings import GatewaySettings
from peers.gateway.stored_page import StoredPage, stored_page, with_text
from tests.peers.gateway.fake_searcher import answer_to

TOKEN = "0123456789abcdef"
RIGHTS = {"Authorization": f"Bearer {TOKEN}"}


class FakeBackend:
    """Answers at once."""

    def __init__(
        self, answer: Callable[[Message], Message] = answer_to, settings: GatewaySettings | None = None
    ) -> None:
        self.settings = settings or GatewaySettings(admin_token=TOKEN)
        self.visitor = visitor_of(CrawlSettings(contact="me@a.test"), (), is_closed=False)
        self.orders: list[Message] = []
        self.seeds_taken: list[tuple[str, int]] = []
        self.seeds_wait_s = 0.0
        self.changes_taken: list[dict[str, int]] = []
        self.changes_wait_s = 0.0
        self._answer = answer

    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        self.orders.append(order(7))
        found = self._answer(self.orders[-1])
        assert isinstance(found, answer)
        return found

    async def read_difference(self, url: str, before: bytes, after: bytes) -> Difference:
        return difference(url, before, after)

    async def read_stored(self, url: str, records: bytes, *, wants_text: bool = True) -> StoredPage:
        page = stored_page(url, records)
        return with_text(page, "its <b>text", None) if page.is_document and wants_text else page

    def take_seeds(self, client: str, count: int) -> float:
        self.seeds_taken.append((client, count))
        return self.seeds_wait_s

    def take_changes(self, counts: Mapping[str, int]) -> float:
        self.changes_taken.append(dict(counts))
        return self.changes_wait_s

    def now(self) -> float:
        return 100.0

    def metrics(self) -> str:
        return "tianmesh_searches_total 3\n"
