"""The actor that looks at pages once more which other members have visited.

Theory of operation
===================
Who crawls a host alone asks it, and could say of its pages what it likes. So of the pages that others bring,
a sample that they cannot foretell (`peers.storage.audit_sample`) is looked at by the peer that keeps the
copy: it orders a turn of the host from its owner (`peers.crawler.lent_turns`), asks, and compares the texts.
Where they have next to nothing in common a second member looks, which URL and day choose among all others,
and never the owner. It does so later than that by as much time as the first look was after the visit: a page
that changes all the time then shows them different texts, too. `verdicts` says when that is enough.

*A turn is counted from its order.* Each order has a number, and only the answer to the last one counts, so a
late or repeated answer never makes a turn seem longer than it is.

*What holds for visits holds for looks.* The turn is the owner's to lend, by the clock of the host and its
robots.txt; an address is asked under a lease of our own (the fetcher sees to it); the policy is the mesh's.
Where the policy goes by addresses a host is left out. In a mesh of two there is nobody for a second look, so
nothing is looked at.

*Nobody can have us ask much.* Members have an allowance of orders, each look has an end, and of all looks
under way there are `AUDITS_MAX` at most; what comes beyond is left out, since a sample of a sample is one,
too.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import ClassVar, Final

from xxhash import xxh3_64_intdigest

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.allowance import Allowance
from mesh.actors.conduct import CONDUCT, Misbehaved, Offence
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.lives import numbers_of
from mesh.urls import host_of, is_canonical
from peers.crawler.auditing.audits import AuditStage, Observation, PageAudit, agree, differs, is_alike
from peers.crawler.auditing.likeness import HASHES_MIN, hashes_of
from peers.crawler.auditing.verdicts import Verdicts
from peers.crawler.model import politeness
from peers.crawler.model.messages import PageParsed, ParseFailed, ParsePage
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import PAGE_STATUSES, FailureReason, FetchFailed, FetchPage, PageFetched
from peers.crawler.model.wire_messages import LendTurn, LookAtPage, PageObserved, TurnLent
from peers.policy.decreed import policy_of
from peers.policy.rules import OF_SEEDS
from peers.storage.messages import HostVisited, PageKept, WatchHosts

AUDITS_MAX: Final = 128
OF_MEMBER_MAX: Final = 16  # of these at pages of one member, and as many for one other auditor
PATIENCE_S: Final = 600.0  # for a turn, and as much for the second look
WAITED_S: Final = 120.0  # an owner lends its first turn within that, or cannot
VISITS_MIN: Final = 3  # to a host by its owner, meanwhile, that show that there were turns
REFUSED_S: Final = 60.0  # after which a page that is not to be asked for is ordered again
ADDRESS_S_MIN: Final = 0.1  # after which an address is asked again in the same turn
AGAIN_S: Final = 10.0  # after which an order without an answer is given again
ANSWER_S_MAX: Final = 120.0  # of the fetcher and the parser
SECOND_AGAIN_S: Final = 30.0  # likewise, one for a second look
SECOND_AFTER_S: Final = (10.0, 600.0)  # least and most, from the first look on
ORDERS_A_MINUTE: Final = 60  # to one member, of turns and of looks
TURN_S_MAX: Final = 5.0  # that is believed; nobody lends longer ones
TURN_S_MIN: Final = 0.3  # of a turn that is left, with less nothing is asked
TURNS_MAX: Final = 4  # that are used in vain
CLOCKS_DIFFER: Final = 0.05  # those of two peers, in a second
SLOW_MAX: Final = 4_096  # hosts that do not answer within a turn
ANSWERED_MAX: Final = 256  # second looks whose results are kept, to be said again
DAY_S: Final = 86_400
MEMBERS_MIN: Final = 3
GONE_STATUSES: Final = (404, 410)
MAY_PASS: Final = (FailureReason.ADDRESS_BUSY, FailureReason.DNS_OPEN)


class AuditorStatistics(Statistics, frozen=True):
    """Counts since the start; gauges of now."""

    under_way: int  # gauge: looks
    alike: int  # pages that were as their owners have said
    differing: int  # that two members saw otherwise
    unsettled: int  # that looked otherwise, and a second member did not see the same
    unseen: int  # that showed too little, or no answer
    unlent: int  # for want of a turn
    left_out: int  # as too much was under way, or by the policy
    looks_for_others: int  # second looks, with a result


class Auditor(Actor):
    """Neighbours: cell, controllers that lend turns, fetcher, parser, auditors, conduct."""

    name: ClassVar[str] = "auditor"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({TurnLent, LookAtPage, PageObserved})

    def __init__(self, me: str, settings: CrawlSettings, life: int = 1) -> None:
        self._me = me
        self._settings = settings
        self._policy = OF_SEEDS
        self._ownership: Ownership | None = None
        self._numbers = numbers_of(life)
        self._audits: dict[int, PageAudit] = {}
        self._orders: dict[int, int] = {}  # by number of the last order of a turn: which look it is for
        self._urls: dict[str, int] = {}  # and by URL, one at a time
        self._answered: dict[tuple[Address, int], PageObserved] = {}
        self._slow_until_s: dict[str, float] = {}  # by host: when it is asked again
        self._watched: frozenset[str] = frozenset()  # hosts, see `_watch_hosts`
        self._pace = Allowance()
        self._verdicts = Verdicts()
        self._counts: Counter[str] = Counter()

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged(ownership):
                self._ownership = ownership
            case DecreesInForce():
                self._policy = policy_of(message) or self._policy
            case PageKept(page, visitor):
                if page.document is not None:
                    self._begin_own(page.url, visitor, page.document.text, now)
            case HostVisited(host, visitor):
                self._note_visit(host, visitor)
            case LookAtPage(number, url):
                return self._begin_for(source, number, url, now)
            case TurnLent():
                return self._note_turn(source.peer, message, now)
            case PageFetched(url):
                return self._fetched(self._of(url), message, now)
            case FetchFailed(url):
                return self._failed(self._of(url), message, now)
            case PageParsed(url, document=document):
                text = () if document is None else hashes_of(document.text)
                return self._parsed(self._of(url), text, now)
            case ParseFailed(url):
                return self._parsed(self._of(url), (), now)
            case PageObserved():
                return self._note_second(source.peer, message, now)
            case _:
                raise LocalProtocolError(f"the auditor does not understand {type(message).__name__}")
        return []

    def wake(self, now: float) -> list[Send]:
        sends: list[Send] = []
        for key, audit in [(key, audit) for key, audit in self._audits.items() if audit.due_s <= now]:
            sends += self._go_on(key, audit, now)
        return sends + self._watch_hosts(now)

    def wake_at(self) -> float:
        return min((audit.due_s for audit in self._audits.values()), default=inf)

    def observe(self) -> AuditorStatistics:
        names = (name for name in AuditorStatistics.__struct_fields__ if name != "under_way")
        return AuditorStatistics(under_way=len(self._audits), **{name: self._counts[name] for name in names})

    # --- beginning ---

    def _begin_own(self, url: str, visitor: str, text: str, now: float) -> None:
        """Look at a page of the sample, if another member could look as well."""
        said = hashes_of(text)
        if len(said) < HASHES_MIN or not self._helpers(url, visitor):
            return
        if sum(each.visitor == visitor for each in self._audits.values()) >= OF_MEMBER_MAX:
            self._counts["left_out"] += 1
            return
        self._begin(PageAudit(url, visitor, now, now + PATIENCE_S, now, said))

    def _begin_for(self, asker: Address, number: int, url: str, now: float) -> list[Send]:
        """Look at a page for another auditor, which repeats its order until it has an answer."""
        if (known := self._answered.get((asker, number))) is not None:
            return [Send(asker, known)]
        of_asker = [each for each in self._audits.values() if each.asker == asker]
        owner = self._owner_of(url) if is_canonical(url) else None
        if any(each.asker_number == number for each in of_asker) or owner in (None, self._me, asker.peer):
            return []
        if len(of_asker) < OF_MEMBER_MAX:
            self._begin(PageAudit(url, "", now, now + PATIENCE_S, now, (), asker, number))
        return []

    def _begin(self, audit: PageAudit) -> None:
        rules = list(self._policy.rules_for(audit.url))
        is_wanted = len(rules) == 1 and politeness.policy_reason(rules[0], 0) is None
        is_slow = self._slow_until_s.get(host_of(audit.url), -inf) > audit.began_s
        if not is_wanted or is_slow or len(self._audits) >= AUDITS_MAX or audit.url in self._urls:
            self._counts["left_out"] += 1
            return
        key = next(self._numbers)
        self._audits[key] = audit
        self._urls[audit.url] = key

    def _end(self, key: int, outcome: str) -> None:
        audit = self._audits.pop(key)
        del self._urls[audit.url]
        self._orders.pop(audit.number, None)
        self._counts[outcome] += 1

    # --- a turn, and a look ---

    def _go_on(self, key: int, audit: PageAudit, now: float) -> list[Send]:
        """Order a turn or a second look, again if need be."""
        owner = self._owner_of(audit.url)
        if owner in (None, self._me):
            self._end(key, "unseen")
            return []
        if audit.stage is AuditStage.ADDRESS:
            return self._ask(audit, now)
        if audit.until_s <= now or audit.stage is AuditStage.ANSWER:
            return self._give_up(key, audit, now)
        is_turn = audit.stage is AuditStage.TURN
        to = Address(owner or "", "controller") if is_turn else Address(audit.helper, self.name)
        if not self._pace.spend(to.peer, 1.0, ORDERS_A_MINUTE, now):
            audit.due_s = now + AGAIN_S
            return []
        if not is_turn:
            audit.due_s = now + SECOND_AGAIN_S
            return [Send(to, LookAtPage(key, audit.url))]
        self._orders.pop(audit.number, None)
        audit.number, audit.ordered_s, audit.due_s = next(self._numbers), now, now + AGAIN_S
        self._orders[audit.number] = key
        return [Send(to, LendTurn(audit.number, audit.url))]

    def _note_turn(self, owner: str, lent: TurnLent, now: float) -> list[Send]:
        """Ask the host, if the answer is to the last order and time enough is left of the turn."""
        key = self._orders.get(lent.number)
        if key is None or owner != self._owner_of(self._audits[key].url):
            return []
        audit = self._audits[key]
        del self._orders[lent.number]
        audit.delay_s = min(lent.delay_s, self._settings.delay_max_s)
        audit.turn_ends_s = audit.ordered_s + min(lent.seconds, TURN_S_MAX) * (1.0 - CLOCKS_DIFFER)
        if audit.turn_ends_s - now < TURN_S_MIN:
            least_s = AGAIN_S if lent.seconds > 0.0 else 0.0
            audit.due_s = now + max(lent.pause_s, REFUSED_S if lent.is_refused else least_s)
            return []
        return self._ask(audit, now)

    def _ask(self, audit: PageAudit, now: float) -> list[Send]:
        """Ask for a page in the time that is left of a turn."""
        audit.stage, audit.due_s = AuditStage.ANSWER, now + ANSWER_S_MAX
        rule = self._policy.host_rule(host_of(audit.url))
        request = FetchPage(
            audit.url,
            user_agent=self._settings.agent,
            delay_s=max(audit.delay_s, politeness.address_delay_s(self._settings, rule)),
            allow_private=self._policy.allow_private,
            within_s=audit.turn_ends_s - now,
        )
        return [Send(Address(self._me, "fetcher"), request)]

    def _fetched(self, key: int | None, fetched: PageFetched, now: float) -> list[Send]:
        if key is None:
            return []
        if fetched.status in PAGE_STATUSES:
            self._audits[key].seen = Observation((), ip=fetched.ip)
            return [Send(Address(self._me, "parser"), ParsePage(fetched, 0))]
        if fetched.status in GONE_STATUSES:
            return self._see(key, Observation((), is_gone=True, ip=fetched.ip), now)
        self._end(key, "unseen")
        return []

    def _failed(self, key: int | None, failed: FetchFailed, now: float) -> list[Send]:
        """Order another turn when nothing was asked, or not for long enough."""
        if key is None:
            return []
        audit = self._audits[key]
        if failed.reason in MAY_PASS and now + failed.pause_s + TURN_S_MIN < audit.turn_ends_s:
            audit.stage, audit.due_s = AuditStage.ADDRESS, now + max(failed.pause_s, ADDRESS_S_MIN)
            return []
        audit.n_turns += 1
        if failed.reason is FailureReason.UNLICENSED:
            self._note_slow(host_of(audit.url), now)
        if failed.reason not in MAY_PASS or audit.n_turns >= TURNS_MAX:
            self._end(key, "unseen")
            return []
        audit.stage, audit.due_s = AuditStage.TURN, now + max(failed.pause_s, AGAIN_S)
        return []

    def _note_slow(self, host: str, now: float) -> None:
        """Leave a host alone for a day that takes longer than a turn: its turns are better its owner's."""
        self._slow_until_s.pop(host, None)
        self._slow_until_s[host] = now + DAY_S
        if len(self._slow_until_s) > SLOW_MAX:
            del self._slow_until_s[next(iter(self._slow_until_s))]

    def _parsed(self, key: int | None, text: tuple[int, ...], now: float) -> list[Send]:
        seen = self._audits[key].seen if key is not None else None
        return [] if key is None or seen is None else self._see(key, seen._replace(text=text), now)

    def _see(self, key: int, seen: Observation, now: float) -> list[Send]:
        """Tell the auditor that has asked, or judge by it."""
        audit = self._audits[key]
        if audit.asker is not None:
            self._end(key, "looks_for_others")
            told = PageObserved(audit.asker_number, seen.text, seen.is_gone, seen.is_unlent)
            return self._tell(audit.asker, told)
        if is_alike(audit.said, seen):
            self._verdicts.note_alike(audit.visitor, audit.url, now)
            self._end(key, "alike")
        elif not differs(audit.said, seen) or not (helpers := self._helpers(audit.url, audit.visitor)):
            self._end(key, "unseen")
        else:
            text = f"{audit.url} {now // DAY_S}"
            audit.helper = max(helpers, key=lambda peer: xxh3_64_intdigest(f"{peer} {text}".encode()))
            least_s, most_s = SECOND_AFTER_S
            audit.due_s = now + min(max(now - audit.began_s, least_s), most_s)
            audit.seen, audit.stage = seen, AuditStage.SECOND
            audit.until_s = audit.due_s + PATIENCE_S + ANSWER_S_MAX
        return []

    def _tell(self, asker: Address, told: PageObserved) -> list[Send]:
        """Tell another auditor, and once more if it asks again."""
        self._answered[asker, told.number] = told
        if len(self._answered) > ANSWERED_MAX:
            del self._answered[next(iter(self._answered))]
        return [Send(asker, told)]

    # --- members that lend no turns ---

    def _note_visit(self, host: str, visitor: str) -> None:
        """A member has visited a host again, of which a turn is waited for: it has had turns itself."""
        for audit in self._audits.values():
            audit.n_visits += audit.visitor == visitor and host_of(audit.url) == host

    def _watch_hosts(self, now: float) -> list[Send]:
        """Hear of the visits to those hosts of which a turn is waited for in vain."""
        hosts = frozenset(
            host_of(audit.url)
            for audit in self._audits.values()
            if audit.visitor and audit.stage is AuditStage.TURN and now >= audit.began_s + WAITED_S
        )
        if hosts == self._watched:
            return []
        self._watched = hosts
        return [Send(Address(self._me, "cell"), WatchHosts(hosts))]

    def _give_up(self, key: int, audit: PageAudit, now: float) -> list[Send]:
        """End a look that comes to nothing, or note that a host is kept from others that is visited."""
        if audit.stage is not AuditStage.TURN:
            self._end(key, "unseen")
            return []
        if audit.asker is None and audit.n_visits < VISITS_MIN:
            self._end(key, "unlent")
            return []
        return self._see(key, Observation((), is_unlent=True), now)

    # --- the second look ---

    def _note_second(self, helper: str, told: PageObserved, now: float) -> list[Send]:
        audit = self._audits.get(told.number)
        if (
            audit is None
            or audit.stage is not AuditStage.SECOND
            or helper != audit.helper
            or audit.seen is None
        ):
            return []
        other = Observation(told.text, told.is_gone, told.is_unlent)
        if not (differs(audit.said, other) and agree(audit.seen, other)):
            self._end(told.number, "unsettled")
            return []
        self._end(told.number, "differing")
        evidence = self._verdicts.note_differing(audit.visitor, audit.url, audit.seen.ip, now)
        if not evidence:
            return []
        return [Send(Address(self._me, CONDUCT), Misbehaved(audit.visitor, Offence.INVENTED, evidence))]

    def _helpers(self, url: str, visitor: str) -> list[str]:
        """Return the members that may take a second look; suspects are none."""
        alive = self._ownership.alive if self._ownership is not None else frozenset()
        if len(alive) < MEMBERS_MIN:
            return []
        others = alive - {self._me, visitor, self._owner_of(url)}
        return sorted(peer for peer in others if not self._verdicts.is_suspect(peer))

    def _owner_of(self, url: str) -> str | None:
        ownership = self._ownership
        return None if ownership is None else ownership.owner_of(ownership.slot_of(host_of(url)))

    def _of(self, url: str) -> int | None:
        """The look that waits for an answer about a URL."""
        key = self._urls.get(url)
        return key if key is not None and self._audits[key].stage is AuditStage.ANSWER else None
