"""The conversation by which the slots of all peers come to one PageRank, through losses of all kinds.

Theory of operation. The owner of a slot makes a statement for each slot that its pages link to, see
`slot_ranks`, and tells it to the owner of that slot until it hears that this very version is held there. The
owner of the target believes the owner of the source alone, and holds the latest version. Four things could
go wrong, and each has its rule:

- The target changes its owner, and the new one holds less: what was held is told again.
- The source changes its owner, and the new one knows less, or nothing of this target: the target asks the new
  owner for all that it holds from elsewhere, and is told, if nothing else that there are no such links.
- The new owner of a source counts its versions from below: that of the old one is forgotten, since late
  messages of it are refused anyway. To the same owner after a crash the greater one is named, and it goes on.

- An owner of the target makes up a great number: it has no later statements for that slot, and the next owner
  is told from below.

All of it may be lost at any time, if the others hear of that (`note_begun`): they tell and ask again. When
nobody has changes, statements that are not held, or questions, ranks differ from the exact ones by no more
than `RankExchange` says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import Final, NamedTuple, Protocol, TypeAlias

from peers.link_graph.slot_ranks import PageLinks, RankSums, SlotRanks, SlotRows, Statement, Version

RETRY_S: Final = 2.0
# Of the tolerance, what the last sweep in a slot changes, and what slots of one peer tell each other: nothing
# is sent for it, so it costs a sweep or two alone.
SETTLED_SHARE: Final = 0.1
NUMBER_SOUND_MAX: Final = 1 << 52  # greater ones of a version are from an owner that made them up


class SlotOwners(Protocol):
    """The owner of each slot, by its number; "" for nobody."""

    def __getitem__(self, slot: int, /) -> str: ...


class SumsTold(NamedTuple):
    """The owner of a source to that of a target: all that this slot gives to that one. Answer: `SumsHeld`."""

    source: int
    target: int
    statement: Statement


class SumsHeld(NamedTuple):
    """The owner of a target to that of a source: the version that is held; in `is_asked`, tell it again."""

    source: int
    target: int
    version: Version
    is_asked: bool = False


RankMessage: TypeAlias = SumsTold | SumsHeld


class GivenSums(NamedTuple):
    """The sums of all statements of a peer that are held."""

    n_sums: int
    total: float


class RankEnvelope(NamedTuple):
    """All that a peer has for another at the end of a turn."""

    peer: str
    messages: tuple[RankMessage, ...]


@dataclass(slots=True)
class _Told:
    """The last statement for a target, and when it is to be told again."""

    statement: Statement
    due_s: float  # inf when it is held


class RankExchange:
    """The ranks of all slots that one peer owns.

    A statement is made anew when it has changed by more than `tolerance` for each page that it names, and
    sweeps go on until one changes less than that. What is not told is damped once more with each link that
    it would have gone on by, so all ranks together differ from the exact ones by at most

        tolerance * (pages + links between slots) / (1 - d)
    """

    def __init__(
        self,
        me: str,
        owners: SlotOwners,
        tolerance: float,
        *,
        retry_s: float = RETRY_S,
        takes_slots: bool = False,
        sums_max: float = inf,
    ) -> None:
        """Begin without slots.

        Args:
          me: the name of this peer.
          owners: of each slot; not changed later.
          tolerance: in units of rank, whose mean is about 1.
          retry_s: after which is told again what nobody has answered.
          takes_slots: whether slots that are ours need no `take_slot` when they are first spoken of.
          sums_max: told to others in a turn, and no further statement; the rest waits for the next.
        """
        self._me = me
        self._owners = owners
        self._retry_s, self._takes_slots, self._sums_max = retry_s, takes_slots, sums_max
        self._tolerance = tolerance
        self._slots: dict[int, SlotRanks] = {}
        self._told: dict[int, dict[int, _Told]] = {}  # by source, which is ours, and target
        # By source, and target, which is ours: when the source is asked (again) for its statement.
        self._asked: dict[tuple[int, int], float] = {}
        self._unsettled: dict[int, None] = {}
        self._waiting: deque[RankMessage] = deque()  # from this peer to itself

    @property
    def slots(self) -> Mapping[int, SlotRanks]:
        return self._slots

    def take_slot(self, slot: int, rows: SlotRows | None = None) -> None:
        """Become the owner of a slot, with its rows if there are any; all slots that give to it are asked."""
        ranks = self._slots[slot] = SlotRanks(slot, rows)
        self._told[slot] = {}
        self._unsettled[slot] = None
        self._asked = {pair: due_s for pair, due_s in self._asked.items() if pair[1] != slot}
        self._asked |= {(source, slot): -inf for source in ranks.given}

    def link(self, slot: int, page: int, links: PageLinks) -> None:
        """Replace the links of a page of a slot that is ours."""
        if self._slots[slot].link(page, links):
            self._unsettled[slot] = None

    def remove(self, slot: int, page: int) -> None:
        """Forget a page of a slot that is ours."""
        if self._slots[slot].remove(page):
            self._unsettled[slot] = None

    def change_owners(self, owners: SlotOwners) -> None:
        """Hear of other owners. Slots that are ours no more are dropped; for new ones comes `take_slot`."""
        spoken_of = {*self._slots, *(slot for told in self._told.values() for slot in told)}
        spoken_of.update(source for ranks in self._slots.values() for source in ranks.given)
        changed = {slot for slot in spoken_of if owners[slot] != self._owners[slot]}
        self._owners = owners
        for slot in changed & self._slots.keys():
            if owners[slot] != self._me:
                del self._slots[slot], self._told[slot]
                self._unsettled.pop(slot, None)
        for source, told in self._told.items():
            for target in changed & told.keys():
                told[target].due_s = -inf
                if told[target].statement.version.number > NUMBER_SOUND_MAX:
                    told[target] = _Told(self._slots[source].state_anew(target, self._me), -inf)
        self._asked = {pair: due_s for pair, due_s in self._asked.items() if pair[1] in self._slots}
        for slot, ranks in self._slots.items():
            moved = changed & ranks.given.keys()
            ranks.forget_versions(moved)
            self._asked |= {(source, slot): -inf for source in moved}

    def note_begun(self, peer: str) -> None:
        """Hear that a peer has lost all that it was told, and told others."""
        for told in self._told.values():
            for target, each in told.items():
                if self._owners[target] == peer:
                    each.due_s = -inf
        for slot, ranks in self._slots.items():
            self._asked |= {(source, slot): -inf for source in ranks.given if self._owners[source] == peer}

    def given(self) -> dict[str, GivenSums]:
        """Return how much each other peer gives to the pages here, as it says."""
        given: dict[str, GivenSums] = {}
        for ranks in self._slots.values():
            for source, (_, sums) in ranks.given.items():
                if (owner := self._owners[source]) != self._me:
                    n_sums, total = given.get(owner, (0, 0.0))
                    given[owner] = GivenSums(n_sums + len(sums.names), total + float(sums.values.sum()))
        return given

    def scale(self, factors: Mapping[str, float]) -> None:
        """Take all that these peers give times a factor, and all else as it is."""
        for slot, ranks in self._slots.items():
            by_source = {
                source: factors[owner] for source in ranks.given if (owner := self._owners[source]) in factors
            }
            if ranks.scale(by_source):
                self._unsettled[slot] = None

    def receive(self, peer: str, messages: Iterable[RankMessage]) -> list[RankEnvelope]:
        """Take messages of a peer; return the answers to them."""
        answers = [answer for each in messages if (answer := self._hear(peer, each)) is not None]
        return [RankEnvelope(peer, tuple(answers))] if answers else []

    def wake(self, now: float) -> list[RankEnvelope]:
        """Settle all slots with changes; return the statements and questions that are due to other peers."""
        while True:
            self._settle()
            due = list(self._due(now))
            self._waiting += (message for owner, message in due if owner == self._me)
            if not self._waiting:
                break
            while self._waiting:
                message = self._waiting.popleft()
                if (answer := self._hear(self._me, message)) is not None:
                    self._waiting.append(answer)
        by_peer: dict[str, list[RankMessage]] = {}
        for owner, message in due:
            self._put_off(message, now + self._retry_s)
            by_peer.setdefault(owner, []).append(message)
        return [RankEnvelope(peer, tuple(messages)) for peer, messages in by_peer.items()]

    def wake_at(self) -> float:
        """Return when `wake` has something to do: -inf for at once."""
        if self._unsettled:
            return -inf
        told = (each.due_s for of_slot in self._told.values() for each in of_slot.values())
        return min(chain(told, self._asked.values()), default=inf)

    # --- Details

    def _settle(self) -> None:
        """Rank the slots with changes, and make statements of sums that differ by more than the tolerance."""
        for slot in self._unsettled:
            ranks, told = self._slots[slot], self._told[slot]
            ranks.settle(SETTLED_SHARE * self._tolerance)
            for target in ranks.targets:
                sums, last = ranks.sums_for(target), told.get(target)
                share = SETTLED_SHARE if self._owners[target] == self._me else 1.0
                if last is None or _is_changed(last.statement.sums, sums, share * self._tolerance):
                    told[target] = _Told(ranks.state(target, self._me), -inf)
        self._unsettled = {}

    def _due(self, now: float) -> Iterable[tuple[str, RankMessage]]:
        n_sums = 0
        for source, of_slot in self._told.items():
            for target, told in of_slot.items():
                owner = self._owners[target]
                if told.due_s > now or (owner != self._me and n_sums > self._sums_max):
                    continue
                if owner != self._me:
                    n_sums += 1 + len(told.statement.sums.names)
                yield owner, SumsTold(source, target, told.statement)
        for (source, target), due_s in self._asked.items():
            if due_s <= now:
                version = self._slots[target].given[source].version
                yield self._owners[source], SumsHeld(source, target, version, is_asked=True)

    def _put_off(self, message: RankMessage, due_s: float) -> None:
        """Note when it is told again; it goes behind all else, so that others have their turn."""
        if isinstance(message, SumsTold):
            of_slot = self._told[message.source] = self._told.pop(message.source)
            told = of_slot[message.target] = of_slot.pop(message.target)
            told.due_s = due_s
        else:
            self._asked[message.source, message.target] = due_s

    def _hear(self, peer: str, message: RankMessage) -> RankMessage | None:
        """Take a message; one from or to a peer that is no owner has no answer, and its sender will learn."""
        slot = message.target if isinstance(message, SumsTold) else message.source
        if self._takes_slots and slot not in self._slots and self._owners[slot] == self._me:
            self.take_slot(slot)
        match message:
            case SumsTold(source, target, statement):
                if self._owners[source] != peer or target not in self._slots:
                    return None
                ranks = self._slots[target]
                if ranks.hear(source, statement):
                    self._unsettled[target] = None
                held = ranks.given[source].version
                if held == statement.version:
                    self._asked.pop((source, target), None)
                return SumsHeld(source, target, held)
            case SumsHeld(source, target, version, is_asked):
                if source in self._slots and self._owners[target] == peer:
                    self._hear_held(source, target, version, is_asked)
        return None

    def _hear_held(self, source: int, target: int, version: Version, is_asked: bool) -> None:
        told = self._told[source]
        last = told.get(target)
        if last is None or version > last.statement.version:  # by an owner before us
            statement = self._slots[source].state(target, self._me, after=version.number)
            told[target] = _Told(statement, -inf)
        elif is_asked:
            last.due_s = -inf
        elif version == last.statement.version:
            last.due_s = inf


def _is_changed(last: RankSums, sums: RankSums, tolerance: float) -> bool:
    return sums.distance(last) > tolerance * len(sums.names)
