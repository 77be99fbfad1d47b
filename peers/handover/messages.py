"""Messages between the handover and the stores of its peer, and with the controller, which crawls.

Slots are in sets as `mesh.slot_set` encodes them.

Beside what these messages promise, a store keeps nothing for other peers (`ItemsChanged`, `ReplicatePage`,
`LinksFound`) of slots in whose `Ownership.team_of` it is not: what it has of them may be forgotten any time.
"""

from __future__ import annotations

from typing import ClassVar

from mesh.actors.actor import Message


class HoldSlots(Message, frozen=True):
    """Handover to controller: crawl exactly these from now on. Answered by `SlotsStopped`, part by part.

    To the lessor as well, who lends the addresses of these slots and does not answer.

    Fetches for a slot that is not among them any more are not begun; those under way are finished.
    """

    slots: bytes
    # Of those, which are new and whose last crawler may have died a moment ago: what it asked last is not
    # known, so every host counts as just asked.
    inherited: bytes


class SlotsStopped(Message, frozen=True):
    """Promise of the controller: nothing of these slots is being fetched or finished here any more.

    Said of each slot once after each `HoldSlots` that takes it away; not before that is it given back.
    """

    is_promise: ClassVar[bool] = True
    slots: bytes


class SlotsFilled(Message, frozen=True):
    """A store to the handover: of these slots there is something here now.

    All of them at once in answer to the first `OwnershipChanged`, even if there are none: nothing is yielded
    before that. Then each when its first item comes.
    """

    slots: bytes


class UseStore(Message, frozen=True):
    """An optional store to the handover: it is in use from now on, and `SlotsFilled` follows.

    Said again by a store that kept nothing for others meanwhile, to have all of its slots brought anew.
    """


class SynchroniseSlots(Message, frozen=True):
    """Handover to a store: bring here all that `peer` has of these slots. Answered by `SlotsSynchronised`.

    A store does several of these at a time. The whole is repeated if something goes wrong, which costs
    little, for what has come already is not sent again.
    """

    task: int
    peer: str
    slots: bytes
    bytes_per_s: float  # at most, for what is not urgent; inf
    # Leave out what has not changed here since that peer had the same, as it compares what changes there; and
    # bring nothing: where something differs, say so by `SlotsDiffer`.
    is_routine: bool = False


class SlotsSynchronised(Message, frozen=True):
    """Promise of a store: of these slots it has all that the peer had; the others are to be tried again."""

    is_promise: ClassVar[bool] = True
    task: int
    slots: bytes


class StopSynchronising(Message, frozen=True):
    """Handover to a store: forget that task; it is not answered. The peer is down, or the slots moved."""

    task: int


class SlotsDiffer(Message, frozen=True):
    """A store to the handover: that peer has, or lacks, something of these slots that we do not, or have."""

    peer: str
    slots: bytes


class SlotsLacking(Message, frozen=True):
    """A store to the handover: something of these slots, which others count, could not be kept here.

    They are not complete until they have been brought again.
    """

    slots: bytes


class SlotsComplete(Message, frozen=True):
    """Handover to stores and indexer: of exactly these slots everything acknowledged is here.

    The indexer answers for no others, and a store tells who compares them that it is not ready.
    """

    slots: bytes


class ForgetSlots(Message, frozen=True):
    """Handover to stores, cell to indexer: others keep these slots safely; delete all that is here of them.

    Answered by nothing: a store that is asked to forget what a later `SynchroniseSlots` brings back is
    asked in that order.
    """

    slots: bytes
