from __future__ import annotations

from pathlib import Path

import pytest

from mesh.errors import ConfigError
from peers.classes.samples import LabelledText, append_samples, divided, path_in, read_samples


def test_a_file_has_lines_with_and_without_urls(tmp_path: Path) -> None:
    file = tmp_path / "samples.tsv"
    file.write_text(
        "\ufeffsports\tgoal\tof the day\n\nscience/physics\thttp://a.test/\t量子 text\nfood\t\tsoup\n"
    )
    assert read_samples(file) == [
        LabelledText(("sports",), "goal of the day"),
        LabelledText(("science", "physics"), "量子 text", "http://a.test/"),
        LabelledText(("food",), "soup"),
    ]


def test_what_is_collected_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "samples.tsv"
    samples = [
        LabelledText(("a", "b"), "one two", "https://a.test/x"),
        LabelledText(("c",), "three", "http://b.test/"),
    ]
    append_samples(file, samples[:1])
    append_samples(file, [LabelledText(("c",), "three\n", "http://b.test/")])
    assert read_samples(file) == samples


def test_folders_are_classes(tmp_path: Path) -> None:
    for name, text in (("a/b/1.txt", "one"), ("a/2", "two"), ("top.txt", "of no class"), (".git/x", "no")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert sorted(read_samples(tmp_path)) == [LabelledText(("a",), "two"), LabelledText(("a", "b"), "one")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("sports goal\n", "line 1: there is no tab"),
        ("a\tb\na b\tc\n", "line 2: 'a b' is no class"),
        ("a/b/c/d\ttext\n", "up to 3 names"),
        ("\n", "has no samples"),
        ("\udcff", "cannot read"),
    ],
)
def test_errors_say_where_and_what_to_do(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "samples.tsv"
    file.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ConfigError, match=told):
        read_samples(file)
    with pytest.raises(ConfigError, match="cannot read"):
        read_samples(tmp_path / "none")


def test_every_so_many_th_of_each_class_is_held_out() -> None:
    samples = [LabelledText((name,), str(n)) for n in range(10) for name in "ab"]
    kept, held_out = divided(samples, 5)
    assert [(each.path[0], each.text) for each in held_out] == [
        ("a", "4"),
        ("b", "4"),
        ("a", "9"),
        ("b", "9"),
    ]
    assert sorted(kept + held_out) == sorted(samples)


def test_a_path_is_read() -> None:
    assert path_in(" science/物理 ") == ("science", "物理")
