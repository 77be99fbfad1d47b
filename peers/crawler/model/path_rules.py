"""Which paths of a site its rules allow: of all patterns that match a path, the longest decides.

Patterns without `*` are looked up by their lengths, so a path costs as many look-ups as they have lengths,
however many there are: the 31,853 lines of docs.oracle.com cost no more than a hundred. The few others are
tried one by one. A path is compared with a `$` at its end, which it has nowhere else: so the `$` at the end
of a pattern is a character like others.

Source: RFC 9309, 2.2.2 and 2.2.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

import msgspec

# Each costs a microsecond per URL, 9 where a long path nearly matches. Those beyond count as what stands
# before their first star: what they forbid stays forbidden.
WILDCARDS_MAX: Final = 2_000
STARS_MAX: Final = 8_000  # of all of them: each is another search in a path
COMPARISONS_AT_ONCE: Final = 4_000  # of URLs with patterns, before other messages have their turn

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPES: Final = {
    f"%{octet:02X}": chr(octet) if octet in _UNRESERVED else f"%{octet:02X}" for octet in range(256)
}
# Those that are spelt otherwise in URLs: in lower case, or of what is unreserved.
_ESCAPE: Final = re.compile("%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-F]|2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])")
_LONE_PERCENT: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_INNER_DOLLAR: Final = re.compile(r"\$(?=[^\n])")
# What canonical URLs escape in path or query only, and what means something in patterns.
_ESCAPED: Final = str.maketrans({character: f"%{ord(character):02X}" for character in " \"'<>\\^`{|}*$"})
_SPECIAL: Final = re.compile("[% \"'<>\\\\^`{|}$]")  # no other pattern has anything to be respelt
_ESCAPED_ALWAYS: Final = {character: f"%{ord(character):02X}" for character in " \"'<>\\^`{|}"}


Rule: TypeAlias = tuple[bool, str]  # of one line: is it allowed, and the pattern in ASCII as it stands there


class PathRules(msgspec.Struct, frozen=True, array_like=True):
    """The rules of one group, ready to be asked: a process may have made them, see `extraction`."""

    plain: dict[str, bool]  # by pattern without a star, whether it allows
    lengths: tuple[int, ...]  # of these patterns, the longest first
    wildcards: tuple[Wildcard, ...]  # those that decide before others first

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> PathRules:
        plain: dict[str, bool] = {}
        wildcards: dict[str, bool] = {}
        stars_left = STARS_MAX
        rules = list(rules)
        patterns = _normal_patterns([raw for _, raw in rules])
        for (is_allowed, _), pattern in zip(rules, patterns, strict=True):
            if "*" not in pattern:
                plain[pattern] = is_allowed or plain.get(pattern, False)
            elif pattern in wildcards:
                wildcards[pattern] = is_allowed or wildcards[pattern]
            elif len(wildcards) < WILDCARDS_MAX and pattern.count("*") <= stars_left:
                wildcards[pattern] = is_allowed
                stars_left -= pattern.count("*")
            elif not is_allowed:
                plain.setdefault(pattern.partition("*")[0], False)
            if is_allowed and pattern.endswith("/index.html"):  # as google/robotstxt: the folder as well
                plain[pattern.removesuffix("index.html") + "$"] = True
        lengths = sorted({len(pattern) for pattern in plain}, reverse=True)
        made = (Wildcard(len(text), allowed, *_pieces(text), text) for text, allowed in wildcards.items())
        return cls(plain, tuple(lengths), tuple(sorted(made, reverse=True)))

    @property
    def comparison_count(self) -> int:
        """Return with how many patterns a path is compared at most, those of one length counted once."""
        return len(self.lengths) + len(self.wildcards)

    def allow(self, path: str) -> bool:
        """Tell whether the path of a canonical URL, query included, is allowed; of equals, allowing wins."""
        path = path.translate(_ESCAPED) + "$"
        longest = self._longest_plain(path)
        for wildcard in self.wildcards:
            if wildcard[:2] <= longest:
                break
            if wildcard.matches(path):
                return wildcard.is_allowed
        return longest[1]

    def deciding(self, path: str) -> tuple[bool, str] | None:
        """Return whether the rule that decides about a path allows it, and its pattern; None for none."""
        path = path.translate(_ESCAPED) + "$"
        longest, is_allowed = self._longest_plain(path)
        for wildcard in self.wildcards:
            if wildcard[:2] <= (longest, is_allowed):
                break
            if wildcard.matches(path):
                return wildcard.is_allowed, wildcard.text
        return (is_allowed, path[:longest]) if longest else None

    def _longest_plain(self, path: str) -> tuple[int, bool]:
        for length in self.lengths:
            is_allowed = self.plain.get(path[:length])
            if is_allowed is not None:
                return length, is_allowed
        return 0, True


class Wildcard(NamedTuple):
    """A pattern with stars; the order is that in which they decide, least first."""

    length: int
    is_allowed: bool
    head: str  # before the first star
    pieces: tuple[str, ...]  # between and behind stars
    text: str

    def matches(self, path: str) -> bool:
        if not path.startswith(self.head):
            return False
        at = len(self.head)
        for piece in self.pieces:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        return True


def _pieces(pattern: str) -> tuple[str, tuple[str, ...]]:
    head, *pieces = pattern.split("*")
    return head, tuple(filter(None, pieces))


def spelt(pattern: str) -> str:
    """Return the spelling in which patterns are compared with paths."""
    return _normal_patterns([pattern])[0]


def _normal_patterns(patterns: list[str]) -> list[str]:
    """Bring patterns to the spelling in which paths are compared, their meaningful `*` and `$` left.

    All at once: one by one 40,000 take 40 ms longer.
    """
    lines = "\n".join(patterns)
    if _SPECIAL.search(lines) is None:
        return patterns
    if "%" in lines:
        lines = _LONE_PERCENT.sub("\r", lines)  # which no line has; it is told apart until escapes are done
        lines = _ESCAPE.sub(_normal_escape, lines).replace("\r", "%25")
    for character, escape in _ESCAPED_ALWAYS.items():
        lines = lines.replace(character, escape)
    return _INNER_DOLLAR.sub("%24", lines).split("\n")


def _normal_escape(match: re.Match[str]) -> str:
    return _ESCAPES[match[0].upper()]
