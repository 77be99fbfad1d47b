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

import msgspec
import tomlkit

from mesh.errors import ConfigError
from peers.policy.rules import Policy


def read_policy(text: str, name: str) -> Policy:
    """Read a policy.

    Args:
      name: of the file, for errors.

    Raises:
      ConfigError: it is none.
    """
    try:
        return msgspec.convert(tomllib.loads(text), Policy)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{name}: {error}; see tianmesh policy --help for what a rule can say") from error


def write_policy(policy: Policy) -> str:
    return tomlkit.dumps(msgspec.to_builtins(policy))


def difference(old: str, new: str) -> str:
    """Return what differs between two policies as they are written, "" when nothing does."""
    lines = unified_diff(old.splitlines(), new.splitlines(), "in force", "new", lineterm="", n=2)
    return "\n".join(lines)
