"""The section of a page that a place in its text is in."""

from __future__ import annotations

from itertools import islice, product

import pytest

from peers.engine.excerpts.sections import Outline, Section
from peers.engine.excerpts.snippet import SearchedText, snippet_of
from peers.engine.pages.document import Document
from peers.engine.queries.query_parser import parse_query
from tests.processor import processor_seconds

MANUAL = Document(
    "http://a.test/",
    headings="Manual\nstart\nOptions\nstop\nOptions\nNotes",
    heading_ids="\nstart\nstart-options\nstop\nstop-options",
    text="Manual\nstart\nstop\nNotes\nabout it\nstart\nbegins\nOptions\n-a fast\n"
    "stop\nends\nOptions\n-b slow\nNotes\nnone",
)


@pytest.mark.parametrize(
    ("words", "section"),
    [
        ("Manual", Section()),
        ("begins", Section("start", "start")),
        ("fast", Section("Options", "start-options")),
        ("ends", Section("stop", "stop")),
        ("slow", Section("Options", "stop-options")),
        ("none", Section("Notes")),
        ("about", Section()),  # below the table of contents, whose lines read as headings
    ],
)
def test_a_place_is_in_the_section_of_the_heading_above_it(words: str, section: Section) -> None:
    assert Outline(MANUAL, MANUAL.text).section_at(MANUAL.text.index(words)) == section


def test_a_heading_is_in_its_own_section() -> None:
    assert Outline(MANUAL, MANUAL.text).section_at(MANUAL.text.rindex("Notes")) == Section("Notes")


def test_a_page_with_one_heading_has_no_sections() -> None:
    page = Document("http://a.test/", headings="Title", text="words\nTitle\nmore")
    assert Outline(page, page.text).section_at(14) == Section()


def test_the_place_of_a_snippet_is_in_the_piece_with_most_words() -> None:
    far = "filler words here. " * 60
    text = f"alpha one\n{far}\nbeta gamma beta\n{far}"
    snippet = snippet_of(text, parse_query("alpha beta gamma"), columns=60)
    assert text[snippet.place :].startswith("beta gamma")
    assert snippet_of(text, parse_query("missing")).place == -1


def test_a_section_of_a_hostile_page_costs_linear_time() -> None:
    def seconds(n: int) -> float:
        page = Document("http://a.test/", headings="\n".join(["h"] * n), text="x\n" * n + "h\n" * n)
        return processor_seconds(lambda: Outline(page, page.text).section_at(n))

    assert seconds(40_000) < 40 * max(seconds(4_000), 0.001)


def test_no_section_is_named_where_headings_are_missing_in_the_text() -> None:
    headings = "T#\nA#\nB#\nC#\nD#\nE#\nF#\nG#"
    page = Document(
        "http://a.test/", headings=headings, text="T#\nA#\nof a or of b\nC#\nof c\nD#\nof d or more"
    )
    outline = Outline(page, page.text)
    places = {words: page.text.index(words) for words in ("of a", "of c", "of d")}
    assert outline.section_at(places["of a"]) == Section()
    assert outline.section_at(places["of c"]) == Section("C"), "the sign of its link is left out"
    assert outline.section_at(places["of d"]) == Section("D")
    longer = Document("http://a.test/", headings=f"{headings}\nH#", text=page.text)
    assert Outline(longer, page.text).section_at(places["of d"]) == Section()


REFERENCE = Document(
    "http://a.test/",
    headings="Dates and functions\nextract\ndate_trunc\nTime zones\nOther functions of dates\nBehind the end",
    heading_ids="\nEXTRACT\nTRUNC\n\nOTHER\nEND",
    text="Dates and functions\nextract\ndate_trunc\nTime zones\nOther functions of dates\n"
    "extract\ntakes fields, date_trunc does not\ndate_trunc\ncuts a time\nTime zones\nthere are many",
)


@pytest.mark.parametrize(
    ("typed", "section"),
    [
        ("date_trunc", Section("date_trunc", "TRUNC")),
        ("date_trunc functions", Section("date_trunc", "TRUNC")),  # the title says the rest
        ("time zone", Section("Time zones")),  # another form
        ("how do I extract a field", None),  # most of it is not in the heading
        ("dates functions", None),  # the title says all of it
        ("behind end", Section("Behind the end", "END")),  # the text is cut before
        ("nothing of it", None),
    ],
)
def test_a_query_leads_to_the_section_whose_heading_tells_it(typed: str, section: Section | None) -> None:
    outline = Outline(REFERENCE, REFERENCE.text)
    told = outline.section_told(parse_query(typed), SearchedText("Dates and functions"))
    assert (told and told[0]) == section


def test_the_text_of_a_section_is_not_that_of_the_table_of_contents() -> None:
    outline = Outline(REFERENCE, REFERENCE.text)
    title = SearchedText(REFERENCE.title)
    assert outline.section_told(parse_query("date_trunc"), title) == (
        Section("date_trunc", "TRUNC"),
        "date_trunc\ncuts a time\n",
    )
    assert outline.section_told(parse_query("behind end"), title) == (Section("Behind the end", "END"), "")


def test_of_headings_that_tell_as_much_the_shortest_is_meant() -> None:
    page = Document(
        "http://a.test/", headings="Page\nOptions of the printer\nPrinter options\nOptions, printer"
    )
    told = Outline(page, page.text).section_told(parse_query("printer options"), SearchedText("Page"))
    assert told is None, "no id and no place in the text: nothing leads there"
    page = Document("http://a.test/", headings=page.headings, heading_ids="\na\nb\nc")
    told = Outline(page, page.text).section_told(parse_query("printer options"), SearchedText("Page"))
    assert told == (Section("Printer options", "b"), "")


def test_headings_of_a_hostile_page_cost_linear_time() -> None:
    query = parse_query("options")

    def seconds(n: int) -> float:
        page = Document("http://a.test/", headings="\n".join(["options"] * n), text="options\n" * n)
        return processor_seconds(
            lambda: Outline(page, page.text).section_told(query, SearchedText("no title"))
        )

    assert seconds(40_000) < 40 * max(seconds(4_000), 0.001)


def test_headings_that_were_made_to_share_a_place_cost_no_more_than_others() -> None:
    """The highest bit that told places apart could be turned in two characters in a row, unnoticed."""

    def seconds(headings: list[str]) -> float:
        lines = "\n".join(headings)
        page = Document("http://a.test/", headings=lines, text="\n".join([lines] * 25))
        return processor_seconds(lambda: Outline(page, page.text).section_at(0), 3)

    turned = [chr(0x4E00 | bit << 18) + chr(0x4E01 | bit << 18) for bit in (0, 1)]
    alike = list(map("".join, islice(product(turned, repeat=10), 950)))
    assert seconds(alike) < 5 * max(seconds([f"{number:020}" for number in range(950)]), 0.001)
