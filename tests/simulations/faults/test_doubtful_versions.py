"""What only the malicious member has read."""

from __future__ import annotations

from typing import cast

from xxhash import xxh3_64_digest

from simulations.faults.doubtful_versions import DoubtfulVersions
from simulations.faults.machine import Machine
from simulations.webs.web import Served

LIAR, HONEST = cast(Machine, object()), cast(Machine, object())
PAGE = "http://a.test/1"
DIGEST = xxh3_64_digest(b"one")


def served(body: bytes = b"one", status: int = 200) -> Served:
    return Served(status, 1.0, len(body), body=body)


def doubts() -> DoubtfulVersions:
    """Of a liar that lies for ten seconds."""
    doubted = DoubtfulVersions()
    doubted.liar, doubted.lies_until_s = LIAR, 10.0
    return doubted


def test_without_a_liar_everybody_is_held_to_everything() -> None:
    doubted = DoubtfulVersions()
    doubted.requested(HONEST, PAGE, served(), 1.0)
    assert doubted.is_read(PAGE)
    assert not doubted.is_doubtful(HONEST, PAGE, DIGEST)


def test_what_only_the_liar_has_read_is_doubtful_whoever_tells_of_it() -> None:
    doubted = doubts()
    doubted.requested(LIAR, PAGE, served(), 1.0)
    assert not doubted.is_read(PAGE)
    assert doubted.is_doubtful(LIAR, PAGE, DIGEST)
    assert doubted.is_doubtful(HONEST, PAGE, DIGEST)
    assert not doubted.is_doubtful(LIAR, PAGE, xxh3_64_digest(b"another"))


def test_another_one_who_reads_it_ends_the_doubt_but_not_by_a_page_that_is_as_it_was() -> None:
    doubted = doubts()
    doubted.requested(LIAR, PAGE, served(), 1.0)
    doubted.requested(HONEST, PAGE, served(status=304), 2.0)
    assert doubted.is_doubtful(HONEST, PAGE, DIGEST)
    doubted.requested(HONEST, PAGE, served(), 3.0)
    assert doubted.is_read(PAGE)
    assert not doubted.is_doubtful(HONEST, PAGE, DIGEST)


def test_another_version_says_nothing_of_this_one() -> None:
    doubted = doubts()
    doubted.requested(LIAR, PAGE, served(), 1.0)
    doubted.requested(HONEST, PAGE, served(b"another"), 2.0)
    assert doubted.is_doubtful(LIAR, PAGE, DIGEST)


def test_who_lies_no_more_is_held_to_what_it_reads() -> None:
    doubted = doubts()
    doubted.requested(LIAR, PAGE, served(), 10.0)
    assert doubted.is_read(PAGE)
    assert not doubted.is_doubtful(LIAR, PAGE, DIGEST)


def test_what_is_there_when_the_lies_are_over_counts_from_then_on() -> None:
    doubted = doubts()
    other = "http://a.test/2"
    for url in (PAGE, other):
        doubted.requested(LIAR, url, served(), 1.0)
        doubted.is_doubtful(LIAR, url, DIGEST)
    assert doubted.confirm(lambda url, digest: url == PAGE) == [(LIAR, PAGE, DIGEST)]
    assert not doubted.is_doubtful(HONEST, PAGE, DIGEST)
    assert doubted.is_doubtful(HONEST, other, DIGEST)
