"""Judging a pool in a terminal: one page at a time, a key for each grade. [io]

What is shown of pages was written by strangers: of it only characters that can be printed go to the terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.text import Text

from peers.judging.assessment import GRADES, Assessment
from peers.judging.pool import Pool, PooledPage

BACK, LATER, END = "b", "s", "q"
_KEYS: Final = "   ".join([*map("{} {}".format, range(len(GRADES)), GRADES), "b back", "s later", "q end"])
_MARK: Final = "bold yellow"  # of the words of the query in an excerpt


def judge_pool(pool: Pool, assessment: Assessment, console: Console, read_key: Callable[[], str]) -> None:
    """Show one page after the other without a grade, until all have one or the assessor ends.

    Args:
      read_key: waits for a key; KeyboardInterrupt and EOFError end as `q` does.

    Raises:
      ConfigError: a grade cannot be written.
    """
    texts = {each.query: each.text for each in pool.queries}
    at = assessment.next_open(0)
    while at < len(pool.pages):
        page = pool.pages[at]
        _show(page, texts[page.query], at, assessment, console)
        try:
            key = read_key()
        except (KeyboardInterrupt, EOFError):
            return
        if key in map(str, range(len(GRADES))):
            assessment.judge(page, int(key))
            at = assessment.next_open(at + 1)
        elif key == BACK:
            at = max(0, at - 1)
        elif key == LATER:
            at = assessment.next_open(at + 1)
        elif key in (END, ""):
            return


def _show(page: PooledPage, query: str, at: int, assessment: Assessment, console: Console) -> None:
    console.clear()
    grade = assessment.grade_of(page)
    told = "" if grade is None else f"   judged {grade}"
    n_pages = len(assessment.pages)
    console.print(f"[dim]page {at + 1:,} of {n_pages:,}, {assessment.judged_count:,} judged{told}[/dim]\n")
    console.print(Text(_printable(query), "bold cyan"), "\n")
    console.print(Text(_printable(page.title or page.document), "bold"))
    if page.title:
        console.print(Text(_printable(page.document), "green"), soft_wrap=True)
    excerpt = Text(_printable(page.excerpt))
    for start, end in page.highlights:
        excerpt.stylize(_MARK, start, end)
    console.print(excerpt, f"\n\n[dim]{_KEYS}[/dim]")


def _printable(text: str) -> str:
    """Return a text with a sign in place of each character that cannot be printed, of the same length."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
