"""Titles that describe their document or page: those that do not are replaced. Pure.

Programs write into a file what it was called when it was made (`Microsoft Word - Draft 3.doc`), what stands
on an empty form (`untitled`, `PowerPoint Presentation`), or nothing; and so do those that make web pages
(`New Page 1`, `Home`, 欢迎访问; the book, 7.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from peers.documents.content import Content

LINE_CHARS_MAX: Final = 200  # of a first line that may be a title
LETTERS_MIN: Final = 3  # an initial is no title
TITLE_LETTERS_MIN: Final = 2
SIZES_TRIED: Final = 3  # the largest ones may be of an initial, or of a logo
LARGE_SHARE: Final = 0.9  # of the size that is looked at: the rest of a title may be in small capitals

_EMPTY_WORDS: Final = re.compile(
    r"(?:(?:microsoft|ms) (?:word|excel|powerpoint) ?- ?.*"
    r"|(?:untitled|unbenannt|sans titre|sin título|senza titolo|title|titel|document|dokument|presentation|"
    r"präsentation|slide|folie|book|workbook|mappe|sheet|test|none|null|unknown|default|文档|无标题|演示文稿|工作簿|幻灯片)"
    r"[ _-]?\d*(?:\.\w{1,5})?"
    r"|(?:powerpoint|powerpoint-)[ -]?(?:presentation|präsentation|プレゼンテーション|演示文稿)"
    r"|(?:pdf|ps) ?document|no title|\(anonymous\)|about:blank|(?:file|https?):.*"
    r"|[^\s]*\.(?:docx?|dotx?|rtf|xlsx?|pptx?|od[tsp]|dvi|ps|eps|pdf|tex|indd|qxd|pmd?|fm|txt|html?|wpd|jnt|"
    r"cdr|ai|psd|tiff?|jpe?g))",
    re.IGNORECASE,
)

_EMPTY_PAGE_WORDS: Final = re.compile(
    r"(?:(?:untitled(?: document| page)?|new ?(?:web)? ?page|no title|home ?(?:page)?|index|default|main|"
    r"welcome(?: to)?|startseite|willkommen|accueil|bienvenue|inicio|bienvenido|início|bem-vindo|главная|"
    r"首页|主页|网站首页|欢迎|欢迎访问|欢迎光临|新建网页|无标题|无标题文档|无标题页|ホーム|トップページ|홈)"
    r"[ _-]?\d*(?:\.(?:html?|php|aspx?|jsp))?)?[\s.!！。…-]*",
    re.IGNORECASE,
)


def is_title(text: str) -> bool:
    """Tell whether a title that a document was given says anything to its readers."""
    text = text.strip()
    n_letters = sum(map(str.isalpha, text))
    is_readable = "\ufffd" not in text and n_letters >= TITLE_LETTERS_MIN and 2 * n_letters >= len(text) // 2
    return is_readable and _EMPTY_WORDS.fullmatch(text) is None


def title_of(content: Content) -> str:
    """Return the title of a document, or else its first heading, or else its first line if that is short."""
    headings, _, _ = content.headings.partition("\n")
    first_line, _, _ = content.text.partition("\n")
    candidates = (content.title, headings, first_line if len(first_line) <= LINE_CHARS_MAX else "")
    return next(filter(is_title, candidates), "")


def title_of_page(title: str, headings: str, text: str) -> str:
    """Return the title of a web page; where that says nothing its first heading, or else its first line."""
    if _EMPTY_PAGE_WORDS.fullmatch(title.strip()) is None:
        return title
    first_line, _, _ = text.partition("\n")
    candidates = (*headings.split("\n", 3)[:3], first_line if len(first_line) <= LINE_CHARS_MAX else "")
    says = (each for each in candidates if _EMPTY_PAGE_WORDS.fullmatch(each.strip()) is None)
    return next(says, title)


def largest(characters: Iterable[tuple[str, float]]) -> str:
    """Return the first line in the largest letters, by characters with their sizes; "" when there is none."""
    sized = list(characters)
    sizes = sorted({round(size, 1) for each, size in sized if each.isalpha()}, reverse=True)
    for size in sizes[:SIZES_TRIED]:
        line = _first_of_size(sized, LARGE_SHARE * size)
        if sum(map(str.isalpha, line)) >= LETTERS_MIN and len(line) <= LINE_CHARS_MAX:
            return line if is_title(line) else ""
    return ""


def _first_of_size(sized: list[tuple[str, float]], size_min: float) -> str:
    """The first run of some characters that are at least so large; space between them is of no size."""
    run: list[str] = []
    for character, size in sized:
        if character.isspace() or not character:
            run.append(character if run else "")
        elif size >= size_min:
            run.append(character)
        elif sum(map(str.isalpha, run)) >= LETTERS_MIN:
            break
        else:
            run = []
    return " ".join("".join(run).split())
