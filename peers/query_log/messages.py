"""Messages of the gateway of a peer to the log of that peer."""

from __future__ import annotations

from mesh.actors.actor import Message


class ResultsShown(Message, frozen=True):
    """HTTP to the log: a client was shown a page of results."""

    query: str  # `log_rules.logged_text`
    client: bytes  # a digest of who it is, for this day and query alone
    page: int  # of the results, from 1
    n_shown: int  # results on it
    listed: bytes = b""  # `log_row.list_of` those of the first page, where clicks are logged


class ResultClicked(Message, frozen=True):
    """HTTP to the log: a client goes to a result, by a link that this gateway has signed."""

    query: str
    client: bytes
    rank: int  # from 1
    url: str
    comparison: str = ""  # of two rankings, of the policy's second one; "" for none
    team: int = 0  # the ranking that has picked the result, `judging.team_draft.Team`
