"""Configurations as text: what is written reads as it was, and says what it means."""

from __future__ import annotations

import tomllib
from math import inf
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from bootstrap.rendezvous import BootstrapConfig
from bootstrap.toml_text import UNITS, quoted, toml_of, toml_value
from mesh.config import MemberConfig, MeshConfig, parse_config
from peers.config import PeerConfig

MESH = MeshConfig(name="天网 \x7f", root_key="ab" * 32, analysis_version=6)


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    """What is inside. No more of it."""

    size: Annotated[int, Meta(ge=1, le=64_000, description="how large")] = 3


class Outer(msgspec.Struct, frozen=True, kw_only=True):
    """All."""

    inner: Inner = Inner()
    part_s: Annotated[float, Meta(gt=0, description="time for a part")] = inf
    name: Annotated[str | None, Meta(description="if it has one")] = None
    names: Annotated[tuple[str, ...], Meta(description="word " * 30)] = ("a", 'b"')


@pytest.mark.parametrize("kind", [PeerConfig, BootstrapConfig])
def test_what_is_written_reads_as_the_defaults(kind: type[Any]) -> None:
    config = kind(mesh=MESH, member=MemberConfig())
    assert parse_config(toml_of(config), kind, "test") == config
    assert parse_config(toml_of(MESH), MeshConfig, "test") == MESH


def test_settings_come_with_what_they_mean_and_their_range() -> None:
    head, _, rest = toml_of(Outer()).partition("\n\n")
    assert head.splitlines() == ["# All.", f"# {UNITS}"]
    lines = rest.splitlines()
    assert lines[:4] == ["# time for a part (more than 0)", "part_s = inf", "# if it has one", "# name ="]
    assert lines[4:6] == ["# " + " ".join(["word"] * 20), "# " + " ".join(["word"] * 10)]
    assert lines[6:] == [
        'names = ["a", "b\\""]',
        "",
        "# What is inside. No more of it.",
        "[inner]",
        "# how large (1 to 64,000)",
        "size = 3",
    ]


@pytest.mark.parametrize("value", ["", 'a"b', "a\\b", "tab\t", "天网", "\x00\x1f", "\x7f", "line\nline"])
def test_any_text_survives_as_a_toml_string(value: str) -> None:
    assert tomllib.loads(f"x = {quoted(value)}") == {"x": value}


@given(
    st.recursive(
        st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.from_regex(r"\A[a-z_]{1,5}\Z"), inner),
    )
)
def test_any_value_survives(value: object) -> None:
    assert tomllib.loads(f"x = {toml_value(value)}") == {"x": value}
