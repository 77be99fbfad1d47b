"""A policy as people write it, in TOML.

[[rules]]
action = "crawl"
domains = ["pku.edu.cn"]
delay_s = 5.0
reason = "our own campus"

[[rules]]
action = "skip"
"""

from __future__ import annotations

import tomllib
from difflib import unified_diff
from typing import Annotated

import msgspec
import tomlkit
from msgspec import Meta

from mesh.errors import ConfigError
from peers.policy.rules import RULES_MAX, Policy, Rule


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: Annotated[tuple[Rule, ...], Meta(max_length=RULES_MAX)] = ()


def read_policy(text: str, name: str) -> Policy:
    """Read a policy.

    Args:
      name: of the file, for errors.

    Raises:
      ConfigError: it is none.
    """
    try:
        return Policy(rules=msgspec.convert(tomllib.loads(text), _File).rules)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{name}: {error}; see tianmesh policy --help for what a rule can say") from error


def write_policy(policy: Policy) -> str:
    return tomlkit.dumps(msgspec.to_builtins(_File(rules=policy.rules)))


def difference(old: str, new: str) -> str:
    """Return what differs between two policies as they are written, "" when nothing does."""
    lines = unified_diff(old.splitlines(), new.splitlines(), "in force", "new", lineterm="", n=2)
    return "\n".join(lines)
