"""The stage of a search that asks for words like those that may be mistyped.

A member may tell of a word that is on some pages as if all pages had it, and so choose what a query is taken
for. Where the choice is another one without the counts of one member, the peers that keep its slots besides
it count the same words over the same slots, and of both counts the lesser one is taken. All have the same
pages, so the choice of honest members stays the same; with most words no member decides alone, and nobody is
asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from mesh.actors.actor import Send
from peers.gateway.search.correction import Mended, Mistyped, likeliest, mend, summed
from peers.gateway.search.plan import Plan, Share
from peers.gateway.search.search_task import SearchTask
from peers.gateway.search.stage import COUNTING_S_MAX, Answer, AskedRound, Stage, limit_of
from peers.gateway.search.statistics_stage import TermStage
from peers.gateway.search.term_statistics import edition_of
from peers.index.wire_messages import CountTerms, Similar, TermsCounted

RECOUNTED_MAX: Final = 4  # members that decide, those that tell most; of four each decides little
EXAMINED_MAX: Final = 32  # members that may decide, likewise

Told: TypeAlias = tuple[tuple[Similar, ...], ...]  # by a share, for each of the words that may be mistyped
Sums: TypeAlias = Sequence[Sequence[Similar]]  # likewise, of all shares


class CorrectionStage(Stage):
    """Ask the shares of a plan; those that do not answer in time are not waited for, nor bridged.

    A share tells the likeliest words that it knows. If it knows more, it is asked once again to count those
    that others have told, so that the sums are those of one index with all pages. Where the word of one peer
    decides what was meant, its stand-ins count the same words, as long as nobody else is absent.

    Attributes:
      counted, plan: what the search goes on with.
      mended: the query that was meant, once all have told.
      is_disputed: True when stand-ins have told otherwise, and so something else was meant.
      is_stale: True when an index has changed since its terms were counted; they are to be counted anew.
    """

    def __init__(
        self,
        task: SearchTask,
        counted: TermStage,
        plan: Plan,
        mistyped: Sequence[Mistyped],
        beside: tuple[str, ...],
        now: float,
    ) -> None:
        super().__init__(task, [plan], limit_of(task, COUNTING_S_MAX, now), now)
        self.counted, self.plan = counted, plan
        self.is_stale = False
        self._n_forgotten = counted.statistics.n_forgotten
        self._mistyped = mistyped
        self._beside = beside
        self.mended: Mended | None = None
        self.is_disputed = False
        self._told: dict[Share, Told] = {}
        self._recounted: dict[Share, Told] | None = None  # by stand-ins, once it was looked who decides
        self._cut: set[Share] = set()  # that know of more words than they have told
        # Of all words that were told: what they may stand for. Empty while they are being told.
        self._parts: list[dict[str, set[tuple[int, int]]]] = []

    def begin(self, now: float) -> list[Send]:
        return self._ask_shares(self.plan.slots, now)

    def ask_further(self, now: float) -> list[Send]:
        """Have words counted by those that left them out, then by stand-ins of those that decide."""
        sends = self._have_all_counted(now) or self._have_recounted(now)
        if sends:
            self.update(now)
        return sends

    def _have_all_counted(self, now: float) -> list[Send]:
        """Have the words that others have told counted by those that left words out, once."""
        shares, self._cut = self._cut, set()
        if self._parts or not self.is_told_by_all:
            return []
        for number in range(len(self._mistyped)):
            parts: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
            for each in self._summed(number):
                parts[each.word].add((each.start, each.end))
            self._parts.append(parts)
        lacking = [share for share in self.plan.slots if share in shares and self._is_lacking(share)]
        for share in lacking:
            del self._told[share]
        return self._ask_shares(lacking, now)

    def _have_recounted(self, now: float) -> list[Send]:
        """Choose the query that was meant; have the stand-ins of peers that decide it count, once."""
        if self._recounted is not None:
            self._agree()
            return []
        self._recounted = {}
        sums = self._likeliest()
        self.mended = self._meant_by(sums)
        is_to_check = bool(self._parts) and now < self._limit_at
        if self.mended is None or self.plan.absent or self.is_stale or not is_to_check:
            return []
        sends: list[Send] = []
        for share in deciding(self._told, sums, self.mended, self._meant_by):
            absent = (share.peer,)
            stand_ins = self._shared.plan(frozenset(absent)).stand_ins()
            if share.peer != self._task.me and stand_ins:
                sends += self._ask_shares(stand_ins, now)
        return sends

    def _agree(self) -> None:
        """Go by the lesser counts where all stand-ins of a peer have told theirs."""
        for share in self._told:
            if recounts := self._recounts_of(share):
                self._told[share] = agreed(self._told[share], recounts)
        self._recounted = {}
        meant = self._meant_by(self._likeliest())
        self.is_disputed = meant != self.mended
        self.mended = meant

    def _recounts_of(self, share: Share) -> list[Told]:
        """The counts of all stand-ins of a share; nothing where one of them has not told any."""
        absent, recounted = (share.peer,), self._recounted or {}
        stand_ins = self._shared.plan(frozenset(absent)).stand_ins()
        if share.absent or any(each not in recounted for each in stand_ins):
            return []
        return [recounted[each] for each in stand_ins]

    def _likeliest(self) -> Sums:
        """The sums of all answers for each word, of the likeliest ones."""
        return [
            likeliest(mistyped.letters, self._summed(number))
            for number, mistyped in enumerate(self._mistyped)
        ]

    def _meant_by(self, sums: Sums) -> Mended | None:
        task, n_pages = self._task, self.counted.statistics.totals(self.plan.slots, ()).document_count
        return mend(task.order.text, list(zip(self._mistyped, sums, strict=True)), task.is_shown, n_pages)

    def _is_lacking(self, share: Share) -> bool:
        """Have others told words that a share has not?"""
        own = [{each.word for each in similar} for similar in self._told[share]]
        return any(parts.keys() - words for words, parts in zip(own, self._parts, strict=True))

    def _placed(self, counted: Sequence[Sequence[Similar]]) -> tuple[tuple[Similar, ...], ...]:
        """Put the words that a share has counted, each once, back to the parts of the typed one."""
        return tuple(
            tuple(
                replace(each, start=start, end=end)
                for each in {each.word: each for each in similar}.values()
                for start, end in sorted(parts.get(each.word, ()))
            )
            for similar, parts in zip(counted, self._parts, strict=True)
        )

    def _ask_shares(self, shares: Iterable[Share], now: float) -> list[Send]:
        words = tuple(each.letters for each in self._mistyped)
        wanted = tuple(map(tuple, self._parts))
        peers = defaultdict(list)
        for share in shares:
            peers[share.absent].append(share.peer)
        sends: list[Send] = []
        for absent, of_absent in peers.items():
            question = CountTerms(self._task.number_question(), (), absent, words, self._beside, wanted)
            sends += self._ask(
                question.request, dict.fromkeys(of_absent, question), TermsCounted, absent, now
            )
        return sends

    def take(self, asked: AskedRound, message: Answer, share: Share, now: float) -> None:
        assert isinstance(message, TermsCounted)
        if message.epoch != self._task.ownership.serving_epoch:
            self._take_as_foreign(asked, share, now)
            return
        if share not in self.plan.slots:
            asked.round.settle(share.peer)
            is_whole = not (message.missing or message.is_cut)
            if self._recounted is not None and is_whole and len(message.similar) == len(self._mistyped):
                self._recounted[share] = message.similar
            return
        if edition_of(message) != self.counted.statistics.edition(share):
            self.counted.statistics.forget(share)
            self.is_stale = True
        asked.round.settle(share.peer)
        if len(message.similar) == len(self._mistyped) and share in self.plan.slots:
            self._told[share] = self._placed(message.similar) if self._parts else message.similar
            if message.is_cut:
                self._cut.add(share)

    def end(self, plan: Plan) -> None:
        self._shared.punctuality.note_silent(self._waiting())

    @property
    def is_counted(self) -> bool:
        """Are all counts of the plan still known? Other searches may find that an index has changed."""
        return self.counted.statistics.n_forgotten == self._n_forgotten or self.counted.is_counted(self.plan)

    @property
    def is_told_by_all(self) -> bool:
        """Has every share of the plan told its words?"""
        return self._told.keys() == set(self.plan.slots)

    def _summed(self, number: int) -> list[Similar]:
        return summed([self._told[share][number] for share in sorted(self._told)])

    def _ask_instead(self, late: set[str], now: float) -> list[Send]:
        return []


def deciding(
    told: Mapping[Share, Told],
    sums: Sums,
    meant: Mended | None,
    meant_by: Callable[[Sums], Mended | None],
) -> list[Share]:
    """Return the shares without which something else would be meant, those that tell most first.

    Args:
      sums: of all that was told.
      meant: by these sums.
    """
    telling = [share for share in sorted(told) if any(told[share])]
    telling.sort(key=lambda share: -max(each.pages for similar in told[share] for each in similar))
    found = [
        share
        for share in telling[:EXAMINED_MAX]
        if meant_by([_less(*pair) for pair in zip(sums, told[share], strict=True)]) != meant
    ]
    return found[:RECOUNTED_MAX]


def _less(sums: Iterable[Similar], own: Iterable[Similar]) -> list[Similar]:
    """Return the sums without the counts of one share."""
    of_share = {(each.word, each.start, each.end): each for each in own}
    rest: list[Similar] = []
    for each in sums:
        one = of_share.get((each.word, each.start, each.end))
        if one is None:
            rest.append(each)
        elif each.pages > one.pages:
            samples = tuple(url for url in each.samples if url not in one.samples)
            pages, together = each.pages - one.pages, max(each.together - one.together, 0)
            rest.append(replace(each, pages=pages, together=together, samples=samples))
    return rest


def agreed(own: Told, recounted: Sequence[Told]) -> Told:
    """Return the words of a share, as far as its stand-ins, which have the same pages, tell them too."""
    return tuple(
        tuple(_lesser(similar, [each[number] for each in recounted])) for number, similar in enumerate(own)
    )


def _lesser(own: Iterable[Similar], recounted: Iterable[Iterable[Similar]]) -> Iterable[Similar]:
    sums: dict[str, Similar] = {}
    for of_stand_in in recounted:
        for each in {each.word: each for each in of_stand_in}.values():
            before = sums.get(each.word)
            if before is not None:
                each = _together(before, each)
            sums[each.word] = each
    for each in own:
        other = sums.get(each.word)
        if other is not None:
            pages, together = min(each.pages, other.pages), min(each.together, other.together)
            yield replace(each, pages=pages, together=together, samples=other.samples)


def _together(one: Similar, other: Similar) -> Similar:
    samples = (*one.samples, *other.samples)
    return replace(
        one, pages=one.pages + other.pages, together=one.together + other.together, samples=samples
    )
