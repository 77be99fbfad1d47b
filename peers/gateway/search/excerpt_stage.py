"""The stage of a search that asks for excerpts of the pages to be shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mesh.actors.actor import Send
from mesh.urls import host_of
from peers.engine.excerpts.synopsis import called_name
from peers.gateway.search.doubts import Doubt
from peers.gateway.search.hit_list import RankedHit
from peers.gateway.search.plan import NOBODY_ABSENT, Plan, Share
from peers.gateway.search.search_task import SearchTask
from peers.gateway.search.stage import READING_S_MAX, Answer, AskedRound, Stage
from peers.gateway.search.term_statistics import TermTotals
from peers.index.wire_messages import Excerpt, ExcerptsRead, ReadExcerpts


class ExcerptStage(Stage):
    """Ask the witnesses of the hits, and others of their teams instead of those that are late.

    Attributes:
      has_denials: whether one of the hits has been denied.
      disputed: shares of such hits that are known on the word of aggregators; they have denied nothing yet.
    """

    def __init__(
        self,
        task: SearchTask,
        plans: list[Plan],
        page: Sequence[RankedHit],
        encoded_query: bytes,
        totals: TermTotals,
        now: float,
    ) -> None:
        """Begin.

        Args:
          page: hits to be read.
          encoded_query: by which they were found.
          totals: the statistics that they were scored by.
        """
        super().__init__(task, plans, now + READING_S_MAX, now)
        self._page = page
        self._encoded_query = encoded_query
        self._totals = totals
        self.has_denials = False
        self.disputed: set[Share] = set()
        self._claimants = {each.hit.url: each.share.peer for each in page}
        self._unsettled: set[str] = set()  # URLs whose witnesses cannot tell; their claimants are to be asked
        self._readers: dict[str, list[str]] = {}  # of whom each page has been asked
        self._asked_of: dict[tuple[int, str], list[str]] = {}  # URLs by request and peer, unanswered
        self._excerpts: dict[tuple[str, str], Excerpt] = {}  # by peer and URL

    def begin(self, now: float) -> list[Send]:
        witness_of = self._task.witnesses.witness_of
        return self._ask_to_read(
            ((witness_of(url, claimant) or claimant, url) for url, claimant in self._claimants.items()), now
        )

    def take(self, asked: AskedRound, message: Answer, share: Share, now: float) -> None:
        assert isinstance(message, ExcerptsRead)
        for excerpt in message.excerpts:
            if share.peer in self._readers.get(excerpt.url, ()):
                self._excerpts[share.peer, excerpt.url] = excerpt
        asked.round.settle(share.peer)
        for url in self._asked_of.pop((message.request, share.peer), ()):
            self._note_told(url, share.peer, message.unsettled, now)

    def bridge_incomplete(self, now: float) -> list[Send]:
        unsettled, self._unsettled = self._unsettled, set()
        return self._ask_to_read(((self._claimants[url], url) for url in sorted(unsettled)), now)

    def end(self, plan: Plan) -> None:
        waiting = self._waiting()
        if self.is_open:
            self._shared.punctuality.note_tardy(waiting)
        else:
            self._shared.punctuality.note_silent(waiting)

    def is_read(self) -> bool:
        """Is there an excerpt of every page that is not denied?"""
        read = {url for _, url in self._excerpts}
        unread = self._readers.keys() - read
        return all(map(self._task.witnesses.is_denied, unread))

    def excerpt_of(self, url: str) -> Excerpt | None:
        """That of the first peer that was asked for it and sent one."""
        for peer in self._readers[url]:
            if (excerpt := self._excerpts.get((peer, url))) is not None:
                return excerpt
        return None

    def _note_told(self, url: str, peer: str, unsettled: Sequence[str], now: float) -> None:
        """Note whether a peer that was asked for a page knows it, denies it or cannot tell yet."""
        claimant, witnesses = self._claimants[url], self._task.witnesses
        if (peer, url) in self._excerpts:
            if peer != claimant:
                witnesses.note_known(url)
        elif url in unsettled:
            if peer != claimant:
                witnesses.note_unsettled(url)
            if claimant not in self._readers[url]:
                self._unsettled.add(url)
        elif reported := self._reported_shares(url):
            self.disputed |= reported
        else:
            self.has_denials = True
            self._shared.hits_denied += 1
            witnesses.note_denied(url, claimant, peer)
            if peer == claimant:  # it does not stand by its own hit: invented, or gone meanwhile
                return
            if self._task.span is None:  # they are asked once more about pages as they are
                self._shared.doubts.note(Doubt(url, claimant, peer), now)

    def _reported_shares(self, url: str) -> set[Share]:
        """The share that gives a hit, if that is known on the word of an aggregator."""
        shares = {each.share for each in self._page if each.hit.url == url}
        return shares & self._task.reported.keys()

    def _ask_to_read(self, wanted: Iterable[tuple[str, str]], now: float) -> list[Send]:
        """Ask for excerpts.

        Args:
          wanted: peers, and URLs of the page of results.
        """
        urls: dict[str, list[str]] = {}
        for peer, url in wanted:
            urls.setdefault(peer, []).append(url)
            self._readers.setdefault(url, []).append(peer)
        if not urls:
            return []
        request = self._task.number_question()
        self._asked_of |= {(request, peer): of_peer for peer, of_peer in urls.items()}
        # This peer last: it answers at once, and the others need not wait for that.
        peers = sorted(urls, key=lambda peer: peer == self._task.me)
        questions = {peer: self._question(request, urls[peer]) for peer in peers}
        return self._ask(request, questions, ExcerptsRead, NOBODY_ABSENT, now)

    def _question(self, request: int, urls: list[str]) -> ReadExcerpts:
        name = called_name(self._task.order.text)
        defined, wants_words = self._task.defined, self._task.order.wants_words
        question = ReadExcerpts(
            request, self._encoded_query, tuple(urls), name=name, defined=defined, wants_words=wants_words
        )
        if not self._task.order.wants_explanations:
            return question
        return msgspec.structs.replace(
            question,
            terms=self._task.terms,
            doc_freqs=self._totals.doc_freqs,
            document_count=self._totals.document_count,
            field_lengths=self._totals.field_lengths,
        )

    def _ask_instead(self, late: set[str], now: float) -> list[Send]:
        wanted = self._readers_instead(late)
        return self._ask_to_read(wanted, now) if wanted and self._may_hedge(late, now) else []

    def _readers_instead(self, late: set[str]) -> list[tuple[str, str]]:
        """Return another peer of the team for each missing excerpt that only late peers were asked for."""
        ownership = self._task.ownership
        wanted = []
        for url, readers in self._readers.items():
            if self.excerpt_of(url) is None and late.issuperset(readers):
                team = ownership.serving.team_of(ownership.slot_of(host_of(url)))
                wanted += [(peer, url) for peer in team if peer not in late][:1]
        return wanted
