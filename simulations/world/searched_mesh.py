"""A mesh that is only searched, and the cost of a search to the peer that asks: messages, bytes, calls.

Searchers and indexers are the product's, and so are questions, retries and hedging. Membership, crawl and
storage are left out: each document is in the index from the start, and the members know each other. The
index is one for all: each peer answers over the slots that are its own, or that it stands by for. So what an
answer costs an index is not told here; it takes a time that is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from cProfile import Profile
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np

from mesh.actors.actor import Address, Message, Statistics
from mesh.actors.node import Node, Outgoing
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.config import WEIGHT_DEFAULT
from mesh.slot_set import encode_slots
from mesh.slots import SlotTable, slot_of
from mesh.urls import host_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.gateway.aggregation.wire_messages import AskGroup
from peers.gateway.model.messages import PagesFound, SearchPages
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.search.shared_state import AGGREGATED_FROM
from peers.gateway.searcher import Searcher
from peers.handover.messages import SlotsComplete
from peers.index.index_reader import IndexReader
from peers.index.indexer import Indexer
from peers.index.wire_messages import CountTerms, ReadExcerpts, SearchSlots
from simulations.world.chance import random_of
from simulations.world.members import SLOT_COUNT_DEFAULT
from simulations.world.network import Network
from simulations.world.ports import Listener, VirtualQuestions
from simulations.world.words import rare_word_of
from simulations.world.world import PortAnswer, Twist, World, _Frame, _Peer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from random import Random

ANSWER_MS: Final = 5.0  # of an index, median and 99 of 100, as the model of searches has it
ANSWER_P99_MS: Final = 14.0
NETWORK_S: Final = (0.0002, 0.001)  # of a frame at least and on average: machines in one building
ANSWERED_S_MAX: Final = 6.0  # until the answer has come: longer than all stages may take
QUIET_S: Final = 2.0  # between two searches, so that late answers to one are not counted with the next
VOCABULARY: Final = 300
WORDS: Final = 30  # of a document, mean
QUERY_WORDS: Final = (1, 2, 3)


class Cost(NamedTuple):
    """Of one search, to the peer that asks."""

    messages: int  # sent and received; a multicast once for each receiver
    n_bytes: int  # of these
    rounds: int  # questions that were numbered anew
    work: float  # as the meter counts it
    seconds: float  # of virtual time


class WorkMeter(Protocol):
    """Measures the work of the asking peer itself: its index, and the work of the world, left out."""

    def running(self) -> AbstractContextManager[None]:
        """The peer works meanwhile; may be nested."""

    def take(self) -> float:
        """Return the count since the last time."""


class CallMeter:
    """Counts calls of Python functions: the same on every machine."""

    def __init__(self) -> None:
        self._profile = Profile(builtins=False)
        self._depth = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        self._depth += 1
        if self._depth == 1:
            self._profile.enable()
        try:
            yield
        finally:
            if self._depth == 1:
                self._profile.disable()
            self._depth -= 1

    def take(self) -> float:
        calls = sum(entry.callcount for entry in self._profile.getstats())
        self._profile = Profile(builtins=False)
        return float(calls)


class SlowPeers(NamedTuple):
    """Peers whose index takes longer than others."""

    share: float  # of all
    factor: float = 20.0  # times as long


NONE_SLOW: Final = SlowPeers(0.0)


class SearchedMesh:
    """Peers p0, p1, ... of which the first is asked; the same arguments make the same answers."""

    def __init__(
        self,
        documents: Sequence[Document],
        peers: int,
        *,
        seed: int,
        replicas: int = 2,
        slow: SlowPeers = NONE_SLOW,
        meter: WorkMeter | None = None,
        aggregated_from: int = AGGREGATED_FROM,
        loss: float = 0.0,
    ) -> None:
        """Set up the peers.

        Args:
          documents: in the index from the start.
          replicas: R, members that know a document.
          slow: never the first one.
          meter: of the work of the first peer; by default one of calls.
          aggregated_from: peers from which on it has others ask most of them.
          loss: probability that a frame never arrives.
        """
        names = tuple(f"p{number}" for number in range(peers))
        self.peers = names
        self.answers: list[PagesFound] = []
        self._random = random_of(seed, "searched mesh")
        table = SlotTable(dict.fromkeys(names, WEIGHT_DEFAULT), SLOT_COUNT_DEFAULT, replicas)
        network = Network(
            random_of(seed, "network"), delay_min_s=NETWORK_S[0], delay_mean_s=NETWORK_S[1], loss=loss
        )
        self._meter = meter or CallMeter()
        self._aggregated_from = aggregated_from
        self._world = _MeteredWorld(network, names[0], self._meter)
        index = Index.open(MemoryStorage())
        index.add([(slot_of(host_of(each.url), SLOT_COUNT_DEFAULT), each) for each in documents])
        index.commit()
        is_slow = set(self._random.sample(names[1:], round(slow.share * peers)))
        for name in names:
            ownership = Ownership(name, table, names)
            self._add(ownership, index, slow.factor if name in is_slow else 1.0)

    def kill(self, share: float) -> None:
        """Have a share of the peers, never the first one, die now; nobody has noticed it yet."""
        for name in self._random.sample(self.peers[1:], round(share * len(self.peers))):
            self._world.pause(name)

    def twist(self, peer: str, twist: Twist) -> None:
        """Have a peer say something else to others, or nothing, than its actors do."""
        self._world.twist(peer, twist)

    def observe(self, actor: str, peer: str | None = None) -> Statistics:
        """The figures of an actor, of the first peer by default."""
        return self._world.node(peer or self.peers[0]).observe()[actor]

    def search(self, text: str, k: int = 10) -> tuple[PagesFound, Cost]:
        """Have the first peer search, and wait until nothing of it is under way."""
        world, first = self._world, self.peers[0]
        self.answers.clear()
        world.forget()
        self._meter.take()
        began = world.now
        world.deliver(Address(first, "http"), Address(first, "searcher"), SearchPages(1, text, k))
        while not self.answers:
            assert world.now < began + ANSWERED_S_MAX, f"no answer to {text}"
            world.run(until=world.now + 0.001)
        seconds = self.answers[0].seconds
        world.run(until=world.now + QUIET_S)
        [answer] = self.answers
        return answer, Cost(world.messages, world.n_bytes, len(world.requests), self._meter.take(), seconds)

    def _add(self, ownership: Ownership, index: Index, factor: float) -> None:
        name = ownership.me
        reader = IndexReader(index)
        settings = GatewaySettings(cache_bytes_max=0)  # each search is to be carried out
        searcher = Searcher(name, settings=settings, aggregated_from=self._aggregated_from)
        actors = [Indexer(name, reader), searcher]
        kind = Node if name != self.peers[0] else _MeteredNode
        node = kind(name, actors)
        if isinstance(node, _MeteredNode):
            node.meter = self._meter
        questions = _SlowQuestions(reader, factor, self._random)
        self._world.add_peer(node, [questions, _Inbox(self.answers), Listener("meter"), Listener("segments")])
        complete = encode_slots(np.ones(SLOT_COUNT_DEFAULT, np.bool_))
        for source, actor, told in (
            ("membership", "searcher", OwnershipChanged(ownership)),
            ("membership", "indexer", OwnershipChanged(ownership)),
            ("handover", "indexer", SlotsComplete(complete)),
        ):
            self._world.deliver(Address(name, source), Address(name, actor), told)


def made_up_documents(count: int, seed: int) -> list[Document]:
    """Make documents, each on a host of its own, of words that are the rarer the later they are."""
    random = random_of(seed, "documents")
    words = [rare_word_of(str(number)) for number in range(VOCABULARY)]
    weights = [1.0 / (1 + number) for number in range(VOCABULARY)]
    return [
        Document(
            f"http://host{number}.test/",
            title=" ".join(random.choices(words, weights, k=3)),
            text=" ".join(random.choices(words, weights, k=1 + int(random.expovariate(1 / WORDS)))),
            fetched_at=1.0,
        )
        for number in range(count)
    ]


def made_up_queries(count: int, seed: int) -> list[str]:
    """Make queries of those words; each is another one."""
    random = random_of(seed, "queries")
    queries: dict[str, None] = {}
    while len(queries) < count:
        places = [int(VOCABULARY ** random.random()) - 1 for _ in range(random.choice(QUERY_WORDS))]
        queries[" ".join(rare_word_of(str(place)) for place in dict.fromkeys(places))] = None
    return list(queries)


class _SlowQuestions(VirtualQuestions):
    """The port of an index that takes its time."""

    def __init__(self, index: IndexReader, factor: float, random: Random) -> None:
        super().__init__(index, SLOT_COUNT_DEFAULT)
        self._factor = factor
        self._random = random
        self._sigma = log(ANSWER_P99_MS / ANSWER_MS) / 2.326  # the 99 % quantile of the normal

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        seconds = self._factor * self._random.lognormvariate(log(ANSWER_MS / 1e3), self._sigma)
        return [each._replace(delay_s=seconds) for each in super().receive(source, message, now)]


class _Inbox:
    """The port that is told of the pages found."""

    name = "http"

    def __init__(self, answers: list[PagesFound]) -> None:
        self._answers = answers

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        assert isinstance(message, PagesFound)
        self._answers.append(message)
        return ()


class _MeteredNode(Node):
    """The node of the peer that asks."""

    meter: WorkMeter

    def receive(self, source: Address, actor: str, message: Message, now: float) -> list[Outgoing]:
        with self.meter.running():
            return super().receive(source, actor, message, now)

    def wake(self, now: float) -> list[Outgoing]:
        with self.meter.running():
            return super().wake(now)

    def wake_at(self) -> float:
        with self.meter.running():
            return super().wake_at()


class _MeteredWorld(World):
    """A world that counts the messages of one peer, and measures its coding of them."""

    def __init__(self, network: Network, metered: str, meter: WorkMeter) -> None:
        super().__init__(network)
        self._metered = metered
        self._meter = meter
        self._is_for_metered = False
        self.forget()

    def forget(self) -> None:
        """Count anew."""
        self.messages = self.n_bytes = 0
        self.requests: set[int] = set()

    def _launch(self, frames: list[_Frame], *, is_multicast: bool) -> None:
        if self._metered in (frames[0].source.peer, frames[0].target.peer):
            self.messages += len(frames)
            self.n_bytes += sum(len(frame.content) for frame in frames)
        super()._launch(frames, is_multicast=is_multicast)

    def _take(self, peer: _Peer, frame: _Frame) -> bool:
        self._is_for_metered = frame.target.peer == self._metered
        return super()._take(peer, frame)

    def _unpack(self, frame: bytes) -> tuple[str, Message]:
        if not self._is_for_metered:
            return super()._unpack(frame)
        with self._meter.running():
            return super()._unpack(frame)

    def _pack(self, source: Address, target: Address, message: Message) -> bytes:
        if source.peer != self._metered:
            return super()._pack(source, target, message)
        if isinstance(message, AskGroup):
            self.requests.add(message.question.request)
        if isinstance(message, CountTerms | SearchSlots | ReadExcerpts):
            self.requests.add(message.request)
        with self._meter.running():
            return super()._pack(source, target, message)
