"""The part of Elasticsearch's query DSL that retrievers use, as a query in the language of this engine. Pure.

What has no like here is refused, never left out: an answer without a filter that was asked for is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from peers.engine.queries.query_language import Oddity, Operator, Remarks, read
from peers.engine.queries.query_parser import QUERY_CHARS_MAX
from peers.gateway.site.date_range import year_month_or_day_after

DEPTH_MAX: Final = 8  # of queries in queries; our language has parentheses of twice that
_FIELDS: Final = {
    **dict.fromkeys(("site", "host", "domain"), Operator.SITE),
    **dict.fromkeys(("language", "lang"), Operator.LANG),
    "type": Operator.TYPE,
}
_TEXT_FIELDS: Final = frozenset(("*", "_all", "text", "content", "body", "snippet"))
_DATE_FIELDS: Final = frozenset(("date", "published", "@timestamp"))
_VALUE: Final = re.compile(r"[^\s\"()|:“”「」『』（）：｜＂]{1,255}")
_DAY: Final = re.compile(r"\d{4}(-\d{2}){0,2}", re.ASCII)
_SIGNS: Final = re.compile(r"[\"()|“”„「」『』（）｜＂]|(?<!\S)[-－](?![-－])")
_OPERATORS: Final = re.compile(rf"(?<!\w)({'|'.join(Operator)})[:：]", re.IGNORECASE)
_WORDS_OF_THE_LANGUAGE: Final = re.compile(r"(?<!\S)(AND|OR|NOT)(?!\S)")


class NotUnderstood(Exception):
    """A query that has no like here."""


def query_of(query: Any, depth: int = 0) -> str:
    """Return a query of the DSL as a text to search for; "" for all pages.

    Raises:
      NotUnderstood: there is no such query here.
    """
    if depth > DEPTH_MAX:
        raise NotUnderstood(f"queries stand in queries more than {DEPTH_MAX} deep")
    kind, body = _only(query, "a query")
    match kind:
        case "match_all":
            return ""
        case "match":
            return _match(body)
        case "match_phrase":
            field, value = _field_and_value(body, "query")
            phrase = _plain(value)
            return f'intitle:"{phrase}"' if _text_field(field) == "title" else f'"{phrase}"'
        case "multi_match":
            _known(body, "multi_match", ("query", "fields", "type", "operator"))
            for field in body.get("fields") or ():
                _text_field(str(field).partition("^")[0])
            return _plain(_text(body.get("query")))
        case "query_string" | "simple_query_string":
            _known(body, kind, ("query", "fields", "default_field", "default_operator"))
            return _query_string(_text(body.get("query")))
        case "term":
            field, value = _field_and_value(body, "value")
            return _condition(field, value)
        case "terms":
            field, values = _only(body, "terms")
            if not isinstance(values, list) or not values:
                raise NotUnderstood("terms has no list of values")
            return _any_of([_condition(field, _text(value)) for value in values])
        case "range":
            return _range(body)
        case "bool":
            return _bool(body, depth)
    raise NotUnderstood(f"unknown query [{kind[:60]}]")


def _query_string(text: str) -> str:
    """Return a text in our language that stays one part beside others."""
    remarks = Remarks()
    read(text, remarks)
    met = {each.oddity for each in remarks.all()}
    if met & {Oddity.QUOTE_OPEN, Oddity.PARENTHESIS_OPEN, Oddity.PARENTHESIS_EXTRA, Oddity.TOO_DEEP}:
        raise NotUnderstood("a quotation mark or parenthesis of the query is not closed, or was not opened")
    return _plain(text) if Oddity.SENTENCE in met else text


def _match(body: Any) -> str:
    field, value = _field_and_value(body, "query")
    if _bare(field) in _FIELDS:
        return _condition(field, value)
    words = _plain(value)
    if _text_field(field) == "title":
        return " ".join(f"intitle:{word}" for word in words.split())
    return words


def _bool(body: Any, depth: int) -> str:
    _known(body, "bool", ("must", "filter", "should", "must_not", "minimum_should_match"))

    def of(name: str) -> list[str]:
        given = body.get(name) or []
        each = given if isinstance(given, list) else [given]
        return [query_of(query, depth + 1) for query in each]

    wanted = list(filter(None, (*of("filter"), *of("must"))))
    some = list(filter(None, of("should")))
    least = body.get("minimum_should_match", 0 if body.get("must") or body.get("filter") else 1)
    if some and str(least) != "1":
        raise NotUnderstood("should needs minimum_should_match 1: there are no optional queries here")
    if some:
        wanted.append(_any_of(some))
    unwanted = of("must_not")
    if "" in unwanted:
        raise NotUnderstood("must_not leaves out all pages")
    grouped = [f"({part})" for part in wanted] if len(wanted) + len(unwanted) > 1 else wanted
    return " ".join((*grouped, *(f"-({part})" for part in unwanted)))


def _range(body: Any) -> str:
    field, limits = _only(body, "range")
    if _bare(field) not in _DATE_FIELDS:
        raise NotUnderstood(f"range has no field [{field[:60]}]: only date")
    _known(limits, "range", ("gte", "gt", "lte", "lt", "format"))
    parts = []
    for name in ("gte", "gt", "lte", "lt"):
        if limits.get(name) is None:
            continue
        day = _text(limits[name]).partition("T")[0]
        if not _DAY.fullmatch(day):
            raise NotUnderstood(f"[{day[:60]}] is no date as 2026, 2026-11 or 2026-11-29")
        begin = year_month_or_day_after(day) if name in ("gt", "lte") else day
        parts.append(f"{Operator.AFTER if name[0] == 'g' else Operator.BEFORE}:{begin}")
    return " ".join(parts)


def _condition(field: str, value: str) -> str:
    operator = _FIELDS.get(_bare(field))
    if operator is None:
        raise NotUnderstood(f"there is no field [{field[:60]}] to filter by: only {', '.join(_FIELDS)}")
    if not _VALUE.fullmatch(value):
        raise NotUnderstood(f"[{value[:60]}] is no value of [{field[:60]}]")
    return f"{operator}:{value}"


def _any_of(queries: Sequence[str]) -> str:
    return queries[0] if len(queries) == 1 else " OR ".join(f"({each})" for each in queries)


def _bare(field: str) -> str:
    return field.removesuffix(".keyword")


def _text_field(field: str) -> str:
    bare = _bare(field)
    if bare != "title" and bare not in _TEXT_FIELDS:
        raise NotUnderstood(
            f"there is no field [{field[:60]}] of words: only title and {', '.join(sorted(_TEXT_FIELDS))}"
        )
    return bare


def _plain(text: str) -> str:
    """Return words in which nothing is a sign of our language."""
    text = _OPERATORS.sub(r"\1 ", _SIGNS.sub(" ", text))
    words = _WORDS_OF_THE_LANGUAGE.sub(lambda match: match[1].lower(), text).split()
    if not words:
        raise NotUnderstood("there are no words to search for")
    return " ".join(words)


def _field_and_value(body: Any, name: str) -> tuple[str, str]:
    """Read `{field: value}` or `{field: {name: value}}`."""
    field, value = _only(body, "a field")
    if isinstance(value, dict):
        _known(value, field, (name, "operator"))
        value = value.get(name)
    return field, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str) and len(value) > QUERY_CHARS_MAX:
        raise NotUnderstood(f"a text has more than {QUERY_CHARS_MAX} characters")
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise NotUnderstood("a text is missing, or is none")


def _only(value: Any, what: str) -> tuple[str, Any]:
    if not isinstance(value, dict) or len(value) != 1:
        raise NotUnderstood(f"{what[:60]} has to be an object with one name")
    return next(iter(value.items()))


def _known(body: Any, of: str, names: Sequence[str]) -> None:
    if not isinstance(body, Mapping):
        raise NotUnderstood(f"[{of[:60]}] has to be an object")
    for name in body:
        if name not in names:
            raise NotUnderstood(f"[{of[:60]}] unknown field [{str(name)[:60]}]")
