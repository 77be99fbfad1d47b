"""Pages of several subjects, and directories of files: the text of a version follows from its body.

Of the versions of a page each may be of another subject, have other files, or the same with other dates.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from mesh.stamp import Stamp
from peers.engine.pages.class_model import NO_CLASS, ClassRow, TermWeights, model_bytes
from peers.engine.pages.directory_entries import Entry, lines_of
from peers.engine.pages.document import Document
from peers.engine.pages.kinds import LISTING
from simulations.world.words import COMMON_WORD, TellingParser, rare_word_of, version_word_of

DIRECTORIES_SHARE: Final = 8  # one page of as many is a directory
FILES: Final = 3  # of each, besides those that are named by its words
SIZES: Final = (1 << 10, 1 << 20, 1 << 30)
DAYS: Final = 40  # that the dates of files are apart, at most
FIRST_DATE_S: Final = 1_704_067_200  # 2024-01-01
DAY_S: Final = 86_400


class Subject(NamedTuple):
    """A class, the word that makes pages belong to it, and the class above it."""

    name: str
    word: str
    above: str = ""


# Words of no language, which no stemmer cuts.
SUBJECTS: Final = (
    Subject("science", "qzknwldg"),
    Subject("sports", "qzgmplng"),
    Subject("physics", "qzfrcfld", "science"),
    Subject("chemistry", "qzmlcl", "science"),
    Subject("tennis", "qzrckt", "sports"),
    Subject("rowing", "qzbtrvr", "sports"),
)
CLASS_NAMES: Final = tuple(subject.name for subject in SUBJECTS)


class VariedParser(TellingParser):
    """The parser's twin for runs with all stores."""

    def document(self, url: str, stamp: Stamp, body: bytes) -> Document | None:
        document = super().document(url, stamp, body)
        if document is None:
            return None
        if is_directory(url):
            files = entries_of(url, body)
            lines = lines_of(files)
            date = float(max(each.date for each in files))
            return replace(document, text=lines.names, heading_ids=lines.details, type=LISTING, date=date)
        words = " ".join(subject.word for subject in subjects_of(url, body))
        return replace(document, text=f"{document.text} of {words}") if words else document


def subjects_of(url: str, body: bytes) -> tuple[Subject, ...]:
    """Return the subjects of a version of a page, the one above first; none of some, and of directories."""
    draw = _draw(url, body, "subject", len(SUBJECTS) + 2)
    if draw >= len(SUBJECTS) or is_directory(url):
        return ()
    subject = SUBJECTS[draw]
    return (*(each for each in SUBJECTS if each.name == subject.above), subject)


def classes_of(url: str, body: bytes, *, is_revised: bool) -> tuple[str, ...]:
    """Return the classes of a version of a page, the one above first."""
    names = tuple(subject.name for subject in subjects_of(url, body))
    if not is_revised or len(names) < 2:
        return names
    beside = [each.name for each in SUBJECTS if each.above == names[0] and each.name != names[1]]
    return names[0], beside[0]


def classes_body(*, is_revised: bool) -> bytes:
    """Return the body of the decree on these classes; in the revised one those below another are swapped."""
    numbers = {name: number for number, name in enumerate(CLASS_NAMES)}
    rows = [
        ClassRow(each.name, numbers[each.above] if each.above else NO_CLASS, threshold=10.0)
        for each in SUBJECTS
    ]
    class_of = {
        each.word: numbers[_beside(each) if is_revised and each.above else each.name] for each in SUBJECTS
    }
    terms = sorted(class_of)
    n = len(terms)
    weights = TermWeights(
        tuple(terms),
        np.full(n, 16, np.int64),
        np.arange(n + 1, dtype=np.int64),
        np.array([class_of[term] for term in terms], np.int64),
        np.full(n, 100, np.int64),
    )
    return model_bytes(rows, weights)


def is_directory(url: str) -> bool:
    """Is a page a directory, in all of its versions?"""
    return _draw(url, b"", "directory", DIRECTORIES_SHARE) == 0


def entries_of(url: str, body: bytes) -> tuple[Entry, ...]:
    """Return the entries of a version of a directory; of its files each is in some of them another."""
    said = version_word_of(url, body) if body else rare_word_of(url)
    names = (f"{COMMON_WORD} the word {rare_word_of(url)}", f"and {said}")
    named = tuple(Entry(name, date=FIRST_DATE_S) for name in names)
    return named + tuple(_file(url, body, number) for number in range(FILES))


def _file(url: str, body: bytes, number: int) -> Entry:
    said = body if _draw(url, body, f"changes {number}", 2) else b""
    size = SIZES[_draw(url, said, f"size {number}", len(SIZES))]
    day = _draw(url, said, f"day {number}", DAYS)
    return Entry(f"file {number}", size, date=FIRST_DATE_S + day * DAY_S)


def _beside(subject: Subject) -> str:
    [name] = [each.name for each in SUBJECTS if each.above == subject.above and each.name != subject.name]
    return name


def _draw(url: str, body: bytes, what: str, below: int) -> int:
    return xxh3_64_intdigest(b"%s\0%s\0%s" % (url.encode(), body, what.encode())) % below
