"""Whole crawls by two controllers: each URL once, politely, whatever crashes or gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.peers.crawler.small_crawl import PEERS, SmallCrawl


@pytest.mark.parametrize("seed", range(20))
def test_every_page_that_can_be_reached_is_fetched_once_and_politely(seed: int) -> None:
    crawl = SmallCrawl(seed)
    crawl.run()
    crawl.check()


@pytest.mark.parametrize("seed", range(10))
def test_no_link_is_lost_when_a_third_of_the_frames_is(seed: int) -> None:
    crawl = SmallCrawl(seed, loss=0.33)
    crawl.run()
    crawl.check()


def test_a_crash_between_any_two_steps_loses_no_link_and_repeats_what_was_in_progress() -> None:
    whole = SmallCrawl(3, n_hosts=3, n_pages=2)
    first = whole.steps + 1
    whole.run()
    for step in range(first, whole.steps):
        for victim in PEERS:
            crawl = SmallCrawl(3, n_hosts=3, n_pages=2)
            crawl.run(crash_at_step=step, victim=victim)
            crawl.check()


@given(
    seed=st.integers(0, 10_000),
    crashes=st.lists(st.tuples(st.integers(1, 60), st.sampled_from(PEERS)), max_size=6),
    loss=st.sampled_from([0.0, 0.2]),
)
@settings(max_examples=60, deadline=None)
def test_crashes_at_any_moments_lose_no_link(seed: int, crashes: list[tuple[int, str]], loss: float) -> None:
    crawl = SmallCrawl(seed, loss=loss)
    for steps, victim in crashes:
        crawl.run(crash_at_step=crawl.steps + steps, victim=victim)
    crawl.run()
    crawl.check()


@given(
    seed=st.integers(0, 10_000),
    events=st.lists(
        st.tuples(st.integers(1, 60), st.sampled_from([("a",), ("b",), PEERS, "crash a", "crash b"])),
        max_size=8,
    ),
)
@settings(max_examples=60, deadline=None)
def test_no_link_is_lost_when_slots_change_hands_and_peers_crash(
    seed: int, events: list[tuple[int, tuple[str, ...] | str]]
) -> None:
    crawl = SmallCrawl(seed, owners=("a",), loss=0.1)
    for steps, event in events:
        crawl.walk(steps)
        if isinstance(event, str):
            crawl.crash(event[-1])
        else:
            crawl.share(event)
    crawl.run()
    crawl.check_that_nothing_is_lost()


@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(10))
def test_with_two_replicas_the_team_has_the_same_in_the_end(seed: int, loss: float) -> None:
    """What a member missed because it was silent too long comes when the handovers compare."""
    crawl = SmallCrawl(seed, loss=loss, replicas=2)
    crawl.run()
    crawl.check()
    crawl.let_pass(60.0 if loss else 0.0)
    crawl.check_that_all_have_the_same()


def test_a_peer_that_dies_between_any_two_steps_takes_no_link_with_it() -> None:
    """There are few links, so that hardly a page is found twice: not one may be lost."""

    def sparse() -> SmallCrawl:
        return SmallCrawl(27, n_hosts=3, n_pages=3, n_links=2, replicas=2)

    whole = sparse()
    first = whole.steps + 1
    whole.run()
    for step in range(first, whole.steps):
        for victim in PEERS:
            crawl = sparse()
            crawl.run(kill_at_step=step, victim=victim)
            crawl.check_that_the_living_have_everything()


@given(
    seed=st.integers(0, 10_000),
    steps=st.integers(1, 300),
    victim=st.sampled_from(PEERS),
    loss=st.sampled_from([0.0, 0.3]),
)
@settings(max_examples=60, deadline=None)
def test_a_peer_that_dies_at_any_moment_takes_no_link_with_it(
    seed: int, steps: int, victim: str, loss: float
) -> None:
    crawl = SmallCrawl(seed, n_links=2, loss=loss, replicas=2)
    crawl.run(kill_at_step=crawl.steps + steps, victim=victim)
    crawl.check_that_the_living_have_everything()
