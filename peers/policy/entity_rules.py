"""The part of a policy about entities that people have the mesh keep: how many, and for how long.

Without it nobody can register any, and nothing of them is kept or sent.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

KEPT_DAYS_MAX: Final = 3_650
CLIENT_DAY_MAX: Final = 10_000
ROWS_MAX: Final = 20_000  # of one peer: some 500 MB of the largest


class EntityRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Entities may be registered, within these limits."""

    # Days for which one is kept after its last change; then nothing of it is left.
    days: Annotated[int, Meta(ge=1, le=KEPT_DAYS_MAX)] = 365
    # A client, an address of IPv4 or the network of one customer, may make so many changes a day at one
    # gateway.
    per_client: Annotated[int, Meta(ge=1, le=CLIENT_DAY_MAX)] = 200
    # Entities and feeds in the slots of one peer; no further ones are taken then.
    rows_max: Annotated[int, Meta(ge=1, le=ROWS_MAX)] = 5_000
