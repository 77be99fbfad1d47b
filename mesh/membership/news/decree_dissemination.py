"""How decrees reach every member: named by gossip, asked for by members without them, told to followers.

Names are short and decrees may be long, so news is the name only: whoever hears one that it lacks asks the
teller for the decree. Two members that exchange all they believe name all they have, and a newcomer gets them
with its welcome: so who was away has them before others reckon with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import inf
from typing import Final

import msgspec

from mesh.actors.allowance import Allowance
from mesh.keys.decree import KINDS, NUMBER_MAX, RENEWAL, REVOCATION, Authority, Decree, DecreeName
from mesh.membership.model.decrees import Decrees
from mesh.membership.model.members import MemberList
from mesh.membership.model.messages import AskDecrees, DecreesHeld, DecreesInForce
from mesh.membership.model.others import Others
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.turn_outbox import TurnOutbox
from mesh.membership.model.wire_messages import NAMES_MAX, DecreesNamed, DecreesTold, DecreesWanted
from mesh.membership.own.lifecycle import Lifecycle

TOLD_BYTES_A_MINUTE: Final = 32 << 20  # to one member: all that a mesh should ever have, and slack
DECREE_BYTES: Final = 512  # of a decree beside its body, about
TOLD_BYTES_MAX: Final = 1 << 20  # of decrees in one message, and one decree at least
FORGERIES_A_MINUTE: Final = 20  # of one member; to find one out takes 0.3 ms, and honest ones tell none

Follow = Callable[[Mapping[str, Decree], float], None]  # by subject what is in force; the time


class DecreeDissemination:
    """Learns decrees, tells other members, and tells the followers of a kind which are in force."""

    def __init__(
        self,
        authority: Authority,
        decrees: Decrees,
        members: MemberList,
        others: Others,
        lifecycle: Lifecycle,
        outbox: TurnOutbox,
        settings: SwimSettings,
        followers: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Args: followers: by kind the actors of this peer that are told of `DecreesInForce`."""
        self.allowance = Allowance()  # of bytes of decrees
        self.patience = Allowance()  # with forgeries
        self.n_refused = 0  # count: decrees that were not those of this mesh
        self.n_forged = 0  # count: of these, the first one of what was told, of kinds that we know
        self._authority = authority
        self._decrees = decrees
        self._members = members
        self._others = others
        self._lifecycle = lifecycle
        self._outbox = outbox
        self._settings = settings
        self._follows: dict[str, list[Follow]] = {}
        for kind, actors in followers.items():
            for actor in actors:
                self.follow(kind, _teller(outbox, kind, actor))
        self._last: dict[str, Mapping[str, Decree]] = {}  # by kind, what those who follow it know
        self._news: dict[DecreeName, int] = {}  # how often each has been told
        self._spread_at = 0.0
        self._changes_at = 0.0

    def follow(self, kind: str, follow: Follow) -> None:
        """Call this whenever the decrees in force of a kind change; none is in force at first."""
        self._follows.setdefault(kind, []).append(follow)

    def wake_at(self) -> float:
        return min(self._changes_at, self._spread_at if self._news and self._lifecycle.is_member else inf)

    def wake(self, now: float) -> None:
        """Tell news, and follow the time."""
        if now >= self._changes_at:
            self._settle(now)
        if self._news and self._lifecycle.is_member and now >= self._spread_at:
            self._spread(now)

    def publish(self, decree: Decree, now: float) -> str:
        """Learn a decree of a person; tell why it does not count, "" when it does."""
        refusal = self._authority.refusal_of(decree)
        if refusal or self._decrees.get(decree.name) is not None:
            return refusal
        if not self._learn(decree, now):
            return "a newer decree has replaced it, or its signer's key has been revoked"
        self._settle(now)
        return ""

    def held(self, question: AskDecrees) -> DecreesHeld:
        """Return the decrees of a kind about a subject, and the number for one that replaces them all."""
        kind, subject = question.kind, question.subject
        held, past = self._decrees.of(kind, subject), self._decrees.past(kind, subject)
        number = max((decree.number for decree in (*held, *past)), default=0)
        return DecreesHeld(
            question.ticket, kind, subject, tuple(held), tuple(past), min(number + 1, NUMBER_MAX)
        )

    def welcome(self, now: float) -> tuple[Decree, ...]:
        """All that a newcomer is told at the door, as far as there is room.

        What is in force about the whole mesh comes first, without which it answers nobody; then the shortest.
        """
        ruling = {self._decrees.in_force(kind, now).get("") for kind in KINDS}
        return _cut(sorted(self._decrees, key=lambda decree: (decree not in ruling, len(decree.body))))

    def about_all(self) -> tuple[DecreeName, ...]:
        """The names of those about the whole mesh."""
        return tuple(name for name in self._decrees.names() if not name.subject)[:NAMES_MAX]

    def fate_of(self, peer: str, now: float) -> tuple[Decree, ...]:
        """The decrees that expel a peer, or renew its certificate."""
        ruling = (self._decrees.in_force(kind, now).get(peer) for kind in (REVOCATION, RENEWAL))
        return tuple(decree for decree in ruling if decree is not None)

    def tell_expelled(self, decrees: Mapping[str, Decree], _now: float) -> None:
        """Tell members that are expelled, while we still talk with them: silence would do so much later."""
        for peer in self._others.all():
            if peer in decrees:
                self._outbox.send(peer, DecreesTold((decrees[peer],)))

    def learn_all(self, teller: str, decrees: Iterable[Decree], now: float) -> None:
        """Learn the new ones of the decrees that a member, or a door, tells; after a forgery no more of them.

        A kind that only newer versions know is no forgery: it costs nobody anything to leave it out.
        """
        if not self.patience.may_spend(teller, 1.0, FORGERIES_A_MINUTE, now):
            self.n_refused += 1
            return
        is_news = False
        for decree in decrees:
            if not self._decrees.is_wanted(decree.name, now) or self._decrees.is_void(decree):
                continue
            if not self._authority.refusal_of(decree):
                is_news = self._learn(decree, now) or is_news
                continue
            self.n_refused += 1
            if decree.kind in KINDS:
                self.n_forged += 1
                self.patience.spend(teller, 1.0, FORGERIES_A_MINUTE, now)
                break
        if is_news:
            self._settle(now)

    def name_all(self, peer: str) -> None:
        """Name all decrees to a member, so that it can ask for those that it lacks."""
        names = self._decrees.names()
        for start in range(0, len(names), NAMES_MAX):
            self._outbox.send(peer, DecreesNamed(tuple(names[start : start + NAMES_MAX])))

    def hear_names(self, teller: str, names: Iterable[DecreeName], now: float) -> None:
        wanted = tuple(name for name in names if self._decrees.is_wanted(name, now))
        if wanted:
            self._outbox.send(teller, DecreesWanted(wanted))

    def tell(self, asker: str, names: Iterable[DecreeName], now: float) -> None:
        """Send these, as far as one message goes; for the rest it will ask again.

        A question is short and its answer may be long, so there is only so much for each member.
        """
        told = _cut(decree for name in names if (decree := self._decrees.get(name)) is not None)
        n_bytes = sum(len(decree.body) + DECREE_BYTES for decree in told)
        if told and self.allowance.spend(asker, n_bytes, TOLD_BYTES_A_MINUTE, now):
            self._outbox.send(asker, DecreesTold(told))

    def _learn(self, decree: Decree, now: float) -> bool:
        is_new = self._decrees.add(decree, now)
        if is_new:
            self._news[decree.name] = 0
        return is_new

    def _settle(self, now: float) -> None:
        """Tell the followers here the decrees in force now, where they have changed."""
        self._decrees.clear_replaced(now)
        self._changes_at = self._decrees.changes_at(now)
        for kind, follows in self._follows.items():
            in_force = self._decrees.in_force(kind, now)
            if in_force != self._last.get(kind, {}):
                self._last[kind] = in_force
                for follow in follows:
                    follow(in_force, now)

    def _spread(self, now: float) -> None:
        self._spread_at = now + self._settings.gossip_interval_s
        names = tuple(self._news)[:NAMES_MAX]
        for peer in self._others.some(self._settings.gossip_fanout):
            self._outbox.send(peer, DecreesNamed(names))
        times_max = self._settings.transmissions_max(len(self._members.live()))
        for name in names:
            self._news[name] += 1
            if self._news[name] >= times_max:
                del self._news[name]


def _teller(outbox: TurnOutbox, kind: str, actor: str) -> Follow:
    def tell(in_force: Mapping[str, Decree], now: float) -> None:
        outbox.tell(actor, DecreesInForce(kind, tuple(in_force.values())))

    return tell


def _cut(decrees: Iterable[Decree]) -> tuple[Decree, ...]:
    """The first of them that fit into one message: not too many, and not too long."""
    taken: list[Decree] = []
    size = 0
    for decree in islice(decrees, NAMES_MAX):
        size += len(msgspec.msgpack.encode(decree))
        if taken and size > TOLD_BYTES_MAX:
            break
        taken.append(decree)
    return tuple(taken)
