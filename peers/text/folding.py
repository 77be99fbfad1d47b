"""Make spellings equal: NFKC, lower case, accents and points dropped, traditional characters simplified.

Marks that are vowels stay, as those of India and of Thai; what readers leave out themselves goes: the accents
of Latin and Greek, the points of Arabic and Hebrew, nukta. Nor does it matter what nobody sees (soft hyphens,
joiners, directions, variation selectors), in which digits a number is, and whether a character or the radical
that looks like it was written.

`fold` works on the odd stretches of a text only, because full NFKC costs 150 ns a character and common
Chinese and ASCII text needs none. Traditional characters become simplified ones by a table, one character
one, whatever the context (`traditional.txt`, whose head says where it is from): what simplified text uses
itself is left alone, so 乾隆 stays what it is, and 乾燥 in traditional text does not become 干燥. Texts
are stored as they were written; `AlignedText` says where in them a folded character came from.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain, starmap
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

# The same brackets, arrows and accented letters come again and again: a cached one costs a twentieth.
ODD_STRETCHES_CACHED = 16_384

# Everything but ASCII, Han and punctuation that separates before folding as well as after it.
_ODD = re.compile("[^\x00-\x7f\u4e00-\u9fd5\u3000-\u3003\u3008-\u3011。，、！（）：；？“”‘’…—·～\u00a0]+")


# Code points that have no shape of their own (Unicode, Default_Ignorable_Code_Point), but for Hangul fillers,
# which stand for letters. The zero width space is among them: as <wbr> it shows where a line may end.
INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff]+"
)
# Blocks of marks that readers leave out: accents, titla, the points of Hebrew, Arabic and Syriac, tones of
# Hangul, sounds of kana that no letter has, halves. Nukta is kept in Bengali and Odia, where letters have it.
_LEFT_OUT: Final = (
    (0x300, 0x370),
    (0x483, 0x48A),
    (0x591, 0x5C8),
    (0x610, 0x74B),
    (0x8CA, 0x900),
    *((nukta, nukta + 1) for nukta in (0x93C, 0xA3C, 0xABC, 0xCBC)),
    (0x1AB0, 0x1B00),
    (0x1DC0, 0x1E00),
    (0x20D0, 0x2100),
    (0x302A, 0x3030),
    (0x3099, 0x309B),
    (0xFE20, 0xFE30),
)
# Letters and what they are read as, after NFKC: Latin ones that are no accented ones, final sigma, yo, forms
# of alef, yeh and kaf, candrabindu.
_SPELLINGS: Final = (
    *("ßss", "æae", "œoe", "øo", "łl", "đd", "ðd", "þth", "ħh", "ŧt", "ıi", "ŋn", "ςσ"),
    *("ёе", "ѐе", "ѝи", "أا", "إا", "آا", "ٱا", "ىي", "یي", "کك", "ـ", "ँं"),
)
# Nasals before the stops of their own place are written as a dot as well: हिन्दी, हिंदी.
NASAL: Final = re.compile("ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])")
# Where scripts have digits of their own; further ones NFKC knows.
_DIGIT_BLOCKS: Final = ((0x660, 0x1100), (0x1780, 0x1C60), (0xA620, 0xABFA), (0x10480, 0x12000))
# Radicals and the characters that they are; those that are not here NFKC knows. Source: Unicode 14,
# EquivalentUnifiedIdeograph.txt, all of the block CJK Radicals Supplement.
_RADICALS: Final = """
⺁厂 ⺂乛 ⺃乚 ⺄乙 ⺅亻 ⺆冂 ⺇𠘨 ⺈刀 ⺉刂 ⺊卜 ⺋㔾 ⺌小 ⺍小 ⺎兀 ⺏尣 ⺐尢 ⺑𡯂 ⺒巳 ⺓幺 ⺔彑
⺕彐 ⺖忄 ⺗心 ⺘扌 ⺙攵 ⺛旡 ⺜日 ⺝月 ⺞歺 ⺠民 ⺡氵 ⺢氺 ⺣灬 ⺤爫 ⺥爫 ⺦丬 ⺧牛 ⺨犭 ⺩王 ⺪𤴔
⺫目 ⺬示 ⺭礻 ⺮𥫗 ⺯糹 ⺰纟 ⺱罓 ⺲罒 ⺳㓁 ⺴冗 ⺵𦉫 ⺶羊 ⺷𦍌 ⺸𦍋 ⺹耂 ⺺肀 ⺻聿 ⺼肉 ⺽𦥑 ⺾艹
⺿艹 ⻀艹 ⻁虎 ⻂衤 ⻃覀 ⻄西 ⻅见 ⻆角 ⻇𧢲 ⻈讠 ⻉贝 ⻊𧾷 ⻋车 ⻌辶 ⻍辶 ⻎辶 ⻏邑 ⻐钅 ⻑長 ⻒镸
⻓长 ⻔门 ⻕𨸏 ⻖阝 ⻗雨 ⻘青 ⻙韦 ⻚页 ⻛风 ⻜飞 ⻝食 ⻞𩙿 ⻟飠 ⻠饣 ⻡𩠐 ⻢马 ⻣骨 ⻤鬼 ⻥鱼 ⻦鸟
⻧卤 ⻨麦 ⻩黄 ⻪黾 ⻫斉 ⻬齐 ⻭歯 ⻮齿 ⻯竜 ⻰龙 ⻱龜 ⻲亀
"""


def _letters_table() -> dict[int, str | None]:
    """Map letters to those that they are read as, radicals to characters, marks left out to nothing."""
    marks = chain.from_iterable(starmap(range, _LEFT_OUT))
    table: dict[int, str | None] = {
        code: None for code in marks if unicodedata.category(chr(code)).startswith("M")
    }
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base.isascii():
            table[code] = base.lower()
    for code in (*range(0x370, 0x400), *range(0x1F00, 0x2000)):
        base = unicodedata.normalize("NFD", chr(code))[0]
        if base.isalpha() and ord(base) != code:
            table[code] = base.lower()
    for code in chain.from_iterable(starmap(range, _DIGIT_BLOCKS)):
        if (digit := unicodedata.decimal(chr(code), None)) is not None:
            table[code] = str(digit)
    return table | {ord(pair[0]): pair[1:] for pair in (*_SPELLINGS, *_RADICALS.split())}


_LETTERS = _letters_table()


def _pairs_in(name: str) -> list[str]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return " ".join(line for line in lines if not line.startswith("#")).split()


def _simplified_codes() -> NDArray[np.uint32]:
    codes = np.arange(sys.maxunicode + 1, dtype=np.uint32)
    for traditional, simplified in _SIMPLIFIED_OF.items():
        codes[ord(traditional)] = ord(simplified)
    return codes


_SIMPLIFIED_OF = {pair[0]: pair[1] for pair in _pairs_in("traditional.txt")}
_TRADITIONAL = re.compile(f"[{''.join(_SIMPLIFIED_OF)}]")

# The code point that stands for every code point: the same rule as `simplify`, for bulk work.
SIMPLIFIED = _simplified_codes()


def fold(text: str) -> str:
    """Return `text` in the spelling that terms have."""
    return simplify(fold_letters(text))


def fold_letters(text: str) -> str:
    """Do all of `fold` but simplify Chinese characters."""
    if text.isascii():
        return text.lower()
    return _ODD.sub(lambda odd: _fold_odd(odd[0]), text).lower()


def simplify(text: str) -> str:
    """Replace traditional characters; the length stays as it is."""
    if _TRADITIONAL.search(text) is None:
        return text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return SIMPLIFIED[codes].tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=ODD_STRETCHES_CACHED)
def _fold_odd(stretch: str) -> str:
    composed = unicodedata.normalize("NFKC", INVISIBLE.sub("", stretch))
    # Again: lower case can leave a spelling that NFKC changes (U+0130, the Kelvin sign's like), and marks
    # that are left out may have kept apart what joins.
    lowered = unicodedata.normalize("NFKC", composed.lower())
    read = NASAL.sub("\u0902", lowered).translate(_LETTERS)
    return unicodedata.normalize("NFKC", read)


@cache
def _forms_of_characters() -> tuple[dict[int, int], dict[int, int]]:
    """Return the Chinese forms of Japanese characters and the other way, the first of each."""
    pairs = [(ord(pair[0]), ord(pair[1])) for pair in reversed(_pairs_in("japanese.txt"))]
    return dict(pairs), {chinese: japanese for japanese, chinese in pairs}


def other_forms(run: str) -> list[str]:
    """Return how a Han run is written in Chinese and in Japanese, where that is another way."""
    return [other for table in _forms_of_characters() if (other := run.translate(table)) != run]


class AlignedText:
    """A folded text that knows where its characters came from."""

    def __init__(self, text: str) -> None:
        self.folded = fold(text)
        self._starts: list[int] | None = None  # None: character i came from character i
        self._ends: list[int] = []
        pieces = [] if text.isascii() else [m for m in _ODD.finditer(text) if _is_uneven(m[0])]
        if pieces:
            self._align(text, pieces)

    @property
    def origins(self) -> tuple[list[int], list[int]] | None:
        """Start and end in the original of each folded character; None when each is the one at its place."""
        return None if self._starts is None else (self._starts, self._ends)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the (start, end) in the original of folded[start:end], which must not be empty."""
        if self._starts is None:
            return start, end
        return self._starts[start], self._ends[end - 1]

    def _align(self, text: str, pieces: Sequence[re.Match[str]]) -> None:
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        for piece in pieces:
            starts += range(done, piece.start())
            ends += range(done + 1, piece.start() + 1)
            for start, end, length in _clusters(piece[0]):
                starts += [piece.start() + start] * length
                ends += [piece.start() + end] * length
                if length == 0 and ends:
                    ends[-1] = piece.start() + end  # an accent belongs to the letter before it
            done = piece.end()
        starts += range(done, len(text))
        ends += range(done + 1, len(text) + 1)
        self._starts, self._ends = starts, ends


@lru_cache(maxsize=ODD_STRETCHES_CACHED)
def _is_uneven(stretch: str) -> bool:
    return any(len(_fold_odd(c)) != 1 for c in stretch) or len(_fold_odd(stretch)) != len(stretch)


def _clusters(stretch: str) -> list[tuple[int, int, int]]:
    """Cut a stretch into (start, end, folded length) so that the foldings add up to that of the whole."""
    lengths = [len(_fold_odd(c)) for c in stretch]
    if "".join(_fold_odd(c) for c in stretch) == _fold_odd(stretch):
        return [(i, i + 1, length) for i, length in enumerate(lengths)]
    return [(0, len(stretch), len(_fold_odd(stretch)))]  # characters joined: all of them are one place
