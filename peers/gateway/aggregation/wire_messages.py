"""Questions that a gateway has another peer put to a group of members, and their answers, merged."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count, Name
from peers.index.wire_messages import CountTerms, HitsFound, SearchSlots, TermsCounted

GROUP_MAX: Final = 64  # members: 64 groups of these are as many as a newcomer is welcomed to


class AskGroup(Message, frozen=True, array_like=True, tag=48):
    """A gateway to the searcher of an aggregator: put this question to the indexers of these members."""

    question: CountTerms | SearchSlots
    members: Annotated[tuple[Name, ...], Meta(max_length=GROUP_MAX)]


class GroupAnswered(Message, frozen=True, array_like=True, tag=49):
    """The aggregator's answer, and further ones for members that were late. None in it: ask them yourself.

    Of hits, the best k of all the members in it are left, each in the answer of the member that gave it; so
    where there are k, worse ones may have been left out.
    """

    request: Count  # of the question of the gateway; those in the answers mean nothing to it
    answers: Annotated[tuple[tuple[Name, TermsCounted | HitsFound], ...], Meta(max_length=GROUP_MAX)]
