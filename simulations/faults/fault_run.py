"""One run: a mesh that crawls and is searched while it has the faults of a plan, heals, and is judged. [io]

The seed and the number of peers decide everything. Phases: the first peers join; seeds are given, more come
all along, so do searches; faults; everything is healed; when nothing is missing any more a disk is lost, in
some plans; then the mesh has to come to rest within `REST_S_MAX`, and what must hold then is checked.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Container
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec
from xxhash import xxh3_64_digest

from mesh.actors.actor import Message
from mesh.slots import slot_of
from mesh.urls import host_of
from peers.crawler.model.settings import CrawlSettings, Revisit
from peers.handover.wire_messages import ItemsSent
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from simulations.faults.clock import VirtualClock
from simulations.faults.conduct_watch import CONDUCT, CONDUCT_LOOK_S, TUNING, ConductWatch
from simulations.faults.false_answers import LASTS_S, FalseAnswers
from simulations.faults.false_leases import FalseLeases
from simulations.faults.false_roles import FalseRoles
from simulations.faults.false_texts import FalseTexts
from simulations.faults.faults import FaultPlan, Flip, plan_of
from simulations.faults.final_checks import check_rest, digests_on
from simulations.faults.liar import Liar
from simulations.faults.machine import Machine
from simulations.faults.nemesis import Nemesis
from simulations.faults.pinner import Pinner
from simulations.faults.planted import Bug, planted
from simulations.faults.recovery_time import RecoveryTime
from simulations.faults.run_extras import RunExtras
from simulations.faults.stores.all_uses import ALL, SITES, policy_of
from simulations.faults.stores.store_use import StoreUse, UsedMachine
from simulations.faults.stores.submitter import Submitter
from simulations.faults.stores.taken_down import TakeDownUse
from simulations.faults.stores.versions import ledger_of
from simulations.faults.users import FRESH_S, Users
from simulations.faults.watch import Watch
from simulations.webs.changing_web import ChangingWeb
from simulations.webs.submitted_web import SubmittedWeb
from simulations.webs.web import Served, SyntheticWeb, WebShape, address_of
from simulations.world.chance import random_of
from simulations.world.checks import reachable
from simulations.world.members import Members, VirtualDoor
from simulations.world.network import Network
from simulations.world.varied_pages import VariedParser
from simulations.world.words import WordyParser
from simulations.world.world import MessageTally, World

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from random import Random

START_S: Final = 1_000_000.0  # of the virtual clock: wall clocks may be hours behind it
JOINED_S_MAX: Final = 120.0
REST_S_MAX: Final = 900.0  # from healing to rest
WRITE_OFF_S: Final = 300.0  # until a person gives up who is gone
LOOK_S: Final = 2.0  # between two looks at whether the mesh is at rest
LOOKS_AT_REST: Final = 3
SEARCH_PAUSE_S: Final = 1.5  # mean
SEED_PAUSE_S: Final = 6.0  # mean
SEARCH_ALL_PAUSE_S: Final = 3.0  # mean, while a member lies
QUIET_SHARE: Final = 0.5  # of the runs with a liar and all stores
TRANSCRIPT_LINES: Final = 60
REVISIT_S: Final = 60.0
DRAINED_S_MAX: Final = 120.0
NAMED_S: Final = 30.0  # from other owners of slots until all copies have their names by them
HOSTS_PER_MACHINE: Final = 4  # in runs in which hosts share machines
AUDIT_RATE: Final = 0.3  # so that enough pages are looked at in some minutes
GONE_S: Final = 30.0  # a page is missed, in some runs, before it is shown no more
PINS_KNOWN_S: Final = 10.0  # until all have heard of the last policy
POLICY_KNOWN_S: Final = 10.0  # likewise of the first one
TAKEN_S: Final = 12.0  # until a gateway gives up to bring something to a store
INSISTED_S_MAX: Final = 120.0
LAST_VISITS_S: Final = 3 * REVISIT_S  # from a visit to the next one, at most


class RunOutcome(msgspec.Struct, frozen=True):
    """The outcome of a run."""

    seed: int
    peers: int
    extras: RunExtras
    violations: tuple[str, ...]  # empty when all is well
    digest: str
    events: int
    virtual_seconds: float
    real_seconds: float
    requests: int
    refetched: int  # URLs asked again whose answer was lost with a peer
    searches: int
    complete_searches: int
    transcript: tuple[str, ...]  # its last lines
    sent_bytes: int  # of all frames between peers; pages are small here
    moved_bytes: int  # of these: what slots have, brought to peers that lack it
    balance_s: float | None  # from healing until all was where it belongs, to a look; None: it never was

    @property
    def is_passed(self) -> bool:
        return not self.violations

    @property
    def replay(self) -> str:
        """The command that does it again."""
        run = f"--seeds 1 --first-seed {self.seed} --peers {self.peers}{self.extras.options}"
        return f"tianmesh sim faults {run} --verbose"


def run_faults(
    seed: int,
    peers: int,
    *,
    bug: Bug | None = None,
    tell: Callable[[str], None] | None = None,
    only: frozenset[int] | None = None,
    **extras: bool,
) -> RunOutcome:
    """Carry out the run of a seed.

    Args:
      peers: at the beginning.
      bug: to be planted into the peers' code while the run lasts.
      tell: is told every line of the transcript.
      only: places, in the plan, of the faults to be had; None for all. For finding out which matter.
      extras: as `RunExtras` names them.
    """
    plan = plan_of(seed, peers)
    if only is not None:
        faults = tuple(planned for place, planned in enumerate(plan.faults) if place in only)
        plan = msgspec.structs.replace(plan, faults=faults)
    context: AbstractContextManager[object] = planted(bug) if bug is not None else ExitStack()
    with context:
        return FaultRun(plan, tell, **extras).run()


class FaultRun:
    """The machines of a plan, and all observers that look at them."""

    def __init__(
        self,
        plan: FaultPlan,
        tell: Callable[[str], None] | None = None,
        **extras: bool,
    ) -> None:
        """Begin. Args: extras: as `RunExtras` names them."""
        self.plan, self.extras = plan, RunExtras(**extras)
        self.has_liar = self.extras.has_liar
        seed = plan.seed
        self._random = random_of(seed, "users")
        self._tell_further = tell
        self._transcript: deque[str] = deque(maxlen=TRANSCRIPT_LINES)
        network = Network(random_of(seed, "network"))
        self.world = World(network, start_s=START_S)
        self.web = self._make_web()
        has_all, count = self.extras.has_everything, len(plan.drifts)
        self.members = Members(seed, count, plan.replicas, plan.slots, have_gateways=has_all)
        self._settings = _settings_of(plan, has_revisits=self.extras.has_revisits)
        self.watch = Watch(
            self.web,
            self._delay_of,
            plan.delay_s,
            lambda: self.world.now,
            lambda machine, begin_s, end_s: self.nemesis.is_calm(machine, begin_s, end_s),
            self.tell,
        )
        self.false_names: FalseRoles | None = None
        self.false_answers = FalseAnswers(seed, lambda: self.world.now, self.tell)
        self.false_texts = FalseTexts(seed, lambda: self.world.now, self.tell)
        self.conduct_watch = ConductWatch(
            self.world,
            self.present,
            self.watch.violate,
            self.tell,
            lambda machine: self.false_answers.forget(machine.peer),
        )
        # Else nothing would be taken from it soon, and hardly a lie about a store would be heard.
        is_quiet = random_of(seed, "quiet liar").random() < QUIET_SHARE
        self._is_liar_quiet = self.has_liar and self.extras.has_everything and is_quiet
        self.users = self._make_users()
        self.machines = self._make_machines()
        for machine in self.machines:
            self.watch.add(machine)
        self.nemesis = Nemesis(self.world, network, self.machines, self.watch, self.tell)
        used = ALL if self.extras.has_everything else SITES if self.extras.has_sites else ()
        self.uses: list[StoreUse] = [use(self) for use in used]
        self.pinner = self._make_pinner() if self.extras.has_pins else None
        self._policies = 0  # so many without pins
        self._is_busy = True  # users ask
        self._settlings: list[RecoveryTime] = []  # one for each time that everything was healed

    def run(self) -> RunOutcome:
        """Do it all; an exception of a peer's code is a violation as well."""
        started = time.process_time()
        try:
            self._live()
        except Exception as error:
            where = _innermost(error)
            self.watch.violate(f"{type(error).__name__} in {where}: {error}")
            if self._tell_further is not None:
                raise
        return RunOutcome(
            seed=self.plan.seed,
            peers=self.plan.peers,
            extras=self.extras,
            violations=tuple(self.watch.violations),
            digest=self.world.digest,
            events=self.world.n_events,
            virtual_seconds=self.world.now - START_S,
            real_seconds=time.process_time() - started,
            requests=self.watch.n_requests,
            refetched=self.watch.n_refetched,
            searches=self.users.n_searches,
            complete_searches=self.users.n_complete,
            transcript=tuple(self._transcript),
            sent_bytes=self.world.traffic.total().bytes,
            moved_bytes=self.world.traffic.sent.get(ItemsSent.__name__, MessageTally()).bytes,
            balance_s=self._balance_s(),
        )

    def _balance_s(self) -> float | None:
        seconds = [each.seconds for each in self._settlings if each.seconds is not None]
        return sum(seconds) if len(seconds) == len(self._settlings) > 0 else None

    def tell(self, line: str) -> None:
        """Put a line into the transcript."""
        line = f"{self.world.now - START_S:9.3f} {line}"
        self._transcript.append(line)
        if self._tell_further is not None:
            self._tell_further(line)

    # --- Phases ---

    def _live(self) -> None:
        self._join()
        self._decree()
        start = self.world.now
        self._begin_uses(start + self.plan.healed_s)
        for url in self.web.seeds:
            self.users.seed(self.machines[0], url)
        early = [planned for planned in self.plan.faults if planned.at_s < self.plan.healed_s]
        late = [planned for planned in self.plan.faults if planned.at_s >= self.plan.healed_s]
        self.nemesis.plan(early, start)
        self.world.plan(start, self._search_now_and_then)
        self.world.plan(start, self._seed_now_and_then)
        if self.has_liar:
            self._have_one_lie(until=start + self.plan.healed_s)
            self.world.plan(start, self._look_at_conduct)
            self._search_all_now_and_then(random_of(self.plan.seed, "searches for all"))
        if self.pinner is not None:
            self.pinner.pin(start + self.plan.healed_s)
        self.world.run(until=start + self.plan.healed_s)
        if not self._is_liar_quiet:
            self.conduct_watch.judge(self.plan.healed_s)
        self.watch.lies_end(self._is_on_a_disk)
        self._heal()
        for planned in late:
            self._rest(self._settlings[-1].have_all, "bring everything where it belongs")
            self.nemesis.cause(planned.fault)
            self.world.run(until=self.world.now + 60.0)
            self._heal()
        self._is_busy = False
        self._end_uses()
        if self.pinner is not None:
            self.pinner.publish()
            self.world.run(until=self.world.now + PINS_KNOWN_S)
        if self.extras.has_revisits:
            self._visit_once_more()
        self.world.run(until=self.false_answers.until_s)
        self.conduct_watch.judge_denials(self.false_answers.kept_twice)
        self.conduct_watch.judge_inventions(self.false_texts, self.watch.looks)
        if self.false_names is not None:
            self._take_slots_from_liar(self.false_names)
        self._rest(self._is_at_rest, "come to rest")
        if not self.watch.violations:
            check_rest(self)

    def _heal(self) -> None:
        self.nemesis.heal()
        self._settlings.append(RecoveryTime(lambda: self.world.now, self.present, self._are_together))

    def _have_one_lie(self, until: float) -> None:
        random = random_of(self.plan.seed, "liar")
        machine = self.machines[random.randrange(self.plan.peers)]
        self.tell(f"{machine.name} is malicious")
        self.watch.doubts.liar = self.conduct_watch.liar = machine
        urls = list(reachable(self.web))
        names = FalseRoles(self.plan.seed, machine, self.present, self.world, self.tell, urls)
        self.false_names = names
        networks = [address_of(number) for number in range(self.web.shape.machines or 1)]
        leases = FalseLeases(self.plan.seed, machine, self.present, self.world, networks)
        extras = self.false_answers, names, leases, self.false_texts
        liar = Liar(machine, self.world, self.members, random, self.tell, urls, *extras)
        self.false_answers.answerer_of = machine.answerer_of
        liar.fell_silent = lambda for_s: self.nemesis.disturb(for_s, machine.number)
        self.false_answers.until_s = until + LASTS_S
        self.false_texts.until_s = until
        liar.is_quiet = self._is_liar_quiet
        liar.further = [use.twisted for use in self.uses]
        liar.lie(until)
        for use in self.uses:
            use.lie(machine, until)

    def _take_slots_from_liar(self, names: FalseRoles) -> None:
        """Have a person drain the liar, and let it take its share again: its word counts for no slot then."""
        liar = names.machine
        if liar.is_running and not liar.is_leaving and len(self.present()) > 1:
            liar.drain(is_draining=True)
            # A mesh that is smaller than its teams leaves it copies, but has others answer for all slots.
            until = self.world.now + DRAINED_S_MAX
            while not liar.may_leave() and self.world.now < until:
                self.world.run(until=self.world.now + LOOK_S)
            self.world.run(until=self.world.now + NAMED_S)
            liar.drain(is_draining=False)
        names.end()

    def _may_be_missing(self, machine: UsedMachine, url: str, since_s: float) -> bool:
        """Has the malicious member kept a page from the gateway of a machine since then, or is it hidden?"""
        is_liars = self.false_names is not None and self.false_names.may_hide(url)
        is_hidden = is_liars or url in self.hidden
        return is_hidden or self.false_answers.has_withheld(machine.peer, url, since_s)

    def _look_at_conduct(self) -> None:
        if self.world.now < self.false_answers.until_s:
            self.conduct_watch.look()
        elif self._is_busy:  # denials are judged only when faults that come late are over, too
            self.conduct_watch.note_losses()
        else:
            return
        self.world.plan(self.world.now + CONDUCT_LOOK_S, self._look_at_conduct)

    def _is_on_a_disk(self, url: str, digest: bytes) -> bool:
        slot = slot_of(host_of(url), self.plan.slots)
        return any(digest in digests_on(machine, ledger_of(machine), slot, url) for machine in self.present())

    def _visit_once_more(self) -> None:
        """Let the web change no more: each page has one visit to come, at most, and rest waits for it."""
        assert isinstance(self.web, ChangingWeb)
        self.web.cease()
        self.tell("the web changes no more")
        settings = msgspec.structs.replace(self._settings, revisit_after_s=inf)
        for machine in self.machines:
            machine.change_settings(settings)

    def _make_machines(self) -> list[Machine]:
        doors: dict[str, VirtualDoor] = {}
        clocks = zip(self.plan.wall_offsets_s, self.plan.drifts, strict=True)
        return [
            self._make_machine(number, VirtualClock(*clock), doors) for number, clock in enumerate(clocks)
        ]

    def _make_machine(self, number: int, clock: VirtualClock, doors: dict[str, VirtualDoor]) -> Machine:
        return Machine(
            number,
            self.world,
            self.members,
            self.web,
            self._settings,
            doors,
            clock=clock,
            fetched=self._fetched,
            abandoned=self.watch.abandoned,
            unasked=self.watch.unasked,
            looked=self.watch.looked,
            told=self._told,
            conduct=CONDUCT,
            tuning=TUNING,
            parser=VariedParser if self.extras.has_everything else WordyParser,
        )

    def _make_web(self) -> SyntheticWeb:
        plan, extras = self.plan, self.extras
        shape = replace(_shape_of(plan), has_domains=extras.has_domains)
        if extras.has_machines:
            shape = replace(shape, machines=max(2, plan.hosts // HOSTS_PER_MACHINE))
        if extras.has_sites or extras.has_everything:
            web = SubmittedWeb(plan.seed, plan.pages, shape, lambda: self.world.now)
            if not extras.has_revisits:
                web.cease()
            return web
        if extras.has_revisits:
            return ChangingWeb(plan.seed, plan.pages, shape, lambda: self.world.now)
        return SyntheticWeb(plan.seed, plan.pages, shape)

    def _make_users(self) -> Users:
        return Users(
            lambda: self.world.now,
            self.watch.violate,
            self.tell,
            self._may_be_missing,
            lambda url: url in self.watch.last,
        )

    def _make_pinner(self) -> Pinner:
        random = random_of(self.plan.seed, "pins")
        return Pinner(self.machines, self.world, self.members, random, self.tell, self._policy())

    # --- Stores that a policy switches on

    def _policy(self) -> Policy:
        """Return the policy of this run but for its pins."""
        return policy_of(self.uses) if self.uses else EVERYTHING

    def legislate(self) -> None:
        """Publish the policy anew, with the rules that uses have by now."""
        if self.pinner is not None:
            self.pinner.base = self._policy()
            self.pinner.publish()
        elif running := self.running():
            self._policies += 1
            policy = self.members.policy(self._policies, policy_bytes(self._policy()))
            running[0].publish(policy)

    @property
    def seed(self) -> int:
        return self.plan.seed

    @property
    def liar(self) -> Machine | None:
        return self.watch.doubts.liar

    def is_told_by_liar(self, url: str, body: bytes | None = None) -> bool:
        return self.watch.doubts.is_of_liar(url, None if body is None else xxh3_64_digest(body))

    def is_look(self, url: str) -> bool:
        return any(isinstance(use, Submitter) and use.is_look(url) for use in self.uses)

    @property
    def hidden(self) -> Container[str]:
        """URLs that are taken down."""
        return next((use.urls for use in self.uses if isinstance(use, TakeDownUse)), ())

    def _decree(self) -> None:
        """Switch on the stores; wait for all to hear of it where all that is crawled counts for some."""
        if self.uses and self.pinner is None:
            self.legislate()
        for use in self.uses:
            use.decree()
        if self.extras.has_everything:
            self.world.run(until=self.world.now + POLICY_KNOWN_S)

    def _begin_uses(self, until: float) -> None:
        for use in self.uses:
            self.world.plan(self.world.now + POLICY_KNOWN_S, partial(use.begin, until))

    def _end_uses(self) -> None:
        """Bring once more to the stores all that the faults have kept from them."""
        for use in self.uses:
            use.end_faults()
        until = self.world.now + INSISTED_S_MAX
        while lacking := [each for use in self.uses for each in use.lacking()]:
            if self.world.now > until:
                self.watch.violate(f"nobody takes {', '.join(lacking)}")
                return
            for use in self.uses:
                use.insist()
            self.world.run(until=self.world.now + TAKEN_S)

    def _join(self) -> None:
        """Let the first peers find together."""
        world = self.world
        for machine in self.machines[: self.plan.peers]:
            self.tell(f"{machine.name} is {machine.peer}")
            machine.start()
        until = world.now + JOINED_S_MAX
        while world.now < until:
            world.run(until=world.now + 1.0)
            if self._all_know_each_other():
                return
        raise RuntimeError(f"the members have not found together in {JOINED_S_MAX:g} virtual seconds")

    def _rest(self, is_reached: Callable[[], bool], what: str) -> None:
        """Wait until something has been the case for some looks in a row.

        Who is gone for good may have what nobody else has, so the others may wait for him; after a while a
        person says that there is nothing to wait for.
        """
        world = self.world
        until = world.now + REST_S_MAX
        written_off_at = world.now + WRITE_OFF_S
        looks = 0
        while looks < LOOKS_AT_REST:
            world.run(until=world.now + LOOK_S)
            self._settlings[-1].look()
            looks = looks + 1 if is_reached() else 0
            if world.now >= written_off_at:
                written_off_at = inf
                self._write_off_who_is_gone()
            if world.now > until:
                for machine in self.present():
                    self.tell(f"{machine.name}: {machine.trouble()}")
                self.watch.violate(f"the mesh did not {what} within {REST_S_MAX:g} s after healing")
                return

    def _write_off_who_is_gone(self) -> None:
        for machine in self.machines:
            if machine.has_lived and machine.is_gone:
                self.tell(f"{machine.name} is written off")
                self.present()[0].write_off(machine)

    # --- Who is there, and what they do ---

    def present(self) -> list[Machine]:
        """The machines that are members or mean to be."""
        return [machine for machine in self.machines if machine.has_lived and not machine.is_gone]

    def _all_know_each_other(self) -> bool:
        present = self.present()
        if not all(machine.is_running for machine in present):
            return False
        memberships = [machine.membership() for machine in present]
        return all(each.alive == len(present) for each in memberships) and (
            len({each.epoch for each in memberships}) == 1
        )

    def _nothing_is_missing(self) -> bool:
        return self._are_together() and all(machine.has_settled() for machine in self.present())

    def _are_together(self) -> bool:
        return not any(machine.is_leaving for machine in self.present()) and self._all_know_each_other()

    def _is_at_rest(self) -> bool:
        """Is nothing on its way, nor due before every page has been visited once more?"""
        present = self.present()
        return (
            self._nothing_is_missing()
            and all(machine.has_named_copies() for machine in present)
            and all(use.is_over(present) for use in self.uses)
            and all(machine.crawl().is_idle for machine in present)
            and not any(self.watch.is_to_be_asked(machine, LAST_VISITS_S) for machine in present)
        )

    # --- Users ---

    def _search_now_and_then(self) -> None:
        if self._is_busy:
            self.search_something()
            pause_s = self._random.expovariate(1 / SEARCH_PAUSE_S)
            self.world.plan(self.world.now + pause_s, self._search_now_and_then)

    def _seed_now_and_then(self) -> None:
        if self._is_busy:
            self._seed_something()
            pause_s = self._random.expovariate(1 / SEED_PAUSE_S)
            self.world.plan(self.world.now + pause_s, self._seed_now_and_then)

    def _search_all_now_and_then(self, random: Random) -> None:
        """Ask for many pages at once while somebody lies of them: at each gateway in turn by chance."""
        if self.world.now < self.false_answers.until_s:
            running = [machine for machine in self.present() if machine.is_running]
            if running:
                self.users.search_all(random.choice(running))
            at_s = self.world.now + random.expovariate(1 / SEARCH_ALL_PAUSE_S)
            self.world.plan(at_s, lambda: self._search_all_now_and_then(random))

    def search_something(self) -> None:
        """Let somebody search for some page that is stored, at some gateway."""
        machine = self.some_gateway()
        findable = [url for url in self.watch.findable if self.web.is_steady(url)]
        if machine is not None and findable:
            url = self._random.choice(findable)
            slowest = max(each.disk.factor for each in self.machines)
            stored_s = self.watch.findable[url]
            is_known = self.watch.may_know(machine, stored_s + FRESH_S) and not self.watch.is_of_liar(url)
            self.users.search(machine, url, stored_s if is_known else inf, fresh_s=slowest * FRESH_S)

    def some_gateway(self) -> Machine | None:
        running = self.running()
        return self._random.choice(running) if running else None

    def running(self) -> list[Machine]:
        """The members that run."""
        return [machine for machine in self.present() if machine.is_running]

    def _told(self, machine: Machine, message: Message) -> None:
        if not any(use.told(machine, message) for use in self.uses):
            self.users.told(machine, message)

    def _seed_something(self) -> None:
        """Give a page of some host, under a name that no link has: it is found only if the seed is kept."""
        machine, random = self.some_gateway(), self._random
        if machine is not None:
            host = random.randrange(self.web.host_count)
            page = random.randrange(self.web.sizes[host])
            zeros = "0" * random.randint(1, 40)
            self.users.seed(machine, f"{self.web.origin_of_page(host, page)}/p{zeros}{page}")

    def _fetched(self, machine: Machine, url: str, served: Served) -> None:
        is_own = [use.requested(machine, url, served) for use in self.uses]  # all of them hear of it
        if any(is_own):
            self.watch.asked_for_proof(machine, url, served)
        else:
            self.watch.requested(machine, url, served)

    def _delay_of(self, origin: str) -> float:
        return max(self._settings.delay_s, self.web.crawl_delay_s(origin))

    @property
    def missed_again_s(self) -> float:
        """How long after a visit that misses a page it is due again, at most."""
        return GONE_S

    @property
    def is_archive_damaged(self) -> bool:
        """Has some disk changed data that were written to it?"""
        return any(isinstance(planned.fault, Flip) for planned in self.plan.faults)

    def reachable_urls(self) -> list[str]:
        """All pages that must have been fetched: from the seed, and those that users were promised."""
        return [*reachable(self.web, self.watch.doubts.is_read), *self.users.promised]


def _shape_of(plan: FaultPlan) -> WebShape:
    return WebShape(
        pages_per_host=plan.pages / plan.hosts,
        size_exponent=0.5,
        links_mean=6.0,
        outside_share=0.1,
        redirect_share=0.05,
        forbidden_share=0.02,
        dead_hosts_share=0.05,
        slow_hosts_share=0.1,
        split_share=0.3,
    )


def _settings_of(plan: FaultPlan, *, has_revisits: bool) -> CrawlSettings:
    # No pause by the time that a host takes: nobody judges that here, and it only draws out the end of a run.
    settings = CrawlSettings(
        delay_s=plan.delay_s,
        delay_factor=0.0,
        backoff_s=2.0,
        anchors_interval_s=30.0,
        audit_rate=AUDIT_RATE,
    )
    return _revisiting(settings, plan.seed) if has_revisits else settings


def _revisiting(settings: CrawlSettings, seed: int) -> CrawlSettings:
    """Have pages visited again by one policy or another, and shown for a while though missed, or not."""
    random = random_of(seed, "revisiting")
    revisit = random.choice(list(Revisit))
    gone_visits, gone_after_s = random.choice(((1, 0.0), (2, GONE_S)))
    return msgspec.structs.replace(
        settings,
        revisit=revisit,
        revisit_after_s=REVISIT_S,
        revisit_min_s=REVISIT_S / 2,
        revisit_max_s=REVISIT_S * 2,
        gone_visits=gone_visits,
        gone_after_s=gone_after_s,
    )


def _innermost(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "?"
    code = trace.tb_frame.f_code
    return f"{code.co_qualname} ({code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno})"
