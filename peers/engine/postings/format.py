"""The posting list of a dictionary entry: its format, and how its blocks are decoded.

A posting says how often an entry occurs in each field of one document; the postings of an entry have rising
documents. What follows depends on how many there are (which the dictionary says).

Fewer than BLOCK: one after the other, as cheap as can be
    varint(delta << 1 | simple)     delta = document - previous document, the first from -1
    simple = the entry is once in the body and nowhere else, the commonest case by far. A varint has seven
    bits a byte, low bits first.
    when not simple, one byte: 128 + frequency - 2, when it is in the body alone, up to 129 times; else 64 +
    field bits, when it is once in each; else the field bits, then varint(frequency) for each, ascending

Otherwise, from the next multiple of four bytes on, 32-bit words: a summary, a skip entry for each block of
BLOCK postings (the last block may have fewer), and the blocks.
    block       two words: bits of a delta | for each field 1 << (6 + field) when no frequency is 0;
                bits of each field's frequencies, 5 bits each. Then columns of as many bits a value:
                delta - 1, and for each field with bits its frequencies (less 1 when none is 0).
    column      value i is in row i // 4 of lane i % 4; a lane is a stream of 32-bit words, low bits first,
                and the words of the four lanes alternate: four values are decoded at once, any one alone.
    skip entry  last document; where the block starts, in words from the first block; where its positions
                start, in bytes from the entry's first; then what bounds every score in the block:
                4 words frequency << 16 | length: points such that every document of the block has at most the
                frequency and at least the length of one of them in the body; no frequency: no point.
                4 words with 24 bits for each other field, frequency << 16 | length: greatest and least.
                Frequencies of 65,535 (255) mean any; lengths over 65,535 count as that.
    summary     the same for all blocks: the last document, the words of all blocks, 0

A score rises with frequencies and falls with lengths, whatever the weights and statistics; so the score of
the best point bounds all scores of a block, without knowing them when the index is built.

Positions of an atom (a word or a pair of CJK characters) are in a section of their own, in the order of the
postings: for each field present, varint deltas, the first from 0. How many bytes belong to a posting is not
noted: they have as many ends of varints as the posting has occurrences.
"""

from __future__ import annotations

from peers.engine.native.compiled import kernel
from peers.kernel import Bytes, Ints, Words

BLOCK = 128
SKIP_WORDS = 11

# A posting in a block: seven columns of 32 bits; columns of few rows are rounded up to four words.
POSTING_BYTES_MAX = 32
ENTRY_BYTES_MAX = 512


@kernel
def documents_of(data: Bytes, words: Words, start: int, n_postings: int, documents: Ints) -> int:
    """Decode all documents of a list; room for n_postings + 4."""
