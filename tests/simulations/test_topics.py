"""Topics in a mesh that crawls a played web of news: counts are those of the web on any number of peers."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import inf
from random import Random
from typing import Final, NamedTuple

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Message
from mesh.stamp import Stamp
from mesh.tables.table import TableSection
from mesh.urls import host_of
from peers.actors import TOPICS_SECTION
from peers.crawler.model.settings import CrawlSettings
from peers.engine.pages.document import Document
from peers.gateway.model.messages import AddSeeds, CountsSummed, CountTopic
from peers.policy.rules import EVERYTHING, policy_bytes
from peers.topics.series import mended, topic_series
from peers.topics.topic_list import FORMAT, CountedTopic, TopicList, list_body
from peers.topics.visit_row import NAME_BYTES, visit_in
from peers.topics.wire_messages import ContentCounts, SliceCounts
from simulations.faults.machine import Machine
from simulations.webs.topic_web import RELATED_STRING, TOPIC_STRING, TopicWeb
from simulations.webs.web import Served
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.network import Network
from simulations.world.words import TellingParser, WordyParser
from simulations.world.world import World
from tests.simulations.machines import PlayedMesh

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


class TopicParser(TellingParser):
    """The twin of a parser; the text of a page is its body."""

    def document(self, url: str, stamp: Stamp, body: bytes) -> Document | None:
        text = body.decode()
        return Document(url, title="News", text=text, fetched_at=stamp.fetched_at, visit=stamp.visit)


class Fetch(NamedTuple):
    """A line of the log of all web servers."""

    at_s: float
    url: str
    status: int
    text: str


class Mesh(PlayedMesh):
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
        settings = CrawlSettings(delay_s=DELAY_S, revisit_after_s=ROUND_S, audit_rate=0.0)
        self.begin(machines, self.web, settings, fetched=self._fetched, told=self._told, parser=parser)
        self.pass_time(20.0)
        self.machines[0].publish(self.members.policy(1, policy_bytes(EVERYTHING)))
        self.number = NUMBER
        self.decree(topics)
        self.pass_time(18.0)
        self.machines[0].order(AddSeeds(1, self.web.seeds))

    def run_to_round(self, number: int) -> None:
        self.world.run(until=float(number * ROUND_S))

    def decree(self, topics: TopicList) -> None:
        """Have other topics counted from now on."""
        self.number += 1
        self.machines[0].publish(self.members.topics(self.number, list_body(topics)))
        self.pass_time(2.0)

    def rows_of(self, machine: Machine) -> set[bytes]:
        """Return the rows of visits on a machine, by slot and name."""
        rows = TableSection(machine.disk.table, TOPICS_SECTION + b"v").scan(b"")
        return {key for key, _ in rows if len(key) == 2 + NAME_BYTES}

    def kept_in_rows(self) -> dict[int, int]:
        """Return the pages of each round that anybody keeps a row of the first topic of."""
        rows = set().union(*map(self.rows_of, self.machines))
        return dict(sorted(Counter(visit_in(key[2:]).slice for key in rows).items()))

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


@pytest.mark.parametrize(("machines", "rounds"), [(1, 12), (3, ROUNDS), (5, 12)])
def test_counts_are_those_of_the_web_on_any_number_of_peers_and_stay_when_one_is_lost(
    machines: int, rounds: int
) -> None:
    mesh = Mesh(machines)
    end = FIRST + rounds
    mesh.run_to_round(end)
    mesh.pass_time(20.0)
    told, some = mesh.count(), mesh.count(SOME_KEY)
    assert (told.slices, told.together) == mesh.truth(ALL_SITES, end)
    assert (some.slices, some.together) == mesh.truth(SOME_SITES, end)
    good = [number for number in range(FIRST, end) if number not in LOST]
    assert [each.slice for each in told.slices] == good
    assert {each.pages for each in told.slices} == {mesh.web.pages}, "one crawl a round, for both topics"
    assert _smallest_gap(mesh.log) >= DELAY_S
    if machines > 1:
        mesh.machines[-1].crash(is_power_loss=True)
        mesh.pass_time(60.0)
        assert mesh.count(), "of those that are left"
        after = mesh.count()
        assert (after.slices, after.together) == (told.slices, told.together)
    if rounds == ROUNDS:
        _judge_mending(mesh, told)


def _judge_mending(mesh: Mesh, told: CountsSummed) -> None:
    """Values put in for lost rounds are as near to the truth as those put in for rounds that are known."""
    series = topic_series(told.slices, told.together)
    assert series is not None
    assert series.lost == tuple(number in LOST for number in range(FIRST, FIRST + ROUNDS))
    values = series.topic.absolute.values
    assert [each.is_mended for each in values] == list(series.lost)
    good = {n: float(each.value or 0.0) for n, each in enumerate(values) if not series.lost[n]}
    errors = []
    for n, value in good.items():
        guess = mended({place: each for place, each in good.items() if place != n}, n)
        errors += [] if guess is None else [abs(guess - value)]
    noise = max(errors)
    for number in LOST:
        texts = [mesh.web.story(url, number) for url in mesh.web.all_pages]
        truth = sum(TOPIC_STRING in text for text in texts)
        put_in = values[number - FIRST].value
        assert put_in is not None
        assert abs(put_in - truth) <= noise


def _smallest_gap(log: list[Fetch]) -> float:
    """Return the shortest time between two requests to one host."""
    last: dict[str, float] = {}
    gap = inf
    for fetch in log:
        host = host_of(fetch.url)
        gap = min(gap, fetch.at_s - last.get(host, -inf))
        last[host] = fetch.at_s
    return gap


def test_a_topic_that_begins_later_has_pages_read_anew_though_they_have_not_changed() -> None:
    mesh = Mesh(3, topics=TopicList(FORMAT, (ALL_SITES,), ROUND_S), lost=())
    mesh.run_to_round(FIRST + 3)
    mesh.pass_time(20.0)
    later = replace(SOME_SITES, since_s=float((FIRST + 3) * ROUND_S))
    mesh.decree(replace(BOTH, topics=(ALL_SITES, later)))
    mesh.run_to_round(FIRST + 7)
    mesh.pass_time(20.0)
    told = mesh.count(SOME_KEY)
    slices, _ = mesh.truth(SOME_SITES, FIRST + 7)
    assert told.slices[1:] == slices[-len(told.slices) + 1 :]
    assert len(told.slices) >= 3
    old, _ = mesh.truth(ALL_SITES, FIRST + 7)
    assert mesh.count().slices == old, "those of the other topic go on"


def trouble(mesh: Mesh, random: Random, until_round: int) -> None:
    """Crashes with and without loss of power, a peer that stands still, a network that loses and repeats."""
    mesh.network.set_loss(0.1)
    mesh.network.set_repetition(0.2)
    while mesh.world.now < until_round * ROUND_S - 120.0:
        mesh.pass_time(random.choice([20.0, 80.0, 150.0]))
        victim = random.choice(mesh.machines)
        if random.random() < 0.3:
            victim.pause()
            mesh.pass_time(random.choice([1.0, 20.0]))
            victim.resume()
        else:
            victim.crash(is_power_loss=random.random() < 0.5)
            mesh.pass_time(random.choice([0.5, 5.0, 30.0]))
            victim.start()
    mesh.network.set_loss(0.0)
    mesh.network.set_repetition(0.0)


@pytest.mark.parametrize("seed", range(3))
def test_through_crashes_no_stored_visit_is_missed_and_none_is_made_up(seed: int) -> None:
    mesh = Mesh(3, seed, lost=())
    end = FIRST + 6
    trouble(mesh, Random(seed), end)
    mesh.run_to_round(end)
    mesh.pass_time(60.0)
    told = mesh.count()
    slices, together = mesh.truth(ALL_SITES, end)
    served = {each.slice: each for each in slices}
    for each in told.slices:
        most = served[each.slice]
        pairs = zip(_numbers(each), _numbers(most), strict=True)
        assert all(a <= b for a, b in pairs), "what was served bounds what is counted"
    assert told.together.contents <= together.contents
    quiet = mesh.kept_in_rows()
    assert quiet[end - 1] >= 0.9 * mesh.web.pages
    assert {each.slice: each.pages for each in told.slices} == {n: c for n, c in quiet.items() if n < end}
    copies = [mesh.rows_of(machine) for machine in mesh.machines]
    assert all(sum(key in rows for rows in copies) >= 2 for rows in copies for key in rows), "two have each"


def _numbers(counts: SliceCounts) -> list[int]:
    return [counts.pages, counts.related, counts.topic, counts.contents]


def test_without_topics_nothing_is_kept_and_their_actor_sleeps() -> None:
    mesh = Mesh(3, topics=TopicList(FORMAT, ()), parser=WordyParser, lost=())
    mesh.run_to_round(FIRST + 1)
    for machine in mesh.machines:
        assert not list(TableSection(machine.disk.table, TOPICS_SECTION).scan(b""))
        assert mesh.world.node(machine.peer).actor("topics").is_dormant
