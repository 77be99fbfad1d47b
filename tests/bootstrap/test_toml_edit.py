"""Setting values in what a person has edited."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootstrap.toml_edit import with_settings
from mesh.errors import ConfigError

TEXT = """\
# mine
top = 1 # first

[web] # of the web
  names = [ # of hosts
    "a#b", # one
    "c",
  ]   # both
agent = 'x # y'   # who "we" are
many = \"\"\"
[crawl]
delay_s = 9
\"\"\"

[[member.doors]]
delay_s = 7

[crawl]
# delay_s = 5
delay_s=2.0
[crawl.deep]
delay_s = 8

# the end
"""


def test_only_the_value_is_replaced() -> None:
    for name, value, old, new in (
        ("top", 2, "top = 1 # first", "top = 2 # first"),
        ("web.agent", "z", "agent = 'x # y'   # who", 'agent = "z"   # who'),
        ("crawl.delay_s", 0.5, "delay_s=2.0", "delay_s=0.5"),
        ("crawl.deep.delay_s", 1, "delay_s = 8", "delay_s = 1"),
    ):
        assert with_settings(TEXT, {name: value}, "test") == TEXT.replace(old, new)


def test_a_value_of_several_lines_becomes_one_and_keeps_what_is_said_of_all() -> None:
    changed = with_settings(TEXT, {"web.names": ("d", "e")}, "test")
    assert 'of the web\n  names = ["d", "e"]   # both\nagent' in changed


def test_what_is_set_already_changes_nothing() -> None:
    assert with_settings(TEXT, {"web.names": ("a#b", "c"), "crawl.delay_s": 2, "top": 1}, "test") == TEXT


def test_a_new_setting_ends_its_table_and_a_new_table_the_text() -> None:
    changed = with_settings(TEXT, {"crawl.depth": 3, "web.last": True, "gateway.listen": "x:1"}, "test")
    assert "delay_s=2.0\ndepth = 3\n" in changed
    assert '"""\nlast = true\n\n[[member.doors]]' in changed
    assert changed.endswith('# the end\n\n[gateway]\nlisten = "x:1"\n')


@pytest.mark.parametrize(
    ("text", "expected"),
    [("crawl.delay_s = 2\n", "crawl.delay_s = 3\n"), ("crawl = {delay_s = 2}\n", "crawl = {delay_s = 3}\n")],
)
def test_dotted_keys_and_inline_tables_stay_what_they_are(text: str, expected: str) -> None:
    assert with_settings(text, {"crawl.delay_s": 3}, "test") == expected


@pytest.mark.parametrize("text", ["crawl = 2\n", "[crawl\n"])
def test_what_has_no_such_table_is_told_and_not_broken(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^a\.toml: cannot set crawl\.delay_s: "):
        with_settings(text, {"crawl.delay_s": 3}, "a.toml")


@given(st.lists(st.sampled_from(TEXT.splitlines())), st.sampled_from(["top", "web.agent", "crawl.delay_s"]))
def test_whatever_the_text_the_result_says_what_it_should_or_nothing_is_done(
    lines: list[str], name: str
) -> None:
    text = "\n".join(lines)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    try:
        changed = tomllib.loads(with_settings(text, {name: "new"}, "test"))
    except ConfigError:
        return
    *tables, key = name.split(".")
    for table in tables:
        values, changed = values.get(table, {}), changed[table]
    assert changed == {**values, key: "new"}
