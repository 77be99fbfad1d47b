"""What _markup.c makes."""

from __future__ import annotations

SOURCES: str
FIRST_FEATURES: int  # of a block, for the first network, and
SECOND_FEATURES: int  # for the second
UNITS: int  # units of each

def read_markup(
    markup: bytes,
    entities: dict[str, str],
    text_chars_max: int,
    elements_max: int,
    links_max: int,
    anchor_chars_max: int,
    first: bytes,
    second: bytes,
    /,
) -> tuple[
    str | None,
    list[str],
    list[str],
    str,
    list[float],
    str,
    dict[tuple[str, str], None],
    list[tuple[str, dict[str, str], bool]],
    bool,
    tuple[int, int, int, int, int],
]:
    """Read UTF-8 without NULs.

    Args:
      entities: `html.entities.html5`.
      text_chars_max: no text is taken after so many characters.
      first, second: weights of the networks, see `main_text`; b"" for none.

    Returns:
      (title, headings in page order, for each the id that links lead to it by, or "", text with a line for
      each block, how much of each line is main text, text beside that: `hidden`, readings, titles of
      drawings; links as (href, text) in page order; elements html, base, meta and time with all attributes,
      link of a canonical address and, as `icon`, of an icon with its href, and whether these are outside of
      noscript; whether it was cut; errors of its syntax: unclosed elements, stray end tags, misnested
      elements, errors in tags, and in declarations)
    """

def measure_blocks(
    markup: bytes,
    entities: dict[str, str],
    text_chars_max: int,
    elements_max: int,
    links_max: int,
    anchor_chars_max: int,
    first: bytes,
    second: bytes,
    /,
) -> tuple[str, tuple[bytes, bytes]]:
    """Read as `read_markup`; return the text, and what the networks go by: a row of float64 for each line."""

def count_letters(text: str, /) -> tuple[int, int, int, int, int, int]:
    """Return how many letters of Han, kana, Hangul, Cyrillic, Thai and Latin a text has."""
