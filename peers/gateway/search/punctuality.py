"""How fast peers answer, and for which of them others are asked to answer.

Theory of operation
===================
A peer that is slow or has just died must not hold up a search. Its slots are on other peers, so after
the *hedge time* those are asked for them (Dean, Barroso 2013, "The tail at scale": hedged requests). The
hedge time is the 95th percentile of recent answers, so in normal times one question in twenty would be
hedged; a budget sees to it that there are no more, for where all are slow, asking more makes them slower.
It does not hold when a few are later than any well peer is.

A peer whose stand-ins were faster, or which has not all of its slots, is *tardy*: from then on they are
asked at once, without budget. It is asked, too, and is taken in again when it answers a search within the
hedge time and for all its slots. A peer that let the last limit pass is *silent* until it is heard: nobody
waits long for it, even where nobody can stand in for it.

When more than half would be tardy, it is the load that makes them so, and asking others in their place would
keep it up for ever: measured, a mesh that had been asked for too much once went on doing half of its work
twice. Then only those that are silent are tardy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Set
from math import ceil
from typing import Final

HEDGE_S_MIN: Final = 0.03  # a commit or a collection of garbage may take as long on a peer that is well
# Where answers are slow, too: a search that meets a peer that has just become late takes so long and as long
# as a search does. At 0.15 these were the slowest hundredth of searches at 20 a second (175 to 180 ms).
HEDGE_S_MAX: Final = 0.1
HEDGE_QUANTILE: Final = 0.95
HEDGE_SHARE: Final = 0.05  # of the searches, at most, in the long run
HEDGES_SAVED_MAX: Final = 10.0  # of those not used in quiet times
ANSWERS_REMEMBERED: Final = 256
ANSWERS_NEEDED: Final = 16  # before what was measured says anything, and to measure again
QUESTIONS_REMEMBERED: Final = 4_096


class Punctuality:
    """The delays of the other peers' answers, as one gateway has seen them.

    Attributes:
      tardy: peers for which others are asked at once.
      silent: those of them that let a limit pass and have not been heard since.
    """

    def __init__(self, peers: Set[str]) -> None:
        """Begin with a good opinion of these peers, all that are asked."""
        self.tardy: Set[str] = frozenset()
        self.silent: set[str] = set()
        self._peer_count = len(peers)
        self._late: set[str] = set()  # would be tardy if they were few
        self._asked: dict[int, tuple[float, bool]] = {}  # request to when, and if it is a test; oldest first
        self._took: deque[float] = deque(maxlen=ANSWERS_REMEMBERED)
        self._unmeasured = 0
        self._hedge_s = HEDGE_S_MAX
        self._hedges_saved = HEDGES_SAVED_MAX

    @property
    def hedge_s(self) -> float:
        """How long to wait for an answer before asking others."""
        return self._hedge_s

    def note_question(self, request: int, now: float, *, is_test: bool) -> None:
        """A question has been put to several peers.

        Args:
          is_test: it is a search: who answers it in time and for all slots is tardy no more.
        """
        self._asked[request] = now, is_test
        if len(self._asked) > QUESTIONS_REMEMBERED:
            del self._asked[next(iter(self._asked))]
        if is_test:
            self._hedges_saved = min(self._hedges_saved + HEDGE_SHARE, HEDGES_SAVED_MAX)

    def note_answer(self, peer: str, request: int, now: float, *, is_whole: bool) -> None:
        """A peer has answered, if late or not.

        Args:
          is_whole: for all slots that it was asked for.
        """
        if peer in self.silent:
            self.silent.discard(peer)
            self._judge()
        if request not in self._asked:
            return
        asked, is_test = self._asked[request]
        took = now - asked
        if peer not in self.tardy:  # else the slow ones would make waiting for them the rule
            self._took.append(took)
            self._unmeasured += 1
            if self._unmeasured == ANSWERS_NEEDED:
                self._measure()
        if is_test and is_whole and took <= self._hedge_s and peer in self._late:
            self._late.discard(peer)
            self._judge()

    def note_tardy(self, peers: Iterable[str]) -> None:
        self._late.update(peers)
        self._judge()

    def note_silent(self, peers: Iterable[str]) -> None:
        peers = tuple(peers)
        self.silent.update(peers)
        self.note_tardy(peers)

    def keep_only(self, peers: Set[str]) -> None:
        """Forget those that are asked no more; `peers` are all that are."""
        self._peer_count = len(peers)
        self._late &= peers
        self.silent &= peers
        self._judge()

    def _judge(self) -> None:
        is_load = 2 * len(self._late) > self._peer_count
        self.tardy = frozenset(self.silent if is_load else self._late)

    def may_hedge(self, late: set[str], asked: int, waited_s: float) -> bool:
        """Ask for leave to have others answer for these; it may use up some of the budget.

        Args:
          asked: number of peers, of which these have not answered.
        """
        is_exception = waited_s >= HEDGE_S_MAX and 2 * len(late) <= asked
        if late <= self.tardy or is_exception:
            return True
        if self._hedges_saved < 1.0:
            return False
        self._hedges_saved -= 1.0
        return True

    def _measure(self) -> None:
        self._unmeasured = 0
        ordered = sorted(self._took)
        quantile = ordered[ceil(len(ordered) * HEDGE_QUANTILE) - 1]
        self._hedge_s = min(max(quantile, HEDGE_S_MIN), HEDGE_S_MAX)
