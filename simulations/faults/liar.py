"""A member that takes part as all others do, and also says in its own name anything that may do harm.

What it says goes over the same network from its own address, so it is known who says it; what only the holder
of another key could say it can but forge. It invents texts for its own slots, in which the words still stand
by which their pages must be found: so all that must hold without it must hold with it, for every page of the
web.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.keys.certificate import Grant, issue
from mesh.keys.decree import DRAIN, POLICY, RENEWAL, REVOCATION, WRITE_OFF, Signer, number_body
from mesh.keys.signing_key import SigningKey
from mesh.membership.membership import Membership
from mesh.membership.model.credentials import PeerCredentials
from mesh.membership.model.members import State
from mesh.membership.model.wire_messages import (
    GOSSIP_MAX,
    DecreesTold,
    MemberRecord,
    MembersTold,
    Ping,
    PingAnswered,
    Rumour,
    RumoursSpread,
)
from mesh.slot_ranking import WEIGHT_MAX
from mesh.slot_set import NO_SLOTS, encode_slots
from mesh.stamp import VISITS_MAX, Stamp
from mesh.urls import host_of
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink, LinksFound, LinkUse
from peers.handover.wire_messages import (
    DIGEST_BYTES,
    ClaimSlots,
    CompareSlots,
    OfferSlots,
    ReplicasWanted,
    SlotsYielded,
)
from peers.index.wire_messages import HITS_MAX, ExcerptsRead, Hit, HitsFound
from peers.storage.cell import Cell
from peers.storage.wire_messages import ReplicatePage, StoredPage
from simulations.world.words import records_of

if TYPE_CHECKING:
    from random import Random

    from simulations.faults.false_answers import FalseAnswers
    from simulations.faults.false_leases import FalseLeases
    from simulations.faults.false_roles import FalseRoles
    from simulations.faults.false_texts import FalseTexts
    from simulations.faults.machine import Machine
    from simulations.world.members import Members
    from simulations.world.world import World

PAUSE_S: Final = 1.0  # mean, between two lies
FLOOD: Final = 50  # messages at once
FLOOD_OF_LINKS: Final = 40  # batches, each as large as it may be
SILENT_S: Final = 8.0
HEARD_MAX: Final = 100
SAID_MAX: Final = 300  # messages of its own that it may say again
FALSE_SCORES: Final = (1e6, 0.01)  # one that no page can have, and one that any page may have
MADE_UP: Final = "made-up"  # in the paths of pages that do not exist
_STILL_SAID: Final = (Ping, PingAnswered)  # while it is silent


class Liar:
    """Speaks in the name of the peer of one machine, while that runs."""

    def __init__(
        self,
        machine: Machine,
        world: World,
        members: Members,
        random: Random,
        tell: Callable[[str], None],
        urls: Sequence[str],
        answers: FalseAnswers,
        names: FalseRoles,
        leases: FalseLeases,
        texts: FalseTexts,
    ) -> None:
        """Begin.

        Args:
          urls: of pages of the web, which it speaks of.
          answers: what it says where its node is asked about pages.
          names: what it says of copies.
          leases: what it says of addresses of the web.
          texts: what it says is on its pages.
        """
        self.n_lies = 0
        self._urls = urls
        self._answers = answers
        self._names = names
        self._leases = leases
        self._texts = texts
        self.is_quiet = False  # it leaves alone all for which it would be put into quarantine
        self._silent_until = 0.0
        self.fell_silent: Callable[[float], object] = lambda for_s: None  # for whom its silence excuses
        self.further: Sequence[Callable[[Message], Message]] = ()  # what it says of stores
        self._said: list[tuple[Address, Address, Message]] = []  # by its node
        self._machine = machine
        self._world = world
        self._members = members
        self._random = random
        self._tell = tell
        self._until = 0.0
        self._heard: list[MemberRecord] = []  # to be told again when they are old
        self._lies = (
            self._bury,
            self._accuse,
            self._claim,
            self._command,
            self._repeat,
            self._forge,
            self._flood,
            self._fall_silent,
            self._say_again,
            self._flood_with_links,
            self._claim_slots,
            self._tell_of_holdings,
            self._give_pages,
        )

    def lie(self, until: float) -> None:
        """Begin, and go on until that time of the world."""
        self._until = until
        self._world.distrust(self._machine.peer)
        self._world.twist(self._machine.peer, self._twisted)
        self._names.lie(until)
        self._leases.lie(until)
        self._later()

    def _later(self) -> None:
        self._world.plan(self._world.now + self._random.expovariate(1 / PAUSE_S), self._lie_now)

    def _lie_now(self) -> None:
        if self._world.now >= self._until:
            return
        self._later()
        if not self._machine.is_running:
            return
        if self.is_quiet:
            return
        victims = [rumour.record for rumour in self._believed() if rumour.record.peer != self._machine.peer]
        if victims:
            self.n_lies += 1
            self._random.choice(self._lies)(self._random.choice(victims))
            self._heard = [*self._heard, *victims][-HEARD_MAX:]

    def _believed(self) -> list[Rumour]:
        membership = self._world.node(self._machine.peer).actor("membership")
        assert isinstance(membership, Membership)
        return membership.believed()

    def _say(self, message: Message, *, to_all: bool = True) -> None:
        others = [
            rumour.record.peer for rumour in self._believed() if rumour.record.peer != self._machine.peer
        ]
        for peer in others if to_all else self._random.sample(others, 1):
            self._world.forge(self._machine.peer, Address(peer, "membership"), message)

    # --- What it says ---

    def _bury(self, victim: MemberRecord) -> None:
        """Say of a living member that it is dead, or has left."""
        state = self._random.choice((State.DEAD, State.LEFT))
        self._tell(f"{self._machine.name} lies: {victim.peer} is {state.name.lower()}")
        self._say(RumoursSpread((Rumour(victim, state),)), to_all=self._random.random() < 0.5)

    def _accuse(self, victim: MemberRecord) -> None:
        """Say that many found a member silent."""
        accusers = tuple(rumour.record.peer for rumour in self._believed())[:8]
        self._say(RumoursSpread((Rumour(victim, State.SUSPECT, accusers),)))

    def _claim(self, victim: MemberRecord) -> None:
        """Sign a record of its own with all the weight there is, and one certified by itself."""
        peer = self._machine.peer
        credentials = PeerCredentials(self._members.identities[peer], self._members.config)
        own = next(rumour.record for rumour in self._believed() if rumour.record.peer == peer)
        greedy = replace(own, weight=WEIGHT_MAX, serving=WEIGHT_MAX, incarnation=own.incarnation + 1)
        keys = own.curve_key, own.signing_key
        everything = Grant(peer, weight_max=WEIGHT_MAX)
        certificate = issue(self._own_key(), self._members.config.digest(), *keys, everything)
        certified = replace(greedy, certificate=certificate.encoded())
        for record in (greedy, certified):
            self._say(RumoursSpread((Rumour(credentials.sign(record), State.ALIVE),)))

    def _command(self, victim: MemberRecord) -> None:
        """Send decrees that only others have the right to sign."""
        signer = Signer(self._own_key(), self._members.config.digest())
        kind = self._random.choice((DRAIN, POLICY, RENEWAL, REVOCATION, WRITE_OFF))
        subject = "" if kind == POLICY else victim.peer
        decree = signer.decree(kind, subject, 1 << 40, number_body(1 << 40))
        root = bytes.fromhex(self._members.config.root_key)
        self._say(DecreesTold((decree, replace(decree, signer=root, warrant=b""))))

    def _repeat(self, victim: MemberRecord) -> None:
        """Tell old records again, which were genuine once."""
        old = self._random.choice(self._heard) if self._heard else victim
        self._say(MembersTold((Rumour(old, State.DEAD), Rumour(old, State.ALIVE))))

    def _forge(self, victim: MemberRecord) -> None:
        """Forge the record of another member."""
        forged = replace(victim, weight=0, is_draining=True, incarnation=victim.incarnation + 1)
        parted = replace(forged, parting=int(State.LEFT))
        self._say(RumoursSpread((Rumour(forged, State.ALIVE), Rumour(parted, State.LEFT))))

    def _flood(self, victim: MemberRecord) -> None:
        """Send one member many pings that are full of members that do not exist."""
        nobody = tuple(Rumour(replace(victim, peer=f"nobody{n}"), State.ALIVE) for n in range(GOSSIP_MAX))
        for number in range(FLOOD):
            message = Ping(number, nobody, queue=1 << 40)
            self._world.forge(self._machine.peer, Address(victim.peer, "membership"), message)

    def _fall_silent(self, victim: MemberRecord) -> None:
        """Answer nothing but pings for a while."""
        self._tell(f"{self._machine.name} answers pings only")
        for_s = self._random.uniform(0.5, 1.5) * SILENT_S
        self._silent_until = self._world.now + for_s
        self.fell_silent(for_s)

    def _say_again(self, victim: MemberRecord) -> None:
        """Repeat messages that its node sent to any member some time ago."""
        for source, target, message in self._random.sample(self._said, min(20, len(self._said))):
            self._world.repeat(source, target, message)

    def _flood_with_links(self, victim: MemberRecord) -> None:
        """Send more links than anybody reads, some of which are none, and say that pages are stored."""
        self._tell(f"{self._machine.name} floods {victim.peer} with links")
        to = Address(victim.peer, "controller")
        for number in range(FLOOD_OF_LINKS):
            links = [FoundLink(self._random.choice(self._urls)) for _ in range(LINKS_MAX - 2)]
            links.append(FoundLink(self._random.choice(self._urls).upper()))
            links.append(FoundLink(self._random.choice(self._urls), use=LinkUse.STORED))
            self._world.forge(self._machine.peer, to, LinksFound(number, tuple(links)))

    def _claim_slots(self, victim: MemberRecord) -> None:
        """Claim all slots, though others own them, and say of none of them that it has everything."""
        ownership = self._machine.ownership
        if ownership is None:
            return
        everything = encode_slots(ownership.owned | True)
        to, claim = Address(victim.peer, "handover"), self._random.randrange(1 << 40)
        claimed = ClaimSlots(claim, ownership.epoch, everything)
        yielded = SlotsYielded(claim, ownership.epoch, NO_SLOTS, everything, everything)
        for message in (claimed, yielded):
            self._world.forge(self._machine.peer, to, message)

    def _tell_of_holdings(self, victim: MemberRecord) -> None:
        """Offer slots it has not, want copies it needs not, and have another digest of everything."""
        ownership = self._machine.ownership
        if ownership is None:
            return
        everything, number = encode_slots(ownership.owned | True), self._random.randrange(1 << 40)
        few = ownership.owned & False
        few[:100] = True
        compared = CompareSlots(number, encode_slots(few), self._random.randbytes(100 * DIGEST_BYTES))
        for actor, message in (
            ("handover", OfferSlots(number, ownership.epoch, everything)),
            ("handover", ReplicasWanted(everything)),
            ("controller", compared),
            ("cell", compared),
        ):
            self._world.forge(self._machine.peer, Address(victim.peer, actor), message)

    def _give_pages(self, victim: MemberRecord) -> None:
        """Bring newest versions of pages that are none of its business."""
        ownership = self._machine.ownership
        if ownership is None or not self._world.is_running(victim.peer):
            return
        cell = self._world.node(victim.peer).actor("cell")
        assert isinstance(cell, Cell)
        for url in self._random.sample(self._urls, min(20, len(self._urls))):
            slot = ownership.slot_of(host_of(url))
            if self._machine.peer in cell.keepers_of(slot):
                continue  # it keeps the slot, or did of late, and may
            stamp = Stamp(VISITS_MAX, self._world.now)
            records = records_of(url, stamp, b"what the web has never said")
            page = StoredPage(url, slot, stamp.fetched_at, 200, records, None, stamp.visit)
            self._world.forge(self._machine.peer, Address(victim.peer, "cell"), ReplicatePage(page))

    # --- What becomes of what its node says ---

    def _twisted(self, source: Address, target: Address, message: Message) -> Message | None:
        if self._world.now < min(self._until, self._silent_until) and not isinstance(message, _STILL_SAID):
            return None  # nor has it denied anything
        if isinstance(message, ExcerptsRead):
            message = self._answers.excerpts(target.peer, message)
        if isinstance(message, HitsFound):
            message = self._answers.hits(target.peer, message)
        if self._world.now >= self._until:
            return message
        message = self._leases.twisted(self._names.twisted(message))
        message = self._texts.twisted(target.peer, message)
        for twist in self.further:
            message = twist(message)
        self._said = [*self._said, (source, target, message)][-SAID_MAX:]
        if isinstance(message, HitsFound):
            return self._with_false_hits(target.peer, message)
        return message

    def _with_false_hits(self, asker: str, found: HitsFound) -> HitsFound:
        """Put pages before others that the asker answers for itself, and some that exist nowhere."""
        ownership = self._machine.ownership
        if ownership is None:
            return found
        score = self._random.choice(FALSE_SCORES)
        false = []
        for url in self._random.sample(self._urls, min(20, len(self._urls))):
            slot = ownership.slot_of(host_of(url))
            if ownership.answerer_of(slot) == asker and self._machine.peer not in ownership.team_of(slot):
                false += [Hit(url, score), Hit(f"{url}/{MADE_UP}", score)]
            elif ownership.answerer_of(slot) == self._machine.peer:
                false.append(Hit(f"{url}/{MADE_UP}", score))
                self._answers.note_made_up(asker, f"{url}/{MADE_UP}")
        hits = sorted((*false, *found.hits), key=lambda hit: (-hit.score, hit.url))
        return replace(found, hits=tuple(hits[:HITS_MAX]), total=found.total + len(false))

    def _own_key(self) -> SigningKey:
        return SigningKey.of_secret(self._members.identities[self._machine.peer].secret)
