"""Lessors: one peer at a time may ask an address."""

from __future__ import annotations

from collections.abc import Iterable

from mesh.actors.actor import Address, Message, Send
from mesh.membership.model.messages import MembersSeparated
from mesh.slot_set import NO_SLOTS
from peers.crawler.addresses.lent_addresses import AHEAD_S, HELD_S_MAX, LEASE_S, TELL_AGAIN_S, WAITING_S_MAX
from peers.crawler.addresses.lessor import AGAIN_S, PATIENCE_S, Lessor, LessorStatistics
from peers.crawler.model.messages import AddressLent, LeasesLost, LeaveAddress, WantAddress
from peers.crawler.model.wire_messages import (
    AddressLeased,
    AddressReturned,
    LeaseAddress,
    LeasesTold,
    TellLeases,
)
from peers.handover.messages import HoldSlots
from tests.helpers import hold_slots, ownership_changed

PEERS = ("a", "b", "c")
FENCE_S = 2.5
DELAY_S = 2.0


def network_of(owner: str, peers: Iterable[str] = PEERS) -> str:
    """An address whose slot belongs to a peer."""
    ownership = ownership_changed(peers).ownership
    networks = (f"8.8.8.{number}" for number in range(256))
    return next(each for each in networks if ownership.owner_of(ownership.slot_of(each)) == owner)


ADDRESS = network_of("c")


class Mesh:
    """Lessors that hear each other at once, unless messages of a kind are kept back."""

    def __init__(self, peers: Iterable[str] = PEERS, now: float = 1_000.0) -> None:
        self.now = now
        self.lessors: dict[str, Lessor] = {}
        self.lives = dict.fromkeys(PEERS, 0)
        self.fetchers: dict[str, list[Message]] = {}
        self.kept_back: list[tuple[Address, Send]] = []
        self.keeps_back: tuple[type[Message], ...] = ()
        for peer in peers:
            self.start(peer)
        self.share(peers)

    def start(self, peer: str) -> None:
        self.lives[peer] += 1
        self.lessors[peer] = Lessor(peer, self.lives[peer], FENCE_S)
        self.fetchers[peer] = []

    def share(self, peers: Iterable[str], alive: Iterable[str] | None = None) -> None:
        """Have all slots belong to some peers, which hold them."""
        changes = {peer: ownership_changed(peers, peer, alive) for peer in alive or peers}
        for peer, changed in changes.items():
            self.tell(peer, changed)
        for peer, changed in changes.items():
            self.tell(peer, hold_slots(changed.ownership))

    def tell(self, peer: str, message: Message) -> None:
        self._carry(peer, self.lessors[peer].receive(Address(peer, "handover"), message, self.now))

    def want(self, peer: str, network: str = ADDRESS, *, is_held: bool = False) -> AddressLent | None:
        """Return the last thing that its fetcher hears."""
        self.tell(peer, WantAddress(network, DELAY_S, is_held))
        return self.heard(peer)

    def heard(self, peer: str) -> AddressLent | None:
        said, self.fetchers[peer] = self.fetchers[peer], []
        lent = [each for each in said if isinstance(each, AddressLent)]
        return lent[-1] if lent else None

    def has(self, peer: str, network: str = ADDRESS) -> bool:
        lent = self.want(peer, network)
        return lent is not None and lent.seconds > 0.0

    def leave(self, peer: str, number: int, free_s: float = DELAY_S) -> None:
        self.tell(peer, LeaveAddress(ADDRESS, number, free_s))

    def wait(self, seconds: float) -> None:
        self.now += seconds
        for peer, lessor in self.lessors.items():
            if lessor.wake_at() <= self.now:
                self._carry(peer, lessor.wake(self.now))

    def bring(self) -> None:
        """Deliver what was kept back, in its order."""
        late, self.kept_back, self.keeps_back = self.kept_back, [], ()
        for source, send in late:
            self._deliver(source, send)

    def observe(self, peer: str) -> LessorStatistics:
        return self.lessors[peer].observe()

    def _carry(self, peer: str, sends: list[Send]) -> None:
        for send in sends:
            if isinstance(send.message, self.keeps_back):
                self.kept_back.append((Address(peer, "lessor"), send))
            else:
                self._deliver(Address(peer, "lessor"), send)

    def _deliver(self, source: Address, send: Send) -> None:
        peer, actor = send.target
        if actor == "fetcher":
            self.fetchers[peer].append(send.message)
        elif peer in self.lessors:
            self._carry(peer, self.lessors[peer].receive(source, send.message, self.now))


def open_mesh() -> Mesh:
    """One whose members have told each other that they have nothing, a while ago."""
    mesh = Mesh()
    for owner in PEERS:
        mesh.want("a", network_of(owner))
    mesh.wait(0.0)
    mesh.wait(LEASE_S + AHEAD_S + WAITING_S_MAX)
    mesh.heard("a")
    return mesh


def test_an_address_is_lent_to_one_and_goes_to_who_waits_longest_when_it_is_given_back() -> None:
    mesh = open_mesh()
    first = mesh.want("a")
    assert first is not None
    assert (first.after_s, first.is_wanted) == (0.0, False)
    assert 0.9 * LEASE_S < first.seconds < LEASE_S, "it ends here before it ends there"
    assert not mesh.has("b")
    wanted = mesh.heard("a")
    assert wanted is not None
    assert (wanted.number, wanted.seconds, wanted.is_wanted) == (first.number, 0.0, True)
    waits = mesh.want("c")
    assert waits is not None
    assert (waits.after_s, waits.seconds) == (DELAY_S, 0.0), "b comes before"
    mesh.leave("a", first.number)
    second = mesh.heard("b")
    assert second is not None
    assert (second.after_s, second.is_wanted) == (DELAY_S, True)
    assert mesh.heard("c") is None
    assert mesh.observe("c") == LessorStatistics(leased=0, lent=1, waiting=1, on_our_own=0)


def test_who_gives_an_address_back_unasked_does_not_end_the_delay_of_the_one_before() -> None:
    mesh = open_mesh()
    first = mesh.want("a")
    assert first is not None
    assert not mesh.has("b")
    assert not mesh.has("c")
    mesh.leave("a", first.number)
    second = mesh.heard("b")
    assert second is not None
    mesh.leave("b", second.number, free_s=0.0)
    third = mesh.heard("c")
    assert third is not None
    assert third.after_s == DELAY_S


def test_an_address_that_is_given_back_may_be_asked_for_again_at_once() -> None:
    mesh = open_mesh()
    first = mesh.want("a")
    assert first is not None
    mesh.leave("a", first.number)
    again = mesh.want("a")
    assert again is not None
    assert again.after_s == DELAY_S


def test_a_lease_is_renewed_and_only_asked_for_now_and_then() -> None:
    mesh = open_mesh()
    assert mesh.has("a")
    assert mesh.want("a", is_held=True) is None
    mesh.wait(AGAIN_S)
    renewed = mesh.want("a", is_held=True)
    assert renewed is not None
    assert (renewed.after_s, renewed.seconds > 0.9 * LEASE_S) == (0.0, True)


def test_who_was_started_again_has_to_wait_for_the_delay_of_what_it_may_have_asked() -> None:
    mesh = open_mesh()
    assert mesh.has("a")
    mesh.start("a")
    mesh.share(PEERS)
    again = mesh.want("a")
    assert again is not None
    assert again.after_s == DELAY_S


def test_who_dies_has_an_address_until_its_licence_is_over() -> None:
    mesh = open_mesh()
    assert mesh.has("a")
    del mesh.lessors["a"]
    assert not mesh.has("b")
    mesh.share(PEERS, alive=("b", "c"))
    mesh.wait(FENCE_S - 0.1)
    assert not mesh.has("b")
    mesh.wait(AGAIN_S)
    lent = mesh.want("b")
    assert lent is not None
    assert lent.seconds > 0.0
    assert lent.after_s > 0.0, "of the delay since then"


def test_a_lease_that_nobody_renews_ends_with_the_delay() -> None:
    mesh = open_mesh()
    assert mesh.has("a")
    mesh.wait(LEASE_S)
    lent = mesh.want("b")
    assert lent is not None
    assert lent.after_s == DELAY_S


def test_who_gives_nothing_back_while_others_wait_gets_it_for_no_longer() -> None:
    mesh = open_mesh()
    assert mesh.has("a")
    ended_s = mesh.now + HELD_S_MAX + LEASE_S
    while not mesh.has("b"):
        assert mesh.now <= ended_s + AGAIN_S
        mesh.wait(AGAIN_S)
        mesh.want("a", is_held=True)
    assert mesh.now >= HELD_S_MAX


def test_an_answer_that_comes_twice_or_late_lends_nothing_again() -> None:
    mesh = open_mesh()
    mesh.keeps_back = (AddressLeased,)
    mesh.want("a")
    late = list(mesh.kept_back)
    mesh.bring()
    lent = mesh.heard("a")
    assert lent is not None
    mesh.leave("a", lent.number)
    mesh.kept_back = late
    mesh.bring()
    assert mesh.heard("a") is None
    mesh.keeps_back = (AddressLeased,)
    mesh.want("a")
    mesh.wait(LEASE_S + DELAY_S)
    mesh.bring()
    assert mesh.heard("a") is None, "it has ended before it came"


def test_a_question_that_got_no_answer_is_asked_again_and_answered_with_the_delay() -> None:
    mesh = open_mesh()
    mesh.keeps_back = (AddressLeased,)
    mesh.want("a")
    mesh.kept_back, mesh.keeps_back = [], ()
    assert mesh.want("a") is None, "not at once"
    mesh.wait(AGAIN_S)
    lent = mesh.want("a")
    assert lent is not None
    assert lent.after_s == DELAY_S


def test_only_the_lease_that_is_there_can_be_given_back() -> None:
    mesh = open_mesh()
    first = mesh.want("a")
    assert first is not None
    mesh.wait(AGAIN_S)
    assert mesh.want("a", is_held=True) is not None
    mesh.leave("a", first.number)
    assert not mesh.has("b")


def test_what_others_had_before_a_slot_came_is_asked_for_and_stays_theirs() -> None:
    mesh = open_mesh()
    assert mesh.has("a")
    del mesh.lessors["c"]
    mesh.share(("a", "b"))
    mesh.keeps_back = (TellLeases,)
    assert not mesh.has("b")
    mesh.wait(0.0)
    assert not mesh.has("b")
    mesh.bring()
    mesh.wait(AGAIN_S)
    assert not mesh.has("b"), "a has it"
    assert mesh.want("a", is_held=True) is not None


def test_what_was_given_back_to_who_does_not_know_of_it_is_left_alone_for_the_delay() -> None:
    """Found by `tianmesh sim faults --machines`, seed 107: the one who lent it had started again."""
    mesh = open_mesh()
    first = mesh.want("a")
    assert first is not None
    mesh.start("c")
    mesh.share(PEERS)
    mesh.wait(5.0)
    mesh.leave("a", first.number)
    assert not mesh.has("b")
    mesh.wait(0.0)
    lent = mesh.heard("b")
    assert lent is not None
    assert (lent.after_s, lent.seconds > 0.0) == (DELAY_S, True)


def test_nobody_gets_an_address_before_all_have_told_what_they_have_or_all_leases_have_ended() -> None:
    mesh = Mesh()
    del mesh.lessors["b"]
    assert not mesh.has("a")
    for _ in range(int((LEASE_S + AHEAD_S) / TELL_AGAIN_S)):
        mesh.wait(TELL_AGAIN_S)
        assert not mesh.has("a")
    mesh.wait(TELL_AGAIN_S)
    assert mesh.has("a")
    mesh = Mesh()
    silent = mesh.lessors.pop("b")
    assert not mesh.has("a")
    mesh.wait(0.0)
    mesh.lessors["b"] = silent
    mesh.wait(TELL_AGAIN_S)
    lent = mesh.heard("a")
    assert lent is not None
    assert lent.seconds > 0.0


def test_who_tells_of_a_lease_that_it_has_not_gets_none_while_others_have_not_told() -> None:
    """Found by `tianmesh sim faults --byzantine --machines`, seed 82700311: who had it asked it as well."""
    mesh, liar = open_mesh(), Address("c", "lessor")
    ownership = ownership_changed(("a", "b")).ownership
    lender = ownership.owner_of(ownership.slot_of(ADDRESS)) or ""
    assert mesh.has("b" if lender == "a" else "a")
    mesh.share(("a", "b"), alive=PEERS)
    mesh.keeps_back = (TellLeases,)

    def is_lent(number: int) -> bool:
        sends = mesh.lessors[lender].receive(liar, LeaseAddress(ADDRESS, number, DELAY_S), mesh.now)
        told = [send.message for send in sends if send.target == liar]
        return any(isinstance(each, AddressLeased) and each.seconds > 0.0 for each in told)

    assert not is_lent(5)
    mesh.wait(0.0)
    tell = next(send.message for _, send in mesh.kept_back if isinstance(send.message, TellLeases))
    mesh.lessors[lender].receive(liar, LeasesTold(tell.number, ((ADDRESS, 1),)), mesh.now)
    assert not is_lent(6)
    mesh.bring()
    assert not is_lent(7)


def test_what_is_on_its_way_from_who_lent_before_counts_no_more() -> None:
    mesh = open_mesh()
    mesh.keeps_back = (AddressLeased,)
    mesh.want("a")
    late = mesh.kept_back
    mesh.kept_back, mesh.keeps_back = [], ()
    mesh.share(("a", "b"), alive=PEERS)
    mesh.share(PEERS)
    mesh.wait(AGAIN_S)
    mesh.want("b")
    mesh.wait(0.0)
    mesh.wait(AGAIN_S)
    assert mesh.has("b")
    mesh.heard("a")
    mesh.kept_back = late
    mesh.bring()
    assert mesh.heard("a") is None


def test_who_was_held_for_dead_has_no_leases_any_more() -> None:
    mesh = open_mesh()
    lent = mesh.want("a")
    assert lent is not None
    mesh.tell("a", HoldSlots(NO_SLOTS, NO_SLOTS))
    assert mesh.fetchers["a"] == [LeasesLost()]
    mesh.leave("a", lent.number)
    assert mesh.observe("a").leased == 0


def test_who_has_no_slots_any_more_has_what_it_is_asking_until_that_is_over() -> None:
    mesh, network = open_mesh(), network_of("a")
    lent = mesh.want("a", network)
    assert lent is not None
    mesh.share(("b", "c"), alive=PEERS)
    assert mesh.fetchers["a"] == [LeasesLost()]
    assert not mesh.has("b", network)
    mesh.wait(0.0)
    mesh.wait(AGAIN_S)
    assert not mesh.has("b", network), "a is asking it"
    mesh.tell("a", LeaveAddress(network, lent.number, DELAY_S))
    heard = mesh.heard("b")
    assert heard is not None
    assert (heard.after_s, heard.seconds > 0.0) == (DELAY_S, True)


def test_where_nobody_answers_an_address_is_lent_for_as_many_delays_as_there_are_peers() -> None:
    mesh = open_mesh()
    del mesh.lessors["c"]
    assert mesh.want("a") is None
    mesh.wait(PATIENCE_S - 1.0)
    assert mesh.want("a") is None
    mesh.wait(1.0)
    lent = mesh.want("a")
    assert lent is not None
    assert (lent.seconds, lent.peers) == (LEASE_S, 3)
    assert mesh.observe("a").on_our_own == 1


def lend_themselves(*peers: str) -> tuple[Mesh, list[AddressLent]]:
    """A mesh of which some have lent the address to themselves, as its peer was silent, which is back now."""
    mesh = open_mesh()
    silent = mesh.lessors.pop("c")
    for pause_s in (0.0, PATIENCE_S - 1.0, 1.0):
        mesh.wait(pause_s)
        lent = [mesh.want(peer) for peer in peers]
    mesh.lessors["c"] = silent
    mesh.tell("c", HoldSlots(NO_SLOTS, NO_SLOTS))
    mesh.share(PEERS)
    own = [each for each in lent if each is not None]
    assert [each.peers for each in own] == [len(PEERS)] * len(peers)
    return mesh, own


def test_what_was_lent_here_is_told_to_who_lends_it_now_and_counts_as_lent() -> None:
    """Found by `tianmesh sim faults --machines`, seed 95100002: it was not told, and lent to another."""
    mesh, own = lend_themselves("a")
    assert not mesh.has("b")
    mesh.wait(0.0)
    refused = mesh.heard("b")
    assert refused is not None
    assert refused.seconds == 0.0
    mesh.wait(AGAIN_S)
    mesh.tell("a", WantAddress(ADDRESS, DELAY_S, is_held=False))
    heard_of = [each for each in mesh.fetchers["a"] if isinstance(each, AddressLent)]
    lent = next(each for each in heard_of if each.seconds > 0.0)
    assert heard_of[0] == AddressLent(ADDRESS, own[0].number, 0.0, 0.0, is_wanted=True)
    assert (lent.after_s, lent.is_wanted, lent.peers) == (DELAY_S, True, 1)
    mesh.leave("a", own[0].number)
    assert mesh.heard("b") is None, "a has it by another lease"
    mesh.leave("a", lent.number)
    heard = mesh.heard("b")
    assert heard is not None
    assert heard.seconds > 0.0


def test_what_was_lent_here_ends_when_who_lends_it_asks_for_leases() -> None:
    mesh, own = lend_themselves("a")
    mesh.wait(WAITING_S_MAX)
    assert not mesh.has("b")
    mesh.wait(0.0)
    ended = mesh.heard("a")
    assert ended is not None
    assert (ended.number, ended.seconds, ended.is_wanted) == (own[0].number, 0.0, True)
    mesh.wait(AGAIN_S)
    assert not mesh.has("b"), "a may be asking it"
    mesh.leave("a", own[0].number)
    heard = mesh.heard("b")
    assert heard is not None
    assert (heard.after_s, heard.seconds > 0.0) == (DELAY_S, True)


def test_what_two_have_lent_themselves_is_lent_when_both_have_given_it_back() -> None:
    mesh, own = lend_themselves("a", "b")
    mesh.wait(WAITING_S_MAX)
    assert not mesh.has("c")
    mesh.wait(0.0)
    mesh.heard("c")
    mesh.wait(AGAIN_S)
    assert not mesh.has("c")
    assert not mesh.has("a"), "b may be asking it"
    for number in (0, own[0].number):
        forged = AddressReturned(ADDRESS, number, 0.0)
        assert mesh.lessors["c"].receive(Address("c", "lessor"), forged, mesh.now) == []
    mesh.leave("b", own[1].number)
    assert not mesh.has("c"), "a may be asking it"
    mesh.leave("a", own[0].number)
    heard = mesh.heard("c")
    assert heard is not None
    assert (heard.after_s, heard.seconds > 0.0) == (DELAY_S, True)


def test_what_two_have_lent_themselves_and_never_give_back_is_lent_when_both_leases_have_ended() -> None:
    mesh, _ = lend_themselves("a", "b")
    mesh.wait(WAITING_S_MAX)
    assert not mesh.has("c")
    mesh.wait(0.0)
    mesh.heard("c")
    mesh.wait(LEASE_S - 1.0)
    assert not mesh.has("c")
    mesh.wait(AGAIN_S)
    assert mesh.has("c")


def test_who_lends_an_address_and_is_merely_separated_from_here_goes_on_to_lend_it_alone() -> None:
    mesh = Mesh()
    mesh.keeps_back = (LeaseAddress,)
    mesh.want("a")
    mesh.tell("a", MembersSeparated(frozenset({"c"})))
    for _ in range(int(2 * PATIENCE_S / DELAY_S)):
        mesh.wait(DELAY_S)
        assert mesh.want("a") is None
    mesh.tell("a", MembersSeparated(frozenset()))
    mesh.wait(PATIENCE_S - DELAY_S)
    assert mesh.want("a") is None
    mesh.wait(DELAY_S)
    lent = mesh.want("a")
    assert lent is not None
    assert lent.peers == len(PEERS)


def test_a_question_of_long_ago_that_got_no_answer_makes_nobody_lend_an_address_itself() -> None:
    mesh = open_mesh()
    mesh.keeps_back = (LeaseAddress,)
    assert mesh.want("a") is None
    mesh.keeps_back = ()
    mesh.wait(PATIENCE_S)
    assert mesh.has("b")
    assert not mesh.has("a")
    assert mesh.observe("a").on_our_own == 0


def test_nobody_lends_what_is_not_its_own_to_lend() -> None:
    mesh = open_mesh()
    wrong = LeaseAddress(ADDRESS, 1, DELAY_S)
    assert mesh.lessors["b"].receive(Address("a", "lessor"), wrong, mesh.now) == []
    mesh.want("a")
    mesh.wait(AGAIN_S)
    forged = AddressLeased(ADDRESS, next(iter(mesh.lessors["a"]._wishes[ADDRESS].asked), 0), 0.0, 40.0)
    assert mesh.lessors["a"].receive(Address("b", "lessor"), forged, mesh.now) == []
