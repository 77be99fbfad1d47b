from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import bootstrap
import mesh
import peers
import simulations
from mesh.counts import Count, counted, plural_of
from peers.gateway.site.texts import TEXTS, text_in

# Behind a value in a text these say how many of them there are.
NOUNS = (
    *("page", "domain", "peer", "seed", "host", "slot", "version", "visit", "link", "query", "site"),
    *("machine", "sample", "submission", "entry", "search", "reader", "URL", "day", "client", "click"),
    *("copy", "record", "rule", "result", "assessor", "topic", "entity", "notice", "sentence", "judgement"),
)
# In messages between programs, and of tests that are seen by developers alone, a number is a number.
PLAIN = ("simulations/faults", "simulations/world", "simulations/studies", "simulations/link_graphs/graph")
NO_COUNTS = {
    "peers/gateway/handling/access.py: f'{self.client_of(request)} entities'",
    "simulations/traces/web_graph.py: f'page {page} links to what there is not'",
    # To another program.
    (
        "peers/handover/outgoing_transfers.py: "
        "f'{len(question.digests)} bytes of digests for {len(numbers)} slots'"
    ),
}
SURELY_MANY = re.compile(r"^[A-Z_.0-9 /*]+$|_MAX$|_MIN$")


@pytest.mark.parametrize(
    ("noun", "several"),
    [
        ("page", "pages"),
        ("more copy", "more copies"),
        ("day", "days"),
        ("search", "searches"),
        ("class", "classes"),
        ("URL", "URLs"),
    ],
)
def test_one_is_no_plural(noun: str, several: str) -> None:
    assert counted(1, noun) == f"1 {noun}"
    assert [counted(0, noun), counted(2_000, noun)] == [f"0 {several}", f"2,000 {several}"]
    assert plural_of(noun) == several
    assert [format(Count(each), noun) for each in (1, "1,234", "")] == [
        f"1 {noun}",
        f"1,234 {several}",
        f" {several}",
    ]
    assert format(Count(7), "") == "7"


def test_texts_of_pages_count_in_both_languages() -> None:
    assert text_in("en", "many_results", total="1") == "1 page"
    assert text_in("en", "many_results", total="1,234") == "1,234 pages"
    assert text_in("en", "copies", count="2") == "2 more copies"
    assert text_in("zh", "many_results", total="1") == "1 个网页"
    plurals = "|".join(map(plural_of, NOUNS))
    bare = re.compile(rf"{{\w+}} (?:more |new )?(?:{plurals})\b(?! per second)")
    assert {key: text for key, text in TEXTS["en"].items() if bare.search(text)} == {}


def test_messages_count_by_the_one_helper() -> None:
    """Else one page were "1 pages", as many messages had it."""
    plurals = re.compile(rf"^ (?:more |new |other )?(?:{'|'.join(map(plural_of, NOUNS))})\b(?!:)")
    found = []
    for package in (mesh, peers, bootstrap, simulations):
        folder = Path(next(iter(package.__path__)))
        for source in sorted(folder.rglob("*.py")):
            name = str(source.relative_to(folder.parent))
            if not name.startswith(PLAIN):
                found += [f"{name}: {each}" for each in _bare_counts(source.read_text(), plurals)]
    assert set(found) == NO_COUNTS


def _bare_counts(code: str, plurals: re.Pattern[str]) -> list[str]:
    """Return the values in the texts of messages behind which a plural stands."""
    found = []
    for text in ast.walk(ast.parse(code)):
        if not isinstance(text, ast.JoinedStr):
            continue
        for value, behind in zip(text.values, text.values[1:], strict=False):
            is_plural = isinstance(behind, ast.Constant) and plurals.match(str(behind.value))
            if not (isinstance(value, ast.FormattedValue) and is_plural) or value.conversion != -1:
                continue
            given, form = ast.unparse(value.value), value.format_spec and ast.unparse(value.format_spec)
            if not SURELY_MANY.search(given) and "f" not in (form or "")[2:]:
                found.append(ast.unparse(text))
    return found
