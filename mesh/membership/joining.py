"""How a stranger comes in: it knocks at one door after another until one of them lets it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mesh.membership.doors import Doors
from mesh.membership.joiner import Door, Joiner
from mesh.membership.learning import Learning
from mesh.membership.members import MemberList
from mesh.membership.messages import Borrowed
from mesh.membership.others import Others
from mesh.membership.own_record import OwnRecord
from mesh.membership.relaying import Relaying
from mesh.membership.standing import Standing
from mesh.membership.swim_settings import SwimSettings
from mesh.membership.wire_messages import JoinRefused, Rumour, Welcomed

if TYPE_CHECKING:
    from random import Random


class Joining:
    """The knocks of a stranger, and the progress that their answers bring."""

    def __init__(
        self,
        own: OwnRecord,
        members: MemberList,
        others: Others,
        doors: Doors,
        learning: Learning,
        relaying: Relaying,
        standing: Standing,
        settings: SwimSettings,
        random: Random,
    ) -> None:
        self._own = own
        self._members = members
        self._others = others
        self._doors = doors
        self._learning = learning
        self._relaying = relaying
        self._standing = standing
        self._joiner = Joiner(doors.named, settings, random)

    @property
    def is_first(self) -> bool:
        """There is no door to knock at: this peer begins its mesh."""
        return not self._joiner.has_doors

    @property
    def door(self) -> Door:
        """The one knocked at last."""
        return self._joiner.door

    def start(self, now: float) -> None:
        """Begin to knock, or to ask for a relay first."""
        if self._relaying.is_always:
            self._relaying.start(now)
        else:
            self._joiner.start(now)

    def wake_at(self) -> float:
        return self._joiner.wake_at()

    def has_waited_in_vain(self, now: float) -> bool:
        """Tell whether an answer should be there; that is to be heard as None."""
        return self._joiner.has_waited_in_vain(now)

    def knock(self, now: float) -> None:
        """Knock at the next door when it is time."""
        door = self._joiner.knocks(now)
        if door is not None:
            self._doors.knock_at(door)

    def hear(self, answer: Welcomed | JoinRefused | None, now: float) -> list[str] | None:
        """Hear the answer of a door.

        Args:
          answer: None when there was none.

        Returns:
          None as long as we are not in; else those of whom one is to be asked for all that it believes.
        """
        match answer:
            case Welcomed(members, newcomers=newcomers):
                return self._hear_welcome(members, newcomers, now)
            case JoinRefused(reason, is_final=True):
                self._standing.give_up(reason)
                return None
            case JoinRefused(reason):
                # Nobody would hear of us what we hear nothing of: even a former member waits outside.
                self._standing.unreachable = reason
                # A bootstrap node has no status: only members can tell people who knocks in vain, and why.
                self._joiner.learn(self._doors.all())
                is_in_haste = self._relaying.hear_refusal(answer, self._joiner.door, now)
                self._joiner.come_again(now)
                if is_in_haste:
                    self._joiner.start(now)
                return None
            case None:
                return self._find_door_shut(now)

    def hear_again(self, answer: Welcomed | JoinRefused | None, door: Door, now: float) -> None:
        """Hear, as a member that others may hold for dead, whether a door lets us in."""
        match answer:
            case Welcomed():
                self._standing.unreachable = ""
                self._relaying.hear_welcome()
            case JoinRefused(reason, is_final=False):
                self._standing.unreachable = reason
                if self._relaying.hear_refusal(answer, door, now):
                    self._doors.knock_at_any()

    def hear_relay(self, borrowed: Borrowed, now: float) -> list[str] | None:
        """Say at a door where others reach us now; returns the same as `hear`."""
        standing = self._standing
        has_moved = not standing.is_ended and self._relaying.hear(borrowed, now)
        if standing.is_ended or standing.is_member:
            if has_moved and self._relaying.door is not None:
                self._doors.knock_at(self._relaying.door)
            return None
        if has_moved:
            self._joiner.start(now)
        is_shut_out = not has_moved and self._relaying.is_in_vain and self._own.is_remembered
        return [] if is_shut_out else None

    def _hear_welcome(
        self, members: tuple[Rumour, ...], newcomers: tuple[str, ...], now: float
    ) -> list[str] | None:
        before = self._own.record
        self._relaying.hear_welcome()
        self._learning.learn_all(members, now, is_news=False)
        settled = {rumour.record.peer for rumour in members}.difference(newcomers)
        self._members.settle(settled)
        if self._own.record != before:
            # They know a later life of ours, from before we lost our memory. Our new record beats that
            # one, and has to be told at the door: elsewhere we are not let in, if we are said to have left.
            self._joiner.start(now)
            return None
        opener = self._members.with_key(self._joiner.door.server_key)
        self._joiner.stop()
        return [opener.record.peer] if opener else self._others.all()

    def _find_door_shut(self, now: float) -> list[str] | None:
        """Try the next door; when all are shut, a former member goes on with the members it knew."""
        if not self._joiner.move_on(now) or not self._own.is_remembered:
            return None
        self._joiner.stop()
        return []
