"""A submitted site: its row, how two versions of the row join, and its state as people are told it.

    "s" code -> Submission

The code names the submission, opens its status page and is its proof. It begins with the slot of the site, so
that who has the code alone knows whom to ask; the rest is drawn by chance, and nobody guesses it.

A row has two kinds of fields: those that its maker wrote once, and those that only grow. So rows join field
by field, by maximum and union, and of two that differ in the first kind, which no honest peer makes, the
greater counts. The pages admitted are written before any of them is asked for, and kept by the team by then;
one peer at a time admits. So whoever crawls the site later asks for these and no others.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.urls import URL_CHARS_MAX, host_of, is_canonical
from peers.policy.submission_rules import SITE_PAGES_MAX
from peers.submissions.verdict import AHEAD_S, CODE_BYTES, TIME_S_MAX, Verdict, Why

SLOT_BYTES: Final = 2
MARK_BYTES: Final = 16  # `mesh.urls.fingerprint`
KEPT_S: Final = 90 * 86_400.0  # a submission, from its beginning on; then it is forgotten
PROOF_S: Final = 14 * 86_400.0  # within which a site has to show its proof
TRIES_MAX: Final = 1_000
_NAME: Final = b"s"
NAME_BYTES: Final = 1 + CODE_BYTES

Mark: TypeAlias = Annotated[bytes, Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]


class SubmissionState(StrEnum):
    """The step at which a submission is."""

    MODERATED = "moderated"  # waits for an administrator
    PROVING = "proving"  # waits for its proof
    QUEUED = "queued"  # waits for its turn
    CRAWLED = "crawled"  # is being visited
    DONE = "done"
    REFUSED = "refused"


class Submission(msgspec.Struct, frozen=True, array_like=True):
    """The row of a submitted site."""

    url: Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)]  # canonical, that was submitted
    made_s: Annotated[int, Meta(ge=0, le=TIME_S_MAX)]  # since the epoch
    is_moderated: bool  # an administrator is to judge it first
    needs_proof: bool  # nothing of it is visited before
    pages_max: Annotated[int, Meta(ge=1, le=SITE_PAGES_MAX)]
    verdict: Verdict | None = None  # of an administrator; `VerdictJudge` tells whether it counts
    is_begun: bool = False  # who crawls the site has looked whether it is known
    is_proven: bool = False
    is_known: bool = False  # the mesh crawled the site before: its pages are not limited
    tries: Annotated[int, Meta(ge=0, le=TRIES_MAX)] = 0  # looks for the proof
    tried_why: Why = ""  # the result of one of them
    visited: Annotated[int, Meta(ge=0, le=SITE_PAGES_MAX)] = 0  # pages
    end: Annotated[int, Meta(ge=0, le=2)] = 0  # 1 done, 2 refused by what was found
    end_why: Why = ""
    # Fingerprints of the pages that may be asked for, in their order.
    admitted: Annotated[tuple[Mark, ...], Meta(max_length=SITE_PAGES_MAX)] = ()
    gateway: Annotated[str, Meta(max_length=64)] = ""  # the member that brought it

    @property
    def is_open(self) -> bool:
        """Is anything of it still to come?"""
        return not self.is_refused and not self.end

    @property
    def is_refused(self) -> bool:
        """Has an administrator refused it?"""
        return self.verdict is not None and not self.verdict.is_accepted

    @property
    def is_judged(self) -> bool:
        """Has it passed the administrators, where it has to?"""
        return not self.is_moderated if self.verdict is None else self.verdict.is_accepted

    @property
    def is_limited(self) -> bool:
        """Are its pages limited to those that are admitted?"""
        return self.is_proven and not self.is_known and not self.is_unlimited

    @property
    def is_unlimited(self) -> bool:
        """Has an administrator lifted the limit of its pages?"""
        return self.verdict is not None and self.verdict.is_accepted and self.verdict.is_unlimited

    @property
    def pages_limit(self) -> int:
        """How many pages are visited at most, if they are limited: as its maker or an administrator said."""
        if self.verdict is None or not self.verdict.is_accepted:
            return self.pages_max
        return max(self.pages_max, self.verdict.pages)

    @property
    def state(self) -> SubmissionState:
        if self.is_refused or self.end == 2:
            return SubmissionState.REFUSED
        if self.end:
            return SubmissionState.DONE
        if not self.is_judged:
            return SubmissionState.MODERATED
        if self.needs_proof and not self.is_proven:
            return SubmissionState.PROVING
        return SubmissionState.CRAWLED if self.visited else SubmissionState.QUEUED

    @property
    def why(self) -> str:
        """The reason why it is refused; before that, the result of the last look for its proof."""
        if self.verdict is not None and self.is_refused:
            return self.verdict.why
        return self.end_why or ("" if self.is_proven else self.tried_why)


def code_text(code: bytes) -> str:
    """Return a code as people see it: 24 letters and digits of base 32."""
    return b32encode(code).decode().lower()


def code_in(text: str) -> bytes | None:
    """Return the code in a text; None when it is none."""
    try:
        code = b32decode(text.upper()) if text.isascii() and len(text) == 24 else b""
    except ValueError:
        return None
    return code if len(code) == CODE_BYTES else None


def slot_of_code(code: bytes) -> int:
    return int.from_bytes(code[:SLOT_BYTES], "big")


def code_of(slot: int, chance: bytes) -> bytes:
    """Make a code for a site of a slot. Args: chance: bytes that nobody can guess, 13 of them or more."""
    return slot.to_bytes(SLOT_BYTES, "big") + chance[: CODE_BYTES - SLOT_BYTES]


def name_of(code: bytes) -> bytes:
    """Return the name of a row in its slot."""
    return _NAME + code


def code_in_name(name: bytes) -> bytes | None:
    """Return the code of a row's name; None when it is the name of another kind of row."""
    return name[1:] if len(name) == NAME_BYTES and name[:1] == _NAME else None


def row_bytes(row: Submission) -> bytes:
    return _encode(row)


def row_in(value: bytes) -> Submission:
    """Read a row.

    Raises:
      ValueError: it is none.
    """
    try:
        return _decode(value)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no submission: {error}") from error


def joined(one: Submission, other: Submission) -> Submission:
    """Join two versions of a row."""
    first = max(one, other, key=_written_once)
    given = [row.verdict for row in (one, other) if row.verdict is not None]
    tries, tried_why = max((one.tries, one.tried_why), (other.tries, other.tried_why))
    end, end_why = max((one.end, one.end_why), (other.end, other.end_why))
    admitted = one.admitted
    if admitted != other.admitted:
        admitted = tuple(sorted({*one.admitted, *other.admitted})[:SITE_PAGES_MAX])
    return Submission(
        first.url,
        first.made_s,
        first.is_moderated,
        first.needs_proof,
        max(one.pages_max, other.pages_max),
        max(given, key=lambda verdict: verdict.rank, default=None),
        one.is_begun or other.is_begun,
        one.is_proven or other.is_proven,
        one.is_known or other.is_known,
        tries,
        tried_why,
        max(one.visited, other.visited),
        end,
        end_why,
        admitted,
        first.gateway,
    )


def is_row(slot: int, code: bytes, row: Submission, slot_of: Callable[[str], int]) -> bool:
    """Is this a row in its place, as an honest peer writes it? All that others bring or tell is asked that.

    Args:
      slot_of: tells the slot of a host. It is asked for none unless the URL is canonical, so has one.
    """
    if slot != slot_of_code(code) or not is_canonical(row.url) or slot != slot_of(host_in(row)):
        return False
    return all(a < b for a, b in pairwise(row.admitted))


def is_of_its_time(row: Submission, now: float) -> bool:
    """Is it neither so old that it is forgotten, nor of a time to come, for which it would be kept longer?"""
    return row.made_s - AHEAD_S <= now <= row.made_s + KEPT_S


def host_in(row: Submission) -> str:
    return host_of(row.url)


def _written_once(row: Submission) -> tuple[str, int, bool, bool, str]:
    return row.url, row.made_s, row.is_moderated, row.needs_proof, row.gateway


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Submission).decode
