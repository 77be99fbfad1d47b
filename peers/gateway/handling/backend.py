"""The services behind the web application of a gateway, and their refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from mesh.actors.actor import Message
from peers.crawler.fetching.contact import Visitor
from peers.gateway.http.rights import Rights
from peers.gateway.http.shown_log import ShownLog
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.site.difference import Difference
from peers.gateway.site.stored_page import PageSnapshot
from peers.policy.rules import Policy
from peers.topics.topic_list import TopicsInForce
from peers.watch.watch_list import WatchInForce

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel

Answer = TypeVar("Answer", bound=Message)
Made = TypeVar("Made")


class Busy(Exception):
    """The searcher cannot take this now; the text says why."""


class Refused(Exception):
    """The order makes no sense as the mesh is now; the text says why."""

    def __init__(self, reason: str, *, is_known: bool) -> None:
        super().__init__(reason)
        self.is_known = is_known


class Backend(Protocol):
    """The services behind the application: the searcher, worker threads, a clock.

    Attributes:
      settings: of now.
      rights: what bearers of tokens may.
      visitor: how this peer presents itself to the web.
      policy: of the mesh, in force now.
      shown_log: notes what is shown and clicked on, if the policy of the mesh wants that.
      classes: that pages of the mesh may be in; None where it has none.
      watch_list: of the mesh; None where nothing is watched for.
      topics: of the mesh; None where none is counted.
    """

    settings: GatewaySettings
    rights: Rights
    visitor: Visitor
    policy: Policy
    shown_log: ShownLog
    classes: ClassModel | None
    watch_list: WatchInForce | None
    topics: TopicsInForce | None

    async def ask(
        self, order: Callable[[int], Message], answer: type[Answer], actor: str = "searcher"
    ) -> Answer:
        """Send the order that is made with a ticket to an actor and wait for its answer.

        Raises:
          Busy: too many are waiting, or no answer came.
          Refused: the mesh cannot do what it is ordered.
        """

    async def read_difference(self, url: str, before: bytes, after: bytes) -> Difference:
        """Call `difference` likewise. CorruptionError, Busy."""

    async def render(self, page: Callable[[], Made]) -> Made:
        """Make a page of texts by strangers, which may be of any length, where it holds nobody up.

        Or what goes into one.
        """

    async def private_among(self, urls: Sequence[str], decreed: tuple[str, ...] = ()) -> Mapping[str, str]:
        """Return the hosts of some URLs that are at private addresses, each with the remedy.

        Args:
          decreed: names and networks that the policy of the mesh allows.
        """

    async def read_stored(self, url: str, records: bytes, *, wants_text: bool = True) -> PageSnapshot:
        """Call `stored_page` where it does not hold up others. CorruptionError, Busy.

        Args:
          wants_text: of documents, too, and not only the file.
        """

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have something done that goes on after the answer."""

    def take_seeds(self, client: str, count: int) -> float:
        """Count seeds of a client (see `quotas`); 0.0, or in how many seconds they can be."""

    def take_changes(self, counts: Mapping[str, int]) -> float:
        """Count changed pages by host (see `quotas`); 0.0, or in how many seconds they can be."""

    def take_submission(self, client: str, day_max: int) -> float:
        """Count a submitted site of a client, of so many a day; 0.0, or in how many seconds it can be."""

    def draw(self) -> bytes:
        """Draw 16 bytes that nobody can guess."""

    def now(self) -> float:
        """Seconds of a clock that only goes forward."""

    def metrics(self, media_type: str) -> str:
        """All that this peer counts, as `metrics.exposition` writes it."""
