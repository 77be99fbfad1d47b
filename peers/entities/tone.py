"""The tone of sentences about an entity: good, bad or neither, with the share of the sentences that say so.

A sentence is as good or bad as its words add up to. By the model that comes with the program a word counts
with its weight, once, negations among them: `tone_words.txt` are 2,000 weights of a linear model that we have
fitted to reviews marked good or bad (`tests.benchmarks.tone_fit`). On reviews of a kind that was left out it
is right more often than a lexicon with rules, fitted likewise.

A lexicon of an owner's own has rules: behind a negation (不, 没有) a word counts with the opposite weight,
behind an adverb of degree (非常, 有点) more or less. These reach up to the third word behind them, and never
beyond a comma.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from mesh.errors import ConfigError, unreadable
from peers.entities.mentions import Mention
from peers.text.folding import fold
from peers.text.runs import HAN
from peers.text.segmentation import words_of

REACH: Final = 3  # words behind a negation or a degree that it is about
WORDS_MAX: Final = 100_000  # of a lexicon
WEIGHT_MAX: Final = 1_000.0
# A sentence whose words add up to less, in units of the weights, says neither.
NEUTRAL: Final = 1.0
# A page is good or bad where of its sentences that say one or the other so many more say it.
MAJORITY: Final = 0.2
_NEGATING: Final = """
不 没 没有 不是 不会 不能 不太 不够 不怎么 并不 并非 毫不 毫无 未 无 无法 从不 从未 别 不可 不用 不要
不曾 绝不 难以 缺乏 缺少 没什么 不算 谈不上 算不上 不敢 不想 不到 没能 没人 没法 不再
"""
_MORE: Final = """
很 非常 太 特别 十分 极 极其 最 超 超级 相当 真 真是 实在 更 更加 格外 尤其 极为 挺 好 真的
"""
_LESS: Final = "比较 还 还算 稍 稍微 略 有点 有些 一点 有点儿 稍稍 较"
_NEGATIONS: Final = frozenset(_NEGATING.split())
_DEGREES: Final = dict.fromkeys(_MORE.split(), 1.5) | dict.fromkeys(_LESS.split(), 0.7)
_RUN: Final = re.compile(f"[{HAN}]+|[^{HAN}]+")
_PAUSE: Final = re.compile(r"[。！？!?；;，,\n]")


class ToneModel(NamedTuple):
    """Weights of folded words."""

    weights: Mapping[str, float]
    is_lexicon: bool  # negations and degrees are not among the words


class Tone(NamedTuple):
    """The tone of a page about an entity."""

    sign: int  # 1 good, -1 bad, 0 neither
    share: float  # of the sentences with a name, that say so
    sentences: int  # with a name


def tone_of(mentions: Sequence[Mention], model: ToneModel) -> Tone:
    """Return the tone of the sentences with a name."""
    if not mentions:
        return Tone(0, 0.0, 0)
    signs = [sign_of(mention.text, model) for mention in mentions]
    good, bad = signs.count(1), signs.count(-1)
    sign = 0 if abs(good - bad) <= MAJORITY * (good + bad) else 1 if good > bad else -1
    return Tone(sign, signs.count(sign) / len(signs), len(signs))


def sign_of(sentence: str, model: ToneModel) -> int:
    """Return 1, -1 or 0 for a folded sentence."""
    total = sum_of(sentence, model)
    return 0 if abs(total) < NEUTRAL else 1 if total > 0 else -1


def sum_of(sentence: str, model: ToneModel) -> float:
    """Return the sum of the weights of a folded sentence's words, above 0 for a good one."""
    if model.is_lexicon:
        return sum(model.weights.get(word, 0.0) * factor for word, factor in weighed(sentence))
    return sum(model.weights.get(word, 0.0) for word in set(words_in(sentence)))


def weighed(sentence: str) -> Iterator[tuple[str, float]]:
    """Yield the words of a folded sentence, each with the factor by which it counts."""
    factor, left = 1.0, 0
    for word in words_in(sentence):
        if not word:
            factor, left = 1.0, 0
        elif word in _NEGATIONS:
            factor, left = -(factor if left else 1.0), REACH
        elif word in _DEGREES:
            factor, left = (factor if left else 1.0) * _DEGREES[word], REACH
        else:
            yield word, factor if left else 1.0
            left = max(left - 1, 0)


def words_in(sentence: str) -> Iterator[str]:
    """Yield the words of a folded sentence; "" where it pauses."""
    for run in _RUN.findall(sentence):
        if "\u4e00" <= run[0] <= "\u9fd5":
            yield from words_of(run)
        elif _PAUSE.search(run):
            yield ""
        else:
            yield from run.split()


def read_lexicon(path: Path) -> ToneModel:
    """Read a lexicon: a word, a tab and its weight a line, or a word alone below a line of `+` or `-`.

    Raises:
      ConfigError: it is none.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(f"the lexicon {path}", error) from error
    return ToneModel(lexicon_in(lines, str(path)), is_lexicon=True)


def lexicon_in(lines: Iterable[str], name: str) -> Mapping[str, float]:
    """Read the lines of a lexicon, folded. Args: name: of the file, for errors. ConfigError."""
    found: dict[str, float] = {}
    sign = 0.0
    for number, line in enumerate(lines, 1):
        word, tab, weight = line.strip().partition("\t")
        if not word or word.startswith("#"):
            continue
        if word in ("+", "-") and not tab:
            sign = 1.0 if word == "+" else -1.0
            continue
        try:
            value = float(weight) if tab else sign
        except ValueError:
            value = 0.0
        if not 0.0 < abs(value) <= WEIGHT_MAX:
            raise ConfigError(
                f"{name}, line {number}: write WORD, tab and a weight such as 1 or -0.5, or words alone "
                "below a line of + or -"
            )
        if len(found) == WORDS_MAX:
            raise ConfigError(f"{name} has more than {WORDS_MAX:,} words")
        found[fold(word)] = value
    if not found:
        raise ConfigError(f"{name} has no words: write a word, a tab and its weight a line")
    return found


@lru_cache(maxsize=1)
def own_model() -> ToneModel:
    """Return the model that comes with the program."""
    path = Path(__file__).with_name("tone_words.txt")
    lines = path.read_text(encoding="utf-8").splitlines()
    return ToneModel(lexicon_in(lines, path.name), is_lexicon=False)
