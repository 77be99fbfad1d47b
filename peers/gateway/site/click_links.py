"""Links of results that lead over the gateway, so that the log of searches has the clicks.

They are signed for a day or two: who makes up others is sent nowhere by this gateway, and clicks on what it
never showed are not logged. The address of the page stands under the result, and in the title of the link.
"""

from __future__ import annotations

from hashlib import blake2b
from hmac import compare_digest
from typing import Final, NamedTuple
from urllib.parse import urlencode

MAC_BYTES: Final = 12
TEAMS: Final = (0, 1)  # `judging.team_draft.Team`
DAYS_VALID: Final = 1  # after the day on which it was made


class Click(NamedTuple):
    """The content of a link, but for its signature."""

    query: str  # `log_rules.logged_text`
    rank: int  # from 1
    url: str
    day: int  # since the epoch, on which it was made

    def mac(self, key: bytes) -> str:
        """Return the signature: BLAKE2b with a key, in hexadecimal digits."""
        said = "\n".join((str(self.day), str(self.rank), self.url, self.query))
        return blake2b(said.encode("utf-8", "replace"), key=key, digest_size=MAC_BYTES).hexdigest()

    def credit(self, key: bytes, comparison: str, team: int) -> str:
        """Return the signature by which the click counts for a team, whose number nobody can read from it."""
        said = "\n".join(
            ("credit", comparison, str(team), str(self.day), str(self.rank), self.url, self.query)
        )
        return blake2b(said.encode("utf-8", "replace"), key=key, digest_size=MAC_BYTES).hexdigest()

    def team_of(self, key: bytes, comparison: str, credit: str) -> int | None:
        """Return the team that a signature credits, None where it is not ours or of another comparison."""
        given = credit.encode("utf-8", "replace")
        teams = (each for each in TEAMS if compare_digest(self.credit(key, comparison, each).encode(), given))
        return next(teams, None)

    def is_signed(self, key: bytes, mac: str, today: int) -> bool:
        is_of_days = self.day <= today <= self.day + DAYS_VALID
        return is_of_days and compare_digest(self.mac(key).encode(), mac.encode("utf-8", "replace"))


class ClickLinks(NamedTuple):
    """Makes the links of one page of results."""

    key: bytes
    query: str
    day: int
    comparison: str = ""  # of two rankings; "" where there is none
    teams: tuple[int, ...] = ()  # of each result of the page, -1 for none

    def href(self, rank: int, url: str, place: int = 0) -> str:
        """Return a link. Args: place: on the page, from 0."""
        click = Click(self.query, rank, url, self.day)
        parameters = {"url": url, "q": self.query, "rank": rank, "day": self.day, "mac": click.mac(self.key)}
        if self.comparison and place < len(self.teams) and self.teams[place] in TEAMS:
            parameters["credit"] = click.credit(self.key, self.comparison, self.teams[place])
        return f"/go?{urlencode(parameters)}"
