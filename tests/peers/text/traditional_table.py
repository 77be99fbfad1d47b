"""Make the table of traditional characters and their simplified ones, `peers/text/traditional.txt`.

Run as `python -m tests.peers.text.traditional_table`, with OpenCC installed, to write it to the standard
output. The table is kept as a file, not made at start, because it is part of what the analysis version
names: two peers with other versions of OpenCC would not find each other's pages.

Source of the data: OpenCC (https://github.com/BYVoid/OpenCC), Apache License 2.0, configuration t2s.
"""

from __future__ import annotations

import sys
import unicodedata

# In GB 2312, because names and old texts have them, but in simplified text they mean nothing else.
_MEANT = frozenset("後於麽")

_HEAD = """\
# Traditional characters, each followed by its simplified one.
# Made by tests/peers/text/traditional_table.py from OpenCC {version}, configuration t2s.
# OpenCC is Copyright 2010-2026 Carbo Kuo and contributors, Apache License 2.0.
"""
_PAIRS_A_LINE = 24


def traditional_table() -> dict[str, str]:
    """Return the simplified character of every traditional one that simplified text does not use itself.

    One character becomes one, both of the range that the segmenter knows. What GB 2312, the standard for
    simplified text, has is left alone: 乾 is 干 in traditional text, but 乾隆 is 乾隆 in both.
    """
    from opencc import OpenCC

    convert = OpenCC("t2s").convert
    simplified = {c: convert(c) for c in map(chr, range(0x4E00, 0x9FD6))}
    kept = {
        c: s
        for c, s in simplified.items()
        if c != s
        and "\u4e00" <= s <= "\u9fd5"
        and unicodedata.normalize("NFKC", c) == c
        and (c in _MEANT or not _is_in_gb2312(c))
    }
    return {c: kept.get(s, s) for c, s in kept.items()}


def table_text(table: dict[str, str], version: str) -> str:
    """Return the file of a table."""
    pairs = [c + s for c, s in sorted(table.items())]
    lines = [" ".join(pairs[i : i + _PAIRS_A_LINE]) for i in range(0, len(pairs), _PAIRS_A_LINE)]
    return _HEAD.format(version=version) + "\n".join(lines) + "\n"


def _is_in_gb2312(character: str) -> bool:
    try:
        character.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True


if __name__ == "__main__":
    import opencc

    sys.stdout.write(table_text(traditional_table(), opencc.__version__))
