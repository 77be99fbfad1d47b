"""What _markup.c makes."""

from __future__ import annotations

SOURCES: str

def read_markup(
    markup: bytes,
    entities: dict[str, str],
    text_chars_max: int,
    elements_max: int,
    links_max: int,
    anchor_chars_max: int,
    /,
) -> tuple[
    str | None, list[str], str, dict[tuple[str, str], None], list[tuple[str, dict[str, str], bool]], bool
]:
    """Read UTF-8 without NULs.

    Args:
      entities: `html.entities.html5`.
      text_chars_max: no text is taken after so many characters.

    Returns:
      (title, headings in page order, text with a line for each block, links as (href, text) in page order,
      elements html, base, meta and time with all attributes and whether they are visible, whether it was cut)
    """
