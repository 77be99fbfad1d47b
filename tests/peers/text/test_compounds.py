from __future__ import annotations

import pytest

from peers.text.compounds import compounds_of, spans_of
from peers.text.folding import fold


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("C++和C#、F#、.NET", ["c++", "c#", "f#", ".net", "和c"]),
        ("notepad++ i++", ["notepad++", "i++"]),
        ("a+++b a+b foo#bar # ++", []),
        ("Ｃ＋＋", ["c++"]),
        ("使用.NET框架", [".net", "net框"]),
        ("ASP.NET", ["asp.net"]),
        ("...NET .5", []),
        ("AT&T A/B node.js 3.14 os.path.join", ["at&t", "a/b", "node.js", "3.14", "os.path.join"]),
        ("/usr/share/doc/python/x a. b", []),
        ("T恤和卡拉OK，5G网络", ["t恤", "拉ok", "5g网"]),
        ("Tシャツ", ["tシ"]),
        ("LibreOffice帮助 东京タワー", []),
        ("2004-05-06 don't 3-way a-", []),
        ("X-Forwarded-For apt-get utf-8-sig", ["x-forwarded-for", "apt-get", "utf-8-sig"]),
        ("a-b-c-d-e a -b - c 小-a", []),
        ("", []),
        ("C++", ["c++"]),
        ("x" * 17 + "++", []),
        ("x" * 20 + "." + "y" * 20, []),
        ("pg_column_compression", ["pg_column_compression"]),
        ("std::vector a::b::c x:y", ["std::vector", "a::b::c"]),
        ("foo.bar() __init__", ["foo.bar"]),
        ("pg_catalog.pg_size", ["pg_catalog", "pg_size", "pg_catalog.pg_size"]),
        ("_".join("abcdefghi"), []),
        ("git --no-cache --version a--b --- c ---d", ["--no-cache", "--version", "no-cache"]),
        ("รุ่น5G 5Gรุ่น", []),
    ],
)
def test_what_signs_or_scripts_are_part_of_is_found(text: str, entries: list[str]) -> None:
    assert [compound.entry for compound in compounds_of(fold(text), spans_of(fold(text)))] == [
        f"\x06{e}" for e in entries
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,000", ["1000"]),
        ("1,234,567.89", ["1234567"]),
        ("X-900 utf-8, F-16A", ["x900", "utf8", "f16a"]),
        ("2004-05-06 a-b-1 well-known x-900-y page-", []),
        ("12,34 1,0000 1,000,00 1, 000 a,000", []),
    ],
)
def test_a_number_in_groups_has_the_form_of_its_digits(text: str, numbers: list[str]) -> None:
    found = [compound.entry for compound in compounds_of(fold(text), spans_of(fold(text)))]
    assert [entry for entry in found if entry.startswith("\x03")] == [f"\x03{n}" for n in numbers]
