"""Pages with something to be found in them: records that are whole, documents with a word of their own."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from mesh.stamp import Stamp
from mesh.urls import fingerprint
from peers.engine.pages.document import Document
from peers.storage.archive.warc import read_records, response_record
from simulations.webs.changing_web import is_shown
from simulations.world.ports import VirtualParser

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


def version_word_of(url: str, body: bytes) -> str:
    """A word that stands in this version of a page and nowhere else."""
    return rare_word_of(f"{url} {body.decode()}")


class WordyParser(VirtualParser):
    """The parser's twin for runs in which pages are really kept and searched."""

    def records(self, url: str, stamp: Stamp, body: bytes) -> bytes:
        return records_of(url, stamp, body)

    def body_in(self, records: bytes) -> bytes:
        return body_of(records)

    def document(self, url: str, stamp: Stamp, body: bytes) -> Document | None:
        if not is_shown(body):
            return None
        word = rare_word_of(url)
        text = f"{COMMON_WORD} the word {word}" + (f" and {version_word_of(url, body)}" if body else "")
        return Document(url, title=f"page {word}", text=text, fetched_at=stamp.fetched_at, visit=stamp.visit)


class TellingParser(WordyParser):
    """One that has heard of topics, and tells which of them pages are on."""

    hears_decrees = True


@lru_cache(maxsize=4_096)
def records_of(url: str, stamp: Stamp, body: bytes) -> bytes:
    """The records of a version of a page."""
    block = rare_word_of(url).encode() + b" " + body
    return response_record(url, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", block, stamp)


def body_of(records: bytes) -> bytes:
    """Return the body of the web's answer that is in these records.

    Raises:
      CorruptionError: they are damaged.
    """
    (record,) = read_records(records)
    return record.block.partition(b"\r\n\r\n")[2].partition(b" ")[2]
