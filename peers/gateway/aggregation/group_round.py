"""A question to many peers that aggregators put to most of them, and their reports of the answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from math import inf, isqrt
from struct import pack
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from mesh.actors.actor import Address, Message, Send
from peers.gateway.aggregation.wire_messages import GROUP_MAX, AskGroup, GroupAnswered
from peers.gateway.errands.round import Round
from peers.index.wire_messages import CountTerms, Hit, HitsFound, SearchSlots, TermsCounted

AGGREGATOR: Final = "searcher"  # the actor

Place: TypeAlias = tuple[float, str]  # of a hit in the order of hits: the score, negative, and the URL

BEHIND_ALL: Final[Place] = (inf, "")
_BEHIND_URLS: Final = "\U0010ffff"


def place_of(hit: Hit) -> Place:
    """The smaller, the better."""
    return -hit.score, hit.url


class ReportedHits(NamedTuple):
    """The hits of a member on the word of an aggregator."""

    aggregator: str
    found: HitsFound
    end: Place  # behind it, hits of the whole group may have been left out

    @property
    def group(self) -> tuple[str, Place]:
        """The same for all that were merged with it."""
        return self.aggregator, self.end

    def differs_from(self, own: HitsFound) -> bool:
        """Tell whether the member gives other hits itself, from the same state of its index."""
        reported = self.found
        is_same_state = (own.generation, own.missing) == (reported.generation, reported.missing)
        if not is_same_state or own.is_cut or reported.is_cut:
            return False
        return self._until_end(own) != self._until_end(reported)

    def _until_end(self, found: HitsFound) -> list[Hit]:
        return [hit for hit in found.hits if place_of(hit) <= self.end]


def end_of(answers: Iterable[TermsCounted | HitsFound], question: CountTerms | SearchSlots) -> Place:
    """Return the place up to which answers that were merged have all hits of their members."""
    if not isinstance(question, SearchSlots):
        return BEHIND_ALL
    hits = [hit for each in answers if isinstance(each, HitsFound) for hit in each.hits]
    end = max([(-hit.score, hit.url) for hit in hits]) if len(hits) >= question.k else BEHIND_ALL
    return min(end, (-question.floor, _BEHIND_URLS)) if question.floor > -inf else end


def groups_of(peers: Sequence[str], turn: int) -> list[tuple[str, ...]]:
    """Cut peers into about as many groups as each has members; the first of each is its aggregator.

    Args:
      turn: any number, another one with each question, so that all are aggregators in their turn.
    """
    n = len(peers)
    n_groups = max(isqrt(n), -(-n // GROUP_MAX))
    first = turn % max(n, 1)
    turned = [*peers[first:], *peers[:first]]
    return [tuple(turned[number::n_groups]) for number in range(n_groups)]


def common_question(questions: Collection[Message]) -> CountTerms | SearchSlots | None:
    """Return the question that all are asked, if it is one for aggregators.

    Words that are like a mistyped one are none: who tells of them is checked by who else tells of them.
    """
    first = next(iter(questions))
    if not isinstance(first, CountTerms | SearchSlots) or len(set(map(id, questions))) > 1:
        return None
    return None if isinstance(first, CountTerms) and first.mistyped else first


class GroupRound(Round):
    """A round in which some peers are asked directly, the others by aggregators.

    One member in each round is asked both ways, so that what its aggregator reports can be compared. It is
    chosen by the time to the last bit, which no aggregator knows.

    Attributes:
      question: that all are asked.
    """

    def __init__(
        self,
        question: CountTerms | SearchSlots,
        peers: Iterable[str],
        apart: Set[str],
        silent: Set[str],
        now: float,
        limit_s: float,
    ) -> None:
        """Choose the groups.

        Args:
          apart: peers that are in no group, and so asked directly.
          silent, limit_s: as for a `Round`.
        """
        super().__init__(question.request, "indexer", dict.fromkeys(peers, question), silent, now, limit_s)
        self.question = question
        turn = crc32(pack("<d", now))
        together = sorted(self.waiting - apart)
        groups = groups_of(together, turn)
        self._group_of = {group[0]: group for group in groups}  # by aggregator
        self._unheard = set(self._group_of)
        self._direct = self.waiting & apart  # peers that have been asked directly
        if groups:
            compared = groups[turn // len(together) % len(groups)]
            self._direct.add(compared[-1 - turn // len(together) // len(groups) % max(len(compared) - 1, 1)])

    def ask(self) -> list[Send]:
        asks = [
            Send(Address(aggregator, AGGREGATOR), AskGroup(self.question, group))
            for aggregator, group in self._group_of.items()
        ]
        return asks + [self._letter(peer) for peer in sorted(self._direct)]

    def accepts_group(self, source: Address, request: int) -> bool:
        """Was this aggregator asked this?"""
        return request == self.request and source.actor == AGGREGATOR and source.peer in self._group_of

    def reported(
        self, aggregator: str, message: GroupAnswered
    ) -> tuple[Mapping[str, TermsCounted | HitsFound], list[Send]]:
        """Return the answers of members that can be taken on the word of an aggregator, and questions.

        Those that lack slots are asked themselves, since others would be asked in their place from then on;
        and all members, where the aggregator cannot help.
        """
        group = self._group_of[aggregator]
        answers = {peer: answer for peer, answer in message.answers if peer in group}
        whole = {peer: answer for peer, answer in answers.items() if not answer.missing}
        is_of_no_use = not answers and aggregator in self._unheard
        self._unheard.discard(aggregator)
        return whole, self.ask_directly(group if is_of_no_use else answers.keys() - whole.keys())

    def ask_unheard(self) -> list[Send]:
        """Ask the members directly whose aggregators have not said anything; those are late themselves."""
        unheard, self._unheard = self._unheard, set()
        return self.ask_directly({peer for each in unheard for peer in self._group_of[each]} - unheard)

    def ask_directly(self, peers: Iterable[str]) -> list[Send]:
        """Ask those of them that have neither answered nor been asked so before."""
        to_ask = sorted(self.waiting.intersection(peers) - self._direct)
        self._direct.update(to_ask)
        return [self._letter(peer) for peer in to_ask]
