"""The topics that a mesh counts, as the decree of an administrator carries them.

A topic is a set of strings and the sites that are looked at for it. Slices of time are the same for all
topics of a mesh, so that one row of a visit counts for each of them. The *key* of a topic follows from all
that its counts depend on: where its strings change, counts of before are none of the new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.keys.decree import Decree, content_of, read_in_force

TOPICS_MAX: Final = 16
STRINGS_MAX: Final = 64  # the book's had 4
RELATED_MAX: Final = 256  # the book's had 21
STRING_CHARS_MAX: Final = 64
TITLE_CHARS_MAX: Final = 64
NAME_PATTERN: Final = r"^[a-z0-9][a-z0-9-]{0,31}\Z"
SITES_MAX: Final = 1_000  # the book's had 143
KEY_BYTES: Final = 4
DIGEST_BYTES: Final = 8
SLICE_S_MIN, SLICE_S_MAX = 60, 31 * 86_400
KEPT_MAX: Final = 3_660  # slices: ten years of days
FORMAT: Final = "tianmesh topics 1"

RELATED_LEVEL: Final = 1  # of a page with a related string only
TOPIC_LEVEL: Final = 2  # of a page with a string of the topic, which is related too

TopicName: TypeAlias = Annotated[str, Meta(pattern=NAME_PATTERN)]
TopicString: TypeAlias = Annotated[str, Meta(min_length=1, max_length=STRING_CHARS_MAX)]
Site: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9.:-]{1,253}\Z")]
TopicKey: TypeAlias = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Level: TypeAlias = Annotated[int, Meta(ge=RELATED_LEVEL, le=TOPIC_LEVEL)]


class CountedTopic(msgspec.Struct, frozen=True, array_like=True):
    """One topic."""

    name: TopicName  # in commands and addresses
    title: Annotated[str, Meta(min_length=1, max_length=TITLE_CHARS_MAX)]  # for people
    strings: Annotated[tuple[TopicString, ...], Meta(min_length=1, max_length=STRINGS_MAX)]
    related: Annotated[tuple[TopicString, ...], Meta(max_length=RELATED_MAX)] = ()
    sites: Annotated[tuple[Site, ...], Meta(max_length=SITES_MAX)] = ()  # hosts and domains; () for all
    kept: Annotated[int, Meta(ge=4, le=KEPT_MAX)] = 366  # slices
    # Pages that were fetched before are asked for as a whole once, since nobody has looked at their text.
    since_s: Annotated[float, Meta(ge=0, le=1e11)] = 0.0


class TopicList(msgspec.Struct, frozen=True, array_like=True):
    """All topics; their names are distinct."""

    format: Annotated[str, Meta(max_length=32)]
    topics: Annotated[tuple[CountedTopic, ...], Meta(max_length=TOPICS_MAX)]
    slice_s: Annotated[int, Meta(ge=SLICE_S_MIN, le=SLICE_S_MAX)] = 86_400
    starts_s: Annotated[int, Meta(ge=0, lt=SLICE_S_MAX)] = 0  # UTC: when a round and its slice begin
    issued_at: Annotated[float, Meta(ge=0)] = 0.0  # by the clock of whoever signed it

    def slice_at(self, at_s: float) -> int:
        """Return the number of the slice of a time: a round belongs to the slice in which it started."""
        return max(0, int((at_s - self.starts_s) // self.slice_s))

    def start_of(self, number: int) -> float:
        """Return when a slice begins, in seconds since the epoch."""
        return float(self.starts_s + number * self.slice_s)

    def key_of(self, topic: CountedTopic) -> bytes:
        """Return the key of a topic of this list."""
        counted = topic.name, sorted(topic.strings), sorted(topic.related), sorted(topic.sites)
        of_list = self.slice_s, self.starts_s
        return blake2b(msgspec.msgpack.encode((counted, of_list)), digest_size=KEY_BYTES).digest()


class TopicMarks(msgspec.Struct, frozen=True, array_like=True):
    """The topics that a page has strings of, by the process that read it."""

    digest: Annotated[bytes, Meta(max_length=DIGEST_BYTES)]  # of the list
    levels: Annotated[tuple[tuple[TopicKey, Level], ...], Meta(max_length=TOPICS_MAX)]


class TopicsInForce:
    """A list, and the decree that it is from.

    Attributes:
      number: of the decree; body: of it; digest: of both, by which a process knows whether it has the list.
      by_key: the topics.
    """

    def __init__(self, decree: Decree, topics: TopicList) -> None:
        self.number, self.body, self.list = decree.number, decree.body, topics
        self.by_key = {topics.key_of(topic): topic for topic in topics.topics}
        number = decree.number.to_bytes(8, "big")
        self.digest = blake2b(number + decree.body, digest_size=DIGEST_BYTES).digest()
        self.since_s = max(topic.since_s for topic in topics.topics)

    @cached_property
    def _sites(self) -> dict[bytes, frozenset[str]]:
        return {key: frozenset(topic.sites) for key, topic in self.by_key.items()}

    def keys_of(self, host: str) -> list[bytes]:
        """Return the keys of the topics that look at a host, in order."""
        names = {host, *(host[place + 1 :] for place, letter in enumerate(host) if letter == ".")}
        return sorted(key for key, sites in self._sites.items() if not sites or not sites.isdisjoint(names))

    def named(self, name: str) -> tuple[bytes, CountedTopic] | None:
        """Return the key and the topic of a name."""
        return next(((key, topic) for key, topic in self.by_key.items() if topic.name == name), None)

    def keeps(self, key: bytes, number: int, now_number: int) -> bool:
        """Tell whether counts of a slice are kept for a topic; none of slices to come are."""
        topic = self.by_key.get(key)
        return topic is not None and now_number - topic.kept < number <= now_number + 1


def list_body(topics: TopicList) -> bytes:
    """Return the body of the decree that has these counted."""
    return msgspec.msgpack.encode(topics)


def list_in(body: bytes) -> TopicList:
    """Read the body of a decree, which anybody may have written that signs for the mesh.

    Raises:
      ValueError: it is no list of this version.
    """
    topics = content_of(body, TopicList, FORMAT)
    if topics.starts_s >= topics.slice_s:
        raise ValueError("a slice that begins after its end")
    if len({topic.name for topic in topics.topics}) < len(topics.topics):
        raise ValueError("two topics have one name")
    return topics


def topics_of(decrees: Sequence[Decree], last: TopicsInForce | None) -> TopicsInForce | None:
    """Return the topics that are in force, None where nothing is counted.

    Args:
      decrees: of their kind, in force. last: what was in force before, which goes on where these cannot be
        read.
    """
    return read_in_force(decrees, last, _topics_in, "topics")


def _topics_in(decree: Decree) -> TopicsInForce | None:
    topics = list_in(decree.body)
    return TopicsInForce(decree, topics) if topics.topics else None
