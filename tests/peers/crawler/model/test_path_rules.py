from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from peers.crawler.model.path_rules import PathRules, spelt

pieces = st.sampled_from(["/", "a", "b", "ab", "*", "%41", "%e4", "?", "~", "="])
patterns = st.builds(
    lambda parts, end: "/" + "".join(parts) + end, st.lists(pieces, max_size=5), st.sampled_from(["", "$"])
)
paths = st.builds(
    lambda parts: "/" + "".join(parts),
    st.lists(st.sampled_from(["/", "a", "b", "A", "%E4", "~", "="]), max_size=6),
)


@given(st.lists(st.tuples(st.booleans(), patterns), max_size=6), paths)
def test_paths_are_judged_as_by_protego(rules: list[tuple[bool, str]], path: str) -> None:
    """But for lengths: ours are those of the normal spelling, protego's those of the file."""
    lengths = {len(pattern.replace("%41", "A")) for _, pattern in rules}
    if len(lengths) < len({pattern for _, pattern in rules}) or any("%41" in pattern for _, pattern in rules):
        rules = rules[:1]
    lines = [f"{'Allow' if is_allowed else 'Disallow'}: {pattern}" for is_allowed, pattern in rules]
    oracle = Protego.parse("\n".join(["User-agent: *", *lines]))
    ours = PathRules.of(rules)
    assert ours.allow(path) == oracle.can_fetch(f"http://a.test{path}", "tianmesh")


def test_rfc9309_2_2_3_escaped_stars_and_dollars_are_themselves() -> None:
    rules = PathRules.of([(False, "/a-%2A.html"), (False, "/b%24"), (False, "/c$d")])
    assert [rules.allow(path) for path in ("/a-*.html", "/a-%2A.html", "/a-x.html")] == [False, False, True]
    assert [rules.allow(path) for path in ("/b$x", "/b%24", "/b", "/c$d", "/c")] == [
        False,
        False,
        True,
        False,
        True,
    ]


def test_a_pattern_matches_what_urls_escape_in_either_spelling() -> None:
    rules = PathRules.of([(False, "/{x}"), (False, "/y?it's"), (False, "/a b")])
    assert not any(map(rules.allow, ("/%7Bx%7D", "/y?it%27s", "/y?it's", "/a%20b")))


def test_a_star_takes_as_little_as_it_needs() -> None:
    rules = PathRules.of([(False, "/*ab$"), (False, "/x*y*y")])
    assert [rules.allow(path) for path in ("/abab", "/aba", "/xyy", "/xy")] == [False, True, False, True]


@given(st.lists(st.tuples(st.booleans(), patterns), max_size=6), paths)
def test_rule_that_is_said_to_decide_alone_decides_the_same(rules: list[tuple[bool, str]], path: str) -> None:
    deciding = PathRules.of(rules).deciding(path)
    assert PathRules.of(rules).allow(path) == (deciding is None or deciding[0])
    if deciding is not None:
        assert deciding in [(is_allowed, spelt(pattern)) for is_allowed, pattern in rules]
        assert PathRules.of([deciding]).deciding(path) == deciding
