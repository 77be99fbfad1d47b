"""The sentence of a page that defines a term: the answer to a query such as `define:index`.

Known are the ways in which English and Chinese define: "An X is a ...", "X refers to ...", "X (...) means
...", "X: ...", "X是指……", "所谓X，就是……", "X，即……", "称为X"; and a line that is X alone, as a heading or
an entry of a glossary, before a line that tells of it. A definition begins its sentence; what only mentions X
does not count.

Measured on 5,007 pages of manuals in English and Chinese, for 28 terms of their glossaries that nothing was
fitted to: of 19 the first result says what the term is; without the pages that are glossaries, of 9. The
words below were fitted to 30 others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from peers.engine.queries.query_language import And, Condition, Operator, Remarks, read

TERM_CHARS_MAX: Final = 100
DEFINITION_CHARS_MAX: Final = 400
MENTIONS_MAX: Final = 256  # of what is to be defined, that are looked at on one page
NOTHING_SAID: Final = 0
NAMED: Final = 1  # in passing: what is called so
BESIDE: Final = 2  # below a line that is nothing else
SAID: Final = 3  # X is ...
DEFINED: Final = 4  # X is a ...; is meant to be a definition

_BEFORE_CHARS_MAX: Final = 80  # of a sentence, before what it defines
_SAID_CHARS_MIN: Final = 12  # of a definition, behind the verb; in Chinese half of that
_DOTS: Final = ("。", "！", "？", "；", ". ", "? ", "! ", "; ", "\n")
_END: Final = re.compile(r"[。！？；\n]|[.?!](?=\s|$)")
_ABBREVIATED: Final = (" e.g", "(e.g", " i.e", "(i.e", " etc", " vs", " cf", " dr", " mr", " st", " no")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_MARKS: Final = "[\"'“”‘’「」《》`]?"
# What may stand before it in its sentence.
_LEAD: Final = re.compile(
    rf"(?:(?:in|within|for) [^,\n]{{1,60}}, |在[^，,\n]{{1,30}}[，,])?"
    rf"(?P<word>所谓的?|the (?:term|word|name) )?(?P<article>an? |the )?{_MARKS}",
    re.IGNORECASE,
)
# What follows before the verb: closing marks, other names in parentheses.
_BEHIND: Final = re.compile(rf"(?:e?s\b)?{_MARKS}(?: ?[(（][^()（）\n]{{1,120}}[)）])?")
_SAYS_EN: Final = re.compile(
    r" (?:(?P<defined>(?:is|are) (?:simply |basically |essentially |just )?(?:defined as|an?|one of|any)\b"
    r"|are (?:[a-z-]{1,20} ){0,2}[a-z-]{2,20}s (?:that|which|used|for|of|in)\b"
    r"|means\b|refers? to\b|stands? for\b|denotes?\b)"
    r"|(?P<said>(?:is|are) the\b|consists? of\b|represents?\b|describes?\b)|(?:is|are|was)\b)",
    re.IGNORECASE,
)
_SAYS_ZH: Final = re.compile(
    r" ?[，,]?(?:(?P<defined>是指|指的是|即(?![使将可便])|就是|意[为指即]|定义为"
    r"|是(?:一[种个类组项套款份段条门]|由|用[于来])|是[^，。？\n]{1,40}的[^，。？\n]{0,8}"
    r"(?:简称|缩写|总称|统称|集合|名称|过程|方法|工具|程序|系统|软件|协议|格式|标准|技术))"
    r"|(?P<said>是(?![否不什谁])|表示|代表|[又也亦全简]称)|用[于来])"
)
_COLON: Final = re.compile(r"(?: ?[:：](?!/)|(?P<dash> [-–—]{1,2}(?= ))) ?(?=\S)")
# What tells of the line above it as an entry of a glossary does, and what does not.
_TELLS: Final = re.compile(
    r"(?:an?|the|any|one of|short for|abbreviation) "
    r"|[^。\n]{0,40}(?:是(?![否不什谁])|指(?![定南令向])|即(?![使将可便]))",
    re.IGNORECASE,
)
_TELLS_LITTLE: Final = re.compile(
    r"(?:these|this|that|it|if|when|you|for|to|see|note|chapter|section|use|used|click|select|in|on|as|there)\b"
    r"|[定指更插使查将选设显单双打请要可如您此这本在从当为]",
    re.IGNORECASE,
)
_OTHER_NAME: Final = re.compile(r"[(（][^()（）\n]{1,80}[)）]")
_SAYS_NOTHING: Final = re.compile(
    r" ?(?:not|still|also|now|never|already|only|usually|often|currently|available|required|enabled|disabled"
    r"|supported|deprecated|不|否|什么|谁|哪|怎|如何)",
    re.IGNORECASE,
)
_CALLS: Final = re.compile(
    r"(?:(?:called|known as|termed|named|referred to as) (?:an? |the )?|称为|称作|称之为|叫做|叫作|简称|统称)"
    rf"{_MARKS}$",
    re.IGNORECASE,
)
_SIGNS_BEHIND: Final = " ¶#:："


class Definition(NamedTuple):
    """A sentence that defines a term."""

    sentence: str = ""
    strength: int = NOTHING_SAID


def term_to_define(query: str) -> str:
    """Return the term that a query wants defined, "" for one that wants none."""
    if "define" not in query.lower():
        return ""
    node = read(query, Remarks())
    for each in node.nodes if isinstance(node, And) else (node,):
        if isinstance(each, Condition) and each.operator is Operator.DEFINE:
            return " ".join(each.value.split())[:TERM_CHARS_MAX]
    return ""


def definition_in(term: str, text: str) -> Definition:
    """Return the strongest sentence of a text that defines a term, of equals the first.

    Takes time in proportion to the text.

    Args:
      term: as `term_to_define` has it.
      text: lines, of which headings are some.
    """
    return _strongest(_definitions(term, text, len(text)))


def _strongest(definitions: Iterable[Definition]) -> Definition:
    best = Definition()
    for found in definitions:
        if found.strength > best.strength:
            best = found
            if best.strength == DEFINED:
                break
    return best


def strength_of(term: str, sentence: str) -> int:
    """Tell how surely a sentence, as another peer has found it, defines a term.

    The term stands near its beginning, so what a hostile page or member has filled with it costs no more.
    """
    return _strongest(_definitions(term, sentence, _BEFORE_CHARS_MAX)).strength


def mentions_in(term: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a term stands in a text as a word of its own."""
    folded, sought = _folded(text), _folded(term)
    at = folded.find(sought) if sought else -1
    for _ in range(MENTIONS_MAX):
        if at < 0:
            return
        end = at + len(sought)
        if _is_apart(folded, at, end):
            yield at, end
        at = folded.find(sought, end)


def _folded(text: str) -> str:
    """Return a text in small letters, each in the place of the large one."""
    folded = text.lower()
    return folded if len(folded) == len(text) else text


def _is_apart(text: str, start: int, end: int) -> bool:
    """Tell whether latin letters end where a term does, but for those of a plural."""
    before, behind = text[start - 1 : start], text[end : end + 1]
    if _is_latin(text[start]) and before and _is_latin(before):
        return False
    if _is_latin(text[end - 1]) and behind == "." and _is_latin(text[end + 1 : end + 2] or " "):
        return False  # of the name of a file
    if not (_is_latin(text[end - 1]) and behind and _is_latin(behind)):
        return True
    rest = text[end : end + 3]
    return any(
        rest.startswith(plural) and not _is_latin(rest[len(plural) :][:1] or " ") for plural in ("s", "es")
    )


def _is_latin(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or sign in "_-")


def _definitions(term: str, text: str, chars: int) -> Iterator[Definition]:
    """Yield the sentences that define a term which stands among so many characters."""
    for start, end in mentions_in(term, text):
        if start > chars:
            return
        begin = _sentence_start(text, start)
        head, tail = text[begin:start], text[end : end + DEFINITION_CHARS_MAX]
        line, _, below = tail.partition("\n")
        if not head and below and _is_alone(line.strip(_SIGNS_BEHIND)):
            said = _first_sentence(below, 0)
            sentence, strength = f"{text[start:end]}: {said}", _told_beside(said)
        else:
            strength, said = _strength(head, tail)
            part = text[begin : begin + DEFINITION_CHARS_MAX] if strength else ""
            sentence = _first_sentence(part, end - begin)
        if strength and _says_something(said) and not sentence.endswith(("?", "？")):
            yield Definition(sentence, strength)


def _is_alone(behind: str) -> bool:
    """Tell whether the rest of the line of a term is nothing but another name."""
    return not behind or _OTHER_NAME.fullmatch(behind) is not None


def _told_beside(text: str) -> int:
    """Tell how surely a text defines the line above it."""
    if _TELLS.match(text):
        return SAID
    return NAMED if _TELLS_LITTLE.match(text) else BESIDE


def _sentence_start(text: str, at: int) -> int:
    """Return where the sentence begins that has a place, or the part of it that is looked at."""
    first = max(0, at - _BEFORE_CHARS_MAX)
    ends = ((text.rfind(dot, first, at), len(dot)) for dot in _DOTS)
    return max((place + length for place, length in ends if place >= 0), default=first)


def _first_sentence(text: str, begin: int) -> str:
    """Return the text up to the end of the sentence that has a place."""
    text = text[:DEFINITION_CHARS_MAX]
    for end in _END.finditer(text, begin):
        if end[0] != "." or not text[: end.start()].lower().endswith(_ABBREVIATED):
            return text[: end.end()].strip()
    return f"{text.rstrip()}…" if len(text) == DEFINITION_CHARS_MAX else text.strip()


def _strength(head: str, tail: str) -> tuple[int, str]:
    """Return how surely a sentence defines the term between these parts of it, and its words on that."""
    behind = _BEHIND.match(tail)
    assert behind is not None, "it may be empty"
    rest = tail[behind.end() :]
    lead = _LEAD.fullmatch(head)
    if lead is None:
        return (NAMED, head) if _CALLS.search(head) else (NOTHING_SAID, "")
    says = _SAYS_EN.match(rest) or _SAYS_ZH.match(rest)
    if says is None:
        colon = _COLON.match(rest) if not head else None
        if colon is None:
            return NOTHING_SAID, ""
        said = rest[colon.end() :]
        return SAID if colon["dash"] else _told_beside(said), said
    if _SAYS_NOTHING.match(rest, says.end()):
        return NOTHING_SAID, ""
    if (lead["article"] or "").lower() == "the " and not lead["word"]:  # of several: of the one at hand
        return NAMED, rest
    if says["defined"] or lead["word"]:
        return DEFINED, rest
    return SAID if says["said"] else NAMED, rest


def _says_something(text: str) -> bool:
    said = _first_sentence(text, 0)
    return len(said) >= (_SAID_CHARS_MIN // 2 if _HAN.search(said) else _SAID_CHARS_MIN)
