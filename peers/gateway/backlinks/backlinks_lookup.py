"""The list of the pages that link to one, from the peers that keep the slot of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from mesh.actors.actor import Message, Send
from mesh.actors.ownership import Ownership
from mesh.urls import is_canonical
from peers.gateway.errands.team_errand import TeamErrand
from peers.gateway.model.member_lines import harmless
from peers.gateway.model.messages import BacklinksFound, FindBacklinks
from peers.link_graph.target_row import SourceLink
from peers.link_graph.wire_messages import AROUND, LISTED_MAX, BacklinksListed, ListBacklinks
from peers.policy.rules import EVERYTHING, Policy


class BacklinksLookup(TeamErrand):
    """Answers one `FindBacklinks` by one `BacklinksFound`: the list of the first of the team with one.

    Of that list is shown what another member that has all of the slot tells as well, as far as one answers; a
    title or text that it has otherwise is left out. This peer believes itself.
    """

    actor: ClassVar[str] = "link_graph"

    def __init__(
        self, number: int, me: str, order: FindBacklinks, ownership: Ownership, policy: Policy = EVERYTHING
    ) -> None:
        super().__init__(number, me, order.ticket, order.url, ownership)
        self._order, self._policy = order, policy
        self._owner = ownership.owner_of(self.slot)
        self._serving = ownership.serving.team_of(self.slot)
        answerer = ownership.answerer_of(self.slot)
        self.team = tuple(sorted(self.team, key=lambda peer: peer != answerer))  # stable: then the owner
        self._told: dict[str, BacklinksListed] = {}

    def start(self, now: float) -> list[Send]:
        if self._is_hidden(self.url):
            return self._end(BacklinksFound(self.ticket, self.url, BacklinksListed(0, self.url, is_on=True)))
        return super().start(now)

    def _question(self, request: int, peer: str) -> Message:
        return ListBacklinks(request, self.url, self._order.start)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, BacklinksListed) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, BacklinksListed)
        if answer.url == self.url and all(is_canonical(link.url) for link in answer.links):
            self._told[peer] = answer

    def _gathered(self) -> Message:
        tellers = [peer for peer in self.team if peer in self._told]
        teller = next((peer for peer in tellers if self._told[peer].is_on), tellers[0] if tellers else None)
        first = None if teller is None else self._told[teller]
        if first is not None:
            n_before = min(self._order.start, AROUND)
            part = first.links[n_before : n_before + LISTED_MAX]
            shown = tuple(
                replace(link, title=harmless(link.title), text=harmless(link.text))
                for link in self._confirmed(part, teller)
                if link.is_there and not self._is_hidden(link.url)
            )
            first = replace(first, links=shown, rank=self._rank())
        return BacklinksFound(self.ticket, self.url, first)

    def _confirmed(self, links: Sequence[SourceLink], teller: str | None) -> Iterator[SourceLink]:
        """Yield the links that a second member tells as well; all where none can say so."""
        others = (peer for peer in self._serving if peer != teller and peer in self._told)
        witness = next((peer for peer in others if self._told[peer].is_on), None)
        if witness is None or teller == self._me:
            yield from links
            return
        known = {link.url: link for link in self._told[witness].links if link.is_there}
        for link in links:
            if (other := known.get(link.url)) is not None:
                title = link.title if link.title == other.title else ""
                yield replace(link, title=title, text=link.text if link.text == other.text else "")

    def _rank(self) -> float | None:
        """Return the rank of the page by the owner of its slot, which alone has it."""
        owner = self._told.get(self._owner or "")
        return None if owner is None else owner.rank

    def _is_hidden(self, url: str) -> bool:
        """Is a page shown to nobody, or not to this reader?"""
        return not self._policy.shows(url, self._order.hidden)
