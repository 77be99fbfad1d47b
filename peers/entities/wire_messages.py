"""Messages by which gateways have sealed rows kept, and read them."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count
from peers.entities.sealed_row import Public, SealedRow


class KeepSealed(Message, frozen=True, array_like=True, tag=156):
    """From a gateway to the owner of a row's slot: the owner of its key has changed it. Repeated."""

    request: Count
    public: Public
    row: SealedRow


class SealedKept(Message, frozen=True, array_like=True, tag=157):
    """Answer to `KeepSealed`: the living team has it, or why it has not."""

    request: Count
    refusal: Annotated[str, Meta(max_length=32)] = ""  # one of `REFUSALS`; "" when it is done


class ReadSealed(Message, frozen=True, array_like=True, tag=158):
    """From a gateway to a peer of the team: which row has this name?"""

    request: Count
    public: Public


class SealedTold(Message, frozen=True, array_like=True, tag=159):
    """Answer to `ReadSealed`."""

    request: Count
    is_on: bool = False  # by the policy that the peer goes by
    row: SealedRow | None = None


# Why something is not done, as messages name it.
OFF: Final = "off"
ELSEWHERE: Final = "elsewhere"  # the slot is another peer's: ask again
FULL: Final = "full"
UNTRUE: Final = "untrue"  # not signed by its owner, or not of its time
OUTDATED: Final = "outdated"  # there is another one that counts more
REFUSALS: Final = (OFF, ELSEWHERE, FULL, UNTRUE, OUTDATED)
