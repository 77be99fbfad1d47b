"""The inner loops of the index, compiled by numba: encoding, decoding, scoring, merging.

Format of a term's postings: one posting for each document that has the term, documents ascending.
    varint(delta << 1 | simple)     delta = document - previous document, the first from -1
    when not simple: one byte of field bits, then varint(frequency) for each field present, ascending
    when the term is an atom: varint(bytes that the posting has among the positions)
simple = the term is once in the body and nowhere else, the commonest case by far. Positions of a posting:
for each field present, varint deltas, the first from 0. A varint has seven bits a byte, low bits first.

All signatures are explicit, so every kernel compiles once, when this file is first imported, and comes
from numba's disk cache afterwards. Kernels release the GIL, trust their input (segments are checksummed,
and `inspect_postings` has seen those that came from elsewhere) and never reorder floating-point operations:
fastmath stays off, so that scores are bit-identical on every peer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

FIELD_COUNT = 5
BODY = 3

# An occurrence is one int64: document << 32 | field << 28 | position.
FIELD_SHIFT = 28
DOCUMENT_SHIFT = 32
POSITION_MASK = (1 << FIELD_SHIFT) - 1

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Lengths = NDArray[np.uint32]
Codes = NDArray[np.uint32]
Sums = NDArray[np.uint64]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_IN_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_IN_INTS = types.Array(types.int64, 1, "C", readonly=True)
_IN_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_IN_LENGTHS = types.Array(types.uint32, 2, "C", readonly=True)
_BYTES = types.uint8[::1]
_INTS = types.int64[::1]
_FLOATS = types.float64[::1]
_SUMS = types.uint64[::1]
_IN_SUMS = types.Array(types.uint64, 1, "C", readonly=True)


def _kernel(*signature: Any, returns: Any = types.int64) -> Callable[[Kernel], Kernel]:
    decorate: Callable[[Kernel], Kernel] = njit(returns(*signature), cache=True, nogil=True)
    return decorate


def _leaf(function: Kernel) -> Kernel:
    compiled: Kernel = njit(function)
    return compiled


@_leaf
def _read(data: Bytes, at: int) -> tuple[int, int]:
    """Return (value, index after it) of the varint at `at`."""
    byte = int(np.int64(data[at]))
    value = byte & 127
    shift = 7
    at += 1
    while byte >= 128:
        byte = int(np.int64(data[at]))
        value |= (byte & 127) << shift
        shift += 7
        at += 1
    return value, at


@_leaf
def _write(data: Bytes, at: int, value: int) -> int:
    """Write a varint at `at`; return the index after it."""
    while value >= 128:
        data[at] = (value & 127) | 128
        value >>= 7
        at += 1
    data[at] = value
    return at + 1


@_leaf
def _read_fields(data: Bytes, at: int, frequencies: Ints) -> int:
    """Read field bits and frequencies into `frequencies`, all zero before; return the index after them."""
    bits = int(np.int64(data[at]))
    at += 1
    for field in range(FIELD_COUNT):
        if bits >> field & 1:
            frequencies[field], at = _read(data, at)
    return at


@_leaf
def _skip_fields(data: Bytes, at: int) -> int:
    """Return the index after the field bits and frequencies that start at `at`."""
    bits = int(np.int64(data[at]))
    at += 1
    while bits:
        if bits & 1:
            while data[at] >= 128:
                at += 1
            at += 1
        bits >>= 1
    return at


@_leaf
def _skip_posting(data: Bytes, at: int, is_atom: bool) -> tuple[int, int]:
    """Return (delta, next)."""
    head, at = _read(data, at)
    if not head & 1:
        at = _skip_fields(data, at)
    if is_atom:
        _, at = _read(data, at)
    return head >> 1, at


# No posting of a term is left; more than any document.
SLICED = 1 << 62
# 35 bits: more than a document number and its flag, a frequency or a length has.
_VARINT_BYTES_MAX = 5

# What a check covers: a rare term costs one block or two, and the sums are 0.2 % of what they cover.
SUM_BLOCK_BYTES = 4096
_SUM_WORDS = SUM_BLOCK_BYTES // 8

_P1, _P2, _P3, _P4 = (
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63)
)
_START_1 = np.uint64((0x9E3779B185EBCA87 + 0xC2B2AE3D27D4EB4F) % (1 << 64))
_START_4 = np.uint64((-0x9E3779B185EBCA87) % (1 << 64))


@_leaf
def _rotated(value: Any, bits: int) -> Any:
    return value << np.uint64(bits) | value >> np.uint64(64 - bits)


@_leaf
def _xxh64(words: Sums, start: int, end: int) -> Any:
    """Return the XXH64, seed 0, of words[start:end]; a multiple of four words, not none."""
    a, b, c, d = _START_1, _P2, np.uint64(0), _START_4
    for i in range(start, end, 4):
        a = _rotated(a + words[i] * _P2, 31) * _P1
        b = _rotated(b + words[i + 1] * _P2, 31) * _P1
        c = _rotated(c + words[i + 2] * _P2, 31) * _P1
        d = _rotated(d + words[i + 3] * _P2, 31) * _P1
    value = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
    for lane in (a, b, c, d):
        value = (value ^ _rotated(lane * _P2, 31) * _P1) * _P1 + _P4
    value += np.uint64((end - start) * 8)
    value = (value ^ value >> np.uint64(33)) * _P2
    value = (value ^ value >> np.uint64(29)) * _P3
    return value ^ value >> np.uint64(32)


@_kernel(_IN_SUMS, _SUMS)
def sum_blocks(words: Sums, sums: Sums) -> int:
    """Sum every block of SUM_BLOCK_BYTES; the last one may be shorter, by a multiple of 32 bytes."""
    for block in range(len(sums)):
        start = block * _SUM_WORDS
        sums[block] = _xxh64(words, start, min(start + _SUM_WORDS, len(words)))
    return len(sums)


@_kernel(_IN_SUMS, _IN_SUMS, _INTS, _INTS)
def find_damage(words: Sums, sums: Sums, starts: Ints, ends: Ints) -> int:
    """Return the first block with another sum among those that have bytes start to end, or -1."""
    for i in range(len(starts)):
        if starts[i] >= ends[i]:
            continue
        for block in range(starts[i] // SUM_BLOCK_BYTES, (ends[i] - 1) // SUM_BLOCK_BYTES + 1):
            start = block * _SUM_WORDS
            if _xxh64(words, start, min(start + _SUM_WORDS, len(words))) != sums[block]:
                return block
    return -1


# Three code points of 21 bits fit an int64: most Chinese words need no comparison of strings.
PACKED_CHARS_MAX = 3
PACKED_BITS = 21


@_leaf
def _slot_of(keys: Ints, key: int) -> int:
    """Return where a key is in an open-addressing table of 2^n entries, or the free entry for it."""
    mask = len(keys) - 1
    mixed = (key ^ key >> 29) * 0x2545F4914F6CDD1D
    at = (mixed ^ mixed >> 32) & mask
    while keys[at] != 0 and keys[at] != key:
        at = (at + 1) & mask
    return int(at)


@_kernel(types.Array(types.uint32, 1, "C", readonly=True), _INTS, _INTS, types.int64, _INTS, _INTS)
def number_tokens(
    codes: Codes, table_keys: Ints, table_numbers: Ints, next_number: int, numbers: Ints, new_keys: Ints
) -> int:
    """Give each short token its number, new ones the next.

    Args:
      codes: tokens, each followed by a 0.
      table_keys, table_numbers: an open-addressing table, never to be more than half full; 0 is free.
      numbers: becomes the number of each token; -1 for those longer than PACKED_CHARS_MAX.
      new_keys: room for all tokens; becomes the packed code points of the new ones, in order.

    Returns:
      How many are new.
    """
    token = 0
    n_new = 0
    key = 0
    length = 0
    for i in range(len(codes)):
        code = int(np.int64(codes[i]))
        if code:
            key = key << PACKED_BITS | code
            length += 1
            continue
        if length > PACKED_CHARS_MAX:
            numbers[token] = -1
        else:
            at = _slot_of(table_keys, key)
            if table_keys[at] == 0:
                table_keys[at] = key
                table_numbers[at] = next_number + n_new
                new_keys[n_new] = key
                n_new += 1
            numbers[token] = table_numbers[at]
        token += 1
        key = 0
        length = 0
    return n_new


@_kernel(_INTS, _INTS, _INTS, _INTS)
def rehash(old_keys: Ints, old_numbers: Ints, keys: Ints, numbers: Ints) -> int:
    """Copy one table of `number_tokens` into a larger one."""
    for i in range(len(old_keys)):
        if old_keys[i]:
            at = _slot_of(keys, old_keys[i])
            keys[at] = old_keys[i]
            numbers[at] = old_numbers[i]
    return len(keys)


@_kernel(_IN_INTS, _IN_INTS, _INTS, _INTS)
def scatter(terms: Ints, keys: Ints, cursors: Ints, grouped: Ints) -> int:
    """Put each key where the cursor of its term is, and move the cursor on."""
    for i in range(len(terms)):
        term = terms[i]
        grouped[cursors[term]] = keys[i]
        cursors[term] += 1
    return len(terms)


@_kernel(_IN_INTS, _IN_INTS, _IN_INTS, _IN_BYTES, _BYTES, _BYTES, _INTS, _INTS, _INTS)
def encode(
    starts: Ints,
    keys: Ints,
    order: Ints,
    is_atom: Bytes,
    postings: Bytes,
    positions: Bytes,
    postings_starts: Ints,
    positions_starts: Ints,
    doc_freq: Ints,
) -> int:
    """Write the postings and positions of terms from their grouped, ascending occurrences.

    Args:
      starts, keys: where the occurrences of each group start, and the occurrences.
      order: the group of each term. is_atom: of each term; only atoms get positions.
      postings_starts, positions_starts, doc_freq: zeros; become those of the terms.

    Returns:
      The number of postings. At most 17 bytes of postings and 5 of positions an occurrence are written.
    """
    frequencies = np.zeros(FIELD_COUNT, np.int64)
    at = 0
    place = 0
    n_postings = 0
    for term in range(len(order)):
        previous = -1
        i = starts[order[term]]
        end = starts[order[term] + 1]
        while i < end:
            document = keys[i] >> DOCUMENT_SHIFT
            frequencies[:] = 0
            first_place = place
            last_field = -1
            last_position = 0
            while i < end and keys[i] >> DOCUMENT_SHIFT == document:
                field = keys[i] >> FIELD_SHIFT & 15
                frequencies[field] += 1
                if is_atom[term]:
                    position = keys[i] & POSITION_MASK
                    if field != last_field:
                        last_field = field
                        last_position = 0
                    place = _write(positions, place, position - last_position)
                    last_position = position
                i += 1
            bits = 0
            for field in range(FIELD_COUNT):
                if frequencies[field]:
                    bits |= 1 << field
            if bits == 1 << BODY and frequencies[BODY] == 1:
                at = _write(postings, at, (document - previous) << 1 | 1)
            else:
                at = _write(postings, at, (document - previous) << 1)
                postings[at] = bits
                at += 1
                for field in range(FIELD_COUNT):
                    if frequencies[field]:
                        at = _write(postings, at, frequencies[field])
            if is_atom[term]:
                at = _write(postings, at, place - first_place)
            previous = document
            doc_freq[term] += 1
            n_postings += 1
        postings_starts[term + 1] = at
        positions_starts[term + 1] = place
    return n_postings


@_leaf
def _compare(a: Bytes, a_start: int, a_end: int, b: Bytes, b_start: int, b_end: int) -> int:
    n = min(a_end - a_start, b_end - b_start)
    for i in range(n):
        difference = int(np.int64(a[a_start + i]) - np.int64(b[b_start + i]))
        if difference:
            return difference
    return (a_end - a_start) - (b_end - b_start)


@_kernel(_IN_BYTES, _IN_INTS, _IN_BYTES, _IN_INTS, _INTS)
def find(blob: Bytes, starts: Ints, wanted: Bytes, wanted_starts: Ints, found: Ints) -> int:
    """Look strings up in a sorted list of distinct strings; `found` becomes their index or -1."""
    n = len(starts) - 1
    for w in range(len(wanted_starts) - 1):
        low = 0
        high = n
        found[w] = -1
        while low < high:
            middle = (low + high) >> 1
            order = _compare(
                blob, starts[middle], starts[middle + 1], wanted, wanted_starts[w], wanted_starts[w + 1]
            )
            if order == 0:
                found[w] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
    return n


@_kernel(_IN_BYTES, _INTS, _INTS, _IN_BYTES, _IN_BYTES, _INTS)
def count(data: Bytes, starts: Ints, ends: Ints, is_atom: Bytes, allowed: Bytes, counts: Ints) -> int:
    """Count, for each term, the postings of documents that are allowed."""
    for term in range(len(starts)):
        at = starts[term]
        document = -1
        n = 0
        while at < ends[term]:
            delta, at = _skip_posting(data, at, is_atom[term] != 0)
            document += delta
            n += int(np.int64(allowed[document]))
        counts[term] = n
    return len(starts)


@_kernel(_IN_LENGTHS, _IN_BYTES, _INTS)
def sum_lengths(lengths: Lengths, allowed: Bytes, totals: Ints) -> int:
    """Add the field lengths of the documents that are allowed to `totals`; return how many these are."""
    n = 0
    for document in range(len(allowed)):
        if allowed[document]:
            n += 1
            for field in range(FIELD_COUNT):
                totals[field] += np.int64(lengths[document, field])
    return n


@_kernel(_IN_BYTES, types.int64, types.int64, types.boolean, _BYTES)
def mark(data: Bytes, start: int, end: int, is_atom: bool, marks: Bytes) -> int:
    """Set marks[document] = 1 for every document of a term."""
    at = start
    document = -1
    n = 0
    while at < end:
        delta, at = _skip_posting(data, at, is_atom)
        document += delta
        marks[document] = 1
        n += 1
    return n


@_kernel(_IN_BYTES, _IN_BYTES, _INTS, _INTS, _INTS, _INTS, _INTS)
def phrase(
    postings: Bytes,
    positions: Bytes,
    starts: Ints,
    ends: Ints,
    places: Ints,
    distances: Ints,
    matches: Ints,
) -> int:
    """Find where atoms stand at given distances from a common place.

    Args:
      starts, ends: of the postings of each atom, the rarest first. places: start of its positions.
      distances: of each atom from the start of the phrase.
      matches: room for the occurrences of the first atom; becomes the keys of the phrase's starts.

    Returns:
      The number of matches, ascending.
    """
    frequencies = np.zeros(FIELD_COUNT, np.int64)
    n_matches = 0
    for atom in range(len(starts)):
        at = starts[atom]
        end = ends[atom]
        place = places[atom]
        distance = distances[atom]
        document = -1
        read = 0
        kept = 0
        wanted = -1  # the next document with a match so far
        if atom > 0 and n_matches:
            wanted = matches[0] >> DOCUMENT_SHIFT
        while at < end and (atom == 0 or read < n_matches):
            head, at = _read(postings, at)
            document += head >> 1
            if atom > 0:
                while wanted < document and read < n_matches:
                    read += 1
                    if read < n_matches:
                        wanted = matches[read] >> DOCUMENT_SHIFT
                if wanted != document or read == n_matches:
                    if not head & 1:
                        at = _skip_fields(postings, at)
                    n_bytes, at = _read(postings, at)
                    place += n_bytes
                    continue
            frequencies[:] = 0
            if head & 1:
                frequencies[BODY] = 1
            else:
                at = _read_fields(postings, at, frequencies)
            n_bytes, at = _read(postings, at)
            p = place
            place += n_bytes
            for field in range(FIELD_COUNT):
                position = -distance
                for _ in range(frequencies[field]):
                    step, p = _read(positions, p)
                    position += step
                    if position < 0:
                        continue
                    key = document << DOCUMENT_SHIFT | field << FIELD_SHIFT | position
                    if atom == 0:
                        matches[kept] = key
                        kept += 1
                        continue
                    while read < n_matches and matches[read] < key:
                        read += 1
                    if read < n_matches and matches[read] == key:
                        matches[kept] = key
                        kept += 1
                        read += 1
            if read < n_matches:
                wanted = matches[read] >> DOCUMENT_SHIFT
        n_matches = kept
    return n_matches


@_kernel(
    _IN_BYTES,
    _INTS,
    _INTS,
    _IN_BYTES,
    _IN_FLOATS,
    types.int64,
    types.boolean,
    _IN_LENGTHS,
    _IN_FLOATS,
    _IN_FLOATS,
    _IN_FLOATS,
    types.float64,
    _FLOATS,
    _BYTES,
    _INTS,
)
def score(
    data: Bytes,
    starts: Ints,
    ends: Ints,
    is_atom: Bytes,
    idf: Floats,
    n_required: int,
    needs_all: bool,
    lengths: Lengths,
    weights: Floats,
    base: Floats,
    slope: Floats,
    k1: float,
    scores: Floats,
    matched: Bytes,
    touched: Ints,
) -> int:
    """Add up BM25F term by term; see `ranking` for the formula.

    Args:
      starts, ends, is_atom, idf: of each term, in the order in which scores are to be added; the first
        n_required are the bare words of the query, the others only score.
      needs_all: leave out documents that lack a required term.
      lengths: (documents, fields). weights, base, slope: of each field; a field's length normalisation
        is base + slope * length.
      scores, matched: zeros, one a document; matched becomes 1 + required terms found in a touched document.
      touched: room for all documents; becomes those with a number in `scores`.

    Returns:
      The number of documents touched.
    """
    n_touched = 0
    for term in range(len(starts)):
        at = starts[term]
        end = ends[term]
        document = -1
        is_required = term < n_required
        skips_positions = is_atom[term] != 0
        # What `matched` must be for this term to count, or 0 when any value will do.
        expected = 0
        if needs_all and n_required:
            expected = min(term, n_required) + 1
        while at < end:
            head, at = _read(data, at)
            document += head >> 1
            seen = int(np.int64(matched[document]))
            if expected and max(seen, 1) != expected:
                if not head & 1:
                    at = _skip_fields(data, at)
                if skips_positions:
                    _, at = _read(data, at)
                continue
            weighted = 0.0
            if head & 1:
                weighted = weights[BODY] / (base[BODY] + slope[BODY] * lengths[document, BODY])
            else:
                bits = int(np.int64(data[at]))
                at += 1
                for field in range(FIELD_COUNT):
                    if bits >> field & 1:
                        frequency, at = _read(data, at)
                        norm = base[field] + slope[field] * lengths[document, field]
                        weighted += frequency * (weights[field] / norm)
            if skips_positions:
                _, at = _read(data, at)
            scores[document] += idf[term] * (weighted * (k1 + 1.0) / (k1 + weighted))
            if seen == 0:
                touched[n_touched] = document
                n_touched += 1
                seen = 1
            if is_required:
                seen += 1
            matched[document] = seen
    return n_touched


@_kernel(_IN_INTS, types.int64, _IN_BYTES, _IN_BYTES, _FLOATS, _IN_FLOATS, _INTS, _FLOATS)
def select(
    candidates: Ints,
    matched_min: int,
    matched: Bytes,
    allowed: Bytes,
    best_scores: Floats,
    scores: Floats,
    best: Ints,
    scratch: Floats,
) -> int:
    """Keep the best candidates: highest score first, then lowest document.

    A binary heap with the worst of the best on top. `best` and `best_scores` have room for k; they are
    left in heap order. scratch[0] becomes the number kept.

    Returns:
      The number of candidates that are allowed and matched often enough.
    """
    k = len(best)
    total = 0
    size = 0
    for c in range(len(candidates)):
        document = candidates[c]
        if not allowed[document] or matched[document] < matched_min:
            continue
        total += 1
        value = scores[document]
        if size < k:
            i = size
            size += 1
            while i > 0:
                parent = (i - 1) >> 1
                worse = best_scores[parent] < value or (
                    best_scores[parent] == value and best[parent] > document
                )
                if worse:
                    break
                best_scores[i] = best_scores[parent]
                best[i] = best[parent]
                i = parent
            best_scores[i] = value
            best[i] = document
        elif k > 0 and (value > best_scores[0] or (value == best_scores[0] and document < best[0])):
            i = 0
            while True:
                child = 2 * i + 1
                if child >= k:
                    break
                other = child + 1
                if other < k and (
                    best_scores[other] < best_scores[child]
                    or (best_scores[other] == best_scores[child] and best[other] > best[child])
                ):
                    child = other
                if value < best_scores[child] or (value == best_scores[child] and document > best[child]):
                    break
                best_scores[i] = best_scores[child]
                best[i] = best[child]
                i = child
            best_scores[i] = value
            best[i] = document
    scratch[0] = size
    return total


@_kernel(_INTS, types.int64, _FLOATS, _BYTES)
def clear(touched: Ints, n_touched: int, scores: Floats, matched: Bytes) -> int:
    """Set the touched entries of the scratch arrays back to zero."""
    for i in range(n_touched):
        scores[touched[i]] = 0.0
        matched[touched[i]] = 0
    return n_touched


@_kernel(_IN_BYTES, _IN_INTS, _IN_INTS, _IN_BYTES, _INTS)
def merge_order(blob: Bytes, starts: Ints, list_starts: Ints, is_live: Bytes, ranks: Ints) -> int:
    """Merge sorted lists of distinct strings.

    Args:
      blob, starts: all strings of all lists. list_starts: n_lists + 1, where each list starts.
      is_live: whether a string takes part.
      ranks: becomes the place of each string in the merged list, the same for equal ones, -1 for the dead.

    Returns:
      The length of the merged list.
    """
    n_lists = len(list_starts) - 1
    heads = list_starts[:n_lists].copy()
    rank = 0
    while True:
        least = -1
        for i in range(n_lists):
            while heads[i] < list_starts[i + 1] and not is_live[heads[i]]:
                ranks[heads[i]] = -1
                heads[i] += 1
            if heads[i] == list_starts[i + 1]:
                continue
            if least < 0:
                least = i
                continue
            a = heads[i]
            b = heads[least]
            if _compare(blob, starts[a], starts[a + 1], blob, starts[b], starts[b + 1]) < 0:
                least = i
        if least < 0:
            return rank
        chosen = heads[least]
        for i in range(n_lists):
            a = heads[i]
            if i == least or a == list_starts[i + 1]:
                continue
            if _compare(blob, starts[a], starts[a + 1], blob, starts[chosen], starts[chosen + 1]) == 0:
                ranks[a] = rank
                heads[i] += 1
        ranks[chosen] = rank
        heads[least] += 1
        rank += 1


@_kernel(
    _IN_BYTES,
    _IN_BYTES,
    _IN_INTS,
    _IN_INTS,
    _IN_INTS,
    _IN_INTS,
    _IN_INTS,
    _IN_INTS,
    _IN_INTS,
    _BYTES,
    _BYTES,
    _INTS,
    _INTS,
    _INTS,
)
def merge_postings(
    postings: Bytes,
    positions: Bytes,
    starts: Ints,
    ends: Ints,
    places: Ints,
    place_ends: Ints,
    order_starts: Ints,
    document_bases: Ints,
    documents: Ints,
    out_postings: Bytes,
    out_positions: Bytes,
    out_starts: Ints,
    out_places: Ints,
    out_doc_freq: Ints,
) -> int:
    """Merge the postings of each term over segments, renumbering documents and leaving out the dead.

    Args:
      starts, ends, places, place_ends: of each source (a term in a segment), sources of a term adjacent.
      order_starts: n_terms + 1, where the sources of each merged term start.
      document_bases: of each source, where its segment starts in `documents`.
      documents: new number of every document of every segment, ascending within a segment; -1 when dead.
      out_postings: room for the inputs and four bytes more for each posting.

    Returns:
      The number of postings written.
    """
    widest = 0
    n_terms = len(order_starts) - 1
    for term in range(n_terms):
        widest = max(widest, order_starts[term + 1] - order_starts[term])
    # Of the posting each source stands at: old and new document, its bytes, the bytes of its positions.
    old = np.empty(widest, np.int64)
    new = np.empty(widest, np.int64)
    next_at = np.empty(widest, np.int64)
    body_at = np.empty(widest, np.int64)
    simple = np.empty(widest, np.int64)
    place = np.empty(widest, np.int64)
    n_bytes = np.empty(widest, np.int64)
    at = 0
    out_place = 0
    n_postings = 0
    done = np.int64(1) << 62
    for term in range(n_terms):
        first = order_starts[term]
        n_sources = order_starts[term + 1] - first
        for s in range(n_sources):
            old[s] = -1
            next_at[s] = starts[first + s]
            place[s] = places[first + s]
            n_bytes[s] = 0
            new[s] = -1
        previous = -1
        while True:
            least = -1
            for s in range(n_sources):
                source = first + s
                while new[s] < 0:
                    place[s] += n_bytes[s]
                    if next_at[s] >= ends[source]:
                        new[s] = done
                        break
                    head, after = _read(postings, next_at[s])
                    simple[s] = head & 1
                    body_at[s] = after
                    if not head & 1:
                        after = _skip_fields(postings, after)
                    if place_ends[source] > places[source]:
                        n_bytes[s], after = _read(postings, after)
                    next_at[s] = after
                    old[s] += head >> 1
                    new[s] = documents[document_bases[source] + old[s]]
                if new[s] < done and (least < 0 or new[s] < new[least]):
                    least = s
            if least < 0:
                break
            at = _write(out_postings, at, (new[least] - previous) << 1 | simple[least])
            for i in range(body_at[least], next_at[least]):
                out_postings[at] = postings[i]
                at += 1
            for i in range(place[least], place[least] + n_bytes[least]):
                out_positions[out_place] = positions[i]
                out_place += 1
            previous = new[least]
            new[least] = -1
            out_doc_freq[term] += 1
            n_postings += 1
        out_starts[term + 1] = at
        out_places[term + 1] = out_place
    return n_postings


@_kernel(
    _IN_BYTES,
    _IN_BYTES,
    _INTS,
    _INTS,
    _INTS,
    _IN_INTS,
    _IN_INTS,
    _IN_INTS,
    types.int64,
    _BYTES,
    _BYTES,
    _INTS,
    _INTS,
    _INTS,
    _INTS,
)
def slice_postings(
    postings: Bytes,
    positions: Bytes,
    pending: Ints,
    cursors: Ints,
    places: Ints,
    ends: Ints,
    place_ends: Ints,
    documents: Ints,
    stop: int,
    out_postings: Bytes,
    out_positions: Bytes,
    out_terms: Ints,
    out_starts: Ints,
    out_places: Ints,
    out_doc_freq: Ints,
) -> int:
    """Take the postings of documents before `stop` that were not yet taken, and renumber them.

    Each posting is read once, however many slices a segment is cut into: every term has a cursor.

    Args:
      pending: of each term the next posting's document << 1 | simple, SLICED when there is none.
      cursors: where that posting goes on behind its head. places: where its positions start.
      ends, place_ends: of the postings and the positions of each term.
      documents: new number of every document, ascending; -1 for those that are left out.
      out_postings, out_positions: room for all postings of the segment, four bytes more for each.
      out_terms: becomes the terms that are in the slice; out_starts, out_places (one more), out_doc_freq:
        of these.

    Returns:
      The number of terms in the slice.
    """
    at = 0
    out_place = 0
    n_terms = 0
    limit = stop << 1
    for term in range(len(pending)):
        if pending[term] >= limit:
            continue
        is_atom = place_ends[term] > places[term]
        place = places[term]
        previous = -1
        n_postings = 0
        while pending[term] < limit:
            document = pending[term] >> 1
            simple = pending[term] & 1
            body = cursors[term]
            after = body
            if not simple:
                after = _skip_fields(postings, after)
            n_bytes = 0
            if is_atom:
                n_bytes, after = _read(postings, after)
            new = documents[document]
            if new >= 0:
                at = _write(out_postings, at, (new - previous) << 1 | simple)
                for i in range(body, after):
                    out_postings[at] = postings[i]
                    at += 1
                for i in range(place, place + n_bytes):
                    out_positions[out_place] = positions[i]
                    out_place += 1
                previous = new
                n_postings += 1
            place += n_bytes
            if after >= ends[term]:
                pending[term] = SLICED
            else:
                head, after = _read(postings, after)
                pending[term] = (document + (head >> 1)) << 1 | head & 1
            cursors[term] = after
        places[term] = place
        if n_postings:
            out_terms[n_terms] = term
            out_doc_freq[n_terms] = n_postings
            n_terms += 1
            out_starts[n_terms] = at
            out_places[n_terms] = out_place
    return n_terms


@_kernel(_IN_BYTES, _IN_INTS, _INTS, _INTS)
def begin_slices(postings: Bytes, starts: Ints, pending: Ints, cursors: Ints) -> int:
    """Set `pending` and `cursors` of `slice_postings` to the first posting of each term."""
    for term in range(len(starts) - 1):
        head, at = _read(postings, starts[term])
        pending[term] = ((head >> 1) - 1) << 1 | head & 1
        cursors[term] = at
    return len(pending)


@_kernel(_IN_BYTES, _IN_INTS)
def is_ascending(blob: Bytes, starts: Ints) -> int:
    """Return 1 when each string is greater than the one before it."""
    for i in range(1, len(starts) - 1):
        if _compare(blob, starts[i - 1], starts[i], blob, starts[i], starts[i + 1]) >= 0:
            return 0
    return 1


@_leaf
def _read_checked(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return (value, index after it) of a varint; value -1 when it is none or longer than need be."""
    value = 0
    for i in range(_VARINT_BYTES_MAX):
        if at + i >= end:
            return -1, at
        byte = int(np.int64(data[at + i]))
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            if byte == 0 and i > 0:
                return -1, at
            return value, at + i + 1
    return -1, at


@_leaf
def _inspect_positions(positions: Bytes, place: int, end: int, frequencies: Ints) -> bool:
    """Tell whether the positions of a posting are exactly those bytes, ascending in each field."""
    for field in range(FIELD_COUNT):
        position = 0
        for i in range(frequencies[field]):
            step, place = _read_checked(positions, place, end)
            position += step
            if step < min(i, 1) or position > POSITION_MASK:
                return False
    return bool(place == end)


@_kernel(_IN_BYTES, _IN_BYTES, _IN_INTS, _IN_INTS, _IN_INTS, _IN_BYTES, _INTS)
def inspect_postings(
    postings: Bytes,
    positions: Bytes,
    starts: Ints,
    places: Ints,
    doc_freqs: Ints,
    counts_for_length: Bytes,
    lengths: Ints,
) -> int:
    """Check postings and positions that nobody vouches for: that they are as `encode` writes them.

    Args:
      starts, places: n_terms + 1, ascending from 0 to the ends of postings and positions.
      counts_for_length: whether occurrences of a term count.
      lengths: zeros, FIELD_COUNT a document; become the occurrences in each field.

    Returns:
      The first term that is wrong, -1 when all are right.
    """
    n_documents = len(lengths) // FIELD_COUNT
    frequencies = np.zeros(FIELD_COUNT, np.int64)
    for term in range(len(doc_freqs)):
        at = starts[term]
        end = starts[term + 1]
        place = places[term]
        place_end = places[term + 1]
        is_atom = place_end > place
        document = -1
        n_postings = 0
        while at < end:
            head, at = _read_checked(postings, at, end)
            if head < 2:
                return term
            document += head >> 1
            if document >= n_documents:
                return term
            frequencies[:] = 0
            if head & 1:
                frequencies[BODY] = 1
            else:
                if at >= end:
                    return term
                bits = int(np.int64(postings[at]))
                at += 1
                if bits == 0 or bits >= 1 << FIELD_COUNT:
                    return term
                for field in range(FIELD_COUNT):
                    if bits >> field & 1:
                        frequencies[field], at = _read_checked(postings, at, end)
                        if frequencies[field] < 1 or frequencies[field] > POSITION_MASK:
                            return term
                if bits == 1 << BODY and frequencies[BODY] == 1:
                    return term
            if is_atom:
                n_bytes, at = _read_checked(postings, at, end)
                if n_bytes < 1 or n_bytes > place_end - place:
                    return term
                if not _inspect_positions(positions, place, place + n_bytes, frequencies):
                    return term
                place += n_bytes
            if counts_for_length[term]:
                for field in range(FIELD_COUNT):
                    lengths[document * FIELD_COUNT + field] += frequencies[field]
            n_postings += 1
        if place != place_end or n_postings != doc_freqs[term]:
            return term
    return -1
