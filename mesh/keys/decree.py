"""The decrees of the owner of a mesh: signed documents with a number, in force from one time until another.

Theory of operation
===================
There is one mechanism for all that somebody has the last word on, and no peer: expulsions, renewals, orders
to single peers, the mesh-wide policy with its take-downs. A decree is spread by gossip and kept on disk by
every member (`membership.decrees`, `membership.decree_dissemination`), so it is obeyed when its issuer is
long gone and by members that were away when it was issued. It needs no trust in whoever passes it on.

*Which one rules.* Decrees of a kind about a subject replace each other: of those whose time has come the
one with the highest number is *in force*, until its own end; then none is. So an old decree never returns by
a copy, and one for next month leaves the one of today in force until then.

*Who may.* The root key may sign every kind. An administrator's key, which the root has certified with a
*warrant*, may sign all but who is a member (`ROOT_KINDS`): so the root key lies in a safe, and who has stolen
an administrator's cannot expel its owner. A `REVOCATION` about an administrator's public key makes void
whatever that key has signed, whenever that was.

*A new kind* is a constant here, a meaning of the body (`DECREE_BYTES_MAX` at most) in the file of whoever
obeys it, and the names of the actors that are to be told: `Membership(followers={POLICY: ("controller",)})`.
They hear `DecreesInForce` when the peer starts, and whenever what is in force has changed, by news or by
time. A command signs with `Signer.decree`, and posts the bytes of it to any gateway (`/api/decrees`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import inf, isfinite, isnan
from typing import Annotated, Final, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from mesh.keys.identity import verify_signature
from mesh.keys.signing_key import SigningKey
from mesh.wire_fields import Key

logger = logging.getLogger(__name__)

Read = TypeVar("Read")
Formatted = TypeVar("Formatted", bound="_Formatted")

REVOCATION: Final = "revocation"  # of a member, by its id, or of an administrator's key, in hexadecimal
RENEWAL: Final = "renewal"  # of the certificate of the peer of this id: `certificate.Certificate.encoded`
DRAIN: Final = "drain"  # order to the peer of this id, once: 1 to give its slots away, 0 to take its share
WRITE_OFF: Final = "write-off"  # of the dead peer of this id: whatever it said up to an incarnation
POLICY: Final = "policy"  # of the whole mesh; the subject is ""
CLASSES: Final = "classes"  # that pages of the mesh are in, and how that is told; the subject is ""
WATCH: Final = "watch"  # words that administrators are told of when a page has them; the subject is ""
TOPICS: Final = "topics"  # of which it is counted how much is written; the subject is ""

KINDS: Final = frozenset({REVOCATION, RENEWAL, DRAIN, WRITE_OFF, POLICY, CLASSES, WATCH, TOPICS})
ROOT_KINDS: Final = frozenset({REVOCATION, RENEWAL})  # what no administrator may sign

DECREE_BYTES_MAX: Final = 256 << 10  # of the body; a policy of 2,000 rules
NUMBER_MAX: Final = (1 << 63) - 1
DIGEST_BYTES: Final = 8  # tells decrees of one number apart, which only their own issuer can make

_DECREE: Final = b"tianmesh decree 1\x00"  # nothing else that these keys sign begins like these
_WARRANT: Final = b"tianmesh warrant 1\x00"

Kind: TypeAlias = Annotated[str, Meta(pattern="^[a-z-]{1,32}$")]
Subject: TypeAlias = Annotated[str, Meta(pattern="^[A-Za-z0-9.:-]{0,64}$")]
Number: TypeAlias = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]


class _Formatted(Protocol):
    @property
    def format(self) -> str | int: ...


class DecreeName(NamedTuple):
    """Which decree is meant."""

    kind: Kind
    subject: Subject
    number: Number
    digest: Annotated[bytes, Meta(max_length=DIGEST_BYTES)]

    @property
    def rank(self) -> tuple[int, bytes]:
        """Among decrees of this kind about this subject: the greatest rules."""
        return self.number, self.digest


class Decree(msgspec.Struct, frozen=True, array_like=True):
    """One signed document; `Authority` tells whether it is one."""

    kind: Kind
    subject: Subject  # what it is about; "" where there is one for the whole mesh
    number: Number
    effective_from: float  # mesh clock
    valid_until: float  # mesh clock; inf for ever
    body: Annotated[bytes, Meta(max_length=DECREE_BYTES_MAX)]
    signer: Key  # public Ed25519 key
    warrant: Key  # the root's signature over that key; empty when the root itself signed
    signature: Key = b""  # over all fields before

    @property
    def name(self) -> DecreeName:
        digest = blake2b(msgspec.msgpack.encode(self), digest_size=DIGEST_BYTES).digest()
        return DecreeName(self.kind, self.subject, self.number, digest)

    def is_begun(self, now: float) -> bool:
        return self.effective_from <= now

    def is_over(self, now: float) -> bool:
        return self.valid_until <= now


@dataclass(frozen=True, slots=True)
class Signer:
    """An issuer of decrees of one mesh: a key, and the warrant that makes it count there."""

    key: SigningKey
    mesh_id: bytes  # MeshConfig.digest()
    warrant: bytes = b""  # from `appoint`; empty for the root

    def decree(
        self,
        kind: str,
        subject: str,
        number: int,
        body: bytes,
        *,
        effective_from: float = 0.0,
        valid_until: float = inf,
    ) -> Decree:
        """Sign one; its number has to be higher than that of the one that it replaces."""
        plain = Decree(
            kind, subject, number, effective_from, valid_until, body, self.key.public, self.warrant
        )
        return msgspec.structs.replace(plain, signature=self.key.sign(_signed(plain, self.mesh_id)))


def read_in_force(
    decrees: Sequence[Decree], last: Read | None, read: Callable[[Decree], Read | None], name: str
) -> Read | None:
    """Return the content of the decree on the mesh as a whole; None where there is none.

    Args:
      decrees: of one kind, in force; those with a subject are on a member.
      last: read before, which goes on where this one is of a newer version: half of it may be its opposite.
      read: raises ValueError for what this version does not understand.
      name: of the content, in the log.
    """
    decree = of_the_mesh(decrees)
    if decree is None:
        return None
    try:
        return read(decree)
    except ValueError as error:
        logger.error(
            "%s not understood: install a newer tianmesh here number=%d error=%s", name, decree.number, error
        )
        return last


def content_of(body: bytes, kind: type[Formatted], form: str | int) -> Formatted:
    """Read the body of a decree, which anybody may have written that signs for the mesh.

    Args:
      form: that the content has to say it has.

    Raises:
      ValueError: it is no such content.
    """
    try:
        content = msgspec.msgpack.decode(body, type=kind)  # its other errors are ValueErrors
    except RecursionError as error:  # in what is passed over behind the rest
        raise ValueError("it nests too deep") from error
    if content.format != form:
        raise ValueError(f"it is of format {content.format!r}, this version reads {form!r}")
    return content


def of_the_mesh(decrees: Sequence[Decree]) -> Decree | None:
    """Return the decree on the mesh as a whole, None where there is none; others are on a member."""
    return next((each for each in decrees if not each.subject), None)


def number_body(number: int) -> bytes:
    """The body of a decree that says one number."""
    return number.to_bytes(8, "big")


def number_of(decree: Decree) -> int:
    """Read `number_body`; a body of another length says another number, and nothing worse."""
    return int.from_bytes(decree.body[:8], "big")


def appoint(root: SigningKey, mesh_id: bytes, administrator: bytes) -> bytes:
    """Certify an administrator's public key: return its warrant for this mesh."""
    return root.sign(_warranted(mesh_id, administrator))


@dataclass(frozen=True, slots=True)
class Authority:
    """The judge of everything that administrators sign: it knows the mesh and its public root key."""

    root_public: bytes
    mesh_id: bytes

    def refusal_of(self, decree: Decree) -> str:
        """Tell why this is no decree of the mesh, "" when it is; takes 0.3 ms, for any bytes."""
        if decree.kind not in KINDS:
            return f"this version of tianmesh knows no decree of kind {decree.kind!r}"
        if not isfinite(decree.effective_from) or isnan(decree.valid_until):
            return "a time in it is no time"
        is_for_root = decree.kind in ROOT_KINDS and decree.signer != self.root_public
        if is_for_root or not self.is_administrator(decree.signer, decree.warrant):
            return "its signer is neither the root of this mesh nor an administrator who may decree this"
        if not verify_signature(decree.signer, _signed(decree, self.mesh_id), decree.signature):
            return "its signature is not by the key that it names"
        return ""

    def is_administrator(self, signer: bytes, warrant: bytes) -> bool:
        """Is it the key of the root, or one that the root has certified for this mesh?"""
        return signer == self.root_public or verify_signature(
            self.root_public, _warranted(self.mesh_id, signer), warrant
        )


def _signed(decree: Decree, mesh_id: bytes) -> bytes:
    fields = msgspec.structs.astuple(msgspec.structs.replace(decree, signature=b""))
    return _DECREE + msgspec.msgpack.encode((mesh_id, *fields))


def _warranted(mesh_id: bytes, administrator: bytes) -> bytes:
    return _WARRANT + msgspec.msgpack.encode((mesh_id, administrator))
