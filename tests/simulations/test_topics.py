"""Topics in a mesh that crawls a played web of news: counts are those of the web on any number of peers."""

from __future__ import annotations

from collections import defaultdict
from math import inf
from typing import Any, Final, NamedTuple

import pytest

from mesh.actors.actor import Message
from mesh.keys.decree import TOPICS, Decree
from mesh.stamp import Stamp
from mesh.urls import host_of
from peers.crawler.model.settings import CrawlSettings
from peers.engine.pages.document import Document
from peers.gateway.model.messages import AddSeeds, CountsSummed, CountTopic
from peers.policy.rules import EVERYTHING, policy_bytes
from peers.topics.topic_list import FORMAT, CountedTopic, TopicList, list_body, topics_of
from peers.topics.wire_messages import ContentCounts, SliceCounts
from simulations.faults.clock import VirtualClock
from simulations.faults.machine import Machine
from simulations.webs.topic_web import RELATED_STRING, TOPIC_STRING, TopicWeb
from simulations.webs.web import Served
from simulations.world.chance import random_of
from simulations.world.members import Members, VirtualDoor
from simulations.world.network import Network
from simulations.world.words import WordyParser
from simulations.world.world import World

SLOTS: Final = 32
ROUND_S: Final = 300
FIRST: Final = 4  # round in which it is begun
ROUNDS: Final = 34
LOST: Final = (FIRST + 9, FIRST + 10, FIRST + 17, FIRST + 26)
DELAY_S: Final = 1.0
ALL_SITES = CountedTopic("congress", "Congress", (TOPIC_STRING,), (RELATED_STRING,))
SOME_SITES = CountedTopic("some", "Some sites", (RELATED_STRING, "nowhere"), (), ("news3.test", "news5.test"))
BOTH = TopicList(FORMAT, (ALL_SITES, SOME_SITES), ROUND_S)
NUMBER: Final = 3
KEY, SOME_KEY = (BOTH.key_of(topic) for topic in BOTH.topics)


class TopicParser(WordyParser):
    """The twin of a parser that has heard of the topics; the text of a page is its body."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.topics = topics_of([Decree(TOPICS, "", NUMBER, 0.0, inf, list_body(BOTH), b"", b"")], None)

    def document(self, url: str, stamp: Stamp, body: bytes) -> Document | None:
        text = body.decode()
        return Document(url, title="News", text=text, fetched_at=stamp.fetched_at, visit=stamp.visit)


class Fetch(NamedTuple):
    """A line of the log of all web servers."""

    at_s: float
    url: str
    status: int
    text: str


class Mesh:
    """Machines with two copies of everything that visit a web of news each round."""

    def __init__(
        self,
        machines: int,
        seed: int = 1,
        topics: TopicList = BOTH,
        parser: type[WordyParser] = TopicParser,
        lost: tuple[int, ...] = LOST,
    ) -> None:
        self.network = Network(random_of(seed, "network"))
        self.world = World(self.network, start_s=FIRST * ROUND_S - 40.0)
        self.members = Members(seed, machines, replicas=2, slot_count=SLOTS)
        self.web = TopicWeb(seed, lambda: self.world.now, round_s=ROUND_S, lost=lost)
        self.log: list[Fetch] = []
        self.counted: dict[int, CountsSummed] = {}
        doors = dict[str, VirtualDoor]()
        self.machines = [
            Machine(
                number,
                self.world,
                self.members,
                self.web,
                CrawlSettings(delay_s=DELAY_S, revisit_after_s=ROUND_S, audit_rate=0.0),
                doors,
                clock=VirtualClock(0.0, 0.0),
                fetched=self._fetched,
                abandoned=lambda machine: None,
                told=self._told,
                parser=parser,
            )
            for number in range(machines)
        ]
        for machine in self.machines:
            machine.start()
        self.pass_time(20.0)
        self.machines[0].publish(self.members.policy(1, policy_bytes(EVERYTHING)))
        self.machines[0].publish(self.members.topics(NUMBER, list_body(topics)))
        self.pass_time(20.0)
        self.machines[0].order(AddSeeds(1, self.web.seeds))

    def pass_time(self, seconds: float) -> None:
        self.world.run(until=self.world.now + seconds)

    def run_to_round(self, number: int) -> None:
        self.world.run(until=float(number * ROUND_S))

    def count(self, key: bytes = KEY, machine: int = 0) -> CountsSummed:
        self.counted.clear()
        self.machines[machine].order(CountTopic(9, key, ROUND_S, 0, 60))
        self.pass_time(15.0)
        return self.counted[9]

    def truth(self, topic: CountedTopic, before: int) -> tuple[tuple[SliceCounts, ...], ContentCounts]:
        """Return the counts of a topic in rounds before one, by the log of the servers."""
        pages: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)
        for fetch in self.log:
            is_of_site = not topic.sites or host_of(fetch.url) in topic.sites
            if fetch.status in (200, 304) and is_of_site and fetch.at_s < before * ROUND_S:
                pages[int(fetch.at_s // ROUND_S)][fetch.url, fetch.text] = _level(topic, fetch.text)
        slices = tuple(
            SliceCounts(number, *_by_level(list(found.values())), *_by_level(_of_texts(found)))
            for number, found in sorted(pages.items())
        )
        return slices, ContentCounts(
            *_by_level(_of_texts({k: v for each in pages.values() for k, v in each.items()}))
        )

    def _fetched(self, machine: Machine, url: str, served: Served) -> None:
        text = self.web.story(url, self.web.round_now()) if url in self.web.all_pages else ""
        self.log.append(Fetch(self.world.now, url, served.status, text))

    def _told(self, machine: Machine, answer: Message) -> None:
        if isinstance(answer, CountsSummed):
            self.counted[answer.ticket] = answer


def _level(topic: CountedTopic, text: str) -> int:
    if any(string in text for string in topic.strings):
        return 2
    return int(any(string in text for string in topic.related))


def _by_level(levels: list[int]) -> list[int]:
    return [sum(level >= least for level in levels) for least in range(3)]


def _of_texts(found: dict[tuple[str, str], int]) -> list[int]:
    return list({text: level for (_, text), level in found.items()}.values())


@pytest.mark.parametrize("machines", [1, 3, 5])
def test_counts_are_those_of_the_web_and_lose_nothing_with_a_peer(machines: int) -> None:
    mesh = Mesh(machines)
    end = FIRST + ROUNDS
    mesh.run_to_round(end)
    mesh.pass_time(30.0)
    told = mesh.count()
    assert (told.slices, told.together) == mesh.truth(ALL_SITES, end)
    assert [each.slice for each in told.slices] == [n for n in range(FIRST, end) if n not in LOST]
