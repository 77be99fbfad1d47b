"""What only the malicious member has read."""

from __future__ import annotations

from typing import cast

from xxhash import xxh3_64_digest

from simulations.hearsay import Hearsay
from simulations.machine import Machine
from simulations.web import Served

LIAR, HONEST = cast(Machine, object()), cast(Machine, object())
PAGE = "http://a.test/1"
DIGEST = xxh3_64_digest(b"one")


def served(body: bytes = b"one", status: int = 200) -> Served:
    return Served(status, 1.0, len(body), body=body)


def hearsay() -> Hearsay:
    """Of a liar that lies for ten seconds."""
    heard = Hearsay()
    heard.liar, heard.lies_until_s = LIAR, 10.0
    return heard


def test_without_a_liar_everybody_is_held_to_everything() -> None:
    heard = Hearsay()
    heard.requested(HONEST, PAGE, served(), 1.0)
    assert heard.is_read(PAGE)
    assert not heard.is_doubtful(HONEST, PAGE, DIGEST)


def test_what_only_the_liar_has_read_is_doubtful_whoever_tells_of_it() -> None:
    heard = hearsay()
    heard.requested(LIAR, PAGE, served(), 1.0)
    assert not heard.is_read(PAGE)
    assert heard.is_doubtful(LIAR, PAGE, DIGEST)
    assert heard.is_doubtful(HONEST, PAGE, DIGEST)
    assert not heard.is_doubtful(LIAR, PAGE, xxh3_64_digest(b"another"))


def test_another_one_who_reads_it_ends_the_doubt_but_not_by_a_page_that_is_as_it_was() -> None:
    heard = hearsay()
    heard.requested(LIAR, PAGE, served(), 1.0)
    heard.requested(HONEST, PAGE, served(status=304), 2.0)
    assert heard.is_doubtful(HONEST, PAGE, DIGEST)
    heard.requested(HONEST, PAGE, served(), 3.0)
    assert heard.is_read(PAGE)
    assert not heard.is_doubtful(HONEST, PAGE, DIGEST)


def test_another_version_says_nothing_of_this_one() -> None:
    heard = hearsay()
    heard.requested(LIAR, PAGE, served(), 1.0)
    heard.requested(HONEST, PAGE, served(b"another"), 2.0)
    assert heard.is_doubtful(LIAR, PAGE, DIGEST)


def test_who_lies_no_more_is_held_to_what_it_reads() -> None:
    heard = hearsay()
    heard.requested(LIAR, PAGE, served(), 10.0)
    assert heard.is_read(PAGE)
    assert not heard.is_doubtful(LIAR, PAGE, DIGEST)


def test_what_is_there_when_the_lies_are_over_counts_from_then_on() -> None:
    heard = hearsay()
    other = "http://a.test/2"
    for url in (PAGE, other):
        heard.requested(LIAR, url, served(), 1.0)
        heard.is_doubtful(LIAR, url, DIGEST)
    assert heard.confirm(lambda url, digest: url == PAGE) == [(LIAR, PAGE, DIGEST)]
    assert not heard.is_doubtful(HONEST, PAGE, DIGEST)
    assert heard.is_doubtful(HONEST, other, DIGEST)
