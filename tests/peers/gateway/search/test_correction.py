"""Mistyped words, pinyin and like sounds are mended by any mesh as one peer would."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from random import Random

import pytest

from peers.engine.pages.document import Document
from peers.gateway.search.correction import Mended, Mistyped, mend
from peers.index.wire_messages import Similar
from tests.peers.gateway.test_exactness import Mesh

WORDS = (
    *("software", "package", "manager", "printer", "install", "document", "window", "keyboard", "restart"),
    *("软件包", "打印", "管理器", "安装", "文档", "窗口", "键盘"),
)


def documents(count: int) -> list[Document]:
    random = Random(11)
    pages = [
        Document(
            f"http://host{n % 37}.test/{n}",
            " ".join(random.sample(WORDS, 3)),
            text=" ".join(random.choices(WORDS, k=30)),
        )
        for n in range(count)
    ]
    alone = Document("http://alone.test/", "singular", text="sofaware is on one page alone")
    silent = [Document(f"http://silent.test/{n}", text="confidental", is_quotable=False) for n in range(5)]
    rare = [Document(f"http://rare.test/{n}", text="keybord and restart") for n in range(1)]
    twins = [Document(f"http://twins.test/{n}", text="gramling and framling") for n in range(5)]
    return [*pages, alone, *silent, *rare, *twins]


@pytest.fixture(scope="module", autouse=True)
def _plain_terms() -> None:
    """Queries are read as they are live, with forms and pairs."""


@pytest.fixture(scope="module")
def meshes() -> Iterable[dict[int, Mesh]]:
    with ExitStack() as stack:
        meshes = {n: Mesh([f"peer{i}" for i in range(n)], stack) for n in (1, 3, 5)}
        for mesh in meshes.values():
            mesh.index(documents(1_200))
        yield meshes


MENDED = {
    "sofware": "software",
    "install sofwtare": "install software",
    "packsge manager": "package manager",
    "ruanjianbao": "软件包",
    "ruǎn jiàn bāo": "软件包",
    "ruan3jian4bao1 guanliqi": "软件包管理器",
    "dayin": "打印",
    "dayinn": "",
    "zuangkou keyboard": "",
    "cuankou": "窗口",
    "confidential": "",  # pages of which nothing may be shown have the word
    "softwares": "",  # another form of a word is on pages
    '"sofware"': "",
    "intitle:sofware": "",
    "-sofware printer": "",
    "sofware.html": "",
    "qzxwv": "",
    "xramling": "gramling",  # of two that are on as many pages one is chosen by its letters
}


@pytest.mark.parametrize("text", MENDED)
def test_what_is_on_no_page_is_mended_alike_by_1_3_and_5_peers(meshes: dict[int, Mesh], text: str) -> None:
    for mesh in meshes.values():
        for peer in mesh.nodes:
            found = mesh.search(peer, text)
            assert (found.corrected, found.suggestion) == (MENDED[text], "")


def test_far_more_pages_are_offered_not_searched(meshes: dict[int, Mesh]) -> None:
    for mesh in meshes.values():
        for peer in mesh.nodes:
            for text in ("sofaware", "sofawares"):  # what one page has, and another form of it
                found = mesh.search(peer, text)
                assert (found.corrected, found.suggestion, found.total) == ("", "software", 1)


OFFERED = {
    "软健包": "软件包",
    "軟健包": "軟件包",  # what is right stays as it was typed
    "管里器": "管理器",
    "管你器 keyboard": "管理器 keyboard",  # n for l
    "软键包 打印 文挡": "软件包 打印 文档",
    "软件包管里器文挡": "",  # no page has these words side by side
    "“软健包”": "",
    "管管器": "",
    "软件窗口": "",  # right, though on no page: with no other character it is on one
}


@pytest.mark.parametrize("text", OFFERED)
def test_chinese_characters_of_like_sound_are_offered(meshes: dict[int, Mesh], text: str) -> None:
    for mesh in meshes.values():
        for peer in mesh.nodes:
            found = mesh.search(peer, text)
            assert (found.corrected, found.suggestion) == ("", OFFERED[text])


def test_verbatim_words_are_searched_as_typed(meshes: dict[int, Mesh]) -> None:
    found = meshes[3].search("peer1", "sofware", is_verbatim=True)
    assert (found.corrected, found.suggestion, found.total) == ("", "", 0)


def test_results_of_a_mended_query_are_those_of_what_was_meant(meshes: dict[int, Mesh]) -> None:
    for mesh in meshes.values():
        meant = mesh.search("peer0", "install software")
        found = mesh.search("peer0", "install sofwtare")
        assert [hit.url for hit in found.hits] == [hit.url for hit in meant.hits]
        behind = mesh.search("peer0", "install sofwtare", cursor=found.next)
        assert [h.url for h in behind.hits] == [
            h.url for h in mesh.search("peer0", "install software", cursor=meant.next).hits
        ]


def test_of_words_on_as_many_pages_the_last_by_its_letters_was_meant() -> None:
    typed = Mistyped(0, 6, "parket", is_nowhere=True)
    samples = "http://a.test/", "http://b.test/"
    told = [Similar(word, 0, 6, 3, 0, samples) for word in ("market", "packet", "basket")]
    for answers in told, told[::-1]:
        assert mend("parket", [(typed, answers)], lambda url: True, 10) == Mended("packet", True)
