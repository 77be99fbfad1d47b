"""What stands behind an application under test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from mesh.actors.actor import Message
from mesh.keys.decree import Authority
from mesh.keys.signed_token import TokenJudge
from mesh.keys.signing_key import SigningKey
from mesh.stamp import Stamp
from peers.crawler.fetching.contact import visitor_of
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.parsing.extraction import extract_again
from peers.crawler.parsing.parser_port import StoredText, stored_text
from peers.documents.content import Content, ReadMarkup
from peers.documents.formats import Format
from peers.engine.pages.class_model import ClassModel
from peers.gateway.handling.backend import Answer, Made
from peers.gateway.http.rights import Rights
from peers.gateway.http.shown_log import ShownLog
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.site.difference import Difference
from peers.gateway.site.stored_page import PageSnapshot
from peers.gateway.site.stored_reader import StoredReader
from peers.policy.rules import OF_SEEDS, Policy
from peers.storage.messages import ParseRecords
from peers.topics.topic_list import TopicsInForce
from peers.watch.watch_list import WatchInForce
from tests.peers.gateway.fake_searcher import answer_to

TOKEN = "0123456789abcdef"
ROOT, MESH_ID = SigningKey.of_secret(b"r" * 32), b"m" * 16
RIGHTS = {"Authorization": f"Bearer {TOKEN}"}


async def read_here(url: str, records: bytes) -> StoredText:
    """Read a stored page in this process; documents without their text."""
    return stored_text(extract_again(ParseRecords(url, Stamp(0, 0.0), records), _read))


def _read(document_format: Format, body: bytes, read_markup: ReadMarkup) -> Content:
    return Content(text="its <b>text")


class FakeBackend:
    """Answers at once."""

    def __init__(
        self, answer: Callable[[Message], Message] = answer_to, settings: GatewaySettings | None = None
    ) -> None:
        self.settings = settings or GatewaySettings(admin_token=TOKEN)
        self.rights = Rights(TokenJudge(Authority(ROOT.public, MESH_ID)))
        self.visitor = visitor_of(CrawlSettings(contact="me@a.test"), (), is_closed=False)
        self.orders: list[Message] = []
        self.started: list[Callable[[], Awaitable[None]]] = []
        self.logged: list[Message] = []
        self.policy: Policy = OF_SEEDS
        self.submissions_taken: list[tuple[str, int]] = []
        self.submission_wait_s = 0.0
        self.shown_log = ShownLog(self.logged.append, TOKEN)
        self.classes: ClassModel | None = None
        self.watch_list: WatchInForce | None = None
        self.topics: TopicsInForce | None = None
        self.seeds_taken: list[tuple[str, int]] = []
        self.seeds_wait_s = 0.0
        self.changes_taken: list[dict[str, int]] = []
        self.changes_wait_s = 0.0
        self.private: dict[str, str] = {}  # by host name: what to do about it
        self.looked_at: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        self._answer = answer

    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        self.orders.append(order(7))
        found = self._answer(self.orders[-1])
        assert isinstance(found, answer)
        return found

    async def render(self, page: Callable[[], Made]) -> Made:
        return page()

    async def private_among(self, urls: Sequence[str], decreed: tuple[str, ...] = ()) -> Mapping[str, str]:
        self.looked_at.append((tuple(urls), decreed))
        return {} if decreed else self.private

    async def read_difference(self, url: str, before: bytes, after: bytes) -> Difference:
        return await StoredReader(read_here).difference(url, before, after)

    async def read_stored(self, url: str, records: bytes, *, wants_text: bool = True) -> PageSnapshot:
        return await StoredReader(read_here).page(url, records, wants_text=wants_text)

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        self.started.append(work)

    def take_seeds(self, client: str, count: int) -> float:
        self.seeds_taken.append((client, count))
        return self.seeds_wait_s

    def take_changes(self, counts: Mapping[str, int]) -> float:
        self.changes_taken.append(dict(counts))
        return self.changes_wait_s

    def take_submission(self, client: str, day_max: int) -> float:
        self.submissions_taken.append((client, day_max))
        return self.submission_wait_s

    def draw(self) -> bytes:
        return b"0123456789abcdef"

    def now(self) -> float:
        return 100.0

    def metrics(self, media_type: str) -> str:
        return "tianmesh_searches_total 3\n"
