"""The answers of a malicious member to gateways, and the notes of them for the judges."""

from __future__ import annotations

from dataclasses import dataclass

from peers.gateway.search.doubts import AGAIN_AFTER_S
from peers.index.wire_messages import Excerpt, ExcerptsRead, Hit, HitsFound
from simulations.faults.false_answers import FalseAnswers

URLS = [f"http://a.test/{n}" for n in range(40)]
READ = ExcerptsRead(
    1, tuple(Excerpt(url, "title", "snippet", (), (), 0.0) for url in URLS[:20]), tuple(URLS[20:])
)


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def denier(clock: Clock) -> FalseAnswers:
    """One that denies some pages, and not all of them."""
    for seed in range(50):
        answers = FalseAnswers(seed, clock, lambda line: None)
        answers.until_s = 1_000.0
        if 0 < len(told(answers, "probe")) < len(URLS):
            return answers
    raise AssertionError("no seed has it deny some pages")


def test_hits_are_left_out_with_their_number_and_noted() -> None:
    answers = FalseAnswers(1, Clock(), lambda line: None)
    answers.until_s, answers.share_left_out = 1_000.0, 1.0
    found = HitsFound(1, b"epoch", 1, 7, (Hit(URLS[0], 2.0), Hit(URLS[1], 1.0)))
    assert answers.hits("asker", found) == HitsFound(1, b"epoch", 1, 5, ())
    assert answers.has_withheld("asker", URLS[1], 100.0)
    assert not answers.has_withheld("other", URLS[1], 100.0)
    assert answers.kept_twice("asker") == {}


def told(answers: FalseAnswers, asker: str) -> list[str]:
    read = answers.excerpts(asker, READ)
    return [each.url for each in read.excerpts] + list(read.unsettled)


def test_the_same_pages_are_denied_each_time_and_noted_by_whom_they_were_kept_from() -> None:
    clock = Clock()
    answers = denier(clock)
    known = told(answers, "asker")
    denied = [url for url in URLS if url not in known]
    assert told(answers, "other") == known
    assert all(answers.has_withheld("asker", url, 100.0) for url in denied)
    assert not any(answers.has_withheld("asker", url, 100.5) for url in denied)
    assert not any(answers.has_withheld("asker", url, 0.0) for url in known)
    assert answers.kept_twice("asker") == {}


def test_pages_are_kept_twice_when_they_are_denied_as_late_as_they_are_asked_for_again() -> None:
    clock = Clock()
    answers = denier(clock)
    answers.answerer_of = lambda url: "a"
    known = told(answers, "asker")
    answers.answerer_of = lambda url: "b"
    clock.now += AGAIN_AFTER_S
    told(answers, "asker")
    kept = {url: page.answerer for url, page in answers.kept_twice("asker").items()}
    assert kept == {url: "a" for url in URLS if url not in known}
    answers.forget("asker")
    told(answers, "asker")
    assert answers.kept_twice("asker") == {}


def test_a_hit_that_the_liar_gave_itself_is_denied_by_nobody_else() -> None:
    clock = Clock()
    answers = denier(clock)
    answers.answerer_of, answers.share_left_out = lambda url: "a", 0.0
    known = told(answers, "probe")
    own, *others = [url for url in URLS if url not in known]
    for _ in range(2):
        answers.hits("asker", HitsFound(1, b"epoch", 1, 1, (Hit(own, 1.0),)))
        told(answers, "asker")
        clock.now += AGAIN_AFTER_S
    kept = {url: page.answerer for url, page in answers.kept_twice("asker").items()}
    assert kept == {own: None} | dict.fromkeys(others, "a")


def test_a_page_that_was_made_up_is_confirmed_though_nobody_asks() -> None:
    answers = denier(Clock())
    answers.note_made_up("asker", "http://a.test/made-up")
    assert "http://a.test/made-up" in told(answers, "asker")
    assert "http://a.test/made-up" not in told(answers, "other")


def test_nothing_is_denied_when_the_lies_are_over() -> None:
    clock = Clock()
    answers = denier(clock)
    clock.now = answers.until_s
    assert told(answers, "asker") == URLS
