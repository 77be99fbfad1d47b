"""When a peer is reached over a relay, as a person wants it."""

from __future__ import annotations

from enum import StrEnum


class Reach(StrEnum):
    """The values of `[member] relay`: when this peer is to be reached over a relay."""

    AUTO = "auto"  # when others do not reach it otherwise
    ALWAYS = "always"
    NEVER = "never"
