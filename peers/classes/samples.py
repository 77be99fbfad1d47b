"""Samples of classes: texts that people have put into them, in a file or in folders. [io]

A file has one sample a line, in UTF-8: class, a tab and the text; or class, URL and text. A class below
another is written behind it, as in `science/physics`, up to three levels. In a folder each sample is a file
in UTF-8, and the folders that it is in, up to three, are its class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mesh.errors import ConfigError, unreadable, unwritable
from peers.engine.pages.class_model import LEVELS_MAX, is_class_name

SAMPLES_MAX: Final = 1_000_000
TEXT_CHARS_MAX: Final = 1 << 20  # of one sample; what is behind tells nothing more of its class
_SCHEMES: Final = ("http://", "https://")


class LabelledText(NamedTuple):
    """A text and its class."""

    path: tuple[str, ...]  # of names, from the top down
    text: str
    url: str = ""


def read_samples(place: Path) -> list[LabelledText]:
    """Read all samples of a file or folder.

    Raises:
      ConfigError: it cannot be read, is not as the description of this module says, or has none.
    """
    try:
        found = list(_in_folder(place) if place.is_dir() else _in_file(place))
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(place, error) from error
    if not found:
        raise ConfigError(f"{place} has no samples: write lines of a class, a tab and a text")
    if len(found) > SAMPLES_MAX:
        raise ConfigError(f"{place} has more than {SAMPLES_MAX:,} samples: leave some out")
    return found


def path_in(text: str) -> tuple[str, ...]:
    """Read a class as people write it.

    Raises:
      ConfigError: it is none.
    """
    path = tuple(text.strip().split("/"))
    if len(path) > LEVELS_MAX or not all(map(is_class_name, path)):
        raise ConfigError(
            f"{text!r} is no class: give up to {LEVELS_MAX} names with / between them, each of 40 characters "
            "at most, without spaces, quotation marks, parentheses, |, : and *"
        )
    return path


def sample_line(sample: LabelledText) -> str:
    """Return the line of a file."""
    return "\t".join(("/".join(sample.path), sample.url, " ".join(sample.text.split()))) + "\n"


def append_samples(file: Path, samples: Iterable[LabelledText]) -> None:
    """Write samples behind those of a file, which is made if there is none.

    Raises:
      ConfigError: it cannot be written.
    """
    try:
        with open(file, "a", encoding="utf-8") as lines:
            lines.writelines(map(sample_line, samples))
    except OSError as error:
        raise unwritable(file, error) from error


def divided(samples: Sequence[LabelledText], parts: int) -> tuple[list[LabelledText], list[LabelledText]]:
    """Return the samples but every so many-th of each class, and those."""
    n_of_class: dict[tuple[str, ...], int] = {}
    kept: list[LabelledText] = []
    held_out: list[LabelledText] = []
    for sample in samples:
        n = n_of_class[sample.path] = n_of_class.get(sample.path, 0) + 1
        (kept if n % parts else held_out).append(sample)
    return kept, held_out


def _in_file(file: Path) -> Iterator[LabelledText]:
    with open(file, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            name, *rest = line.rstrip("\n").split("\t", 2)
            if not rest:
                raise ConfigError(f"{file}, line {number}: there is no tab between class and text")
            url = rest.pop(0) if len(rest) == 2 and _is_url(rest[0]) else ""
            if len(rest) == 2 and not rest[0]:
                rest.pop(0)
            try:
                path = path_in(name)
            except ConfigError as error:
                raise ConfigError(f"{file}, line {number}: {error}") from error
            yield LabelledText(path, " ".join(rest)[:TEXT_CHARS_MAX], url)


def _is_url(text: str) -> bool:
    return text.startswith(_SCHEMES)


def _in_folder(folder: Path) -> Iterator[LabelledText]:
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).parts[:-1]
        if file.is_file() and path and not any(part.startswith(".") for part in file.parts):
            yield LabelledText(path_in("/".join(path)), file.read_text("utf-8", "replace")[:TEXT_CHARS_MAX])
