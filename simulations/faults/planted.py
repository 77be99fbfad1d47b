"""Bugs on purpose, for the harness to find. They are put into the peers' code from outside.

Each was a plausible way to write that code. Nothing leads to them but `planted`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from math import inf
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.conduct import CONDUCT, Conduct, Misbehaved, Offence
from mesh.actors.ownership import Ownership
from mesh.keys.certificate import Grant
from mesh.keys.decree import Authority, Decree
from mesh.membership.model import members
from mesh.membership.model.messages import CrawlLicensed
from mesh.membership.model.wire_messages import Rumour
from mesh.membership.news import rumour_intake
from mesh.membership.news.rumour_intake import RumourIntake
from mesh.membership.own import refutation
from peers.copies.copies import Copies
from peers.copies.wire_messages import RolesTold
from peers.crawler.addresses.lessor import Lessor
from peers.crawler.auditing.auditor import Auditor
from peers.crawler.auditing.audits import Observation, differs
from peers.crawler.controller import Controller
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.items import Located
from peers.crawler.frontier.store import FrontierStore
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.host_clocks import HostClocks
from peers.crawler.links.links import Links
from peers.crawler.model.url_rows import concluded
from peers.crawler.model.web_request import PageFetched
from peers.crawler.model.wire_messages import AddressLeased, FoundLink
from peers.crawler.pages_in_progress import PagesInProgress
from peers.gateway.search import merged_hits
from peers.gateway.search.doubts import Doubt, Doubts
from peers.gateway.search.excerpt_stage import ExcerptStage
from peers.gateway.search.plan import Share
from peers.gateway.search.stage import Answer, AskedRound
from peers.index.wire_messages import ExcerptsRead, Hit, HitsFound
from peers.storage.replication import Replications
from peers.storage.teams import Teams

_Patch: TypeAlias = tuple[Any, str, Callable[..., Any]]  # where, name, what takes its place

EARLY_S: Final = 10.0


class Bug(StrEnum):
    """The bugs that can be planted."""

    EARLY_ACKNOWLEDGEMENT = "early-acknowledgement"  # a page counts as stored before its standbys have it
    FORGOTTEN_CLOCKS = "forgotten-clocks"  # politeness clocks stay behind when slots change hands
    OLD_INCARNATION = "old-incarnation"  # what was bad of a member beats what it says itself later
    ENDLESS_LICENCE = "endless-licence"  # who is cut off goes on crawling
    KEPT_REMOVALS = "kept-removals"  # a visit that finds a page gone is noted, and nobody else is told
    # Found only where a member is malicious:
    HEARSAY = "hearsay"  # what one member says of another is believed at once
    FORGED_DECREES = "forged-decrees"  # nobody looks at who has signed a decree
    BOUNDLESS_WEIGHT = "boundless-weight"  # a record may claim what its certificate does not allow
    BOUNDLESS_QUOTAS = "boundless-quotas"  # each member may send what it likes
    ENDLESS_PATIENCE = "endless-patience"  # nobody is put into quarantine, whatever it does
    FOREIGN_HITS = "foreign-hits"  # hits are taken of whatever slots they are
    FOREIGN_PAGES = "foreign-pages"  # copies of pages are taken of whoever brings them
    STORED_BY_HEARSAY = "stored-by-hearsay"  # whoever says that a page is stored is believed
    BELIEVED_DENIALS = "believed-denials"  # whoever gives a page that its witness does not know is wrong
    UNASKED_EXCERPTS = "unasked-excerpts"  # a page is confirmed by whoever sends an excerpt of it
    FOREIGN_NAMES = "foreign-names"  # a page is a copy if anybody says so
    FOREIGN_LEASES = "foreign-leases"  # an address is lent by whoever says so; where hosts share machines
    FREE_TURNS = "free-turns"  # who lends a turn of a host goes on asking it
    HASTY_VERDICTS = "hasty-verdicts"  # a member is found out by one page that another one sees otherwise
    EARLY_VISITS = "early-visits"  # with a page that is due, its host is asked for those that will be


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Have the bug in the code while the context lasts; for one thread."""
    with ExitStack() as stack:
        for where, name, instead in _PATCHES[bug]():
            stack.callback(setattr, where, name, getattr(where, name))
            setattr(where, name, instead)
        yield


def _early_acknowledgement() -> list[_Patch]:
    """Leave it to the next comparison to bring a page to the standbys."""

    def begin(self: Replications[Any, Any], *arguments: object) -> None:
        pass

    return [(Replications, "begin", begin)]


def _forgotten_clocks() -> list[_Patch]:
    """Bring the URLs of a slot without its clocks, and do not count its hosts as just asked."""
    hold, merge = Frontier.hold, FrontierStore.merge_located

    def hold_at_once(self: Frontier, slots: Collection[int], asked_s: float = -inf) -> None:
        hold(self, slots)

    def merge_without_clocks(self: FrontierStore, located: Located, clock_offset_s: float) -> None:
        hosts = [(slot, replace(host, next_fetch_s=0.0)) for slot, host in located.hosts]
        merge(self, located._replace(hosts=hosts), clock_offset_s)

    return [(Frontier, "hold", hold_at_once), (FrontierStore, "merge_located", merge_without_clocks)]


def _old_incarnation() -> list[_Patch]:
    """Compare states before incarnations."""

    def beats(new: Rumour, old: Rumour) -> bool:
        return (new.state, new.record.incarnation) > (old.state, old.record.incarnation)

    return [(module, "beats", beats) for module in (members, rumour_intake, refutation)]


def _endless_licence() -> list[_Patch]:
    """Crawl for ever with the first licence."""
    receive = Controller.receive

    def receive_licensed(self: Controller, source: Address, message: Message, now: float) -> list[Send]:
        is_licence = isinstance(message, CrawlLicensed)
        return receive(self, source, CrawlLicensed(inf) if is_licence else message, now)

    return [(Controller, "receive", receive_licensed)]


def _kept_removals() -> list[_Patch]:
    """Settle a page that is gone without a version that says so."""

    def withdraw(
        self: PagesInProgress, state: HostState, taken: QueuedUrl, fetched: PageFetched, failure: str
    ) -> list[Send]:
        outcome = f"F{failure or fetched.status}"
        conclusion = concluded(outcome, fetched.started_at, self.settings.revisit_after_s)
        self._frontier.settle(state, taken, conclusion)
        return []

    return [(PagesInProgress, "withdraw", withdraw)]


def _early_visits() -> list[_Patch]:
    """Take URLs that are due in a moment together with those that are due."""
    take_url = Frontier.take_url

    def take_early(self: Frontier, state: HostState, now: float) -> QueuedUrl | None:
        return take_url(self, state, now + EARLY_S)

    return [(Frontier, "take_url", take_early)]


def _hearsay() -> list[_Patch]:
    """Believe every rumour as it is told."""

    def settled(self: RumourIntake, rumour: Rumour, *arguments: object) -> Rumour:
        return rumour

    return [(RumourIntake, "_settled", settled)]


def _forged_decrees() -> list[_Patch]:
    """Find nothing wrong with a decree."""

    def refusal_of(self: Authority, decree: Decree) -> str:
        return ""

    return [(Authority, "refusal_of", refusal_of)]


def _boundless_weight() -> list[_Patch]:
    """Allow any weight."""

    def allows(self: Grant, weight: int, serving: int) -> bool:
        return True

    return [(Grant, "allows", allows)]


def _boundless_quotas() -> list[_Patch]:
    """Let everybody spend without end."""

    def admits(self: Conduct, peer: str, message: Message, now: float) -> bool:
        return True

    return [(Conduct, "admits", admits)]


def _endless_patience() -> list[_Patch]:
    """Count no points."""

    def note(self: Conduct, *arguments: object, **named: object) -> None:
        pass

    return [(Conduct, "note", note)]


def _foreign_hits() -> list[_Patch]:
    """Take all hits."""

    def hits_of(
        plan: object, found: Mapping[Share, HitsFound], task: object, greatest: float
    ) -> Iterator[tuple[Share, Hit]]:
        given = [(share, hit) for share, answer in found.items() for hit in answer.hits]
        yield from sorted(given, key=lambda each: (-each[1].score, each[1].url))

    return [(merged_hits, "hits_of", hits_of)]


def _foreign_pages() -> list[_Patch]:
    """Let any member bring pages."""

    def may_give(self: Teams, peer: str, slot: int) -> bool:
        return True

    return [(Teams, "may_give", may_give)]


def _stored_by_hearsay() -> list[_Patch]:
    """Take every link as it is."""

    def allowed(self: Links, link: FoundLink, peer: str) -> FoundLink:
        return link

    return [(Links, "_allowed", allowed)]


def _believed_denials() -> list[_Patch]:
    """Blame the claimant."""

    def wrong_in(self: Doubts, doubt: Doubt, n_of_claimant: int, n_of_witness: int) -> str | None:
        return doubt.claimant

    return [(Doubts, "_wrong_in", wrong_in)]


def _unasked_excerpts() -> list[_Patch]:
    """Accept all excerpts as if a witness had confirmed them."""
    take = ExcerptStage.take

    def take_all(self: ExcerptStage, asked: AskedRound, message: Answer, share: Share, now: float) -> None:
        assert isinstance(message, ExcerptsRead)
        for excerpt in message.excerpts:
            self._task.witnesses.note_known(excerpt.url)
        take(self, asked, message, share, now)

    return [(ExcerptStage, "take", take_all)]


def _foreign_names() -> list[_Patch]:
    """Accept names from any member, as if the one that answers for the content had sent them."""
    take_names = Copies._take_names

    def take_all(self: Copies, source: Address, message: RolesTold) -> None:
        ownership = self._ownership
        if ownership is None:
            return
        for each in message.pages:
            keeper = ownership.answerer_of(each.content % ownership.table.slot_count)
            take_names(self, Address(keeper or "", source.actor), replace(message, pages=(each,)))

    return [(Copies, "_take_names", take_all)]


def _foreign_leases() -> list[_Patch]:
    """Take a lease of anybody as if the owner of the address's slot had given it."""
    note_leased = Lessor._note_leased

    def take_all(
        self: Lessor, ownership: Ownership, peer: str, leased: AddressLeased, now: float
    ) -> list[Send]:
        owner = ownership.owner_of(ownership.slot_of(leased.network))
        return note_leased(self, ownership, owner or peer, leased, now)

    return [(Lessor, "_note_leased", take_all)]


def _free_turns() -> list[_Patch]:
    """Lend turns, and leave the clocks of the hosts as they are."""

    def note_lent(self: HostClocks, state: HostState, seconds: float, now: float) -> float:
        return self.delay_s(state)

    return [(HostClocks, "note_lent", note_lent)]


def _hasty_verdicts() -> list[_Patch]:
    """Want no second look, and no second domain."""
    see = Auditor._see

    def see_alone(self: Auditor, key: int, seen: Observation, now: float) -> list[Send]:
        audit = self._audits[key]
        if audit.asker is None and differs(audit.said, seen):
            visitor = audit.visitor
            self._end(key, "differing")
            return [Send(Address(self._me, CONDUCT), Misbehaved(visitor, Offence.INVENTED))]
        return see(self, key, seen, now)

    return [(Auditor, "_see", see_alone)]


_PATCHES: Final[dict[Bug, Callable[[], list[_Patch]]]] = {
    Bug.EARLY_ACKNOWLEDGEMENT: _early_acknowledgement,
    Bug.FORGOTTEN_CLOCKS: _forgotten_clocks,
    Bug.OLD_INCARNATION: _old_incarnation,
    Bug.ENDLESS_LICENCE: _endless_licence,
    Bug.KEPT_REMOVALS: _kept_removals,
    Bug.HEARSAY: _hearsay,
    Bug.FORGED_DECREES: _forged_decrees,
    Bug.BOUNDLESS_WEIGHT: _boundless_weight,
    Bug.EARLY_VISITS: _early_visits,
    Bug.BOUNDLESS_QUOTAS: _boundless_quotas,
    Bug.ENDLESS_PATIENCE: _endless_patience,
    Bug.FOREIGN_HITS: _foreign_hits,
    Bug.FOREIGN_PAGES: _foreign_pages,
    Bug.STORED_BY_HEARSAY: _stored_by_hearsay,
    Bug.BELIEVED_DENIALS: _believed_denials,
    Bug.UNASKED_EXCERPTS: _unasked_excerpts,
    Bug.FOREIGN_NAMES: _foreign_names,
    Bug.FOREIGN_LEASES: _foreign_leases,
    Bug.FREE_TURNS: _free_turns,
    Bug.HASTY_VERDICTS: _hasty_verdicts,
}
