"""Texts and documents for the tests of the index, made from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st

from mesh.document import Document
from mesh.slots import slot_of
from mesh.urls import host_of
from peers.index.index import Index
from peers.index.query import Mode, parse_query
from peers.index.snapshot import Hit, View
from peers.index.storage import MemoryStorage

_WORDS = """
天网 搜索引擎 北京大学 研究生命起源 中华人民共和国 长春市长春药店 索引 网页 主机 逻辑节点
東京タワー カタカナ 한국어 mesh peer Search engine crawler café naïve UTF-8
index 2004 x86 T恤 的 了 是 the of a
"""
WORDS = _WORDS.split()


def random_text(random_: random.Random, n_words: int) -> str:
    """Return a text of words in uneven frequencies, with punctuation and line breaks between some."""
    parts: list[str] = []
    for _ in range(n_words):
        parts.append(WORDS[min(int(random_.expovariate(0.12)), len(WORDS) - 1)])
        parts.append(random_.choice(["", " ", "，", "。", "\n", " - "]) if parts[-1][-1] > "\u3000" else " ")
    return "".join(parts)


def random_documents(seed: int, count: int, slots: int = 50) -> list[tuple[int, Document]]:
    """Return documents with all fields, on a few hosts; the slot follows from the host."""
    random_ = random.Random(seed)
    documents = []
    for number in range(count):
        host = random_.randrange(20)
        documents.append(
            (
                host * 37 % slots,
                Document(
                    url=f"http://h{host}.example{host % 3}.org/{random_.choice('abc')}/{number}",
                    title=random_text(random_, random_.randrange(6)),
                    headings=random_text(random_, random_.randrange(5)),
                    text=random_text(random_, random_.randrange(120)),
                    anchors=tuple(random_text(random_, 2) for _ in range(random_.randrange(3))),
                    language="zh",
                    fetched_at=float(number),
                ),
            )
        )
    return documents


def placed_documents(seed: int, count: int, slots: int = 50) -> list[tuple[int, Document]]:
    """Return such documents in the slots that a mesh of so many slots gives their hosts."""
    return [
        (slot_of(host_of(document.url), slots), document) for _, document in random_documents(seed, count)
    ]


def index_of(documents: Sequence[tuple[int, Document]]) -> Index:
    """Return an index in memory that has committed the documents."""
    index = Index.open(MemoryStorage())
    index.add(documents)
    index.commit()
    return index


def page(url: str, text: str = "", title: str = "") -> tuple[int, Document]:
    """Return a document in slot 0."""
    return 0, Document(url=f"http://{url}", title=title, text=text)


def search(view: View, text: str, k: int = 10, mode: Mode = Mode.AND) -> tuple[int, list[Hit]]:
    """Search with the view's own statistics; of an OR the total may be less than what matches."""
    query = parse_query(text, mode)
    total, is_exact, hits = view.search(query, view.statistics(query.terms), k)
    assert is_exact or (mode is Mode.OR and total >= len(hits) == k)
    return total, hits


def found(documents: Sequence[tuple[int, Document]], text: str, mode: Mode = Mode.AND) -> set[str]:
    """Return the URLs, without the scheme, that a query finds among a few documents."""
    total, hits = search(index_of(documents).snapshot().everything(), text, 1000, mode)
    assert total == len(hits)
    return {hit.url.removeprefix("http://") for hit in hits}


# Text of Chinese characters, simplified and traditional.
han_text = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(list("天網搜尋引擎與漢語拼音繁體中文乾隆後來於")),
        st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5), max_size=4),
        st.sampled_from(list("，。 a")),
    ),
    max_size=30,
).map("".join)

# Text of words with signs between and beside them.
signed_text = st.lists(
    st.sampled_from(
        ["c", "net", "T", "恤", "1", "23", "000", "1234", "ok", "カ", *"++##..&/,- ", "running", "the"]
    ),
    max_size=30,
).map("".join)

# Text of all scripts with the characters that folding and cutting treat specially.
any_text = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(list(" ，。\n-_'\u0301\u3099ﾞｶＡé½㌔ΣσςİıßﬀⅧ①\ufeff\x00\x01\x02·々〇ー")),
        st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5), max_size=4),
        st.text(max_size=3),
    ),
    max_size=30,
).map("".join)
