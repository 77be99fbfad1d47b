"""Posting lists read as `peers.engine.postings.format` says, value by value, beside the kernels."""

from __future__ import annotations

from collections.abc import Iterator

from peers.engine.native.kernels import BODY, FIELD_COUNT
from peers.engine.postings.format import BLOCK, SKIP_WORDS
from peers.kernel import Bytes, Words

Posting = tuple[int, list[int]]  # a document, and how often the entry is in each of its fields


def read_postings(data: Bytes, words: Words, start: int, n_postings: int) -> list[Posting]:
    """Read the list whose bytes start at `start`; `words` is another view of the bytes."""
    if n_postings < BLOCK:
        return list(_short(data.tobytes(), start, n_postings))
    numbers = words.tolist()
    table = table_of(start)
    n_blocks = -(-n_postings // BLOCK)
    first = table + SKIP_WORDS * (1 + n_blocks)
    postings: list[Posting] = []
    for block in range(n_blocks):
        entry = table + SKIP_WORDS * (1 + block)
        n = min(BLOCK, n_postings - block * BLOCK)
        previous = postings[-1][0] if postings else -1
        postings += _block(numbers, first + numbers[entry + 1], n, previous)
        assert postings[-1][0] == numbers[entry]
    return postings


def table_of(start: int) -> int:
    """Return the word at which the summary of a long list is."""
    return -(-start // 4)


def field_bounds(words: Words, entry: int, place: int) -> int:
    """Return frequency << 16 | length of the field at a place among those without points."""
    packed = sum(int(words[entry + 7 + i]) << (32 * i) for i in range(4))
    return packed >> (24 * place) & 0xFFFFFF


def _short(data: bytes, at: int, n_postings: int) -> Iterator[Posting]:
    document = -1
    for _ in range(n_postings):
        head, at = _varint(data, at)
        document += head >> 1
        frequencies = [0] * FIELD_COUNT
        if head & 1:
            frequencies[BODY] = 1
        else:
            byte = data[at]
            at += 1
            if byte >= 128:
                frequencies[BODY] = byte - 126
                byte = 0
            for field in range(FIELD_COUNT):
                if byte >> field & 1:
                    frequencies[field], at = (1, at) if byte & 64 else _varint(data, at)
        yield document, frequencies


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] >= 128:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def _block(words: list[int], at: int, n: int, previous: int) -> Iterator[Posting]:
    head, widths = words[at], words[at + 1]
    columns, column = [], at + 2
    for width in (head & 63, *(widths >> (5 * field) & 31 for field in range(FIELD_COUNT))):
        columns.append(_column(words, column, width, n))
        column += -(-(-(-n // 4) * width) // 32) * 4
    for i in range(n):
        previous += columns[0][i] + 1
        yield previous, [columns[1 + f][i] + (head >> (6 + f) & 1) for f in range(FIELD_COUNT)]


def _column(words: list[int], at: int, width: int, n: int) -> list[int]:
    n_words = -(-(-(-n // 4) * width) // 32)
    lanes = [sum(words[at + 4 * i + lane] << (32 * i) for i in range(n_words)) for lane in range(4)]
    return [lanes[i % 4] >> (i // 4 * width) & ((1 << width) - 1) for i in range(n)]
