"""Mistyped words, pinyin and like sounds are mended by any mesh as one peer would."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import islice, product
from random import Random
from string import ascii_lowercase
from typing import Final

import msgspec
import pytest

from mesh.actors.actor import Address, Message
from mesh.actors.node import Outgoing
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import TEXT_PREFIX
from peers.engine.pages.suggested_texts import SHOWN_AS
from peers.engine.searching.effort import Effort
from peers.gateway.search.correction import Mended, Mistyped, likeliest, mend, summed
from peers.index.wire_messages import SIMILAR_MAX, Similar, TermsCounted
from tests.peers.gateway.test_exactness import Mesh

CALLS_A_WORD: Final = 30  # and returns, of one that is told
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


LIKE_SOUNDS = {
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


@pytest.mark.parametrize("text", LIKE_SOUNDS)
def test_words_with_a_chinese_character_of_like_sound_are_mended(meshes: dict[int, Mesh], text: str) -> None:
    for mesh in meshes.values():
        for peer in mesh.nodes:
            found = mesh.search(peer, text)
            assert (found.corrected, found.suggestion) == (LIKE_SOUNDS[text], "")


def test_a_part_of_more_chinese_characters_is_offered_not_searched(meshes: dict[int, Mesh]) -> None:
    clause = "把软件包管里器安装"
    pages = [Document(f"http://h{n}.test/", text=clause.replace("里", "理")) for n in range(3)]
    with ExitStack() as stack:
        mesh = Mesh(["solo"], stack)
        mesh.index(pages)
        found = mesh.search("solo", clause)
        assert (found.corrected, found.suggestion) == ("", clause.replace("里", "理"))


INITIALS = {
    "rjb": "软件包",
    "install rjb": "install 软件包",
    "dyj": "打印机",  # the title of more pages than 对应集
    "zy": "中央",  # z for zh
    "ajz": "",  # a title that may not be shown
    "rjbg": "",
    "RJB": "软件包",
    "gnu": "",  # on a page
    "xqd": "",  # a word, but no title
}


@pytest.mark.parametrize("text", ["软件库房", "买我们", "buy", "\u202e软件", "a" * 200])
def test_no_text_is_offered_for_letters_that_are_not_its_first_ones(text: str) -> None:
    told = [Similar(f"{TEXT_PREFIX}{text}{SHOWN_AS}", 0, 3, 9, 9, ("http://a.test/",))]
    assert likeliest("rjb", told) == []
    assert likeliest("rjb", [Similar(f"{TEXT_PREFIX}软件包{SHOWN_AS}买我们", 0, 3, 9, 9)]) == []
    right = Similar(f"{TEXT_PREFIX}软件包{SHOWN_AS}", 0, 3, 1, 1)
    assert likeliest("rjb", [*told, right]) == [right]


@pytest.mark.parametrize("text", INITIALS)
def test_a_title_is_offered_for_the_first_letters_of_its_pinyin(text: str) -> None:
    titles = ["软件包", "打印机 — Debian", "打印机 — FAQ", "对应集", "中央", "gnu", "install 驱动器"]
    pages = [
        Document(f"http://host{n}.test/", title, text="小驱动 安装 install") for n, title in enumerate(titles)
    ]
    pages.append(Document("http://silent.test/", "暗夹子", text="x", is_quotable=False))
    with ExitStack() as stack:
        for count in (1, 3):
            mesh = Mesh([f"peer{i}" for i in range(count)], stack)
            mesh.index(pages)
            for peer in mesh.nodes:
                found = mesh.search(peer, text)
                assert (found.corrected, found.suggestion) == ("", INITIALS[text])


NEIGHBOURS = tuple(
    f"{'pannier'[:place]}{letter}{'pannier'[place + skipped :]}"
    for place in range(1, 7)
    for letter in "bdgklmoqtvx"
    for skipped in (0, 1)
)


@pytest.mark.parametrize("seed", range(4))
def test_of_more_words_than_are_told_the_same_is_chosen_by_any_mesh(seed: int) -> None:
    random = Random(seed)
    texts = [" ".join((random.choice(NEIGHBOURS), *random.choices(WORDS, k=3))) for _ in range(400)]
    texts += [" ".join(random.choices("大答达搭", k=1)) + random.choice("印银引音因隐阴") for _ in range(200)]
    pages = [Document(f"http://host{n % 41}.test/{n}", text=text) for n, text in enumerate(texts)]
    with ExitStack() as stack:
        meshes = [Mesh([f"peer{i}" for i in range(n)], stack) for n in (1, 3, 5)]
        for mesh in meshes:
            mesh.index(pages)
        for text in ("pannier", "pannier printer", "pannier 打印", "install pannier", "dayin", "da yin"):
            found = [mesh.search(peer, text) for mesh in meshes for peer in mesh.nodes]
            assert len({(each.corrected, each.suggestion) for each in found}) == 1, text


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


def lies(count: int, letters: str, n_letters: int) -> list[Similar]:
    """As many words as are told, of more pages than there are."""
    words = map("".join, product(letters, repeat=n_letters))
    return [Similar(word, 0, 30, 10**9, 10**9, ("http://a.test/",)) for word in islice(words, count)]


def test_a_member_that_lies_keeps_out_no_word_that_two_others_tell() -> None:
    honest = [Similar(word, 0, 6, 3, 1) for word in ("packet", "market")]
    others = [Similar(f"{a}acket", 0, 6, 2, 0) for a in ascii_lowercase]
    told = summed([lies(SIMILAR_MAX, "xyz", 6), honest, others, [*honest, *others[:9]]])
    assert len(told) == SIMILAR_MAX
    assert {"packet", "market"} < {each.word for each in told}
    assert [each.pages for each in told if each.word == "market"] == [6]
    assert {each.word for each in others} < {each.word for each in told}  # of turns each share has as many


class LyingMesh(Mesh):
    """A mesh in which a member tells as many words as it may, each on more pages than there are."""

    def _carry(self, peer: str, item: Outgoing) -> Iterable[tuple[str, Address, str, Message]]:
        for to, source, actor, message in super()._carry(peer, item):
            if isinstance(message, TermsCounted) and message.similar and source.peer == "peer2":
                told = (tuple(lies(SIMILAR_MAX, "xyz", 6)), (lies(1, "xyz", 6)[0],) * SIMILAR_MAX)
                similar = tuple(told[len(each) > 1] for each in message.similar)
                message = msgspec.structs.replace(message, similar=similar, is_cut=True)
            yield to, source, actor, message


def test_mistyped_words_are_mended_beside_a_member_that_tells_others() -> None:
    with ExitStack() as stack:
        mesh = LyingMesh([f"peer{i}" for i in range(5)], stack)
        mesh.index(documents(1_200))
        for text in ("sofware", "install sofwtare", "dayin", "软健包"):
            found = mesh.search("peer0", text)
            assert (found.corrected, found.suggestion) == ((MENDED | LIKE_SOUNDS)[text], "")


class ChoosingMesh(Mesh):
    """A mesh in which a member has a word that is on few pages on more pages than there are."""

    def _carry(self, peer: str, item: Outgoing) -> Iterable[tuple[str, Address, str, Message]]:
        for to, source, actor, message in super()._carry(peer, item):
            if isinstance(message, TermsCounted) and message.similar and source.peer == "peer2":
                samples = "http://few0.test/", "http://few1.test/"
                lie = Similar("softwore", 0, len("softwqre"), 10**6, 10**6, samples)
                similar = tuple((lie, *each)[:SIMILAR_MAX] for each in message.similar)
                message = msgspec.structs.replace(message, similar=similar)
            yield to, source, actor, message


@pytest.mark.parametrize("count", [3, 5])
def test_no_member_alone_chooses_what_was_meant(count: int) -> None:
    few = [Document(f"http://few{n}.test/", text="softwore and restart") for n in range(2)]
    with ExitStack() as stack:
        mesh = ChoosingMesh([f"peer{i}" for i in range(count)], stack)
        mesh.index([*documents(1_200), *few])
        for gateway in mesh.nodes.keys() - {"peer2"}:
            found = mesh.search(gateway, "softwqre")
            assert (found.corrected, found.suggestion) == ("software", "")


def test_a_word_that_one_member_alone_has_is_chosen_when_its_stand_ins_have_it_too() -> None:
    alone = [Document(f"http://one-site.test/{n}", text="gramophone and restart") for n in range(4)]
    with ExitStack() as stack:
        for count in (1, 3, 5):
            mesh = Mesh([f"peer{i}" for i in range(count)], stack)
            mesh.index([*documents(300), *alone])
            for gateway in mesh.nodes:
                assert mesh.search(gateway, "gramofone restart").corrected == "gramophone restart"


def test_words_that_no_honest_index_tells_are_not_taken() -> None:
    told = [Similar(word, 0, 6, 9, 9) for word in ("banquet", "markets", "racket", "pqrket", "xyzket", "a")]
    assert {each.word for each in likeliest("parket", told)} == {"racket", "pqrket", "markets"}
    told = [Similar(word, 0, 3, 9, 9) for word in ("软件包", "软健包", "软件报", "软大包", "软健", "abc")]
    assert {each.word for each in likeliest("软健包", told)} == {"软件包", "软健包"}
    told = [
        Similar(*part, 9, 9)
        for part in (("打印", 0, 5), ("大英", 0, 5), ("管理", 0, 5), ("打", 0, 5), ("因", 2, 5))
    ]
    assert {each.word for each in likeliest("dayin", told)} == {"打印", "大英", "因"}


def test_words_told_by_many_that_lie_cost_no_more_than_those_of_one() -> None:
    typed = "p" + "ab" * 14
    one = lies(SIMILAR_MAX, "ab", 29)
    many = [lies(SIMILAR_MAX * (n + 1), "ba", 29)[-SIMILAR_MAX:] for n in range(40)]
    first = calls_of(lambda: likeliest(typed, summed([one])))
    assert calls_of(lambda: likeliest(typed, summed(many))) < 2 * first + 40 * SIMILAR_MAX * CALLS_A_WORD
    long = [Similar(each.word * 8, 0, 30, 9, 9) for each in one]
    assert calls_of(lambda: likeliest(typed, long)) < first / 10


@pytest.mark.parametrize("typed", ["pannier", "painter", "windows", "keyboards", "documents", "pprinter"])
def test_all_words_that_an_index_finds_like_a_typed_one_are_taken(typed: str) -> None:
    random = Random(typed)
    words = set[str]()
    while len(words) < 300:
        word = typed
        for _ in range(random.randrange(1, 4)):
            place = random.randrange(len(word))
            rest = random.choice(
                (word[place:], word[place + 1 :], word[place + 1 : place + 2] + word[place:])
            )
            word = word[:place] + random.choice(("", "a", "x", word[place])) + rest
        words.add(word)
    with ExitStack() as stack:
        index = stack.enter_context(Index.open(MemoryStorage()))
        index.add([(0, Document(f"http://a.test/{n}", text=word)) for n, word in enumerate(words)])
        index.commit()
        found, _ = index.snapshot().everything().similar_words(typed, (), Effort())
        told = [Similar(each.word, *each.part, each.pages, each.together) for each in found]
    assert len(told) >= 20
    assert {each.word for each in likeliest(typed, told)} == {each.word for each in told}


def calls_of(work: Callable[[], object]) -> int:
    """Count the calls and returns of functions."""
    events: list[str] = []
    sys.setprofile(lambda frame, event, argument: events.append(event))
    work()
    sys.setprofile(None)
    return len(events)


def test_of_words_on_as_many_pages_the_last_by_its_letters_was_meant() -> None:
    typed = Mistyped(0, 6, "parket", is_nowhere=True)
    samples = "http://a.test/", "http://b.test/"
    told = [Similar(word, 0, 6, 3, 0, samples) for word in ("market", "packet", "basket")]
    for answers in told, told[::-1]:
        assert mend("parket", [(typed, answers)], lambda url: True, 10) == Mended("packet", True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("北大", ("北京大学", "Peking University")),
        ("peking university", ("北京大学", "北大")),
        ("北大 site:pku.test", ()),
        ("大学", ()),
        ("PKU", ()),  # four domains call it so
        ("暗大", ()),
    ],
)
def test_other_names_are_those_by_which_five_domains_link_to_a_hit(text: str, names: tuple[str, ...]) -> None:
    anchors = sorted(["北京大学"] * 8 + ["北大"] * 5 + ["Peking University"] * 5 + ["PKU"] * 4)
    hidden = sorted(["暗大"] * 5 + ["暗黑大学"] * 5)
    pages = [
        Document(
            "http://pku.test/", "北京大学", text="PKU 大学 北大 peking university", anchors=tuple(anchors)
        ),
        Document("http://dark.test/", text="暗大", anchors=tuple(hidden), is_quotable=False),
        *(Document(f"http://host{n}.test/", text=f"大学 北大 暗大 {n}") for n in range(20)),
    ]
    with ExitStack() as stack:
        for count in (1, 3):
            mesh = Mesh([f"peer{i}" for i in range(count)], stack)
            mesh.index(pages)
            for peer in mesh.nodes:
                assert mesh.search(peer, text).also_called == names
