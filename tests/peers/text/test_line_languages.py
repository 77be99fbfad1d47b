"""Lines of a page tell the languages that they are in, where these are not all that of the page."""

from __future__ import annotations

import numpy as np
import pytest

from peers.text.folding import fold
from peers.text.function_words import FUNCTION_WORDS_OF
from peers.text.line_languages import (
    KANA_SHARE,
    LANGUAGES,
    NONE,
    SCRIPT_SHARE,
    SURE,
    TELLING_MIN,
    TELLING_SHARE,
    Runs,
    function_masks,
    line_languages,
    other_languages,
    own_language,
    script_masks,
)
from peers.text.runs import RunKind, kind_of, runs_of

LINES = (
    "the tables of a document are found in the list that is below it",
    "Die Tabellen eines Dokuments sind in der Liste zu finden, die darunter ist",
    "Les tableaux du document sont dans la liste qui est en dessous de lui",
    "Las tablas de un documento están en la lista que está debajo de él",
    "文档中的表格都在下面的列表里，可以用鼠标选择",
    "文書の表は下のリストにありますので、マウスで選んでください",
    "문서의 표는 아래 목록에서 찾을 수 있습니다",
    "Таблицы документа можно найти в списке, который находится под ним, и это не все",
    "git clone --depth 1 tables.git && make -j 2 install",
    "Tabellen",
)


def told(line: str, own: str) -> str:
    """Return what a folded line tells on a page whose language is `own`, counted in the plainest way."""
    known = {"nb": "no"}.get(own, own)
    runs = runs_of(line)
    hits: dict[str, int] = dict.fromkeys(LANGUAGES, 0)
    for run in runs:
        for language, words in FUNCTION_WORDS_OF.items():
            hits[language] += language != "zh" and len(run) > 1 and run in words
    han = sum(len(run) for run in runs if kind_of(run) == RunKind.HAN)
    kana = sum(len(run) for run in runs if "\u3040" <= run[0] < "\u3100" or "\u31f0" <= run[0] < "\u3200")
    hangul = sum(
        len(run)
        for run in runs
        if any(a <= run[0] <= b for a, b in ("\u1100\u11ff", "\u3130\u318f", "\ua960\ua97f", "가\ud7ff"))
    )
    if own == "ja" or (kana and KANA_SHARE * kana >= han + kana):
        hits["ja"] = (han + kana) // SCRIPT_SHARE
    else:
        hits["zh"] = han // SCRIPT_SHARE
    hits["ko"] = hangul // SCRIPT_SHARE
    best = max(hits, key=hits.__getitem__)
    if known in hits and 2 * hits[best] < 3 * hits[known]:
        best = known
    size = sum(1 if kind_of(run) == RunKind.WORD else len(run) for run in runs)
    is_sure = own_language(own) == SURE
    return best if hits[best] >= TELLING_MIN and TELLING_SHARE * hits[best] >= size and not is_sure else ""


def runs_in(lines: list[str]) -> Runs:
    runs = [(number, run) for number, line in enumerate(lines) for run in runs_of(fold(line))]
    kinds = np.array([kind_of(run) for _, run in runs], np.int64)
    firsts = np.array([ord(run[0]) for _, run in runs], np.uint32)
    sizes = np.array([1 if kind_of(run) == RunKind.WORD else len(run) for _, run in runs], np.int64)
    masks = function_masks([run for _, run in runs]) | script_masks(kinds, firsts)
    return Runs(np.array([number for number, _ in runs], np.int64), sizes, masks)


def languages_of(lines: list[str], own: str) -> list[str]:
    found = line_languages(runs_in(lines), np.full(len(lines), own_language(own)))
    return ["" if number == NONE else LANGUAGES[number] for number in found.told.tolist()]


def other_of(lines: list[str], own: str) -> str:
    found = line_languages(runs_in(lines), np.full(len(lines), own_language(own)))
    [number] = other_languages(found, np.zeros(len(lines), np.int64), np.array([own_language(own)])).tolist()
    return "" if number == NONE else LANGUAGES[number]


@pytest.mark.parametrize("own", ["", "en", "de", "zh", "ko"])
def test_lines_tell_their_language_whatever_the_page_says(own: str) -> None:
    expected = ["en", "de", "fr", "es", "zh", "ja", "ko", "ru", "", ""]
    assert languages_of(list(LINES), own) == expected
    assert [told(fold(line), own) for line in LINES] == expected


def test_a_page_in_a_language_without_function_words_here_is_taken_at_its_word() -> None:
    assert languages_of(list(LINES), "hu") == [""] * len(LINES)


def test_languages_of_one_family_are_told_by_the_page() -> None:
    line = "Vi har en tabell som ikke er med i den listen, og det er for at den var der"
    assert languages_of([line], "nb") == ["no"]
    assert languages_of([line], "da") == ["da"]


def test_a_half_is_a_part_and_a_quotation_is_none() -> None:
    english, german = LINES[:2]
    assert other_of([english] * 4 + [german] * 4, "en") == "de"
    assert other_of([english] * 4 + [german] * 4, "de") == "en"
    assert other_of([english] * 20 + [german] * 2, "en") == ""
    assert other_of([english] * 4, "en") == ""
    assert other_of([german], "en") == ""  # too short
    assert other_of([german] * 4, "") == "de"
