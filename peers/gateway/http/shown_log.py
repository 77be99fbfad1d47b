"""The gateway's part in the log of searches: clients become digests here, and nothing else leaves. [io]"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from mesh.actors.actor import Message
from peers.engine.queries.query import Sort
from peers.gateway.model.messages import PagesFound, SearchPages
from peers.gateway.site.click_links import Click, ClickLinks
from peers.gateway.site.pages import HITS_PER_PAGE
from peers.policy.log_rules import QueryLogRules, logged_text
from peers.policy.rules import DAY_S
from peers.query_log.log_row import CLIENT_BYTES, URL_CHARS_MAX, is_loggable, list_of
from peers.query_log.messages import ResultClicked, ResultsShown

# Queries of a client in a day whose clicks count in a comparison of rankings: more than most people ask, and
# too few for one to decide it.
COMPARED_QUERIES_MAX: Final = 20
COMPARERS_MAX: Final = 10_000  # clients in a day; clicks of further ones do not count


class ShownLog:
    """Tells the log of this peer which results clients are shown and click on, if the policy has one.

    Attributes:
      rules: of the policy in force; None while nothing is logged.
    """

    def __init__(self, tell: Callable[[Message], None], secret: str) -> None:
        """Begin without a log.

        Args:
          tell: hands a message to the log.
          secret: of this peer, by which it knows links of an earlier life; "" for none.
        """
        self.rules: QueryLogRules | None = None
        self._tell = tell
        self._link_key = blake2b(secret.encode() or os.urandom(32), person=b"click links").digest()
        self._salt, self._salt_day = b"", -1
        self._compared: dict[str, set[bytes]] = {}  # by client: the queries of today that count

    def note_shown(self, client: str, order: SearchPages, found: PagesFound) -> None:
        """Note a page of results, but for those behind a cursor, of which no number is known."""
        query = logged_text(order.text)
        if self.rules is not None and is_loggable(query) and not (order.cursor or order.page_words):
            page = order.offset // HITS_PER_PAGE + 1
            is_listed = self.rules.clicks and not order.offset and order.order is Sort.SCORE
            listed = list_of(hit.url for hit in found.hits) if is_listed else b""
            self._tell(ResultsShown(query, self._digest(client, query), page, len(found.hits), listed))

    def draw(self, client: str, query: str) -> int:
        """Return the draw by which two rankings pick the results of a query; 0 where there is but one.

        It is the same for a client, query and day.
        """
        if self.rules is None or self.rules.second is None:
            return 0
        # Loaded where rankings are compared.
        from peers.judging.team_draft import DRAWS

        return 1 + int.from_bytes(self._digest(client, logged_text(query))) % DRAWS

    def links(self, query: str, teams: tuple[int, ...] = ()) -> ClickLinks | None:
        """Return the maker of a result page's links; None where they lead to the pages themselves.

        Args:
          teams: by which rankings its results were picked, of `PagesFound`.
        """
        text = logged_text(query)
        if self.rules is None or not self.rules.clicks or not is_loggable(text):
            return None
        second = self.rules.second if teams else None
        comparison = second.comparison if second is not None else ""
        return ClickLinks(self._link_key, text, _today(), comparison, teams)

    def note_click(self, client: str, click: Click, mac: str, credit: str = "") -> bool:
        """Note a click, if there is a log of them; False when the link is not ours, or too old.

        Args:
          credit: signature by which it counts for a ranking; "" for none.
        """
        if not click.is_signed(self._link_key, mac, _today()):
            return False
        if self.rules is not None and self.rules.clicks and len(click.url) <= URL_CHARS_MAX:
            digest = self._digest(client, click.query)
            comparison, team = self._credited(client, digest, click, credit) if credit else ("", 0)
            self._tell(ResultClicked(click.query, digest, click.rank, click.url, comparison, team))
        return True

    def _credited(self, client: str, digest: bytes, click: Click, credit: str) -> tuple[str, int]:
        """Return the comparison and the team that a click counts for; "" for no comparison."""
        second = self.rules.second if self.rules is not None else None
        if second is None:
            return "", 0
        team = click.team_of(self._link_key, second.comparison, credit)
        queries = self._compared.get(client, set())
        is_known = client in self._compared or len(self._compared) < COMPARERS_MAX
        if team is None or not (digest in queries or (is_known and len(queries) < COMPARED_QUERIES_MAX)):
            return "", 0
        self._compared.setdefault(client, queries).add(digest)
        return second.comparison, team

    def _digest(self, client: str, query: str) -> bytes:
        """Return a digest that is of this client, day and query alone, by a key that nobody has tomorrow."""
        today = _today()
        if today != self._salt_day:
            self._salt, self._salt_day = os.urandom(32), today
            self._compared.clear()
        said = f"{client}\n{query}".encode()
        return blake2b(said, digest_size=CLIENT_BYTES, key=self._salt).digest()


def _today() -> int:
    return int(time.time() // DAY_S)
