"""Messages about which peer may crawl a slot, and by which all its keepers come to have the same data.

Slots change hands by claim, yield, offer and taking. What a store has of them is compared, sent where it is
lacking, and told to the others of a team as it changes.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.slot_set import NO_SLOTS
from mesh.wire_fields import Count, Key, SlotSet

COMPARED_SLOTS_MAX: Final = 16_384  # slots whose digests are compared at a time
ITEM_ID_BYTES: Final = 8  # of one thing that belongs to a slot, as `SendItems` lists them
DIGEST_BYTES: Final = 8  # of all of them of one slot and store
ROOT_BYTES: Final = 16  # of many slots
ITEM_IDS_MAX: Final = 1 << 20
PART_BYTES_MAX: Final = 4 << 20  # of the items in one part of a transfer
# Of what they describe: the records of a page whose body is as large as the fetcher takes, which no packing
# makes smaller, and their heads. A gigabit takes 80 ms for it.
BULK_BYTES_MAX: Final = 9 << 20
CHANGES_MAX: Final = 1_024  # items in one `ItemsChanged`, which take some 10 ms to merge


class ClaimSlots(Message, frozen=True, array_like=True, tag=60):
    """A peer to all others: by this epoch's table I crawl these. Stop, then tell me so and how much you have.

    Answered by `SlotsYielded`, in one part or several; repeated to those that have not yielded all. Who has
    another epoch does not answer: soon both have the same.
    """

    claim: Count  # grows with every claim of a peer; a new one replaces those before
    epoch: Key
    slots: SlotSet


class SlotsYielded(Message, frozen=True, array_like=True, tag=61):
    """Promise: of these slots I fetch nothing any more, and all that I know of them is durable."""

    is_promise: ClassVar[bool] = True
    claim: Count
    epoch: Key
    slots: SlotSet
    filled: SlotSet  # of those, where the sender has anything at all
    complete: SlotSet = NO_SLOTS  # of those, where it has everything that was acknowledged
    lacking: SlotSet = NO_SLOTS  # of those, where it could not keep what counts elsewhere


class OfferSlots(Message, frozen=True, array_like=True, tag=69):
    """A peer to one that is to keep these slots by the table of this epoch: bring all that I have of them.

    The owner offers what it has complete to its standbys; who has something that it does not keep, or
    answers for what it does not own, offers that to those who do. Repeated until `SlotsTaken`. Who has
    another epoch does not answer: soon both have the same.
    """

    offer: Count  # another one whenever something new is offered
    epoch: Key
    slots: SlotSet


class SlotsTaken(Message, frozen=True, array_like=True, tag=67):
    """Answer to `OfferSlots`, in one part or several: I keep these, and have all of them and all you had."""

    offer: Count
    slots: SlotSet


class ReplicasWanted(Message, frozen=True, array_like=True, tag=68):
    """A standby to the owner: offer me these, whether I have taken them before or not."""

    slots: SlotSet


class CompareSlots(Message, frozen=True, array_like=True, tag=62):
    """A controller to a controller, or a cell to a cell: do we have the same of these slots?"""

    request: Count
    slots: SlotSet
    # The sender's, in order; or only the `root_of` these, where all is expected to be the same.
    digests: Annotated[bytes, Meta(max_length=COMPARED_SLOTS_MAX * DIGEST_BYTES)]
    is_root: bool = False


class SlotsCompared(Message, frozen=True, array_like=True, tag=63):
    """Answer to `CompareSlots`."""

    request: Count
    differing: SlotSet  # asked with a root that is another here: all, and the digests are to be sent
    unready: SlotSet  # not compared: the answerer is itself only getting them


class SendItems(Message, frozen=True, array_like=True, tag=64):
    """A peer that lacks items to one that has them: of these slots, send all items except those I have."""

    request: Count
    slots: SlotSet
    have: Annotated[bytes, Meta(max_length=ITEM_IDS_MAX * ITEM_ID_BYTES)]  # ids of items, sorted


class ItemsSent(Message, frozen=True, array_like=True, tag=65):
    """Answer to `SendItems`, in parts, a few of them on their way at a time."""

    request: Count
    part: Count  # 0, 1, 2 ...
    sent_at: float  # mesh clock of the sender; times in the items are by this clock
    items: Annotated[bytes, Meta(max_length=PART_BYTES_MAX)]
    bulk: Annotated[bytes, Meta(max_length=BULK_BYTES_MAX)]  # what the items describe: records, a segment
    checksum: Count  # XXH3-64 of items and bulk
    is_last: bool


class ItemsTaken(Message, frozen=True, array_like=True, tag=66):
    """Promise of the receiver: that part is durable here. It is the sender's leave to send one more."""

    is_promise: ClassVar[bool] = True
    request: Count
    part: Count


class ItemsChanged(Message, frozen=True, array_like=True, tag=22):
    """A store to the same one of the other members of some slots' teams: this is new. Repeated until kept."""

    waits_for_company: ClassVar[bool] = True
    batch: Count
    sent_at: float  # mesh clock of the sender; times in the items are by this clock
    items: Annotated[bytes, Meta(max_length=PART_BYTES_MAX)]  # as the store encodes them


class ItemsKept(Message, frozen=True, array_like=True, tag=23):
    """Promise of a team member: those items are merged into its own, durably."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    batch: Count
    refused: Count = 0  # items of it that cannot be and were left out: to send them again is of no use
