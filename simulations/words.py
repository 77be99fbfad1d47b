"""Pages with something to be found in them: records that are whole, documents with a word of their own."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from mesh.document import Document
from mesh.urls import fingerprint
from peers.storage.warc import response_record
from simulations.ports import VirtualParser

_LETTERS: Final = "bcdfghjklmnpqrtvwxz"  # no vowels, no s: nothing that a stemmer would cut
COMMON_WORD: Final = "everywhere"


def rare_word_of(url: str) -> str:
    """A word that stands on this page and on no other."""
    number = int.from_bytes(fingerprint(url)[:8], "big")
    letters = []
    for _ in range(12):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "q" + "".join(letters)


class WordyParser(VirtualParser):
    """The parser's twin for runs in which pages are really kept and searched."""

    def records(self, url: str, fetched_at: float) -> bytes:
        return _records(url, fetched_at)

    def document(self, url: str, fetched_at: float) -> Document:
        word = rare_word_of(url)
        text = f"{COMMON_WORD} the word {word}"
        return Document(url, title=f"page {word}", text=text, fetched_at=fetched_at)


@lru_cache(maxsize=4_096)
def _records(url: str, fetched_at: float) -> bytes:
    body = rare_word_of(url).encode()
    return response_record(url, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", body, fetched_at)
