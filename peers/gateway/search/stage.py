"""A stage of a search: questions under way for one purpose, and others asked for those that are late."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

from mesh.actors.actor import Address, Message, Send
from peers.gateway.aggregation.group_round import GroupRound, common_question
from peers.gateway.aggregation.wire_messages import GroupAnswered
from peers.gateway.errands.round import REPEAT_AFTER_S, Round
from peers.gateway.search.plan import Absent, Plan, Share
from peers.gateway.search.search_task import SearchTask
from peers.gateway.search.term_statistics import Edition
from peers.index.wire_messages import (
    AskPast,
    CountTerms,
    ExcerptsRead,
    HitsFound,
    ReadExcerpts,
    SearchSlots,
    TermsCounted,
)

COUNTING_S_MAX: Final = 1.0
SEARCHING_S_MAX: Final = 1.0
READING_S_MAX: Final = 0.5
_OfPast: Final = (CountTerms, SearchSlots, ReadExcerpts)

Reported: TypeAlias = TermsCounted | HitsFound
Answer: TypeAlias = Reported | ExcerptsRead
EditionsOf: TypeAlias = Callable[[Iterable[Share]], Mapping[Share, Edition]]  # of those that have answered


@dataclass(frozen=True, slots=True)
class AskedRound:
    """A round under way: the type of its answers, and the absent peers they are given for."""

    round: Round
    answer: type[Answer]
    absent: Absent


class Stage(ABC):
    """One of checking, counting, searching, reading; the search goes from one to the next.

    Attributes:
      plans: ways to have every slot answered once, the one without stand-ins first.
      late_at: when those that have not answered are late.
    """

    def __init__(self, task: SearchTask, plans: list[Plan], limit_at: float, now: float) -> None:
        """Begin without questions; `begin` of the stage asks them.

        Args:
          limit_at: when the answers that came have to do.
        """
        self.plans = plans
        self.late_at = now + task.view.punctuality.hedge_s
        self._task = task
        self._shared = task.view
        self._began = now
        self._limit_at = limit_at
        self._asked: list[AskedRound] = []
        self._open: list[AskedRound] = []  # those of them that are not over
        self._incomplete: set[str] = set()  # peers that have told that they lack slots
        # Of plans for which not all shares have answered, one that has not, as far as was looked.
        self._awaited: dict[tuple[Plan, EditionsOf], Share] = {}

    @abstractmethod
    def begin(self, now: float) -> list[Send]:
        """The first questions."""

    @abstractmethod
    def take(self, asked: AskedRound, message: Answer, share: Share, now: float) -> None:
        """Take in the answer of a share to one of the questions."""

    @abstractmethod
    def end(self, plan: Plan) -> None:
        """Note the peers that kept this stage waiting; it ends with this plan."""

    @abstractmethod
    def _ask_instead(self, late: set[str], now: float) -> list[Send]:
        """Have others answer for those that are late, within the budget."""

    def asked_for(self, source: Address, message: Answer) -> AskedRound | None:
        """The round that this answers. An answer must fit: a peer may send anything under its number."""
        for asked in self._asked:
            if isinstance(message, asked.answer) and asked.round.accepts(source, message.request):
                return asked
        return None

    def take_group(self, source: Address, message: GroupAnswered, now: float) -> list[Send] | None:
        """Take in the report of an aggregator; None when it was not asked. Ask members that it leaves out."""
        for asked in self._asked:
            round_ = asked.round
            if isinstance(round_, GroupRound) and round_.accepts_group(source, message.request):
                answers, sends = round_.reported(source.peer, message)
                fitting = {peer: each for peer, each in answers.items() if isinstance(each, asked.answer)}
                return sends + round_.ask_directly(self._take_reported(asked, source.peer, fitting, now))
        return None

    def update(self, now: float) -> None:
        """See which rounds are over."""
        self._open = [asked for asked in self._asked if not asked.round.is_over(now)]

    @property
    def is_open(self) -> bool:
        """Is anybody waited for? As of the last `update`."""
        return bool(self._open)

    def is_waiting_for_all(self) -> bool:
        """Does the only plan lack an answer? Asked first: it is cheap, and so most of the time."""
        return len(self.plans) == 1 and len(self._asked) == 1 and self.is_open

    def repeat(self, now: float) -> list[Send]:
        """Ask those again that have not answered for a while."""
        return [send for asked in self._asked for send in asked.round.wake(now)]

    def wake_at(self) -> float:
        at = self.late_at
        for asked in self._open:
            at = min(at, asked.round.wake_at())
        return at

    def bridge_incomplete(self, now: float) -> list[Send]:
        """Have others answer for those that have told that they cannot."""
        if not self._incomplete:
            return []
        return self._bridge(self._shared.plan(self._incomplete | self._shared.punctuality.tardy), now)

    def bridge_late(self, now: float) -> list[Send]:
        """Have others answer for those that have not yet; again and again, for others may be late then."""
        if now < self.late_at:
            return []
        letters: list[Send] = []
        for asked in self._open:
            if isinstance(asked.round, GroupRound):
                letters += asked.round.ask_unheard()
        late = self._waiting()
        if letters:
            late.difference_update([send.target.peer for send in letters])
        self.late_at = now + self._shared.punctuality.hedge_s if late or letters else inf
        return letters + self._ask_instead(late, now)

    # --- For the stages themselves ---------------------------------------------------------------

    def _ask(
        self,
        request: int,
        questions: Mapping[str, Message],
        answer: type[Answer],
        absent: Absent,
        now: float,
    ) -> list[Send]:
        shared = self._shared
        if self._task.span is not None:
            questions = _of_span(questions, *self._task.span)
        punctuality, limit_s = shared.punctuality, self._limit_at - now
        if len(questions) >= shared.aggregated_from and (question := common_question(questions.values())):
            round_: Round = GroupRound(question, questions, shared.apart, punctuality.silent, now, limit_s)
        else:
            round_ = Round(request, "indexer", questions, punctuality.silent, now, limit_s)
        if answer is not ExcerptsRead:
            punctuality.note_question(request, now, is_test=answer is HitsFound and not absent)
        self._asked.append(AskedRound(round_, answer, absent))
        return round_.ask()

    def _take_reported(
        self, asked: AskedRound, aggregator: str, answers: Mapping[str, Reported], now: float
    ) -> Collection[str]:
        """Take in answers of members on the word of an aggregator, unless they have answered themselves.

        Returns:
          Members that are to be asked themselves, since of them something else is known.
        """
        for peer in asked.round.waiting.intersection(answers):
            self.take(asked, answers[peer], Share(peer, asked.absent), now)
        return ()

    def _waiting(self) -> set[str]:
        return {peer for asked in self._asked for peer in asked.round.waiting}

    def _bridge(self, plan: Plan, now: float) -> list[Send]:
        """Go on with one more plan."""
        if plan in self.plans or not plan.stand_ins():
            return []
        self._shared.hedges += 1
        self.plans.append(plan)
        return self._ask_stand_ins(plan, now)

    def _ask_stand_ins(self, plan: Plan, now: float) -> list[Send]:
        """The first questions to the stand-ins of one more plan."""
        return []

    def _may_hedge(self, late: set[str], now: float) -> bool:
        if self._shared.punctuality.may_hedge(late, len(self.plans[0].slots), now - self._began):
            return True
        self._shared.hedges_denied += 1
        return False

    def _note_missing(self, share: Share, missing: int) -> None:
        if missing and not share.absent:
            self._shared.punctuality.note_tardy((share.peer,))
            self._incomplete.add(share.peer)

    def _take_as_foreign(self, asked: AskedRound, share: Share, now: float) -> None:
        """Its tables are not ours, or not yet: soon one of us knows more."""
        self._shared.foreign_epochs += 1
        asked.round.ask_again(share.peer, now)

    def _is_whole(self, plan: Plan, editions: EditionsOf) -> bool:
        """Does it speak for all slots that anybody serves?"""
        served = self.plans[0].slot_count
        return plan.slot_count == served and self._slots_told(plan, editions) == served

    def _slots_told(self, plan: Plan, editions: EditionsOf) -> int | None:
        """For how many slots all its shares together speak; None while one of them has not answered.

        Asked with every answer, so that one which had not answered before is looked at first: to look at
        all of them each time would make a search cost the square of the number of peers.
        """
        awaited = self._awaited.get((plan, editions))
        if awaited is not None and not editions((awaited,)):
            return None
        known, told = editions(plan.slots), 0
        for share, slots in plan.slots.items():
            of_share = known.get(share)
            if of_share is None:
                self._awaited[plan, editions] = share
                return None
            told += max(slots - of_share.missing, 0)
        return told

    def _best_plan(self, editions: EditionsOf) -> Plan:
        """The one that speaks for most slots, of equal ones that with the fewest stand-ins."""
        return max(self.plans, key=lambda plan: slots_spoken_for(plan, editions))


def _of_span(questions: Mapping[str, Message], begin: float, end: float) -> Mapping[str, Message]:
    """Return the same questions about pages as they were; one and the same object where that was so."""
    asked = {id(each): AskPast(begin, end, each) for each in questions.values() if isinstance(each, _OfPast)}
    return {peer: asked[id(each)] for peer, each in questions.items()}


def slots_spoken_for(plan: Plan, editions: EditionsOf) -> int:
    """For how many slots the answers speak that the shares of a plan gave."""
    spoken_for = 0
    for share, of_share in editions(plan.slots).items():
        spoken_for += max(plan.slots[share] - of_share.missing, 0)
    return spoken_for


def limit_of(task: SearchTask, limit_s: float, now: float) -> float:
    """When a stage before reading ends: however often it begins anew, a search does.

    It asks for hits as long as an answer may take.
    """
    latest = task.started + COUNTING_S_MAX + SEARCHING_S_MAX
    return now + min(limit_s, max(latest - now, REPEAT_AFTER_S))
