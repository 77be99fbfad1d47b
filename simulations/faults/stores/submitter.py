"""People that submit sites while the mesh has its faults, and a member that lies of sites; limits are judged.

What must hold: of a site no more pages are asked for than its limit says, whoever crawls it when; of one that
shows no proof only the places where that might be; and each submission that a gateway says is taken is known
to all of its team in the end, and visited if its site shows the proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Final

import msgspec

from mesh.actors.actor import Address, Message
from mesh.slots import slot_of
from mesh.urls import host_of
from peers.crawler.site_watch import PROOF_PATH
from peers.gateway.model.messages import SiteAnswered, SubmitUrl
from peers.handover.item_store import Item
from peers.handover.wire_messages import ItemsChanged
from peers.policy.submission_rules import SubmissionRules
from peers.submissions.domain_day import domain_digest
from peers.submissions.submission import (
    Submission,
    SubmissionState,
    code_of,
    name_of,
    row_bytes,
    slot_of_code,
)
from peers.submissions.submissions import Submissions
from peers.submissions.verdict import Verdict
from peers.submissions.wire_messages import (
    ClaimDomain,
    JudgeSubmission,
    ReportPage,
    SubmissionsTold,
    SubmitSite,
)
from simulations.faults.stores.store_use import LIE_PAUSE_S, TICKETS, StoreUse, UsedMachine, UsedRun
from simulations.webs.submitted_web import SubmittedWeb
from simulations.webs.web import Served
from simulations.world.world import World

RULES: Final = SubmissionRules(moderation=False, pages_per_site=7, per_domain=64)
PAUSE_S: Final = 12.0  # mean, between two submissions
_ODD_URLS: Final = ("x", "javascript:alert(1)", "http://", "http:/a", "\0", "http://[::", "HTTP://A.TEST")


class Submitter(StoreUse):
    """Submits, and judges.

    Attributes:
      promised: home page by code, of submissions that a gateway said were taken.
    """

    switches: ClassVar = {"submissions": RULES}
    chance = "submitters"

    def __init__(self, run: UsedRun) -> None:
        super().__init__(run)
        assert isinstance(run.web, SubmittedWeb)
        self.promised: dict[bytes, str] = {}
        self._web = run.web
        self._asked: dict[str, set[str]] = {host_of(site): set() for site in run.web.sites}
        self._submitted: dict[int, str] = {}  # home page by ticket

    def begin(self, until: float) -> None:
        """Have some site submitted now and then, up to a time."""
        self.act_now_and_then(self._submit, PAUSE_S, until)

    def _submit(self) -> None:
        self._submit_one(self._random.choice(self._web.sites))

    def insist(self) -> None:
        for site in self.lacking():
            self._submit_one(site)

    def _submit_one(self, site: str) -> None:
        """Submit a site at some gateway, if any runs; it shows the code from then on, if it ever does."""
        machines = self._run.running()
        if not machines:
            return
        machine, chance = self._random.choice(machines), self._random.randbytes(13)
        code = code_of(slot_of(host_of(site), machine.config.slot_count), chance)
        if site in self._web.codes:
            self._web.codes[site].append(code)
        ticket = TICKETS + len(self._submitted)
        self._submitted[ticket] = site
        self._run.tell(f"a user submits {site} at {machine.name}")
        machine.order(SubmitUrl(ticket, site, chance))

    def told(self, machine: UsedMachine, message: Message) -> bool:
        """Take an answer of a gateway; False when it is none to a submission."""
        if not isinstance(message, SiteAnswered):
            return False
        site = self._submitted[message.ticket]
        self._run.tell(f"{machine.name} says of {site}: {message.refusal or 'taken'}")
        if not message.refusal:
            self.promised[message.code] = site
        return True

    def is_look(self, url: str) -> bool:
        """Is a request one for a proof? The start page of a site that shows none is never visited."""
        return url.endswith(PROOF_PATH) or url == self._web.sites[-1]

    def requested(self, machine: UsedMachine, url: str, served: Served) -> bool:
        """Judge whether a page may be asked for at all."""
        host = host_of(url)
        if self.is_look(url):
            return True
        if host not in self._asked or url.endswith("/robots.txt"):
            return False
        self._asked[host].add(url)
        is_proven = host != host_of(self._web.sites[-1])
        if not is_proven or len(self._asked[host]) > RULES.pages_per_site:
            said = f"page {len(self._asked[host])} of a site {'with' if is_proven else 'without'} a proof"
            self._run.watch.violate(f"{machine.name} asked {url}, {said}")
        return False

    def lacking(self) -> list[str]:
        """Sites of which no submission is taken so far."""
        return [site for site in self._web.sites if site not in self.promised.values()]

    def is_over(self, machines: Sequence[UsedMachine]) -> bool:
        """Has each site with a proof that was shown in time come to its end?"""
        return not any(row.is_open and row.is_proven for row in self._rows(machines))

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        """Judge the mesh at rest."""
        for code, site in self.promised.items():
            rows = [_of(self._world, machine).row_of(code) for machine in machines if _keeps(machine, code)]
            if None in rows or len(set(map(repr, rows))) != 1:
                yield f"the submission {code.hex()} of {site} is not the same at all of its team: {rows}"
            elif site not in self._web.codes and (rows[0] is None or rows[0].visited or rows[0].is_proven):
                yield f"{site}, which shows no proof, is said to have one: {rows[0]}"
        for site in self._web.codes:
            of_site = [row for row in self._rows(machines) if row.url == site]
            if any(row.is_limited and row.state is SubmissionState.DONE for row in of_site):
                n_asked = len(self._asked[host_of(site)])
                if n_asked < RULES.pages_per_site:
                    yield f"of {site} only {n_asked} pages were asked for"

    def _rows(self, machines: Sequence[UsedMachine]) -> list[Submission]:
        found = (_of(self._world, each).row_of(code) for each in machines for code in self.promised)
        return [row for row in found if row is not None]

    # --- The member that lies

    def lie(self, machine: UsedMachine, until: float) -> None:
        """Have a member say odd things of sites up to a time."""
        self.act_now_and_then(partial(self._lie, machine), LIE_PAUSE_S, until)

    def _lie(self, machine: UsedMachine) -> None:
        others = [each for each in self._run.running() if each is not machine]
        if machine.is_running and others:
            victim = self._random.choice(others).peer
            for message in self._lies(machine):
                source = "submissions" if isinstance(message, ItemsChanged) else "searcher"
                self._world.repeat(Address(machine.peer, source), Address(victim, "submissions"), message)
            unasked = SubmissionsTold(self._random.randrange(1 << 20), is_on=True)
            self._world.forge(machine.peer, Address(victim, "searcher"), unasked)

    def _lies(self, machine: UsedMachine) -> list[Message]:
        random, slots = self._random, machine.config.slot_count
        number, url = random.randrange(1 << 40), random.choice(_ODD_URLS)
        code = code_of(random.randrange(slots), random.randbytes(13))
        site = random.choice(self._web.sites)
        made_s = random.randrange(1 << 37)
        forged = Verdict(code, True, "", 5_000, True, int(self._world.now), b"k" * 32, b"", b"s" * 64)
        row = Submission(
            random.choice((url, site)), made_s, False, False, 5_000, verdict=forged, is_known=True
        )
        slot = random.choice((slot_of_code(code), slot_of(host_of(site), slots)))
        item = Item(slot, name_of(code), row_bytes(row))
        return [
            SubmitSite(number, code, url),
            ClaimDomain(number, domain_digest(f"d{number}.test"), code),
            JudgeSubmission(number, forged),
            ReportPage(number, url, random.randbytes(8)),
            ItemsChanged(number, self._world.now, msgspec.msgpack.encode([item])),
        ]


def _of(world: World, machine: UsedMachine) -> Submissions:
    actor = world.node(machine.peer).actor("submissions")
    assert isinstance(actor, Submissions)
    return actor


def _keeps(machine: UsedMachine, code: bytes) -> bool:
    ownership = machine.ownership
    return ownership is not None and machine.peer in ownership.team_of(slot_of_code(code))
