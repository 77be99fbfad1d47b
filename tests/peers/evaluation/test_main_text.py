"""Pages whose main text is known are read from public sets."""

from __future__ import annotations

from pathlib import Path

from peers.evaluation.main_text import KnownPage, chinese_pages, chinese_sites, reader_pages

TEXT = "委员会周一在报告中表示，这条河流将再次得到测量。"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_pages_of_chinese_sites_are_read_without_those_that_are_empty(tmp_path: Path) -> None:
    folder = tmp_path / "Dataset-for-web-main-content-extraction"
    for name, text in (("b/2", TEXT), ("b/1", TEXT), ("a/7", TEXT), ("a/8", "找不到")):
        write(folder / f"label_content/{name}.txt", text)
        write(folder / f"source_html/{name}.html", name)
    write(folder / "label_content/.folder", "no site")
    write(folder / "label_content/a/9.txt", TEXT)  # its page was not stored
    pages = [[KnownPage("7", b"a/7", TEXT)], [KnownPage("1", b"b/1", TEXT), KnownPage("2", b"b/2", TEXT)]]
    assert chinese_sites(tmp_path) == pages


def test_chinese_pages_are_read_with_their_texts(tmp_path: Path) -> None:
    folder = tmp_path / "Chinese-Web-Content-Extraction-Dataset"
    write(folder / "cleaned/a.txt", TEXT)
    write(folder / "original/a.html", "<p>")
    assert chinese_pages(tmp_path) == [KnownPage("a", b"<p>", TEXT)]


def test_the_main_text_of_readers_pages_is_what_is_visible(tmp_path: Path) -> None:
    folder = tmp_path / "readability/test/test-pages/001"
    write(folder / "expected.html", "<div><p>one</p><script>two</script><p>three</p></div>")
    write(folder / "source.html", "<p>")
    (page,) = reader_pages(tmp_path)
    assert (page.name, page.body, page.main_text.split()) == ("001", b"<p>", ["one", "three"])
