"""When a peer is reached over a relay, as a person wants it."""

from __future__ import annotations

from enum import StrEnum


class Reach(StrEnum):
    """What `[member] relay` says."""

    AUTO = "auto"  # when others do not reach it otherwise
    ALWAYS = "always"
    NEVER = "never"
