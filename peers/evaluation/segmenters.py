"""Methods that cut Chinese into words, beside the segmenter of the product, on a text cut by hand. [io]

Maximum matching from the front (FMM), from the back (RMM), and of the two the one with fewer words (book,
section 4.3), each with the words of the text itself and with those of jieba; jieba, and its twin in use. The
first dictionary shows the method alone, the second what a text with other words costs.

The text has a sentence a line and spaces between the words, as SIGHAN's have it, or `word/tag` (People's
Daily). Only Han runs are cut, as in the product.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from mesh.errors import ConfigError
from peers.text.segmentation import JiebaSegmenter, words_of

WORD_CHARS_MAX: Final = 4  # the book's MaxLen, in characters; of the text's own words the longest
LINE_BYTES_MAX: Final = 1 << 20
OF_TEXT, OF_JIEBA = "of the text", "jieba's"
_HAN: Final = re.compile("[\u4e00-\u9fd5]+")
_TAG: Final = re.compile(r"/[a-zA-Z]{1,4}(?:\][a-zA-Z]{1,4})?$")

Cut = Callable[[str], list[str]]


class SegmenterScore(msgspec.Struct, frozen=True):
    """A method with a dictionary, measured in words that have both of their ends right."""

    method: str
    dictionary: str
    precision: float
    recall: float
    f1: float
    chars_per_s: float


def read_segmented(path: Path) -> list[list[str]]:
    """Read the Han runs of a text that is cut by hand, each as its words.

    Raises:
      ConfigError: the file cannot be read, is not UTF-8, or has no words of Han characters.
    """
    runs: list[list[str]] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES_MAX + 1), b""), 1):
                if len(line) > LINE_BYTES_MAX:
                    raise ConfigError(f"{path} line {number:,} has more than {LINE_BYTES_MAX:,} bytes")
                runs += _runs_in(_TAG.sub("", token).lstrip("[") for token in line.decode().split())
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; give another file") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} line {number:,} is not UTF-8") from error
    if not runs:
        raise ConfigError(f"{path} has no Chinese words; give a sentence a line, spaces between the words")
    return runs


def _runs_in(words: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words that follow each other and are Han characters only."""
    run: list[str] = []
    for word in words:
        if _HAN.fullmatch(word):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def forward_matching(run: str, words: frozenset[str], chars_max: int) -> list[str]:
    """Take the longest word from the front, again and again; a character that begins none is one."""
    found = []
    at = 0
    while at < len(run):
        end = min(len(run), at + chars_max)
        while end > at + 1 and run[at:end] not in words:
            end -= 1
        found.append(run[at:end])
        at = end
    return found


def reverse_matching(run: str, words: frozenset[str], chars_max: int) -> list[str]:
    """Take the longest word from the back, again and again."""
    found = []
    end = len(run)
    while end:
        at = max(0, end - chars_max)
        while at < end - 1 and run[at:end] not in words:
            at += 1
        found.append(run[at:end])
        end = at
    return found[::-1]


def fewer_words(run: str, words: frozenset[str], chars_max: int) -> list[str]:
    """Cut from both ends and take the result with fewer words, then that with fewer of one character.

    Where they are equal in both, that from the back.
    """
    results = reverse_matching(run, words, chars_max), forward_matching(run, words, chars_max)
    return min(results, key=lambda found: (len(found), sum(len(word) == 1 for word in found)))


def compare_segmenters(runs: Sequence[Sequence[str]], jieba_words: frozenset[str]) -> list[SegmenterScore]:
    """Cut the runs by each method with each dictionary, and measure.

    Args:
      jieba_words: the words of jieba's dictionary.
    """
    own = frozenset(word for run in runs for word in run)
    dictionaries = (OF_TEXT, own, max(map(len, own))), (OF_JIEBA, jieba_words, WORD_CHARS_MAX)
    methods = {"FMM": forward_matching, "RMM": reverse_matching, "fewer words": fewer_words}
    scores = []
    for name, words, chars_max in dictionaries:
        for method, cut in methods.items():
            scores.append(_score(method, name, runs, partial(cut, words=words, chars_max=chars_max)))
    for method, cut_run in (("jieba", JiebaSegmenter().cut), ("the product's", words_of)):
        cut_run("预热")  # reads its dictionary
        scores.append(_score(method, OF_JIEBA, runs, cut_run))
    return scores


def _score(method: str, dictionary: str, runs: Sequence[Sequence[str]], cut: Cut) -> SegmenterScore:
    texts = ["".join(run) for run in runs]
    begin = time.process_time()
    found = [cut(text) for text in texts]
    seconds = time.process_time() - begin
    right = sum(len(_ends(ours) & _ends(theirs)) for ours, theirs in zip(found, runs, strict=True))
    precision, recall = right / sum(map(len, found)), right / sum(map(len, runs))
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    speed = sum(map(len, texts)) / max(seconds, 1e-9)
    return SegmenterScore(method, dictionary, precision, recall, f1, speed)


def _ends(words: Sequence[str]) -> set[tuple[int, int]]:
    ends = set()
    at = 0
    for word in words:
        ends.add((at, at + len(word)))
        at += len(word)
    return ends


def jieba_words() -> frozenset[str]:
    """Read the words of jieba's dictionary."""
    import jieba

    with jieba.get_dict_file() as file:
        return frozenset(line.split(b" ", 1)[0].decode() for line in file)
