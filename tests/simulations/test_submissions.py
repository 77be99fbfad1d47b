"""Submitted sites in a mesh: proof, limit to the page over crashes, quotas, and no turn that moves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.keys.decree import Signer
from mesh.slots import slot_of
from mesh.urls import host_of
from peers.crawler.model.messages import PageParsed
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.site_watch import PROOF_PATH
from peers.gateway.http.quotas import Quotas, client_of
from peers.gateway.model.messages import (
    AddSeeds,
    FindSubmission,
    JudgeSite,
    ListSites,
    ReportUrl,
    SiteAnswered,
    SitesListed,
    SubmissionFound,
    SubmitUrl,
)
from peers.gateway.model.settings import GatewaySettings
from peers.handover.item_store import Item
from peers.handover.wire_messages import ItemsChanged
from peers.policy.rules import OF_SEEDS, Policy, policy_bytes
from peers.policy.submission_rules import SubmissionRules
from peers.submissions.submission import Submission, SubmissionState, code_of, code_text, name_of, row_bytes
from peers.submissions.verdict import sign_verdict
from peers.submissions.wire_messages import DOMAIN_FULL, FORGED, OFF
from simulations.faults.machine import Machine
from simulations.webs.web import Served, SyntheticWeb, WebShape
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.words import WordyParser
from simulations.world.world import PortAnswer, World
from tests.simulations.machines import PlayedMesh

SLOTS = 32
SHAPE = WebShape(
    pages_per_host=30.0,
    size_exponent=0.2,
    dead_hosts_share=0.0,
    slow_hosts_share=0.0,
    missing_share=0.0,
    redirect_share=0.0,
    forbidden_share=0.0,
    has_domains=True,
)
OPEN = SubmissionRules(moderation=False, pages_per_site=12)


class ProvenWeb(SyntheticWeb):
    """A web whose sites can show proof files."""

    def __init__(self, seed: int, pages: int) -> None:
        super().__init__(seed, pages, SHAPE)
        self.proofs: dict[str, bytes] = {}  # by origin
        self.moved: dict[str, str] = {}  # pages, and where to
        self.elements: dict[str, str] = {}  # codes of pages that have one

    def serve(self, url: str) -> Served:
        origin, _, path = url[8:].partition("/")
        if url in self.moved:
            return Served(301, 0.2, 100, location=self.moved[url])
        if url in self.elements:
            return Served(200, 0.2, 1_000)
        proof = self.proofs.get(f"{url[:8]}{origin}")
        if f"/{path}" == PROOF_PATH and proof is not None:
            return Served(200, 0.2, len(proof), body=proof)
        return super().serve(url)


class ProvenParser(WordyParser):
    """The parser's twin, which sees the codes in pages."""

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        for answer in super().receive(source, message, now):
            if isinstance(answer.message, PageParsed) and isinstance(self._web, ProvenWeb):
                code = self._web.elements.get(answer.message.url, "")
                yield answer._replace(message=replace(answer.message, site_code=code))
            else:
                yield answer


class Fetch(NamedTuple):
    """A line of the log of all web servers."""

    at_s: float
    url: str
    peer: str


class Mesh(PlayedMesh):
    """Machines with two copies of everything, a gateway, and the log of all web servers."""

    def __init__(
        self, rules: SubmissionRules | None = OPEN, machines: int = 3, seed: int = 5, started: int = 9
    ) -> None:
        self.network = Network(random_of(seed, "network"))
        self.world = World(self.network, start_s=1_000.0)
        self.members = Members(seed, machines, replicas=2, slot_count=SLOTS)
        self.web = ProvenWeb(seed, 240)
        self.log: list[Fetch] = []
        self.answers: dict[int, Message] = {}
        self.ticket = 0
        settings = CrawlSettings(delay_s=1.0)
        self.begin(
            machines,
            self.web,
            settings,
            started=started,
            fetched=self._fetched,
            told=self._told,
            parser=ProvenParser,
        )
        self.pass_time(20.0)
        policy = Policy(rules=OF_SEEDS.rules, submissions=rules)
        self.machines[0].publish(self.members.policy(1, policy_bytes(policy)))
        self.pass_time(20.0)

    def _fetched(self, machine: Machine, url: str, served: Served) -> None:
        self.log.append(Fetch(self.world.now, url, machine.peer))

    def _told(self, machine: Machine, answer: Message) -> None:
        self.answers[answer.ticket] = answer  # type: ignore[attr-defined]  # all of these have one

    def home(self, number: int) -> str:
        return self.web.seeds[number]

    def ask(self, order: type[Message], *values: object, seconds: float = 3.0) -> Message:
        self.ticket += 1
        running = next(machine for machine in self.machines if machine.is_running)
        running.order(order(self.ticket, *values))
        self.pass_time(seconds)
        return self.answers.pop(self.ticket)

    def submit(self, url: str, *, is_proven: bool = False) -> SiteAnswered:
        chance = self.ticket.to_bytes(13, "big")
        if is_proven:
            self.prove(url, code_of(slot_of(host_of(url), SLOTS), chance))
        answer = self.ask(SubmitUrl, url, chance)
        assert isinstance(answer, SiteAnswered)
        return answer

    def prove(self, url: str, code: bytes) -> None:
        self.web.proofs[url.rstrip("/")] = f"hello\n{code_text(code)}\n".encode()

    def row(self, code: bytes) -> Submission:
        found = self.ask(FindSubmission, code)
        assert isinstance(found, SubmissionFound)
        assert found.row is not None
        return found.row

    def wait_for(self, code: bytes, state: SubmissionState, seconds: float = 400.0) -> Submission:
        until = self.world.now + seconds
        while (row := self.row(code)).state is not state:
            assert self.world.now < until, row
            self.pass_time(5.0)
        return row

    def pages_of(self, url: str) -> set[str]:
        """The pages of a site that were asked for, without robots.txt and the proof file."""
        asked = {fetch.url for fetch in self.log if host_of(fetch.url) == host_of(url)}
        return {each for each in asked if urlsplit(each).path not in ("/robots.txt", PROOF_PATH)}

    def owner_of(self, url: str) -> Machine:
        ownership = next(each.ownership for each in self.machines if each.ownership is not None)
        owner = ownership.owner_of(ownership.slot_of(host_of(url)))
        return next(machine for machine in self.machines if machine.peer == owner)


def test_a_site_with_a_proof_is_crawled_up_to_its_limit_and_not_a_page_further() -> None:
    mesh = Mesh()
    home = mesh.home(1)
    answer = mesh.submit(home, is_proven=True)
    assert not answer.refusal
    row = mesh.wait_for(answer.code, SubmissionState.DONE)
    assert row.visited == OPEN.pages_per_site
    mesh.pass_time(300.0)
    assert len(mesh.pages_of(home)) == OPEN.pages_per_site


def test_the_limit_holds_to_the_page_when_who_crawls_the_site_dies() -> None:
    rules = SubmissionRules(moderation=False, pages_per_site=20)
    for seed in (5, 6, 7):
        mesh = Mesh(rules, machines=4, seed=seed)
        home = mesh.home(2)
        answer = mesh.submit(home, is_proven=True)
        until = mesh.world.now + 200.0
        while len(mesh.pages_of(home)) < 9:
            mesh.pass_time(0.4)
            assert mesh.world.now < until
        owner = mesh.owner_of(home)
        owner.crash()
        row = mesh.wait_for(answer.code, SubmissionState.DONE, 600.0)
        assert row.visited == 20
        assert {fetch.peer for fetch in mesh.log if host_of(fetch.url) == host_of(home)} > {owner.peer}
        owner.start()
        mesh.pass_time(200.0)
        assert len(mesh.pages_of(home)) == 20


def submitted_twice(mesh: Mesh, home: str, *urls: str) -> list[bytes]:
    """Submit pages of a site at the same time, of which it shows the proof of the first."""
    chances = [bytes([number]) * 13 for number in range(1, len(urls) + 1)]
    codes = [code_of(slot_of(host_of(home), SLOTS), chance) for chance in chances]
    mesh.prove(home, codes[0])
    for url, chance in zip(urls, chances, strict=True):
        mesh.ticket += 1
        mesh.machines[0].order(SubmitUrl(mesh.ticket, url, chance))
    mesh.pass_time(3.0)
    return codes


def test_a_site_that_is_submitted_twice_has_one_limit_whatever_it_shows_when() -> None:
    """With the second proof, shown later, the site counted as crawled before, and had no limit any more."""
    mesh = Mesh()
    home = mesh.home(1)
    first, second = submitted_twice(mesh, home, home, f"{home}p0030")
    assert mesh.wait_for(first, SubmissionState.DONE).visited == OPEN.pages_per_site
    mesh.prove(home, second)
    mesh.pass_time(12_000.0)
    row = mesh.row(second)
    assert (row.is_proven, row.is_known, row.state) == (True, False, SubmissionState.DONE)
    assert len(mesh.pages_of(home)) == OPEN.pages_per_site


def test_the_proof_of_one_submission_does_not_end_the_looks_for_that_of_another() -> None:
    mesh = Mesh()
    home = mesh.home(1)
    first, second = mesh.submit(home), mesh.submit(f"{home}p0030")
    mesh.pass_time(60.0)
    assert mesh.row(second.code).tries == 1
    mesh.prove(home, first.code)
    mesh.wait_for(first.code, SubmissionState.DONE, 2_000.0)
    n_looks = sum(fetch.url.endswith(PROOF_PATH) for fetch in mesh.log)
    mesh.prove(home, second.code)
    assert mesh.wait_for(second.code, SubmissionState.DONE, 8_000.0).is_proven
    assert len(mesh.pages_of(home)) == OPEN.pages_per_site
    assert sum(fetch.url.endswith(PROOF_PATH) for fetch in mesh.log) <= n_looks + 2


def test_two_proofs_at_once_have_one_limit_and_nothing_of_it_is_lost() -> None:
    mesh = Mesh()
    home = mesh.home(1)
    first, second = submitted_twice(mesh, home, home, f"{home}p0030")
    while len(mesh.pages_of(home)) < 4:
        mesh.pass_time(0.5)
    mesh.web.proofs[home.rstrip("/")] = f"{code_text(first)} {code_text(second)}".encode()
    for code in (first, second):
        mesh.wait_for(code, SubmissionState.DONE, 8_000.0)
    mesh.pass_time(200.0)
    assert len(mesh.pages_of(home)) == OPEN.pages_per_site


def homes_of_the_last(rules: SubmissionRules, seed: int) -> list[str]:
    """The sites that the last of four machines crawls when all are there."""
    mesh = Mesh(rules, machines=4, seed=seed)
    return [home for home in mesh.web.seeds if mesh.owner_of(home) is mesh.machines[3]]


def test_the_limit_holds_to_the_page_when_a_newcomer_takes_the_site_over() -> None:
    rules = SubmissionRules(moderation=False, pages_per_site=20)
    seed = next(seed for seed in range(5, 20) if homes_of_the_last(rules, seed))
    home = homes_of_the_last(rules, seed)[0]
    mesh = Mesh(rules, machines=4, seed=seed, started=3)
    newcomer = mesh.machines[3].peer
    answer = mesh.submit(home, is_proven=True)
    mesh.wait_for(answer.code, SubmissionState.CRAWLED)
    mesh.machines[3].start()
    assert mesh.wait_for(answer.code, SubmissionState.DONE, 600.0).visited == 20
    mesh.pass_time(200.0)
    assert newcomer in {fetch.peer for fetch in mesh.log if host_of(fetch.url) == host_of(home)}
    assert len(mesh.pages_of(home)) == 20


def test_the_whole_mesh_stops_and_goes_on_with_what_it_knew() -> None:
    rules = SubmissionRules(moderation=False, pages_per_site=20)
    mesh = Mesh(rules)
    home = mesh.home(2)
    answer = mesh.submit(home, is_proven=True)
    while len(mesh.pages_of(home)) < 7:
        mesh.pass_time(0.5)
    for machine in mesh.machines:
        machine.crash()
    mesh.pass_time(30.0)
    for machine in mesh.machines:
        machine.start()
    mesh.pass_time(60.0)
    assert mesh.wait_for(answer.code, SubmissionState.DONE, 600.0).visited == 20
    assert len(mesh.pages_of(home)) == 20


def test_nothing_is_visited_without_a_proof_but_the_file_and_the_start_page() -> None:
    mesh = Mesh()
    home = mesh.home(1)
    answer = mesh.submit(f"{home}p3")
    row = mesh.wait_for(answer.code, SubmissionState.PROVING)
    mesh.pass_time(300.0)
    row = mesh.row(answer.code)
    assert (row.state, row.tries, row.tried_why, row.visited) == (SubmissionState.PROVING, 1, "none", 0)
    assert mesh.pages_of(home) == {home}, "and not the page that was submitted"
    assert not sum(machine.cell().stored for machine in mesh.machines)
    mesh.prove(home, answer.code)
    mesh.pass_time(400.0)  # the next look is ten minutes after the first
    assert mesh.wait_for(answer.code, SubmissionState.DONE).visited == OPEN.pages_per_site


def test_an_administrator_comes_first_where_there_is_moderation() -> None:
    mesh = Mesh(SubmissionRules(pages_per_site=5))
    home = mesh.home(3)
    answer = mesh.submit(home, is_proven=True)
    mesh.pass_time(100.0)
    assert mesh.row(answer.code).state is SubmissionState.MODERATED
    assert not mesh.log
    owner = mesh.members.owner
    forged = sign_verdict(Signer(owner.key, b"another mesh"), answer.code, mesh.world.now, is_accepted=True)
    refused = mesh.ask(JudgeSite, forged)
    assert isinstance(refused, SiteAnswered)
    assert refused.refusal == FORGED
    judged = mesh.ask(JudgeSite, sign_verdict(owner, answer.code, mesh.world.now, is_accepted=True))
    assert isinstance(judged, SiteAnswered)
    assert not judged.refusal
    assert mesh.wait_for(answer.code, SubmissionState.DONE).visited == 5
    other = mesh.submit(mesh.home(4))
    verdict = sign_verdict(owner, other.code, mesh.world.now, is_accepted=False, why="spam")
    assert isinstance(mesh.ask(JudgeSite, verdict), SiteAnswered)
    row = mesh.row(other.code)
    assert (row.state, row.why) == (SubmissionState.REFUSED, "spam")
    assert not mesh.pages_of(mesh.home(4))


def test_a_verdict_outlives_its_gateway_and_its_keeper_and_no_member_brings_a_forged_one() -> None:
    mesh = Mesh(SubmissionRules(pages_per_site=5))
    home, other = mesh.home(3), mesh.home(4)
    answer, waiting = mesh.submit(home, is_proven=True), mesh.submit(other, is_proven=True)
    verdict = sign_verdict(mesh.members.owner, answer.code, mesh.world.now, is_accepted=True)
    judged = mesh.ask(JudgeSite, verdict)
    assert isinstance(judged, SiteAnswered)
    assert not judged.refusal
    liar, slot = mesh.machines[0], slot_of(host_of(other), SLOTS)
    made_s = int(mesh.world.now)
    moved = Submission(other, made_s, False, False, 5_000, replace(verdict, code=waiting.code), is_known=True)
    item = Item(slot, name_of(waiting.code), row_bytes(moved))
    lie = ItemsChanged(1 << 40, mesh.world.now, msgspec.msgpack.encode([item]))
    for machine in mesh.machines[1:]:
        mesh.world.repeat(Address(liar.peer, "submissions"), Address(machine.peer, "submissions"), lie)
    mesh.pass_time(5.0)
    owner = mesh.owner_of(home)
    owner.crash()
    assert mesh.wait_for(answer.code, SubmissionState.DONE, 600.0).visited == 5
    assert mesh.row(waiting.code).state is SubmissionState.MODERATED
    assert not mesh.pages_of(other)


def test_reports_are_counted_alike_by_any_number_of_peers_also_when_one_dies() -> None:
    rules, told = SubmissionRules(reports_per_client=9), []
    for machines in (1, 3, 5):
        mesh = Mesh(rules, machines=machines)
        for number, url in enumerate([mesh.home(1), mesh.home(2), mesh.home(1), mesh.home(1)]):
            reporter = bytes([number % 3]) * 8
            answer = mesh.ask(ReportUrl, url, reporter)
            assert isinstance(answer, SiteAnswered)
            assert not answer.refusal
        if machines > 1:
            mesh.owner_of(mesh.home(1)).crash()
            mesh.pass_time(60.0)
        reports = []
        for peer in [each.peer for each in mesh.machines if each.is_running]:
            listed = mesh.ask(ListSites, peer)
            assert isinstance(listed, SitesListed)
            reports += [(each.url, each.readers) for each in listed.told.reports]
        told.append(sorted(reports))
    assert told[0] == sorted([(mesh.home(1), 2), (mesh.home(2), 1)])
    assert told[0] == told[1] == told[2]


def test_without_need_of_a_proof_one_page_is_visited_and_its_links_are_not_followed() -> None:
    mesh = Mesh(SubmissionRules(moderation=False, proof=False))
    home = mesh.home(1)
    answer = mesh.submit(home)
    assert mesh.wait_for(answer.code, SubmissionState.DONE).visited == 1
    mesh.pass_time(200.0)
    assert mesh.pages_of(home) == {home}
    assert sum(machine.cell().stored for machine in mesh.machines) > 0


def test_a_site_that_is_crawled_already_loses_nothing_by_being_submitted() -> None:
    mesh = Mesh(SubmissionRules(moderation=False, pages_per_site=2))
    home = mesh.home(1)
    mesh.ask(AddSeeds, (home,))
    answer = mesh.submit(home, is_proven=True)
    row = mesh.wait_for(answer.code, SubmissionState.DONE)
    assert row.is_known
    mesh.pass_time(200.0)
    assert len(mesh.pages_of(home)) == mesh.web.sizes[1]
    assert not any(fetch.url.endswith(PROOF_PATH) for fetch in mesh.log)
    again = mesh.submit(mesh.home(2))
    other = mesh.submit(mesh.home(2), is_proven=True)
    assert mesh.wait_for(other.code, SubmissionState.DONE, 900.0).visited == 2
    assert not mesh.row(again.code).is_proven, "the code of another submission proves nothing"


def test_the_quota_of_a_domain_holds_for_the_whole_mesh() -> None:
    mesh = Mesh(SubmissionRules(moderation=True, per_domain=2))
    home = mesh.home(1)
    assert [mesh.submit(f"{home}p{n}").refusal for n in range(4)] == ["", "", DOMAIN_FULL, DOMAIN_FULL]
    mesh.owner_of(home).crash()
    mesh.pass_time(60.0)
    assert mesh.submit(home).refusal == DOMAIN_FULL
    for machine in mesh.running:  # and start again a day later
        machine.crash()
    for machine in mesh.machines:
        machine.clock.wall_offset_s += 86_400.0
        machine.start()
    mesh.pass_time(60.0)
    assert mesh.submit(home).refusal == ""


def test_nothing_is_taken_without_the_policy() -> None:
    mesh = Mesh(None)
    assert mesh.submit(mesh.home(1)).refusal == OFF
    mesh.pass_time(60.0)
    assert not mesh.log


def test_where_submissions_have_ended_a_peer_that_starts_later_is_waited_for_by_nobody() -> None:
    mesh = Mesh()
    assert mesh.submit(mesh.home(0), is_proven=True).refusal == ""
    ended = Policy(rules=OF_SEEDS.rules)
    mesh.machines[0].publish(mesh.members.policy(2, policy_bytes(ended)))
    mesh.pass_time(20.0)
    mesh.machines[2].crash()
    mesh.pass_time(60.0)
    mesh.machines[2].start()  # it has no such store in this life
    mesh.pass_time(120.0)
    assert [machine.has_settled() for machine in mesh.machines] == [True, True, True], [
        machine.trouble() for machine in mesh.machines
    ]
    mesh.machines[0].publish(
        mesh.members.policy(3, policy_bytes(Policy(rules=OF_SEEDS.rules, submissions=OPEN)))
    )
    mesh.pass_time(20.0)
    assert mesh.submit(mesh.home(1), is_proven=True).refusal == ""


def test_a_start_page_that_has_moved_within_its_site_can_show_the_proof() -> None:
    mesh = Mesh(SubmissionRules(moderation=False, pages_per_site=3))
    home = mesh.home(1)
    chance = mesh.ticket.to_bytes(13, "big")
    code = code_of(slot_of(host_of(home), SLOTS), chance)
    mesh.web.elements[f"{home}p1"] = code_text(code)
    mesh.web.moved[home] = f"{home}p1"
    answer = mesh.submit(home)
    assert answer.code == code
    assert mesh.wait_for(code, SubmissionState.DONE).is_proven


def test_two_hundred_thousand_words_at_the_place_of_the_proof_are_not_read() -> None:
    mesh = Mesh()
    home = mesh.home(1)
    answer = mesh.submit(home)
    mesh.web.proofs[home.rstrip("/")] = b"x " * 100_000 + code_text(answer.code).encode()
    mesh.pass_time(1_000.0)
    assert mesh.row(answer.code).state is SubmissionState.PROVING
    assert mesh.row(answer.code).tries == 2


HOSTILE = 10_200


def test_ten_thousand_hostile_submissions_move_no_turn_of_another_host() -> None:
    turns: list[list[Fetch]] = []
    for is_hostile in (False, True):
        mesh = Mesh(SubmissionRules(moderation=False, proof=False, waiting_max=40), machines=1)
        mesh.ask(AddSeeds, tuple(mesh.home(n) for n in range(4)))
        started = mesh.world.now
        taken, refused = 0, 0
        if is_hostile:
            taken, refused = attack(mesh)
            assert taken + refused == HOSTILE
            assert 0 < taken < 60, "a client may 5 a day, a domain 3, and 40 wait at a time"
            assert mesh.world.now < started + 150.0
        mesh.pass_time(started + 400.0 - mesh.world.now)
        crawled = {host_of(mesh.home(n)) for n in range(4)}
        turns.append([fetch for fetch in mesh.log if host_of(fetch.url) in crawled])
        others = {host_of(fetch.url) for fetch in mesh.log} - crawled
        assert bool(others) is is_hostile, "some of the other sites were asked, in their own turns"
    assert len(turns[0]) > 100
    assert turns[0] == turns[1]


def attack(mesh: Mesh) -> tuple[int, int]:
    """Submit from 300 addresses: sites of the crawl, others, and names that do not exist."""
    quotas = Quotas(GatewaySettings())
    urls = [mesh.home(n) for n in range(8)] + [f"http://a{n}.evil{n % 900}.example/" for n in range(2_000)]
    asked, refused = [], 0
    for number in range(HOSTILE):
        client = client_of(f"198.51.{number % 3}.{number % 100}")
        if quotas.take_submission(client, OPEN.per_client, mesh.world.now):
            refused += 1
            continue
        mesh.ticket += 1
        asked.append(mesh.ticket)
        url = urls[number * 7 % len(urls)]
        mesh.machines[0].order(SubmitUrl(mesh.ticket, url, number.to_bytes(13, "big")))
        mesh.pass_time(0.05)
    mesh.pass_time(15.0)
    answers = [mesh.answers.pop(ticket) for ticket in asked]
    taken = sum(isinstance(answer, SiteAnswered) and not answer.refusal for answer in answers)
    return taken, refused + len(answers) - taken
