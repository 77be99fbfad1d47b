"""An entity as its owner registers it: the book's eight fields, excluded words, and the lessons of feedback.

Source: Li, Yan, Wang 2004, section 12.2. All of it is sealed before it leaves the machine of its owner.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from peers.text.folding import fold

TEXT_CHARS_MAX: Final = 64
TEXTS_MAX: Final = 32  # of one field
GRADED_MAX: Final = 100  # pages; the oldest grades go first
VALUES_MAX: Final = 32
DIGEST_BYTES: Final = 8
FORMAT: Final = 1

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=TEXT_CHARS_MAX)]
Texts: TypeAlias = Annotated[tuple[Text, ...], Meta(max_length=TEXTS_MAX)]
Value: TypeAlias = Annotated[float, Meta(ge=-100.0, le=100.0)]
Values: TypeAlias = Annotated[tuple[Value, ...], Meta(max_length=VALUES_MAX)]

# Fields of a profile whose texts are looked for in a page, in the order of the book; names are found first.
FIELDS: Final = ("domain", "employers", "occupations", "posts", "image", "features", "works")


class GradedPage(msgspec.Struct, frozen=True, array_like=True):
    """A page that the owner has graded, as far as learning needs it: not its address."""

    digest: Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]  # of its URL
    grade: Annotated[int, Meta(ge=0, le=2)]  # 0 low, 1 middle, 2 high
    values: Values  # of `score.FEATURES`


class Profile(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The content of an entity's row."""

    format: int = FORMAT
    label: Text  # by which the owner names it
    names: Texts  # and aliases
    domain: Texts = ()
    employers: Texts = ()
    occupations: Texts = ()
    posts: Texts = ()
    image: Texts = ()  # words by which people speak of it
    features: Texts = ()
    works: Texts = ()
    excluded: Texts = ()  # words of namesakes
    weights: Values = ()  # of `score.FEATURES`, as feedback has changed them; () for those of everybody
    graded: Annotated[tuple[GradedPage, ...], Meta(max_length=GRADED_MAX)] = ()
    feed: Annotated[bytes, Meta(max_length=32)] = b""  # the secret of its feed; b"" for none

    def __post_init__(self) -> None:
        if not any(fold(name).strip() for name in self.names):
            raise ValueError("an entity has a name, or several")


def profile_bytes(profile: Profile) -> bytes:
    return _encode(profile)


def profile_in(content: bytes) -> Profile:
    """Read the content of a row.

    Raises:
      ValueError: another version wrote it.
    """
    try:
        profile = _decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no entity of this version: {error}") from error
    if profile.format != FORMAT:
        raise ValueError(f"an entity in format {profile.format}: this version reads {FORMAT}")
    return profile


def digest_of(url: str) -> bytes:
    """Return the name of a page among those that were graded."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def with_grade(profile: Profile, page: GradedPage) -> Profile:
    """Return the profile with one more graded page, or another grade of one."""
    others = tuple(each for each in profile.graded if each.digest != page.digest)
    return msgspec.structs.replace(profile, graded=(*others, page)[-GRADED_MAX:])


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Profile).decode
