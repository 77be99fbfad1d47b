"""A policy as people write it, in TOML.

pages_max = 100000
allow_private = ["intranet.pku.edu.cn", "10.1.0.0/16"]
synonyms = [["北大", "北京大学"], ["postgres", "PostgreSQL"]]
user_words = ["爱心社 12 n", "单片机"]

[[rules]]
action = "crawl"
domains = ["pku.edu.cn"]
delay_s = 5.0
reason = "our own campus"

[[rules]]
action = "skip"

[ordering]
order = "focused"
guide_words = ["climate", "气候"]

[[pins]]
host = "intranet.pku.edu.cn"
peer = "o5aw2exxm2namvdz"

[[inside]]
domains = ["journals.lib.pku.edu.cn"]
networks = ["162.105.0.0/16"]

[query_log]
days = 30
clicks = true

[submissions]
pages_per_site = 100
moderation = false

[link_graph]
links_per_page = 1000

[entities]
days = 365

[search_history]
days = 365
"""

from __future__ import annotations

import tomllib
from datetime import date, datetime
from difflib import unified_diff
from typing import Annotated

import msgspec
import tomlkit
from msgspec import Meta

from mesh.errors import ConfigError
from peers.policy.crawl_order import CrawlOrder
from peers.policy.entity_rules import EntityRules
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.log_rules import QueryLogRules
from peers.policy.patterns import fault_of
from peers.policy.rules import (
    INSIDE_MAX,
    PINS_MAX,
    PRIVATE_MAX,
    RULES_MAX,
    SYNONYMS_MAX,
    UNDO_MAX,
    USER_WORDS_MAX,
    Inside,
    Moment,
    Pin,
    Policy,
    Private,
    Rule,
    SearchHistoryRules,
    SynonymGroup,
    Undo,
    UserWordLine,
)
from peers.policy.submission_rules import SubmissionRules
from peers.text.synonyms import HAN_WORD_CHARS_MAX, is_word
from peers.text.user_words import CHARS_MAX, word_in


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pages_max: Annotated[int, Meta(ge=1)] | None = None
    rules: Annotated[tuple[Rule, ...], Meta(max_length=RULES_MAX)] = ()
    pins: Annotated[tuple[Pin, ...], Meta(max_length=PINS_MAX)] = ()
    allow_private: Annotated[tuple[Private, ...], Meta(max_length=PRIVATE_MAX)] = ()
    ordering: CrawlOrder | None = None
    inside: Annotated[tuple[Inside, ...], Meta(max_length=INSIDE_MAX)] = ()
    undo: Annotated[tuple[Undo, ...], Meta(max_length=UNDO_MAX)] = ()
    synonyms: Annotated[tuple[SynonymGroup, ...], Meta(max_length=SYNONYMS_MAX)] = ()
    user_words: Annotated[tuple[UserWordLine, ...], Meta(max_length=USER_WORDS_MAX)] = ()
    ends_at: Moment | None = None
    next_at: Moment | None = None
    query_log: QueryLogRules | None = None
    submissions: SubmissionRules | None = None
    link_graph: LinkGraphRules | None = None
    entities: EntityRules | None = None
    search_history: SearchHistoryRules | None = None


def read_policy(text: str, name: str) -> Policy:
    """Read a policy.

    Args:
      name: of the file, for errors.

    Raises:
      ConfigError: it is none.
    """
    try:
        file = msgspec.convert(tomllib.loads(text), _File)
        policy = Policy(**{name: getattr(file, name) for name in _File.__struct_fields__})
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # the latter when it nests too deep
        raise ConfigError(f"{name} is not TOML: {error}") from error
    except (msgspec.ValidationError, ValueError) as error:
        raise ConfigError(
            f"{name}: {error}; see tianmesh policy --help for its rules, docs/operating.md for more"
        ) from error
    if not policy.rules:
        raise ConfigError(
            f"{name} has no rule, so nothing would be crawled: add it to what `tianmesh policy show` prints, "
            'or a rule for everything, `[[rules]]` with `action = "crawl"`'
        )
    for pattern in (pattern for rule in policy.rules for pattern in rule.urls):
        if fault := fault_of(pattern):
            raise ConfigError(f"{name}: {fault}")
    for word in (word for group in policy.synonyms for word in group):
        if not is_word(word):
            raise ConfigError(
                f"{name}: a synonym is one word of letters and digits, or of 2 to {HAN_WORD_CHARS_MAX} "
                f"Chinese characters, and “{word}” is none"
            )
    for line in policy.user_words:
        if word_in(line) is None:
            raise ConfigError(
                f"{name}: a user word has 2 to {CHARS_MAX} Chinese characters, and behind it, if you like, a "
                f"space and its frequency, a space and a tag in small letters; “{line}” is none"
            )
    return policy


def write_policy(policy: Policy) -> str:
    return tomlkit.dumps(
        msgspec.to_builtins(
            _File(**{name: getattr(policy, name) for name in _File.__struct_fields__}),
            builtin_types=(datetime, date),
        )
    )


def difference(old: str, new: str) -> str:
    """Return the lines that differ between two policies as they are written, "" when none do."""
    lines = unified_diff(old.splitlines(), new.splitlines(), "in force", "new", lineterm="", n=2)
    return "\n".join(lines)
