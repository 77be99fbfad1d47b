"""The port "questions": answers the questions of gateways, and holds nobody up with it. [io]

Theory of operation
===================
Most questions cost less than a thread would (some 100 us to get there and back), so each is first tried on
the event loop, with little effort, as long as the loop has not spent more than `LOOP_SHARE` of its time so.
What needs more, or comes when the loop has no time left for it, goes to a thread, where kernels leave the
interpreter to the loop; there it has all the effort that a question may cost, until it is too late for the
gateway. Then the best so far is the answer, and says that it is that. Questions that may cost little have a
thread of their own: they never wait for costly ones, which the system puts behind all else of the peer.

Measured (`tests/benchmarks/bench_hostile_searchers`, 2 cores, 50,000 pages): beside 8 searchers that ask for
any of the hundred commonest words again and again, 50 honest searches a second take 1.4 ms (p50) and 12.5
(p99), and a task of the event loop waits 15 ms (p99); without them 1.8 and 6.0, and 4.3.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from time import perf_counter
from typing import ClassVar, Final, NamedTuple

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver
from mesh.errors import LocalProtocolError
from mesh.membership.model.messages import DecreesInForce
from mesh.process.background import run_in_background
from mesh.process.cores import core_count
from peers.engine.searching.effort import Effort
from peers.index.answerer import Answerer, IndexAnswer, IndexView, effort_for
from peers.index.messages import AnswerQuestion, DamageMet
from peers.index.wire_messages import AskPast
from peers.text.characters import character_classes

AT_ONCE_VISITS_MAX: Final = 200_000  # some 3 ms
LOOP_SHARE: Final = 0.2  # of the time of the event loop
LOOP_BURST_S: Final = 0.02
# Half of what a gateway waits for hits: then an answer that is not whole still comes in time.
DEADLINE_S: Final = 0.5


class QuestionsPort:
    """Answers questions over one index.

    Attributes:
      n_at_once: answered on the event loop.
      n_in_threads: those for which that was not enough.
      n_cut: of these, answered with the best so far, or not at all, because they took too long.
    """

    name: ClassVar[str] = "questions"

    def __init__(
        self,
        me: str,
        index: IndexView,
        slot_count: int,
        *,
        at_once_visits_max: int = AT_ONCE_VISITS_MAX,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.n_at_once = self.n_in_threads = self.n_cut = 0
        self._address = Address(me, self.name)
        self._answerer = Answerer(index, slot_count)
        self._at_once_visits_max = at_once_visits_max
        self._deadline_s = deadline_s
        self._loop_time = _LoopTime()
        self._untried = QuestionQueue()  # for want of time of the loop: most cost little
        self._costly = QuestionQueue()  # those for which that was not enough
        self._has_more = trio.Event()
        self._deliver: Deliver | None = None
        # A core is left to the event loop.
        self._n_threads = max(1, core_count() - 1)

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case AnswerQuestion():
                so_far = self._try_at_once(message)
                if so_far is None or not so_far.is_whole:
                    self._let_wait(WaitingQuestion(message, trio.current_time() + self._deadline_s, so_far))
            case DecreesInForce(decrees=decrees):
                self._answerer.follow_classes(decrees)
                self._has_more.set()
                self._has_more = trio.Event()
            case _:
                raise LocalProtocolError(f"questions does not understand {type(message).__name__}")

    async def run(self, deliver: Deliver) -> None:
        """Answer until cancelled; the work of a thread ends at once."""
        self._deliver = deliver
        async with trio.open_nursery() as nursery:
            # Made once, in .2 s: not while the first excerpt is wanted of the event loop.
            nursery.start_soon(trio.to_thread.run_sync, character_classes)
            nursery.start_soon(self._answer_forever, (self._untried,))
            for _ in range(self._n_threads):
                nursery.start_soon(self._answer_forever, (self._untried, self._costly))

    def _try_at_once(self, order: AnswerQuestion) -> IndexAnswer | None:
        """Answer on the event loop if that is soon done; return the answer so far, None if not tried."""
        began_s = perf_counter()
        if self._deliver is None or not self._loop_time.is_left(began_s):
            return None
        if order.question.__class__ is AskPast:  # views of other days are made by looking at all documents
            return None
        answer = self._answerer.answer(order, Effort(self._at_once_visits_max))
        self._loop_time.spend(perf_counter() - began_s)
        if answer.is_whole:
            self.n_at_once += 1
            self._say(answer)
        return answer

    def _let_wait(self, question: WaitingQuestion) -> None:
        queue = self._untried if question.so_far is None else self._costly
        given_up = queue.add(question)
        if given_up is not None:
            self._cut(given_up)
        self._has_more.set()
        self._has_more = trio.Event()

    async def _answer_forever(self, queues: tuple[QuestionQueue, ...]) -> None:
        """Answer waiting questions, from the first queue that has any."""
        while True:
            if self._answerer.has_unclassed and self._costly in queues:
                await run_in_background(self._answerer.class_documents)
            question = next(filter(None, (queue.take() for queue in queues)), None)
            if question is None:
                await self._has_more.wait()
            elif trio.current_time() >= question.until_s:
                self._cut(question)
            elif question.so_far is None:
                await self._try_in_thread(question)
            else:
                await self._answer_in_thread(question)

    async def _try_in_thread(self, question: WaitingQuestion) -> None:
        """Answer with as little effort as on the loop; a question that needs more waits on."""
        effort = Effort(self._at_once_visits_max)
        answer = await trio.to_thread.run_sync(self._answerer.answer, question.order, effort)
        if answer.is_whole:
            self.n_in_threads += 1
            self._say(answer)
        else:
            self._let_wait(question._replace(so_far=answer))

    async def _answer_in_thread(self, question: WaitingQuestion) -> None:
        effort = effort_for(question.order)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stop_at, question.until_s, effort)
            answer = await run_in_background(partial(self._answerer.answer, question.order, effort))
            nursery.cancel_scope.cancel()
        self.n_in_threads += 1
        self.n_cut += not answer.is_whole
        self._say(answer)

    def _cut(self, question: WaitingQuestion) -> None:
        self.n_cut += 1
        if question.so_far is not None:
            self._say(question.so_far)

    def _say(self, answer: IndexAnswer) -> None:
        assert self._deliver is not None
        message = answer.message
        if answer.is_whole or isinstance(message, DamageMet) or message.answer is not None:
            self._deliver(self._address, "indexer", message)


class _LoopTime:
    """How long the event loop may yet be held: it grows with the time, and is used up by answers."""

    def __init__(self) -> None:
        self._left_s = LOOP_BURST_S
        self._at_s = perf_counter()

    def is_left(self, now_s: float) -> bool:
        self._left_s = min(self._left_s + LOOP_SHARE * (now_s - self._at_s), LOOP_BURST_S)
        self._at_s = now_s
        return self._left_s > 0.0

    def spend(self, seconds: float) -> None:
        self._left_s -= seconds


async def _stop_at(until_s: float, effort: Effort) -> None:
    """Stop the thread at a time, or as soon as this is cancelled."""
    try:
        await trio.sleep_until(until_s)
    finally:
        effort.stop()


# Of one gateway. It has fewer searches under way; at .1 s each the last of so many would be too late anyway.
WAITING_MAX: Final = 32


class WaitingQuestion(NamedTuple):
    """A question, and the answer to give if nothing better is found in time."""

    order: AnswerQuestion
    until_s: float
    so_far: IndexAnswer | None


class QuestionQueue:
    """Questions that wait for a thread: first in, first out for each gateway, and by turns among them.

    So no gateway waits for all that another has asked.
    """

    def __init__(self) -> None:
        self._of_gateways: dict[str, deque[WaitingQuestion]] = {}  # by peer, whose turn it is in front

    def add(self, question: WaitingQuestion) -> WaitingQuestion | None:
        """Let a question wait; return the one that has to go for it, the oldest of its gateway."""
        of_gateway = self._of_gateways.setdefault(question.order.gateway.peer, deque())
        of_gateway.append(question)
        return of_gateway.popleft() if len(of_gateway) > WAITING_MAX else None

    def take(self) -> WaitingQuestion | None:
        """Return the next one, and let its gateway wait for its next turn; None when there is none."""
        gateway = next(iter(self._of_gateways), None)
        if gateway is None:
            return None
        of_gateway = self._of_gateways.pop(gateway)
        question = of_gateway.popleft()
        if of_gateway:
            self._of_gateways[gateway] = of_gateway
        return question

    def __len__(self) -> int:
        return sum(map(len, self._of_gateways.values()))
