"""How a stranger comes in: it knocks at one door after another until one of them lets it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mesh.membership.doors.doors import Doors
from mesh.membership.doors.knock_schedule import DoorAddress, KnockSchedule
from mesh.membership.doors.own_relay import OwnRelay
from mesh.membership.model.members import MemberList
from mesh.membership.model.messages import Borrowed
from mesh.membership.model.others import Others
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import JoinRefused, Rumour, Welcomed
from mesh.membership.news.rumour_intake import RumourIntake
from mesh.membership.own.lifecycle import Lifecycle
from mesh.membership.own.own_record import OwnRecord

if TYPE_CHECKING:
    from random import Random


class JoinProtocol:
    """The knocks of a stranger, and the progress that their answers bring."""

    def __init__(
        self,
        own: OwnRecord,
        members: MemberList,
        others: Others,
        doors: Doors,
        intake: RumourIntake,
        own_relay: OwnRelay,
        lifecycle: Lifecycle,
        settings: SwimSettings,
        random: Random,
    ) -> None:
        self._own = own
        self._members = members
        self._others = others
        self._doors = doors
        self._intake = intake
        self._own_relay = own_relay
        self._lifecycle = lifecycle
        self._schedule = KnockSchedule(doors.named, settings, random)

    @property
    def is_first(self) -> bool:
        """There is no door to knock at: this peer begins its mesh."""
        return not self._schedule.has_doors

    @property
    def door(self) -> DoorAddress:
        """The one knocked at last."""
        return self._schedule.door

    def start(self, now: float) -> None:
        """Begin to knock, or to ask for a relay first."""
        if self._own_relay.is_always:
            self._own_relay.start(now)
        else:
            self._schedule.start(now)

    def wake_at(self) -> float:
        return self._schedule.wake_at()

    def has_waited_in_vain(self, now: float) -> bool:
        """Tell whether an answer should be there; that is to be heard as None."""
        return self._schedule.has_waited_in_vain(now)

    def knock(self, now: float) -> None:
        """Knock at the next door when it is time."""
        door = self._schedule.knocks(now)
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
                self._lifecycle.give_up(reason)
                return None
            case JoinRefused(reason):
                # Nobody would hear of us what we hear nothing of: even a former member waits outside.
                self._lifecycle.unreachable = reason
                # A bootstrap node has no status: only members can tell people who knocks in vain, and why.
                self._schedule.learn(self._doors.all())
                is_in_haste = self._own_relay.hear_refusal(answer, self._schedule.door, now)
                self._schedule.come_again(now)
                if is_in_haste:
                    self._schedule.start(now)
                return None
            case None:
                return self._find_door_shut(now)

    def hear_again(self, answer: Welcomed | JoinRefused | None, door: DoorAddress, now: float) -> None:
        """Hear, as a member that others may hold for dead, whether a door lets us in."""
        match answer:
            case Welcomed():
                self._lifecycle.unreachable = ""
                self._own_relay.hear_welcome()
            case JoinRefused(reason, is_final=False):
                self._lifecycle.unreachable = reason
                if self._own_relay.hear_refusal(answer, door, now):
                    self._doors.knock_at_any()

    def hear_relay(self, borrowed: Borrowed, now: float) -> list[str] | None:
        """Say at a door where others reach us now; returns the same as `hear`."""
        lifecycle = self._lifecycle
        has_moved = not lifecycle.is_ended and self._own_relay.hear(borrowed, now)
        if lifecycle.is_ended or lifecycle.is_member:
            if has_moved and self._own_relay.door is not None:
                self._doors.knock_at(self._own_relay.door)
            return None
        if has_moved:
            self._schedule.start(now)
        is_shut_out = not has_moved and self._own_relay.is_in_vain and self._own.is_remembered
        return [] if is_shut_out else None

    def _hear_welcome(
        self, members: tuple[Rumour, ...], newcomers: tuple[str, ...], now: float
    ) -> list[str] | None:
        before = self._own.record
        self._own_relay.hear_welcome()
        self._intake.learn_all(members, now, is_news=False)
        settled = {rumour.record.peer for rumour in members}.difference(newcomers)
        self._members.settle(settled)
        if self._own.record != before:
            # They know a later life of ours, from before we lost our memory. Our new record beats that
            # one, and has to be told at the door: elsewhere we are not let in, if we are said to have left.
            self._schedule.start(now)
            return None
        opener = self._members.with_key(self._schedule.door.server_key)
        self._schedule.stop()
        return [opener.record.peer] if opener else self._others.all()

    def _find_door_shut(self, now: float) -> list[str] | None:
        """Try the next door; when all are shut, a former member goes on with the members it knew."""
        if not self._schedule.move_on(now) or not self._own.is_remembered:
            return None
        self._schedule.stop()
        return []
