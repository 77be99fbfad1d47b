"""State that all searches of a gateway share: the peers for each slot, counts of terms, late peers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from mesh.actors.conduct import Offence
from mesh.actors.ownership import Ownership
from peers.engine.queries.query_parser import NO_CLASSES
from peers.gateway.search.doubts import Doubt, Doubts
from peers.gateway.search.plan import NOBODY_ABSENT, Absent, Plan
from peers.gateway.search.punctuality import Punctuality
from peers.gateway.search.result_cache import ResultCache
from peers.gateway.search.term_statistics import TermStatistics
from peers.index.wire_messages import ABSENT_MAX, SearchSlots
from peers.policy.rules import EVERYTHING, Policy
from peers.text.segmentation import NO_USER_WORDS, UserWords
from peers.text.synonyms import synonyms_of

# Peers, from which on aggregators ask most of them: until then a gateway is at least as fast without, and
# none of them is believed; from then on ten searches a second take a fifth of a core and more.
AGGREGATED_FROM: Final = 200
SPANS_MAX: Final = 16  # whose counts are kept
PLANS_MAX: Final = 16  # each 200 kB, and counts of its stand-ins; who is late does not change that fast


class SharedState:
    """The searcher keeps it up to date.

    Attributes:
      ownership: of now.
      statistics: under it.
      punctuality: of all peers.
      doubts: about pages that one member knows and another does not.
      cache: pages of results under it.
      policy: of the mesh: what it takes down is in no answer.
      synonyms, user_words: that it lists.
      click_weight: of what readers open, 0 for none.
      class_names: of the classes of its pages.
      aggregated_from: peers that a question goes to, from which on aggregators ask most of them.
      mistrusted: aggregators that reported another answer than the member gave itself, and these members.
    """

    def __init__(
        self,
        ownership: Ownership,
        cache_bytes_max: int,
        policy: Policy = EVERYTHING,
        aggregated_from: int = AGGREGATED_FROM,
        class_names: Set[str] = NO_CLASSES,
    ) -> None:
        self.ownership = ownership
        self.aggregated_from = aggregated_from
        self.policy, self.synonyms = policy, synonyms_of(policy.synonyms)
        self.user_words = _words_in(policy) if policy.user_words else NO_USER_WORDS
        self.click_weight = 0.0 if policy.query_log is None else policy.query_log.click_weight
        self.class_names = class_names
        self.punctuality = Punctuality(_asked(ownership))
        self.doubts = Doubts(ownership.me)
        self.cache = ResultCache(cache_bytes_max)
        self._take(ownership)
        # Besides English, those with word forms of their own that pages were in when it was last counted.
        self.languages: tuple[str, ...] | None = None
        # What `SearcherStatistics` shows of searches.
        self.restarts = 0
        self.fallbacks = 0
        self.incomplete = 0
        self.foreign_epochs = 0
        self.hits_refused = 0
        self.hits_denied = 0
        self.blamed: dict[tuple[str, Offence], str] = {}  # who, and why, with evidence; not yet reported
        self.hedges = 0
        self.bridged = 0
        self.hedges_denied = 0
        self._day = 0  # of the last search that went by clicks
        self.to_compare: SearchSlots | None = None  # what was searched last, if another member is to say so

    def refuse_hit(self, peer: str, offence: Offence) -> None:
        """Count a hit that no honest member gives."""
        self.hits_refused += 1
        self.blame(peer, offence)

    def blame(self, peer: str, offence: Offence, evidence: str = "") -> None:
        """Note an offence of a member, to be reported."""
        self.blamed.setdefault((peer, offence), evidence)

    def mistrust(self, aggregator: str, member: str) -> None:
        """Note that an aggregator reports another answer of a member than its own: one of them lies.

        Neither is blamed, since it cannot be told which; but both are asked directly from now on. Where one
        was mistrusted before, that explains it; so no more honest members are mistrusted than there are
        liars.
        """
        if self.mistrusted.isdisjoint((aggregator, member)):
            self.mistrusted |= {aggregator, member}

    @property
    def apart(self) -> Set[str]:
        """The peers that are in no group of an aggregator: this one, and those that are late or in doubt."""
        return self.punctuality.tardy | self.doubts.suspects | self.mistrusted | {self.ownership.me}

    def note_contradictions(self, doubts: Sequence[Doubt], now: float) -> None:
        """Members still differ about these pages: blame those that must be wrong."""
        for peer, doubt in self.doubts.note_contradictions(doubts, now).items():
            self.blame(peer, Offence.CONTRADICTED, f"{doubt.url} of {doubt.claimant}, not of {doubt.witness}")

    def change_ownership(self, ownership: Ownership) -> bool:
        """Go on under another one; tell whether others answer for slots than before.

        Then what was counted adds up no more.
        """
        self.punctuality.keep_only(_asked(ownership))
        is_served_anew = ownership.serving_epoch != self.ownership.serving_epoch
        if is_served_anew:
            self._take(ownership)
        else:
            self.ownership = ownership
        return is_served_anew

    def change_policy(self, policy: Policy) -> None:
        """Show by this one; no page of results that was made under another."""
        self.policy, self.synonyms = policy, synonyms_of(policy.synonyms)
        self.user_words = _words_in(policy) if policy.user_words else NO_USER_WORDS
        self.click_weight = 0.0 if policy.query_log is None else policy.query_log.click_weight
        self.cache.clear()

    def begin_day(self, day: int) -> None:
        """Show no page of results that is ordered by the clicks up to another day."""
        if self._day != day:
            self._day = day
            self.cache.clear()

    def change_classes(self, names: Set[str]) -> None:
        """Read queries by these; show no page of results that was made by others."""
        self.class_names = names
        self.cache.clear()

    def statistics_of(self, span: tuple[float, float]) -> TermStatistics:
        """Return the counts of pages as they were in a span."""
        counts = self._of_spans.pop(span, None) or TermStatistics()
        self._of_spans[span] = counts
        if len(self._of_spans) > SPANS_MAX:
            del self._of_spans[next(iter(self._of_spans))]
        return counts

    def plan(self, absent: Set[str]) -> Plan:
        """The plan without these peers, of which those that serve no slots make no difference."""
        names = tuple(sorted(absent & self.ownership.slots_answered.keys()))[:ABSENT_MAX]
        plan = self._plans.get(names)
        if plan is None:
            if len(self._plans) >= PLANS_MAX:
                self._forget_plans()
            plan = self._plans[names] = Plan(self.ownership, names)
        return plan

    def _take(self, ownership: Ownership) -> None:
        self.ownership = ownership
        self.statistics = TermStatistics()
        self._of_spans: dict[tuple[float, float], TermStatistics] = {}
        self.cache.clear()
        self._plans: dict[Absent, Plan] = {}
        self.mistrusted: set[str] = set()

    def _forget_plans(self) -> None:
        """Forget all plans but the one without stand-ins, and the counts of stand-ins."""
        self._plans = {names: plan for names, plan in self._plans.items() if names == NOBODY_ABSENT}
        self.statistics.forget_stand_ins()
        self._of_spans.clear()


def _asked(ownership: Ownership) -> Set[str]:
    """The live peers that serve slots."""
    return ownership.alive & ownership.slots_answered.keys()


def _words_in(policy: Policy) -> UserWords:
    from peers.text.user_words import user_words_of  # loaded by peers of a mesh that has such words

    return user_words_of(policy.user_words)
