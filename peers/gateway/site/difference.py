"""The changes between two versions of a page, line by line of their texts. Pure."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Final

import msgspec

from peers.crawler.parsing.parser_port import StoredText

LINES_MAX: Final = 1_000  # of each: comparing takes a second at worst
LINE_CHARS_MAX: Final = 2_000
CONTEXT_LINES: Final = 2


class Difference(msgspec.Struct, frozen=True):
    """The lines that were taken out and put in, with some around them."""

    lines: tuple[tuple[str, str], ...]  # "-", "+", " ", or "…" where equal lines were left out; and the line
    is_cut: bool = False  # the texts are longer than what was compared
    is_barred: bool = False  # their site asks that nothing be shown of them


def difference(before: StoredText, after: StoredText) -> Difference:
    """Compare two versions."""
    if before.is_barred or after.is_barred:
        return Difference((), is_barred=True)
    old, new = _lines_of(before), _lines_of(after)
    is_cut = max(len(old), len(new)) > LINES_MAX
    old, new = old[:LINES_MAX], new[:LINES_MAX]
    lines: list[tuple[str, str]] = []
    end = 0
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT_LINES):
        if group[0][1] > end:
            lines.append(("…", ""))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [(" ", line) for line in old[i1:i2]]
            else:
                lines += [("-", line) for line in old[i1:i2]]
                lines += [("+", line) for line in new[j1:j2]]
        end = group[-1][2]
    return Difference(tuple(lines), is_cut)


def _lines_of(version: StoredText) -> list[str]:
    return [line[:LINE_CHARS_MAX] for line in (version.title, *version.text.splitlines())]
