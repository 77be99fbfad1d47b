"""What language a query means is told by the pages."""

from __future__ import annotations

import pytest

from peers.engine.excerpts.snippet import snippet_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.queries.native_forms import ENTRIES_MAX, PART_WEIGHT, native_forms
from peers.engine.queries.query import Query
from peers.engine.queries.query_parser import COUNTED_MAX, parse_query, read_query
from peers.engine.rescoring.features import features_of
from peers.engine.rescoring.model import Features
from peers.engine.snapshot import View
from peers.gateway.search.relaxation import steps_of
from peers.text.analysis import FORM_WEIGHT

GERMAN = [
    "Tabellen einfügen", "Eine Tabelle löschen", "Die Tabelle", "Der Bereich der Zelle", "Zellbereich wählen",
]  # fmt: skip
ENGLISH = ["insert tables", "delete a table", "national tables", "cells and ranges"]


def view_of(*pages: tuple[str, list[str]]) -> View:
    index = Index.open(MemoryStorage())
    index.add(
        [
            (0, Document(f"http://{language}.test/{number}", text=text, language=language))
            for language, texts in pages
            for number, text in enumerate(texts)
        ]
    )
    index.commit()
    return index.snapshot().everything()


def meant(view: View, text: str) -> Query:
    reading = read_query(text)
    return reading.with_native_forms(view.statistics(reading.terms).doc_freqs)


def found(view: View, query: Query) -> set[str]:
    return {hit.url for hit in view.search(query, view.statistics(query.terms), 10)[2]}


def test_a_german_word_finds_its_other_forms_where_most_pages_are_english() -> None:
    view = view_of(("de", GERMAN), ("en", ENGLISH * 3))
    query = meant(view, "Tabellen")
    either = tuple(literal.entries for literal in query.alternatives[0])
    assert (query.language, query.required, either) == ("de", (), (("\x03tabellen",), ("\x03tabell",)))
    assert found(view, query) == {"http://de.test/0", "http://de.test/1", "http://de.test/2"}
    assert found(view, parse_query("Tabellen")) == {"http://de.test/0"}


def test_a_german_half_of_a_page_is_found_as_german_pages_are() -> None:
    german = "Die Tabelle eines Dokuments ist in der Liste, die unter dem Text zu finden ist\n" * 4
    english = "The relations of a document are in the list that is to be found below the text\n" * 4
    view = view_of(("en", [*ENGLISH, f"Overview\n{english}Übersicht\n{german}"]), ("fr", ["page"]))
    for text in ("Tabellen", "Tabellen lang:de", "Übersichten"):  # the last in a line that tells no language
        query = meant(view, text)
        assert query.language == "de"
        assert found(view, query) == {"http://en.test/4"}
    assert found(view, meant(view, "relation lang:en")) == {"http://en.test/4"}
    counted = view.statistics(("\x03relat", "\x03relation", "\x03dokument")).doc_freqs
    assert counted == {"\x03relat": 1, "\x03dokument": 1}  # the English half has no German forms
    facets = view.facets(parse_query("document"))
    assert (facets.languages, meant(view, "Tabellen lang:fr").language) == ({"en": 1, "de": 1}, "")


def test_an_english_word_stays_english() -> None:
    view = view_of(("de", GERMAN), ("en", ENGLISH * 2))
    assert meant(view, "tables") == parse_query("tables")
    assert meant(view, "nosuchword") == parse_query("nosuchword")


def test_english_pages_are_found_by_what_is_read_as_german() -> None:
    english, german = ["the parser", "parsers fail", "page"], ["parse", "parst", "parsen"]
    view = view_of(("en", english), ("de", german * 2))
    pages = {"http://en.test/0", "http://en.test/1"}
    for text in ("parser", "parser OR nosuchword"):
        query = meant(view, text)
        assert query.language == "de"
        hits = found(view, query)
        assert pages < hits
        assert "http://de.test/0" in hits
        assert "http://en.test/2" not in hits
        best = view.search(query, view.statistics(query.terms), 2)[2]
        assert {hit.url for hit in best} == pages  # as they were typed
    steps = steps_of(meant(view, "parser"), view.statistics(read_query("parser").terms).doc_freqs)
    assert [step.is_any for step in steps] == [False]  # two forms of one word leave nothing to give up


def test_words_in_two_forms_stay_within_the_limits_of_queries() -> None:
    view = view_of(("de", [*GERMAN, "parsen"]), ("en", ["page"]))
    conditions = " ".join(f"(Tabellen{n} OR Tabellen OR site:{n}.test)" for n in range(20))
    query = meant(view, f"Tabellen parser einfügen {conditions}")
    query.check_limits()
    assert query.language == "de"


@pytest.mark.parametrize("language", ["pt", "de"])
def test_one_page_in_another_language_changes_no_english_word(language: str) -> None:
    # The stem of `parser` in these languages is the English one of `parse`.
    pages = ["parser", "parsers fail", "a parser", *["parse this", "parsed", "parsing"] * 3]
    view = view_of(("en", pages), (language, ["parser"]))
    assert meant(view, "parser") == parse_query("parser")


def test_parts_of_a_compound_score_where_both_are_words_of_the_pages() -> None:
    view = view_of(("de", GERMAN))
    query = meant(view, "Zellbereiche")
    weights = dict(zip(query.scoring, query.weights, strict=True))
    assert weights["\x03zellbereich"] == FORM_WEIGHT
    assert weights["\x03bereich"] == PART_WEIGHT
    assert not any(entry.startswith("\x03wahl") for entry in weights)


def test_a_language_without_pages_is_not_meant() -> None:
    assert meant(view_of(("en", [*ENGLISH, "tabell"])), "Tabellen").language == ""


@pytest.mark.parametrize(
    ("text", "languages"),
    [
        ("wie man Tabellen in die Seite einfügt", {"de"}),
        ("how tables are inserted", set()),
        ("lang:fr nationaux", {"fr"}),
        ("天网 2004", set()),
    ],
)
def test_function_words_and_filters_tell_the_language(text: str, languages: set[str]) -> None:
    assert {each.language for each in read_query(text).natives} == languages


def test_what_has_to_be_counted_is_bounded() -> None:
    readings = native_forms(" ".join(f"unvergleichlichkeiten{chr(97 + n)}" for n in range(20)))
    assert len({entry for each in readings for entry in each.entries}) <= ENTRIES_MAX


def test_other_forms_are_marked_and_count_for_proximity() -> None:
    view = view_of(("de", [*GERMAN, "Zeile und Tabellen löschen"]))
    query = meant(view, "Tabelle einfügen")
    snippet = snippet_of(GERMAN[0], query)
    assert [snippet.text[start:end] for start, end in snippet.highlights] == ["Tabellen", "einfügen"]
    [told] = features_of(view, query, view.statistics(query.terms), ["http://de.test/0"])
    assert Features(*told).proximity > 0.5


def test_a_query_of_very_many_words_is_read_in_english_alone() -> None:
    reading = read_query(" ".join(f"{a}{b}{a}{b}{a}" for a in "bcdfghjklm" for b in "aeiouyäöü")[:990])
    assert len(reading.terms) <= COUNTED_MAX
