"""The configuration of a peer: few settings, and a sentence for those that are gone."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.config import parse_config
from mesh.errors import ConfigError
from peers.config import GONE, PeerConfig, setting_value

HEAD = f'[mesh]\nname = "m"\nroot_key = "{"0" * 64}"\nanalysis_version = 1\n[member]\ncertificate = ""\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[crawl]\nfetches_in_flight_max = 9\n",
            r"line 8: crawl\.fetches_in_fligh.* is no setting any more",
        ),
        (
            "[crawl]\nrobots_ttl_s = 9.0\n",
            r"crawl\.robots_ttl_s is no setting any more: leave it out",
        ),
        ("[gateway]\nadmin_token = 'x'\n", r"write it into the file admin\.token"),
        ("[gateway]\nclient_bytes_per_s = 1\n", "it follows from client_queries_per_s"),
        ("[handover]\nagain_s = 1.0\n", "line 7: handover is no setting any more: .*patience in .machine"),
        ("[balance]\nratio = 2.0\n", "balance is no setting any more"),
        ("[conduct]\n", "conduct is no setting any more"),
        ("[web]\nrender_sandbox = false\n", 'write renderer = "chromium --no-sandbox"'),
        ("[storage]\nindex_process = false\n", "it follows from memory_max_bytes"),
    ],
)
def test_a_setting_that_is_gone_is_refused_with_what_to_do(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        parse_config(HEAD + text, PeerConfig, "config.toml")


def test_no_setting_is_gone_that_is_there() -> None:
    for name in GONE:
        with pytest.raises(ConfigError, match="is no setting"):
            setting_value(name, "1")


def test_a_name_that_never_was_is_an_unknown_field() -> None:
    with pytest.raises(ConfigError, match="unknown field `colour`"):
        parse_config(HEAD + "[web]\ncolour = 1\n", PeerConfig, "config.toml")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("crawl.delay_s", "2", 2),
        ("crawl.contact", "me@example.org", "me@example.org"),
        ("crawl.contact", "1234567890", "1234567890"),  # text, though it looks like a number
        ("crawl.user_agent", '"mine"', "mine"),
        ("crawl.revisit", "optimal", "optimal"),
        ("crawl.ordering.order", "depth", "depth"),
        ("crawl.ordering.guide_words", '["ice"]', ["ice"]),
        ("gateway.takes_seeds", "true", True),
        ("mesh.replicas", "3", 3),
    ],
)
def test_a_value_is_toml_or_text(key: str, text: str, value: Any) -> None:
    assert setting_value(key, text) == value


@pytest.mark.parametrize(
    ("key", "text", "why"),
    [
        ("crawl.delay_s", "-1", "crawl.delay_s cannot be -1: Expected `float` >= 0"),
        ("crawl.delay_s", "soon", "crawl.delay_s cannot be soon"),
        ("crawl.delay_s.deep", "1", "crawl.delay_s.deep is no setting"),
        ("machine.memory_max_bytes", "1000", "Expected `int` >="),
        ("machine.patience", "99", "Expected `float` <= 16"),
        ("crawl.give_up_s", "1", "crawl.give_up_s is no setting any more: leave it out"),
        ("handover.again_s", "1", "handover.again_s is no setting any more: .*patience"),
        ("no_such", "1", "no_such is no setting$"),
        ("crawl.delays", "1", r"crawl\.delays is no setting: did you mean crawl\.delay_s.*\?$"),
        ("delay_s", "1", r"did you mean crawl\.delay_s"),
        ("crawl.ordering.oder", "1", r"did you mean crawl\.ordering\.order"),
    ],
)
def test_a_value_that_a_setting_does_not_take_is_refused_with_the_reason(
    key: str, text: str, why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        setting_value(key, text)
