"""The part of a policy about sites that their owners submit: how many, and on which conditions.

Without it nobody can submit anything, and nothing of it is kept or sent.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

SITE_PAGES_MAX: Final = 5_000  # of which a row of 16 bytes each goes to the team
CLIENT_DAY_MAX: Final = 10_000
DOMAIN_DAY_MAX: Final = 64
WAITING_MAX: Final = 100_000


class SubmissionRules(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """Sites may be submitted, within these limits."""

    # Pages of a site that has shown its proof, and that was not crawled before. It is no page more.
    pages_per_site: Annotated[int, Meta(ge=1, le=SITE_PAGES_MAX)] = 100
    # A client, an address of IPv4 or the network of one customer, may submit so many a day at one gateway.
    per_client: Annotated[int, Meta(ge=1, le=CLIENT_DAY_MAX)] = 5
    # Of one registrable domain so many are taken a day, by the whole mesh.
    per_domain: Annotated[int, Meta(ge=1, le=DOMAIN_DAY_MAX)] = 3
    # Submissions that are not at their end, of the sites of one peer; no further ones are taken then.
    waiting_max: Annotated[int, Meta(ge=1, le=WAITING_MAX)] = 1_000
    # Nothing of a site is visited before it has shown its proof; else the page submitted is, and no other.
    proof: bool = True
    # Nothing of a site is asked for before an administrator has accepted it.
    moderation: bool = True
    # A reader may report so many results a day at one gateway; 0 for none: then there is no link to it.
    reports_per_client: Annotated[int, Meta(ge=0, le=CLIENT_DAY_MAX)] = 0
