"""A web of news, played by rounds: of every page its text is known in each round.

Each site has a home page and columns. In each round a column has a story of its own, a story of an agency
that other sites have word for word, or still that of the round before, which its ETag tells. How many stories
are on the topic follows a curve with one peak; others have a related string only. In some rounds no server
answers. All of that is a pure function of URL, round and seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp
from typing import Final

import xxhash

from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import FoundLink
from simulations.webs.web import Served

TOPIC_STRING: Final = "代表大会"
RELATED_STRING: Final = "Great Hall"
AGENCY_STORIES: Final = 12  # in a round
AGENCY_SHARE: Final = 0.5  # of the columns
STEADY_SHARE: Final = 0.25  # likewise, with the story of the round before
SITES: Final = 20
COLUMNS: Final = 5  # of a site, beside its home page
PEAK: Final = 20  # the round with most stories on the topic
_ANSWER_S: Final = 0.2


class TopicWeb:
    """A `web.Web` of sites."""

    def __init__(
        self,
        seed: int,
        now: Callable[[], float],
        *,
        round_s: float = 300.0,
        lost: Iterable[int] = (),
    ) -> None:
        """Lay out the sites.

        Args:
          now: the time of the world.
          lost: the rounds in which nobody answers.
        """
        self._seed, self._now, self._round_s = seed, now, round_s
        self.hosts = tuple(f"news{number}.test" for number in range(SITES))
        self.lost = frozenset(lost)

    def round_now(self) -> int:
        return int(self._now() // self._round_s)

    # --- What pages say

    def story(self, url: str, number: int) -> str:
        """Return the text of a page in a round."""
        _, _, host, path = url.split("/", 3)
        if not path:
            return f"{host} has all the news of round {number}"
        teller = self._teller(host, path, number)
        while teller == "steady":
            number -= 1
            teller = self._teller(host, path, number)
        if teller == "agency":
            return self._text(
                f"agency {self._draw('which', host, path, number) * AGENCY_STORIES:.0f}", number
            )
        return self._text(f"{host} {path}", number)

    def _teller(self, host: str, path: str, number: int) -> str:
        draw = self._draw("teller", host, path, number)
        if draw < STEADY_SHARE and number > 0:
            return "steady"
        return "agency" if draw < STEADY_SHARE + AGENCY_SHARE else "own"

    def _text(self, name: str, number: int) -> str:
        share = 0.05 + 0.5 * exp(-(((number - PEAK) / 8.0) ** 2))
        draw = self._draw("topic", name, "", number)
        said = TOPIC_STRING if draw < share else RELATED_STRING if draw < 1.5 * share else "the weather"
        return f"story {name} of round {number} is about {said}"

    def _draw(self, *names: object) -> float:
        return xxhash.xxh3_64_intdigest(repr((self._seed, names)).encode()) / 2**64

    # --- `web.Web`

    def serve(self, url: str) -> Served:
        number = self.round_now()
        if url.endswith("/robots.txt"):
            return Served(404, _ANSWER_S, 100)
        if number in self.lost:
            return Served(0, 1.0, 0, failure=FailureReason.TIMEOUT)
        if url not in self.all_pages:
            return Served(404, _ANSWER_S, 100)
        body = self.story(url, number).encode()
        return Served(200, _ANSWER_S, len(body), body=body, etag=f'"{xxhash.xxh3_64_hexdigest(body)}"')

    @property
    def all_pages(self) -> frozenset[str]:
        paths = ("", *(f"column{number}" for number in range(COLUMNS)))
        return frozenset(f"https://{host}/{path}" for host in self.hosts for path in paths)

    @property
    def pages(self) -> int:
        return len(self.all_pages)

    @property
    def seeds(self) -> tuple[str, ...]:
        return tuple(f"https://{host}/" for host in self.hosts)

    def links(self, url: str) -> tuple[FoundLink, ...]:
        return tuple(FoundLink(target, "column") for target in self.targets(url))

    def targets(self, url: str) -> Iterable[str]:
        return tuple(f"{url}column{number}" for number in range(COLUMNS)) if url[8:].endswith("/") else ()

    def crawl_delay_s(self, origin: str) -> float:
        return 0.0

    def is_forbidden(self, url: str) -> bool:
        return False
