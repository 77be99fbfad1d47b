"""The judge of searches is judged: what it calls a miss, and what not."""

from __future__ import annotations

from tests.live.searching import NO_ANSWER, Answer, Miss, misses

PAGE = "http://a.test/"


def _answer(
    asked_s: float, *, is_found: bool, took_s: float = 0.1, missing: int = 0, status: int = 200
) -> Answer:
    return Answer(asked_s, took_s, "http://gateway", PAGE, status, missing, is_found)


def test_page_that_was_never_found_is_not_missed() -> None:
    assert misses([_answer(1.0, is_found=False), _answer(2.0, is_found=False)]) == []


def test_miss_lasts_from_the_first_search_without_the_page_to_the_last() -> None:
    answers = [
        _answer(1.0, is_found=True),
        _answer(2.0, is_found=False, missing=7),
        _answer(3.0, is_found=False),
        _answer(4.0, is_found=True),
        _answer(5.0, is_found=False, missing=7),
    ]
    assert misses(answers) == [
        Miss(PAGE, 2.0, 3.1, (answers[2],), is_over=True),
        Miss(PAGE, 5.0, 5.1, (), is_over=False),
    ]


def test_search_that_was_asked_before_the_first_answer_had_come_proves_nothing() -> None:
    slow = _answer(1.0, is_found=True, took_s=2.0)
    assert misses([slow, _answer(2.0, is_found=False)]) == []


def test_answer_that_did_not_come_is_no_miss() -> None:
    refused = _answer(2.0, is_found=False, status=503, missing=NO_ANSWER)
    assert misses([_answer(1.0, is_found=True), refused, _answer(3.0, is_found=True)]) == []
