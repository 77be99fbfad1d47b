"""The JSON of orders that change the mesh, and of their outcomes."""

from __future__ import annotations

from math import isinf
from typing import Annotated, Any

import msgspec

from mesh.keys.decree import Decree
from peers.crawler.model.course import UNLIMITED


class RefusedUrl(msgspec.Struct, frozen=True):
    """A text that was given for a URL and is not visited, without its login."""

    url: str
    reason: str  # a sentence with the URL as its subject


class Seeded(msgspec.Struct, frozen=True, omit_defaults=True):
    """The JSON of POST /api/seeds."""

    accepted: int
    invalid: list[RefusedUrl]
    error: str = ""
    left_out: list[str] = []  # by the policy of the mesh
    private: list[str] = []  # what to do about hosts at private addresses, which are not taken


class ToDecree(msgspec.Struct, frozen=True):
    """The decree that an administrator has to sign, about the peer named beside it."""

    kind: str
    body: str  # hexadecimal


class DecreesJson(msgspec.Struct, frozen=True):
    """The JSON of GET /api/decrees."""

    next_number: int  # for a decree that shall replace all these
    decrees: tuple[DecreeJson, ...]  # in force or to come
    past: tuple[DecreeJson, ...]


class DecreeJson(msgspec.Struct, frozen=True):
    """A decree; times in seconds since the epoch."""

    kind: str
    subject: str
    number: int
    effective_from: float
    valid_until: float | None  # None for ever
    body: str  # hexadecimal
    signer: str  # public key, hexadecimal


class Published(msgspec.Struct, frozen=True):
    """The JSON of POST /api/decrees."""

    kind: str
    subject: str
    number: int


class Drained(msgspec.Struct, frozen=True):
    """The JSON of POST /api/drain."""

    peer: str
    is_draining: bool
    is_written_off: bool
    to_decree: ToDecree | None = None  # before anything happens


class Imported(msgspec.Struct, frozen=True):
    """The JSON of POST /api/import."""

    peer: str
    outcomes: tuple[str, ...]  # of each page, see `peers.importing.messages`


class Seeds(msgspec.Struct):
    """The JSON that POST /api/seeds takes, beside one URL a line."""

    urls: list[str]
    # Clicks that are made from them; null for no limit of their own.
    levels: Annotated[int, msgspec.Meta(ge=0, lt=UNLIMITED)] | None = None


class DrainRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The JSON that POST /api/drain takes."""

    peer: Annotated[str, msgspec.Meta(max_length=64)]
    is_draining: bool = True


class Failure(msgspec.Struct, frozen=True):
    """The JSON of every failure: the reason, and mostly the remedy."""

    error: str


def decree_json(decree: Decree) -> DecreeJson:
    """Return a decree as programs get it."""
    return DecreeJson(
        decree.kind,
        decree.subject,
        decree.number,
        decree.effective_from,
        None if isinf(decree.valid_until) else decree.valid_until,
        decree.body.hex(),
        decree.signer.hex(),
    )


class JudgingRequest(msgspec.Struct, frozen=True):
    """The JSON that POST /api/judging takes."""

    name: str  # of the pool
    assessors: Annotated[tuple[str, ...], msgspec.Meta(max_length=100)] = ()  # to be invited
    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 30  # that the invitations are good for
    pool: dict[str, Any] | None = None  # as `tianmesh eval pool` writes it; null for the one that is there


class InvitationJson(msgspec.Struct, frozen=True):
    """The link of one assessor."""

    assessor: str
    link: str  # path at this gateway; a secret
    until_s: int  # seconds since the epoch


class InvitedJson(msgspec.Struct, frozen=True):
    """The JSON of POST /api/judging."""

    name: str
    queries: int
    pages: int
    links: tuple[InvitationJson, ...]


class AssessorJson(msgspec.Struct, frozen=True, omit_defaults=True):
    """The judgements of one assessor on a pool."""

    assessor: str
    judged: int  # pages of the pool
    # By query and document, also of pages that the pool had before; of the one who is asked about.
    judgements: dict[str, dict[str, int]] = {}


class JudgingJson(msgspec.Struct, frozen=True):
    """The JSON of GET /api/judging."""

    name: str  # "" where none was asked about
    queries: int
    pages: int
    assessors: tuple[AssessorJson, ...]
    pools: tuple[str, ...] = ()  # all that there are, where none was asked about
    invited: tuple[str, ...] = ()  # those of a pool whose link is still good


class RowJson(msgspec.Struct, frozen=True):
    """A sealed row of an entity; bytes are written in Base64."""

    number: int
    until_day: int  # the last one on which it is kept, in days since the epoch
    sealed: bytes
    signature: bytes


class EntityRulesJson(msgspec.Struct, frozen=True):
    """The policy on entities."""

    days: int  # for which one is kept after its last change


class RowKeptJson(msgspec.Struct, frozen=True):
    """The answer to a row that the mesh has kept."""

    number: int
