from __future__ import annotations

from itertools import product
from random import Random

import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.mending.similar_words import TWO_EDITS_CHARS, SimilarWord, is_text
from peers.engine.pages.document import Document
from peers.engine.pages.suggested_texts import text_of_entry
from peers.engine.searching.effort import Effort
from peers.text.pinyin import readings, sounding_like, spellings_of_syllable


def similar(texts: list[str], typed: str, beside: tuple[str, ...] = ()) -> list[SimilarWord]:
    """Ask an index of two segments, one page a text."""
    pages = [(n % 7, Document(f"http://h{n}.test/", text=text)) for n, text in enumerate(texts)]
    with Index.open(MemoryStorage()) as index:
        for half in (pages[::2], pages[1::2]):
            index.add(half)
            index.commit()
        return index.snapshot().everything().similar_words(typed, beside, Effort())[0]


def edits(a: str, b: str) -> int:
    """Return the distance of optimal string alignment, by its definition."""
    rows = [[max(i, j) if not i * j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, j in product(range(1, len(a) + 1), range(1, len(b) + 1)):
        rows[i][j] = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
        if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
            rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
    return rows[-1][-1]


@pytest.mark.parametrize("seed", range(6))
def test_words_near_a_typed_one_are_those_of_the_definition(seed: int) -> None:
    random = Random(seed)
    stem = "".join(random.choices("abc", k=random.choice((5, 6, 9))))
    words = {stem + "".join(random.choices("abc", k=random.randrange(3))) for _ in range(40)}
    words |= {"".join(random.choices("abc", k=random.randrange(3, 12))) for _ in range(1_000)}
    words |= {"c" * 10 + "".join(random.choices("abc", k=8)) for _ in range(200)}
    words |= {
        stem[:i] + random.choice(("", "a", "b")) + stem[i + random.randrange(2) :] for i in range(len(stem))
    }
    typed = stem + random.choice(("", "a"))
    edits_max = 2 if len(typed) >= TWO_EDITS_CHARS else 1
    expected = {word for word in words if edits(word, typed) <= edits_max}
    nearest = sorted(expected, key=lambda word: (edits(word, typed), word))
    found = {each.word for each in similar([" ".join(words)] * 2, typed) if each.part == (0, len(typed))}
    assert found <= expected
    assert found == set(nearest[:24])


def test_pages_are_counted_with_the_rest_of_the_query() -> None:
    texts = ["package manager", "package", "packages manager", "pakcage manager", "other manager"]
    counts = {each.word: (each.pages, each.together) for each in similar(texts, "packagw", ("manager",))}
    assert counts == {"package": (2, 1)}
    assert {each.word: each.pages for each in similar(texts, "pakcage")} == {"pakcage": 1, "package": 2}


def test_texts_are_told_for_the_first_letters_of_their_pinyin() -> None:
    titles = ["软件包", "如今版", "软件包管理", "软件", "软件 包", "rjb", "软件库", "重庆", "软件包"]
    pages = [(n, Document(f"http://h{n}.test/", title, text="软件包")) for n, title in enumerate(titles)]
    with Index.open(MemoryStorage()) as index:
        for half in (pages[::2], pages[1::2]):
            index.add(half)
            index.commit()
        view = index.snapshot().everything()

        def told(typed: str) -> dict[str, int]:
            found, is_cut = view.similar_words(typed, (), Effort())
            assert not is_cut
            return {text_of_entry(each.word): each.pages for each in found if is_text(each.word)}

        assert told("rjb") == {"软件包": 2, "如今版": 1}
        assert told("rj") == {"软件": 1}
        assert told("cq") == told("zq") == {"重庆": 1}
        assert told("rjbgl") == {"软件包管理": 1}
        assert told("r") == told("rjbgli") == {}


def test_words_of_unquotable_pages_alone_are_not_told() -> None:
    pages = [Document(f"http://h{n}.test/", text="confidential", is_quotable=n > 2) for n in range(5)]
    pages.append(Document("http://x.test/", text="konfident", is_quotable=False))
    with Index.open(MemoryStorage()) as index:
        index.add([(1, page) for page in pages])
        index.commit()
        view = index.snapshot().everything()
        found, _ = view.similar_words("confidental", (), Effort())
        assert [(each.word, each.pages) for each in found] == [("confidential", 2)]
        assert set(found[0].samples) == {"http://h3.test/", "http://h4.test/"}
        assert view.similar_words("konfidentt", (), Effort()) == ([], False)


@pytest.mark.parametrize(
    ("typed", "word", "part"),
    [
        ("ruanjianbao", "软件包", (0, 11)),
        ("ruangjiangbao", "软件包", (0, 13)),  # ng for n
        ("dayin", "打印", (0, 5)),
        ("woyaodayin", "打印", (5, 10)),
        ("zuomian", "桌面", (0, 7)),  # z for zh
    ],
)
def test_words_that_sound_like_a_part_are_found(typed: str, word: str, part: tuple[int, int]) -> None:
    texts = ["软件包 打印 桌面", "管理器 安装 文档 资料库"]
    assert (word, part) in [(each.word, each.part) for each in similar(texts, typed)]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("软健包", {"软件包": 2}),
        ("转件包", {}),  # zhuan is no ruan
        ("管里器", {"管理器": 1}),
        ("管你器", {"管理器": 1}),  # n for l
        ("庄体", {"装体": 1}),
        ("桌面", {"桌面": 2}),  # itself
        ("桌免板", {}),  # no page has two of its pairs
        ("软健報", {}),  # two characters are wrong
    ],
)
def test_runs_with_one_character_of_like_sound_are_found(typed: str, found: dict[str, int]) -> None:
    texts = ["软件包的桌面", "安装软件包", "管理器", "装体", "桌面"]
    assert {each.word: each.pages for each in similar(texts, typed)} == found


def test_runs_are_those_of_the_definition() -> None:
    random = Random(5)
    like = "是事市试时使四司思死"
    texts = ["".join(random.choices(like + "我他们", k=6)) for _ in range(60)]
    for _ in range(20):
        typed = "".join(random.choices(like + "我他们", k=random.choice((3, 4))))
        runs = {
            typed[:n] + other + typed[n + 1 :]
            for n, c in enumerate(typed)
            for other in (*sounding_like(c), c)
        }
        pairs = {run: {run[n : n + 2] for n in range(len(run) - 1)} for run in runs}
        expected = {run: sum(all(pair in text for pair in pairs[run]) for text in texts) for run in runs}
        found = {each.word: each.pages for each in similar(texts, typed)}
        assert found == {run: n for run, n in expected.items() if n}


def test_readings_of_every_character_are_found_by_a_scan() -> None:
    """One by one, so that no reading is lost between the table and the kernel."""
    random = Random(3)
    for character in random.sample(sorted(readings()), 60):
        typed = spellings_of_syllable(random.choice(readings()[character]))[0]
        found = similar([character], typed)
        assert (character, (0, len(typed))) in [(each.word, each.part) for each in found], character


def test_little_effort_tells_of_few_words_and_says_so() -> None:
    effort = Effort(5)
    with Index.open(MemoryStorage()) as index:
        index.add([(1, Document("http://a.test/", text="software sofwares softwares"))])
        index.commit()
        assert index.snapshot().everything().similar_words("sofware", (), effort) == ([], True)
    assert effort.is_spent
