"""Make `peers/text/pinyin.txt`, the readings of the characters of GB 2312.

Run as `python -m tests.peers.text.pinyin_table`, with pypinyin installed, to write it to the standard output.
It is kept as a file for the same reason as `traditional_table`: peers read characters alike.

Source of the data: pypinyin (https://github.com/mozillazg/python-pinyin), MIT License, which has it of
pinyin-data.
"""

from __future__ import annotations

import sys
import unicodedata
from collections import defaultdict

_HEAD = """\
# Syllables of Mandarin without tones, v for ü, each followed by the characters that are read so.
# Of GB 2312, at most three readings a character, the commonest first in the source.
# Made by tests/peers/text/pinyin_table.py from pypinyin {version}, pinyin_dict.
# pypinyin is Copyright 2016-2024 mozillazg and others, MIT License.
"""
_READINGS_MAX = 3
_VOWELS = frozenset("aeiouv")  # without one are sighs


def pinyin_table() -> dict[str, str]:
    """Return the characters that are read as each syllable."""
    from pypinyin import Style, pinyin

    characters = defaultdict(list)
    for character in map(chr, range(0x4E00, 0x9FD6)):
        try:
            character.encode("gb2312")
        except UnicodeEncodeError:
            continue
        [readings] = pinyin(character, style=Style.TONE, heteronym=True)
        syllables = [
            s
            for s in dict.fromkeys(map(_plain, readings))
            if s.isascii() and s.isalpha() and not _VOWELS.isdisjoint(s)
        ]
        for syllable in syllables[:_READINGS_MAX]:
            characters[syllable].append(character)
    return {syllable: "".join(characters[syllable]) for syllable in sorted(characters)}


def _plain(reading: str) -> str:
    """Return a syllable without its tone."""
    apart = unicodedata.normalize("NFD", reading.replace("ü", "v"))
    apart = apart.replace("u\u0308", "v")
    return "".join(c for c in apart if not unicodedata.combining(c))


if __name__ == "__main__":
    import pypinyin

    sys.stdout.write(_HEAD.format(version=pypinyin.__version__))
    for syllable, characters in pinyin_table().items():
        sys.stdout.write(f"{syllable} {characters}\n")
