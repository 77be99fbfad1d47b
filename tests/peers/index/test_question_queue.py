"""Questions that wait for a thread."""

from __future__ import annotations

from mesh.actors.actor import Address
from peers.index.messages import AnswerQuestion
from peers.index.questions_port import WAITING_MAX, QuestionQueue, WaitingQuestion
from peers.index.wire_messages import CountTerms


def question(gateway: str, number: int) -> WaitingQuestion:
    order = AnswerQuestion(Address(gateway, "searcher"), CountTerms(number, ()), b"L", 0, b"epoch")
    return WaitingQuestion(order, 1.0, None)


def taken(queue: QuestionQueue) -> list[tuple[str, int]]:
    found = []
    while (next_one := queue.take()) is not None:
        found.append((next_one.order.gateway.peer, next_one.order.question.request))
    return found


def test_gateways_take_turns() -> None:
    queue = QuestionQueue()
    for number in (1, 2, 3):
        queue.add(question("greedy", number))
    queue.add(question("modest", 4))
    assert len(queue) == 4
    assert taken(queue) == [("greedy", 1), ("modest", 4), ("greedy", 2), ("greedy", 3)]


def test_a_gateway_that_asks_too_much_loses_its_own_oldest_question() -> None:
    queue = QuestionQueue()
    queue.add(question("modest", 0))
    assert not any(queue.add(question("greedy", number)) for number in range(WAITING_MAX))
    assert queue.add(question("greedy", 99)) == question("greedy", 0)
    assert ("modest", 0) in taken(queue)
