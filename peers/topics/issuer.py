"""The topics of a running mesh, read from a gateway, and replaced by an administrator. [io]"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Final

import msgspec

from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.errors import ConfigError
from mesh.keys.decree import DECREE_BYTES_MAX, TOPICS
from peers.policy.decree_issuer import DecreeIssuer, ruling_of
from peers.topics.topic_list import FORMAT, TOPICS_MAX, CountedTopic, TopicList, list_body, list_in

KNOWN_AFTER_S: Final = 60.0  # within it all peers have heard of a topic; pages of before are asked for again


class TopicIssuer:
    """Reads and replaces the topics of one mesh."""

    def __init__(self, client: GatewayClient, key: Path) -> None:
        """Args: key: as for `DecreeIssuer`."""
        self._issuer = DecreeIssuer(client, key, TOPICS, "topics")

    def in_force(self) -> TopicList:
        """The topics of now, which the next ones replace.

        Raises:
          GatewayError: another version wrote them.
        """
        ruling = ruling_of(self._issuer.read(), time.time())
        if ruling is None:
            return TopicList(FORMAT, ())
        try:
            return list_in(bytes.fromhex(ruling["body"]))
        except ValueError as error:
            raise GatewayError(
                f"topics {ruling['number']} are of another version of tianmesh: {error}"
            ) from error

    def issue(self, topics: TopicList) -> int:
        """Sign topics and have the mesh count them, or none any more; return the number of the decree.

        Raises:
          ConfigError: there are too many, or no usable key. GatewayError: as `DecreeIssuer.issue`.
        """
        now = time.time()
        body = list_body(msgspec.structs.replace(topics, issued_at=float(round(now))))
        if len(topics.topics) > TOPICS_MAX or len(body) > DECREE_BYTES_MAX:
            raise ConfigError(
                f"a mesh counts {TOPICS_MAX} topics in {DECREE_BYTES_MAX:,} bytes at most: end one"
            )
        return self._issuer.issue(body, valid_until=inf if topics.topics else now)


def with_topic(topics: TopicList, topic: CountedTopic, now: float) -> TopicList:
    """Return topics with one more, or with another one of its name.

    Pages are asked for anew as a whole where what is counted of it has changed.
    """
    before = next((each for each in topics.topics if each.name == topic.name), None)
    is_same = before is not None and topics.key_of(before) == topics.key_of(topic)
    since_s = before.since_s if is_same and before is not None else float(round(now + KNOWN_AFTER_S))
    others: Sequence[CountedTopic] = [each for each in topics.topics if each.name != topic.name]
    changed = msgspec.structs.replace(topic, since_s=since_s)
    return msgspec.structs.replace(topics, topics=(*others, changed))


def without_topic(topics: TopicList, name: str) -> TopicList:
    """Return topics without one. ConfigError when it is not among them."""
    left = tuple(each for each in topics.topics if each.name != name)
    if len(left) == len(topics.topics):
        raise ConfigError(f"{name} is not counted; `tianmesh topic list` shows the topics")
    return msgspec.structs.replace(topics, topics=left)
