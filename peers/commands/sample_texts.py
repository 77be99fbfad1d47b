"""The main texts of files that people have chosen as samples of a topic. [io]"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from mesh.errors import ConfigError, unreadable
from peers.crawler.parsing.page_reader import read_page
from peers.crawler.parsing.parser import NotHtml

TEXT_SUFFIXES: Final = frozenset({".txt", ".text", ".md"})
FILE_BYTES_MAX: Final = 8 << 20


def read_texts(files: Iterable[Path]) -> list[str]:
    """Read title and main text of pages; files of text as they are. Folders stand for all files in them.

    Raises:
      ConfigError: one cannot be read, or is no page.
    """
    return [_text_of(file) for place in files for file in _files_of(place)]


def _files_of(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from (file for file in sorted(place.rglob("*")) if file.is_file())
    else:
        yield place


def _text_of(file: Path) -> str:
    try:
        body = file.read_bytes()
    except OSError as error:
        raise unreadable(file, error) from error
    if len(body) > FILE_BYTES_MAX:
        raise ConfigError(f"{file} has more than {FILE_BYTES_MAX:,} bytes: leave it out")
    if file.suffix.lower() in TEXT_SUFFIXES:
        return body.decode("utf-8", "replace")
    try:
        page = read_page("https://sample.invalid/", body).page
    except NotHtml as error:
        raise ConfigError(f"{file} is no page: {error}") from error
    return f"{page.title}\n{page.text}"
