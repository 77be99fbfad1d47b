"""No regular expression of the product takes more than linear time, whatever a stranger has written."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

import pytest

from tests.hostile_patterns import Asked, in_place, patterns, seconds, texts
from tests.processor import processor_seconds

FEW_CHARS: Final = 128
MANY_CHARS: Final = 12_288
# Of quadratic time these take half a second and more, of linear time a millisecond.
SECONDS_MAX: Final = 0.1
PATTERNS: Final = tuple(patterns())


def worst_of(asked: Asked) -> tuple[float, str]:
    """The processor time of the dearest text, small ones first: of exponential time those are enough.

    What seems to be too dear is measured by the yardstick, since a machine may be slow for a while.
    """
    for n_chars in (FEW_CHARS, MANY_CHARS):
        worst = (0.0, "")
        for text in texts(asked, n_chars):
            took_s = seconds(asked, text)
            if took_s > SECONDS_MAX:
                took_s = processor_seconds(partial(seconds, asked, text))
            worst = max(worst, (took_s, text[:80]))
            if worst[0] > SECONDS_MAX:
                return worst
    return worst


@pytest.mark.parametrize("asked", PATTERNS, ids=[each.name for each in PATTERNS])
def test_a_pattern_takes_linear_time_on_what_is_worst_for_it(asked: Asked) -> None:
    took_s, text = worst_of(asked)
    assert took_s <= SECONDS_MAX, f"{took_s:.2f} s of {asked.methods} for what begins {text!r}"


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"<base\s[^>]{0,2000}?href\s*=\s*[\"']?\s*([^\s\"'>]{1,2083})", "search"),
        (r"^\s*(https?://\S+)\s*$", "finditer"),
        (r"\s*(?:<\?.{0,512}?\?>\s*|<!--.{0,1024}?-->\s*){0,8}<(?:rss|feed)[\s>]", "match"),
        (r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", "search"),
        (r"\s*:\s*", "sub"),
    ],
)
def test_patterns_that_were_dear_are_found_out(pattern: str, method: str) -> None:
    asked = Asked("before", re.compile(pattern, re.MULTILINE | re.DOTALL | re.IGNORECASE), (method,))
    assert worst_of(asked)[0] > SECONDS_MAX


def test_all_patterns_are_known() -> None:
    assert len(PATTERNS) > 90
    assert len({each.name for each in PATTERNS}) > 90


def test_patterns_that_are_written_in_place_see_no_text_of_strangers() -> None:
    """They are not found by what modules have: each is looked at by a person, and named here."""
    assert set(in_place()) == {
        "mesh.config",  # faults of configurations, 200 characters at most
        "peers.commands.topic",  # a name that an administrator has typed
        "peers.entities.mentions",  # words of an owner as they stand, on the owner's own machine
        "peers.gateway.http.connection",  # one class, at its first sign
        "peers.gateway.site.marked_snapshot",  # words of the person who asks, and the letters behind
        "peers.gateway.model.settings",  # a setting
        "peers.storage.archive.archive",  # names of own files, an own id
        "peers.text.characters",  # all of Unicode, once, at import
        "peers.text.runs",  # one character
    }
