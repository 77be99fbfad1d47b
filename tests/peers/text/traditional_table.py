"""Make the tables of characters: `peers/text/traditional.txt` has the simplified ones of traditional ones,
`peers/text/japanese.txt` what Japanese ones are in Chinese text.

Run as `python -m tests.peers.text.traditional_table [japanese]`, with OpenCC installed, to write one of them
to the standard output. The tables are kept as files, not made at start, because the former is part of what
the analysis version names: two peers with other versions of OpenCC would not find each other's pages.

Source of the data: OpenCC (https://github.com/BYVoid/OpenCC), Apache License 2.0, configurations t2s, jp2t
and t2jp.
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
_JAPANESE_HEAD = """\
# Characters as Japanese text has them, each followed by the simplified one of Chinese text; both folded.
# Made by tests/peers/text/traditional_table.py from OpenCC {version}, configurations jp2t and t2jp.
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


def japanese_pairs() -> list[str]:
    """Return Japanese characters, each with the simplified one, where text folded still tells them apart.

    Where a character has several, the one it mostly means comes first.
    """
    from opencc import OpenCC

    from peers.text.folding import fold

    characters = list(map(chr, range(0x4E00, 0x9FD6)))
    to_chinese, to_japanese = OpenCC("jp2t").convert, OpenCC("t2jp").convert
    pairs = [fold(c) + fold(to_chinese(c)) for c in characters]
    pairs += [fold(to_japanese(c)) + fold(c) for c in characters]
    return [pair for pair in dict.fromkeys(pairs) if len(pair) == 2 and pair[0] != pair[1]]


def table_text(pairs: list[str], head: str) -> str:
    """Return the file of a table."""
    lines = [" ".join(pairs[i : i + _PAIRS_A_LINE]) for i in range(0, len(pairs), _PAIRS_A_LINE)]
    return head + "\n".join(lines) + "\n"


def _is_in_gb2312(character: str) -> bool:
    try:
        character.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True


if __name__ == "__main__":
    import opencc

    if sys.argv[1:] == ["japanese"]:
        sys.stdout.write(table_text(japanese_pairs(), _JAPANESE_HEAD.format(version=opencc.__version__)))
    else:
        table = [c + s for c, s in sorted(traditional_table().items())]
        sys.stdout.write(table_text(table, _HEAD.format(version=opencc.__version__)))
