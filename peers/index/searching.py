"""The kernels of searching: intersect lists, find phrases, rank what was found, or find the best at once.

Conjunctions go from the rarest list to the commonest: the documents found so far lead, a list is galloped
through by its skip table, and only blocks that may have one of them are decoded. A posting is remembered by
its index, so that its frequencies and positions can be read later without decoding anything again. A document
is scored only if the bounds of the blocks its postings are in could make it one of the best.

Disjunctions (`search_any`) are block-max MaxScore. Once k documents are known, what all of the weakest lists
could give together may be too little to become one of the best: such lists are looked up only for documents
found in the others. The same is done again, with the bounds of blocks, in every window: a stretch of
documents in which none of the other lists changes its block; and a window whose bounds are too low is skipped
whole. So the number of documents that match is not known, unless nothing was skipped.

Bounds and scores are computed by different expressions: bounds are raised by SLACK, so that rounding leaves
out no document. A score is the sum over the lists in their order, which is `in_scoring_order`: the same bits
whatever was skipped.

Every block is checked against its sum before it is used: each kernel that reads returns, in `damage`, the
first block of postings or positions that is not as it was written; what it returns besides is worth nothing
then.

Sources: Turtle, Flood, "Query evaluation: strategies and optimizations", 1995; Ding, Suel, "Faster top-k
document retrieval using block-max indexes", SIGIR 2011; Lucene's BlockMaxMaxScore scorer.
"""

from __future__ import annotations

import numpy as np
from numba import types

from peers.index.kernels import (
    BODY,
    DOCUMENT_SHIFT,
    FIELD_COUNT,
    FIELD_SHIFT,
    IN_BYTES,
    IN_FLOATS,
    IN_INTS,
    IN_LENGTHS,
    IN_SUMS,
    IN_WORDS,
    MUTABLE_FLOATS,
    MUTABLE_INTS,
    SUM_BLOCK_BYTES,
    Bytes,
    Floats,
    Ints,
    Lengths,
    Sums,
    Words,
    int64,
    is_sound,
    kernel,
    leaf,
    read_varint,
)
from peers.index.postings import (
    BLOCK,
    FIELD_FREQUENCY_ANY,
    FIELDS_AT,
    FREQUENCY_ANY,
    HEAD_WORDS,
    POINTS,
    POINTS_AT,
    SKIP_WORDS,
    block_count,
    block_size,
    column_words,
    decode_documents,
    decode_frequencies,
    decode_rare,
    field_bounds,
    pick,
    table_at,
)

# More than the rounding of some 200 additions.
SLACK = 1.0 + 1e-9
# More than any document.
END = 1 << 40

# State of a list that is gone through
_BLOCK, _LAST, _SIZE, _AT, CHECKED, TABLE, _DATA, N_BLOCKS, N_STATE = range(9)

_INTS_2D = types.int64[:, ::1]
_FLOATS_2D = types.float64[:, ::1]
_IN_FLOATS_2D = types.Array(types.float64, 2, "C", readonly=True)


@leaf
def are_sound(summed: Sums, sums: Sums, start: int, end: int, checked: int, damage: Ints) -> int:
    """Check the bytes start to end, as far as they are behind what was checked; return up to where now."""
    if start < end:
        for block in range(max(start // SUM_BLOCK_BYTES, checked + 1), (end - 1) // SUM_BLOCK_BYTES + 1):
            if not is_sound(summed, sums, block):
                damage[0] = block
            checked = block
    return checked


@leaf
def open_list(
    data: Bytes,
    words: Words,
    summed: Sums,
    sums: Sums,
    start: int,
    end: int,
    n_postings: int,
    state: Ints,
    documents: Ints,
    damage: Ints,
) -> None:
    """Get ready to go through a list: a short one is decoded, of a long one the skip table is checked."""
    state[_BLOCK] = -1
    state[_LAST] = -1
    state[_SIZE] = 0
    state[_AT] = 0
    if n_postings < BLOCK:
        are_sound(summed, sums, start, end, -1, damage)
        if damage[0] >= 0:
            return
        _decode_rare_documents(data, start, n_postings, documents)
        state[N_BLOCKS] = 1
        state[_BLOCK] = 0
        state[_SIZE] = n_postings
        state[_LAST] = documents[n_postings - 1]
        return
    n_blocks = block_count(n_postings)
    table = table_at(start)
    state[TABLE] = table + SKIP_WORDS
    state[N_BLOCKS] = n_blocks
    state[_DATA] = table + SKIP_WORDS * (1 + n_blocks)
    state[CHECKED] = are_sound(summed, sums, start, state[_DATA] << 2, -1, damage)


@leaf
def _decode_rare_documents(data: Bytes, at: int, n: int, documents: Ints) -> None:
    document = -1
    for i in range(n):
        head, at = read_varint(data, at)
        document += head >> 1
        documents[i] = document
        if head & 1:
            continue
        bits = int64(data[at])
        at += 1
        while bits:
            if bits & 1:
                while data[at] >= 128:
                    at += 1
                at += 1
            bits >>= 1


@leaf
def block_at(words: Words, state: Ints, block: int) -> int:
    """Return the word at which a block of a long list starts."""
    return int(state[_DATA] + int64(words[state[TABLE] + SKIP_WORDS * block + 1]))


@leaf
def block_end(words: Words, state: Ints, block: int) -> int:
    """Return the word after a block; the summary has that of the last."""
    following = block + 1 if block + 1 < state[N_BLOCKS] else -1
    return int(state[_DATA] + int64(words[state[TABLE] + SKIP_WORDS * following + 1]))


@leaf
def _last_of(words: Words, state: Ints, block: int) -> int:
    return int(int64(words[state[TABLE] + SKIP_WORDS * block]))


@leaf
def _enter(
    words: Words,
    summed: Sums,
    sums: Sums,
    n_postings: int,
    block: int,
    state: Ints,
    documents: Ints,
    damage: Ints,
) -> None:
    """Decode the documents of a block of a long list."""
    at = block_at(words, state, block)
    state[CHECKED] = are_sound(
        summed, sums, at << 2, block_end(words, state, block) << 2, state[CHECKED], damage
    )
    state[_BLOCK] = block
    state[_AT] = 0
    state[_SIZE] = block_size(n_postings, block)
    state[_LAST] = _last_of(words, state, block)
    if damage[0] < 0:
        previous = _last_of(words, state, block - 1) if block else -1
        decode_documents(words, at, state[_SIZE], previous, documents, 0)


@leaf
def _block_with(words: Words, state: Ints, first: int, document: int) -> int:
    """Return the first block from `first` on that ends with the document or later, else their number."""
    n_blocks = state[N_BLOCKS]
    low = first
    step = 1
    high = first
    while high < n_blocks and _last_of(words, state, high) < document:
        low = high + 1
        high += step
        step *= 2
    high = min(high, n_blocks)
    while low < high:
        middle = (low + high) >> 1
        if _last_of(words, state, middle) < document:
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def _advance(documents: Ints, at: int, size: int, document: int) -> int:
    """Return the first index from `at` on with the document or a later one."""
    while at + 8 <= size and documents[at + 7] < document:
        at += 8
    while at < size and documents[at] < document:
        at += 1
    return at


@leaf
def _go_on(
    words: Words,
    summed: Sums,
    sums: Sums,
    n_postings: int,
    state: Ints,
    documents: Ints,
    document: int,
    damage: Ints,
) -> bool:
    """Decode the block with a document that is behind the present block; False when there is none."""
    if n_postings < BLOCK:
        return False
    block = _block_with(words, state, state[_BLOCK] + 1, document)
    if block == state[N_BLOCKS]:
        state[_BLOCK] = block - 1
        state[_LAST] = END
        state[_SIZE] = 0
        state[_AT] = 0
        return False
    _enter(words, summed, sums, n_postings, block, state, documents, damage)
    return bool(damage[0] < 0)


@leaf
def _seek_all(
    words: Words,
    summed: Sums,
    sums: Sums,
    n_postings: int,
    state: Ints,
    documents: Ints,
    found: Ints,
    n_found: int,
    indexes: Ints,
    damage: Ints,
) -> None:
    """Set indexes[i] to the index of the posting of the i-th document, -1 without one.

    One loop without calls or slices: these would cost more than the search.
    """
    last = state[_LAST]
    size = state[_SIZE]
    base = state[_BLOCK] * BLOCK
    at = 0
    for i in range(n_found):
        document = found[i]
        if last < document:
            if not _go_on(words, summed, sums, n_postings, state, documents, document, damage):
                for rest in range(i, n_found):
                    indexes[rest] = -1
                return
            last = state[_LAST]
            size = state[_SIZE]
            base = state[_BLOCK] * BLOCK
            at = 0
        while at + 8 <= size and documents[at + 7] < document:
            at += 8
        while documents[at] < document:  # ends at `last`
            at += 1
        indexes[i] = base + at if documents[at] == document else -1


@kernel(
    IN_BYTES, IN_WORDS, IN_SUMS, IN_SUMS, IN_INTS, IN_INTS, IN_INTS, types.int64, MUTABLE_INTS, _INTS_2D,
    MUTABLE_INTS,
)  # fmt: skip
def intersect(
    data: Bytes,
    words: Words,
    summed: Sums,
    sums: Sums,
    starts: Ints,
    ends: Ints,
    n_postings: Ints,
    n_found: int,
    found: Ints,
    indexes: Ints,
    damage: Ints,
) -> int:
    """Find the documents that are in all lists.

    Args:
      starts, ends, n_postings: of each list, the rarest first.
      n_found: how many documents of `found` are to be kept if they are in all lists; -1: any may be.
      found: becomes the documents, room for those or for the first list and four more.
      indexes: (lists, as many); of each list become the indexes of their postings.
      damage: -1.

    Returns:
      How many they are.
    """
    state = np.empty(N_STATE, np.int64)
    documents = np.empty(BLOCK + 4, np.int64)
    for row in range(len(starts)):
        open_list(
            data, words, summed, sums, starts[row], ends[row], n_postings[row], state, documents, damage
        )
        if damage[0] >= 0:
            return 0
        if n_found < 0:
            n_found = n_postings[row]
            if n_found < BLOCK:
                found[:n_found] = documents[:n_found]
            else:
                are_sound(summed, sums, state[_DATA] << 2, ends[row], state[CHECKED], damage)
                if damage[0] >= 0:
                    return 0
                previous = -1
                for block in range(state[N_BLOCKS]):
                    size = block_size(n_found, block)
                    decode_documents(
                        words, block_at(words, state, block), size, previous, found, block * BLOCK
                    )
                    previous = found[block * BLOCK + size - 1]
            for i in range(n_found):
                indexes[row, i] = i
            continue
        _seek_all(
            words, summed, sums, n_postings[row], state, documents, found, n_found, indexes[row], damage
        )
        kept = 0
        for i in range(n_found):
            index = indexes[row, i]
            if index < 0:
                continue
            found[kept] = found[i]
            for earlier in range(row):
                indexes[earlier, kept] = indexes[earlier, i]
            indexes[row, kept] = index
            kept += 1
        n_found = kept
        if damage[0] >= 0 or n_found == 0:
            return 0
    return n_found


@kernel(
    IN_BYTES, IN_WORDS, IN_SUMS, IN_SUMS, IN_INTS, IN_INTS, IN_INTS, IN_INTS, _INTS_2D, MUTABLE_INTS
)  # fmt: skip
def locate(
    data: Bytes,
    words: Words,
    summed: Sums,
    sums: Sums,
    starts: Ints,
    ends: Ints,
    n_postings: Ints,
    found: Ints,
    indexes: Ints,
    damage: Ints,
) -> int:
    """Set indexes[list, i] to the index of the posting of the i-th document in each list, -1 without one.

    Returns:
      How many documents are in at least one of the lists.
    """
    state = np.empty(N_STATE, np.int64)
    documents = np.empty(BLOCK + 4, np.int64)
    for row in range(len(starts)):
        open_list(
            data, words, summed, sums, starts[row], ends[row], n_postings[row], state, documents, damage
        )
        if damage[0] >= 0:
            return 0
        _seek_all(
            words,
            summed,
            sums,
            n_postings[row],
            state,
            documents,
            found,
            len(found),
            indexes[row],
            damage,
        )
    n = 0
    for i in range(len(found)):
        for row in range(len(starts)):
            if indexes[row, i] >= 0:
                n += 1
                break
    return n


# --- Scores -----------------------------------------------------------------------------------


@leaf
def _contribution(factor: float, weighted: float, k1: float) -> float:
    # Fields without length, as those of marks, would give infinity.
    weighted = min(weighted, 1e300)
    return factor * (weighted * (k1 + 1.0) / (k1 + weighted))


@leaf
def _weighted(words: Words, at: int, size: int, i: int, norms: Floats, document: int) -> float:
    """Return tf, see `ranking`, of the i-th posting of a block."""
    head = int64(words[at])
    widths = int64(words[at + 1])
    rows = (size + 3) >> 2
    column = at + HEAD_WORDS + column_words(rows, head & 63)
    weighted = 0.0
    head >>= 6
    for field in range(FIELD_COUNT):
        width = widths & 63
        if width or head & 1:
            frequency = head & 1
            if width:
                frequency += pick(words, column, width, i)
                column += column_words(rows, width)
            if frequency:
                weighted += frequency * norms[document, field]
        widths >>= 6
        head >>= 1
    return weighted


@leaf
def _weighted_rare(frequencies: Ints, i: int, norms: Floats, document: int) -> float:
    """Return tf of the i-th posting of a block whose frequencies are decoded."""
    weighted = 0.0
    for field in range(FIELD_COUNT):
        frequency = frequencies[field * BLOCK + i]
        if frequency:
            weighted += frequency * norms[document, field]
    return weighted


@kernel(IN_LENGTHS, IN_FLOATS, IN_FLOATS, IN_FLOATS, _FLOATS_2D)
def normalise(lengths: Lengths, weights: Floats, base: Floats, slope: Floats, norms: Floats) -> int:
    """Set norms[document, field] to what one occurrence there adds to tf; see `ranking`."""
    for document in range(len(lengths)):
        for field in range(FIELD_COUNT):
            norm = base[field] + slope[field] * lengths[document, field]
            norms[document, field] = min(weights[field] / norm, 1e300)
    return len(lengths)


@leaf
def _bound(
    words: Words, entry: int, factor: float, weights: Floats, base: Floats, slope: Floats, k1: float
) -> float:
    """Return what no score of a block is above, from its skip entry."""
    best = 0.0
    for i in range(POINTS):
        point = int64(words[entry + POINTS_AT + i])
        if point == 0:
            break
        frequency = point >> 16
        if frequency == FREQUENCY_ANY:
            best = 1e300
            break
        best = max(best, frequency * (weights[BODY] / (base[BODY] + slope[BODY] * (point & 0xFFFF))))
    if words[entry + FIELDS_AT] | words[entry + FIELDS_AT + 1] | words[entry + FIELDS_AT + 2]:
        for i in range(FIELD_COUNT - 1):
            bounds = field_bounds(words, entry, i)
            if bounds == 0:
                continue
            field = i if i < BODY else i + 1
            frequency = bounds >> 16
            if frequency == FIELD_FREQUENCY_ANY:
                best = 1e300
                break
            best += frequency * (weights[field] / (base[field] + slope[field] * (bounds & 0xFFFF)))
    return _contribution(factor, best, k1) * SLACK


@leaf
def _sift(best: Ints, best_scores: Floats, size: int, document: int, value: float) -> int:
    """Keep a document if it is one of the best of len(best); return how many are kept.

    A heap with the worst on top; of equal scores the later document is worse.
    """
    k = len(best)
    if size < k:
        i = size
        while i > 0:
            parent = (i - 1) >> 1
            if best_scores[parent] < value or (best_scores[parent] == value and best[parent] > document):
                break
            best_scores[i] = best_scores[parent]
            best[i] = best[parent]
            i = parent
        best_scores[i] = value
        best[i] = document
        return size + 1
    if k == 0 or value < best_scores[0] or (value == best_scores[0] and document > best[0]):
        return size
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
    return size


@kernel(IN_INTS, IN_BYTES, IN_FLOATS, types.float64, types.int64, MUTABLE_INTS, MUTABLE_FLOATS)
def select(
    found: Ints,
    allowed: Bytes,
    values: Floats,
    ceiling: float,
    first: int,
    best: Ints,
    best_values: Floats,
) -> int:
    """Keep the documents with the greatest values, of equal ones the first; see `rank`.

    Args:
      values: of every document of the segment.
    """
    size = 0
    for i in range(len(found)):
        document = found[i]
        value = values[document]
        if allowed[document] and (value < ceiling or (value == ceiling and document >= first)):
            size = _sift(best, best_values, size, document, value)
    return size


@kernel(
    IN_BYTES, IN_WORDS, IN_SUMS, IN_SUMS, IN_INTS, IN_INTS, IN_INTS, IN_FLOATS, IN_INTS, _INTS_2D,
    IN_INTS, _IN_FLOATS_2D, IN_FLOATS, IN_FLOATS, IN_FLOATS, types.float64, types.float64, types.float64,
    types.int64, MUTABLE_INTS, MUTABLE_FLOATS, MUTABLE_INTS,
)  # fmt: skip
def rank(
    data: Bytes,
    words: Words,
    summed: Sums,
    sums: Sums,
    starts: Ints,
    ends: Ints,
    n_postings: Ints,
    factors: Floats,
    found: Ints,
    indexes: Ints,
    rows: Ints,
    norms: Floats,
    weights: Floats,
    base: Floats,
    slope: Floats,
    k1: float,
    floor: float,
    ceiling: float,
    first: int,
    best: Ints,
    best_scores: Floats,
    damage: Ints,
) -> int:
    """Score documents and keep the best.

    Args:
      starts, ends, n_postings: of each list, in the order in which scores are added. factors: idf times
        weight, not negative.
      found: the documents, rising. indexes: of their postings, -1 where there is none; rows may be longer
        than `found`. rows: of these, which belongs to each list.
      norms: as `normalise` makes them of weights, base and slope: of each field; its length normalisation
        is base + slope * length.
      floor: documents with a lower score are not wanted.
      ceiling, first: nor are those with a higher score, nor of those with this one any before this document.
      best, best_scores: room for k; become the best, in the order of a heap.

    Returns:
      How many are kept.
    """
    n_lists = len(starts)
    states = np.empty((n_lists, N_STATE), np.int64)
    documents = np.empty(BLOCK + 4, np.int64)
    frequencies = np.empty((n_lists, FIELD_COUNT * BLOCK), np.int64)
    bounds = np.empty(n_lists)
    bounds_of = np.full(n_lists, -1, np.int64)
    for row in range(n_lists):
        open_list(
            data, words, summed, sums, starts[row], ends[row], n_postings[row], states[row], documents, damage
        )
        if damage[0] >= 0:
            return 0
        if n_postings[row] < BLOCK:
            decode_rare(data, starts[row], n_postings[row], documents, 0, frequencies[row])
            bounds_of[row] = 0
            bounds[row] = factors[row] * (k1 + 1.0) * SLACK
    size = 0
    worst = floor  # below this a score is not wanted
    is_full = False  # then neither is this very score
    for i in range(len(found)):
        document = found[i]
        if worst > 0.0:
            bound = 0.0
            for row in range(n_lists):
                index = indexes[rows[row], i]
                if index < 0:
                    continue
                block = index // BLOCK
                if bounds_of[row] != block:
                    bounds_of[row] = block
                    entry = states[row, TABLE] + SKIP_WORDS * block
                    bounds[row] = _bound(words, entry, factors[row], weights, base, slope, k1)
                bound += bounds[row]
            if bound < worst or (is_full and bound <= worst):
                continue
        value = 0.0
        for row in range(n_lists):
            index = indexes[rows[row], i]
            if index < 0:
                continue
            if n_postings[row] < BLOCK:
                weighted = _weighted_rare(frequencies[row], index, norms, document)
            else:
                block = index // BLOCK
                state = states[row]
                at = block_at(words, state, block)
                state[CHECKED] = are_sound(
                    summed, sums, at << 2, block_end(words, state, block) << 2, state[CHECKED], damage
                )
                if damage[0] >= 0:
                    return 0
                weighted = _weighted(
                    words,
                    at,
                    block_size(n_postings[row], block),
                    index % BLOCK,
                    norms,
                    document,
                )
            value += _contribution(factors[row], weighted, k1)
        if value < floor or value > ceiling or (value == ceiling and document < first):
            continue
        size = _sift(best, best_scores, size, document, value)
        if size and size == len(best):
            is_full = True
            worst = best_scores[0]
    return size


@kernel(
    IN_BYTES, IN_WORDS, IN_SUMS, IN_SUMS, IN_INTS, IN_INTS, IN_INTS, IN_FLOATS, IN_BYTES,
    _IN_FLOATS_2D, IN_FLOATS, IN_FLOATS, IN_FLOATS, types.float64, types.float64, types.float64, types.int64,
    MUTABLE_INTS, MUTABLE_FLOATS, MUTABLE_INTS, MUTABLE_INTS,
)  # fmt: skip
def search_any(
    data: Bytes,
    words: Words,
    summed: Sums,
    sums: Sums,
    starts: Ints,
    ends: Ints,
    n_postings: Ints,
    factors: Floats,
    allowed: Bytes,
    norms: Floats,
    weights: Floats,
    base: Floats,
    slope: Floats,
    k1: float,
    floor: float,
    ceiling: float,
    first: int,
    best: Ints,
    best_scores: Floats,
    counted: Ints,
    damage: Ints,
) -> int:
    """Find the best documents that are in at least one list; see `rank` for the arguments.

    Args:
      allowed: 1 for each document that may be found.
      counted: becomes the number of documents that matched as far as was looked, and 1 if that is all.

    Returns:
      How many are kept.
    """
    n_lists = len(starts)
    states = np.zeros((n_lists, N_STATE), np.int64)
    documents = np.empty((n_lists, BLOCK + 4), np.int64)
    given = np.empty((n_lists, BLOCK))  # by the postings of short lists
    frequencies = np.empty((n_lists, FIELD_COUNT * BLOCK), np.int64)
    fields = np.empty(n_lists, np.int64)  # bits of those that occur in the block that is decoded
    ready = np.full(n_lists, -1, np.int64)  # the block whose frequencies are decoded
    most = np.empty(n_lists)  # any document
    now = np.empty(n_lists, np.int64)  # block of a long list whose bound is `bounds`; it need not be decoded
    bounds = np.empty(n_lists)
    lasts = np.empty(n_lists, np.int64)
    values = np.zeros(n_lists)
    order = np.empty(n_lists, np.int64)  # by rising `most`
    turn = np.empty(n_lists, np.int64)  # by rising bounds in a window
    in_window = np.empty(n_lists)
    before = np.empty(n_lists + 1)
    counted[0] = 0
    counted[1] = 1
    for row in range(n_lists):
        state = states[row]
        open_list(
            data, words, summed, sums, starts[row], ends[row], n_postings[row], state, documents[row], damage
        )
        if damage[0] >= 0:
            return 0
        if n_postings[row] < BLOCK:
            decode_rare(data, starts[row], n_postings[row], documents[row], 0, frequencies[row])
            most[row] = 0.0
            for i in range(n_postings[row]):
                weighted = _weighted_rare(frequencies[row], i, norms, documents[row, i])
                given[row, i] = _contribution(factors[row], weighted, k1)
                most[row] = max(most[row], given[row, i])
            most[row] *= SLACK
            now[row] = 0
            bounds[row] = most[row]
            lasts[row] = state[_LAST]
        else:
            summary = state[TABLE] - SKIP_WORDS
            most[row] = _bound(words, summary, factors[row], weights, base, slope, k1)
            now[row] = -1
            lasts[row] = -1
        at = row
        while at > 0 and most[order[at - 1]] > most[row]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = row
    size = 0
    worst = floor  # below this a score is not wanted
    is_full = False  # then neither is this very score
    weak = 0  # so many of `order` cannot make a good document together
    weak_most = 0.0
    document = int64(0)  # all before it are done
    while True:
        while weak < n_lists:
            more = weak_most + most[order[weak]]
            if more < worst or (is_full and more <= worst):
                weak_most = more
                weak += 1
                counted[1] = 0
            else:
                break
        if weak == n_lists:
            break
        # The window: up to where one of the other lists changes its block.
        end = int64(END)
        n_alive = 0
        for o in range(weak, n_lists):
            row = order[o]
            if lasts[row] < document:
                state = states[row]
                if n_postings[row] < BLOCK:
                    lasts[row] = END
                    bounds[row] = 0.0
                else:
                    block = _block_with(words, state, now[row] + 1, document)
                    if block == state[N_BLOCKS]:
                        now[row] = block - 1
                        lasts[row] = END
                        bounds[row] = 0.0
                    else:
                        now[row] = block
                        lasts[row] = _last_of(words, state, block)
                        entry = state[TABLE] + SKIP_WORDS * block
                        bounds[row] = _bound(words, entry, factors[row], weights, base, slope, k1)
            if lasts[row] < END:
                n_alive += 1
                end = min(end, lasts[row])
        if n_alive == 0:
            break
        # The weak lists, then the others in the order of what they can give in the window; those in front
        # only add to the rest, from which the documents come.
        n_turn = 0
        for o in range(n_lists):
            row = order[o]
            if o >= weak and lasts[row] == END:
                continue
            in_window[row] = most[row] if o < weak else bounds[row]
            at = n_turn
            while at > weak and in_window[turn[at - 1]] > in_window[row]:
                turn[at] = turn[at - 1]
                at -= 1
            turn[at] = row
            n_turn += 1
        before[0] = 0.0
        n_added = 0
        for i in range(n_turn):
            before[i + 1] = before[i] + in_window[turn[i]]
            if before[i + 1] < worst or (is_full and before[i + 1] <= worst):
                n_added = i + 1
        if n_added:
            counted[1] = 0
        if n_added == n_turn:
            document = end + 1
            continue
        for i in range(n_added, n_turn):
            row = turn[i]
            state = states[row]
            if n_postings[row] >= BLOCK and state[_BLOCK] != now[row]:
                _enter(words, summed, sums, n_postings[row], now[row], state, documents[row], damage)
                if damage[0] >= 0:
                    return 0
            if n_postings[row] >= BLOCK and ready[row] != now[row]:
                ready[row] = now[row]
                word = block_at(words, state, now[row])
                decode_frequencies(words, word, state[_SIZE], frequencies[row])
                fields[row] = int64(words[word]) >> 6
                for field in range(FIELD_COUNT):
                    if int64(words[word + 1]) >> (6 * field) & 63:
                        fields[row] |= 1 << field
            state[_AT] = _advance(documents[row], state[_AT], state[_SIZE], document)
        while True:
            document = int64(END)
            for i in range(n_added, n_turn):
                row = turn[i]
                if states[row, _AT] < states[row, _SIZE]:
                    document = min(document, documents[row, states[row, _AT]])
            if document > end:
                document = end + 1
                break
            if not allowed[document]:
                for i in range(n_added, n_turn):
                    row = turn[i]
                    at = states[row, _AT]
                    if at < states[row, _SIZE] and documents[row, at] == document:
                        states[row, _AT] = at + 1
                continue
            counted[0] += 1
            value = 0.0
            for i in range(n_added, n_turn):
                row = turn[i]
                at = states[row, _AT]
                values[row] = 0.0
                if at < states[row, _SIZE] and documents[row, at] == document:
                    states[row, _AT] = at + 1
                    if n_postings[row] < BLOCK:
                        values[row] = given[row, at]
                    else:
                        weighted = 0.0
                        if fields[row] == 1 << BODY:
                            weighted = frequencies[row, BODY * BLOCK + at] * norms[document, BODY]
                        else:
                            for field in range(FIELD_COUNT):
                                if fields[row] >> field & 1:
                                    frequency = frequencies[row, field * BLOCK + at]
                                    weighted += frequency * norms[document, field]
                        weighted = min(weighted, 1e300)
                        values[row] = factors[row] * (weighted * (k1 + 1.0) / (k1 + weighted))
                    value += values[row]
            is_wanted = True
            for i in range(n_added - 1, -1, -1):
                bound = (value + before[i + 1]) * SLACK
                if bound < worst or (is_full and bound <= worst):
                    is_wanted = False
                    break
                row = turn[i]
                if states[row, _LAST] < document:
                    _go_on(
                        words,
                        summed,
                        sums,
                        n_postings[row],
                        states[row],
                        documents[row],
                        document,
                        damage,
                    )
                    if damage[0] >= 0:
                        return 0
                at = states[row, _AT]
                end_at = states[row, _SIZE]
                while at + 8 <= end_at and documents[row, at + 7] < document:
                    at += 8
                while at < end_at and documents[row, at] < document:
                    at += 1
                states[row, _AT] = at
                index = -1
                if at < end_at and documents[row, at] == document:
                    index = states[row, _BLOCK] * BLOCK + at
                values[row] = 0.0
                if index >= 0:
                    if n_postings[row] < BLOCK:
                        values[row] = given[row, index]
                    else:
                        weighted = _weighted(
                            words,
                            block_at(words, states[row], states[row, _BLOCK]),
                            states[row, _SIZE],
                            index % BLOCK,
                            norms,
                            document,
                        )
                        values[row] = _contribution(factors[row], weighted, k1)
                    value += values[row]
            if not is_wanted:
                for i in range(n_turn):
                    values[turn[i]] = 0.0
                continue
            value = 0.0
            for row in range(n_lists):
                value += values[row]
                values[row] = 0.0
            if value < floor or value > ceiling or (value == ceiling and document < first):
                continue
            size = _sift(best, best_scores, size, document, value)
            if size and size == len(best):
                is_full = True
                worst = best_scores[0]
    return size


# --- Phrases ----------------------------------------------------------------------------------

_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x0101010101010101)


@leaf
def skip_positions(positions: Bytes, summed: Sums, at: int, n: int) -> int:
    """Return the index after n varints, looking at eight bytes at a time."""
    while n and at & 7:
        if positions[at] < 128:
            n -= 1
        at += 1
    while n > 8:
        ends = ((~summed[at >> 3] & _HIGH_BITS) >> np.uint64(7)) * _LOW_BITS >> np.uint64(56)
        n -= int64(ends)
        at += 8
    while n:
        if positions[at] < 128:
            n -= 1
        at += 1
    return at


@kernel(
    IN_BYTES, IN_WORDS, IN_SUMS, IN_SUMS, IN_BYTES, IN_SUMS, IN_SUMS, types.int64, types.int64, types.int64,
    types.int64, types.int64, types.int64, types.int64, IN_INTS, IN_INTS, types.int64, MUTABLE_INTS,
    MUTABLE_INTS, MUTABLE_INTS,
)  # fmt: skip
def match_positions(
    data: Bytes,
    words: Words,
    summed: Sums,
    sums: Sums,
    positions: Bytes,
    positions_summed: Sums,
    positions_sums: Sums,
    start: int,
    end: int,
    n_postings: int,
    place: int,
    place_end: int,
    distance: int,
    fields: int,
    found: Ints,
    indexes: Ints,
    n_matches: int,
    matches: Ints,
    damage: Ints,
    positions_damage: Ints,
) -> int:
    """Keep the places at which an atom follows at a distance.

    Args:
      start, end, n_postings, place, place_end: of the atom.
      fields: bits of the fields in which it counts.
      found: documents, rising. indexes: of the atom's posting in each, -1 without one.
      n_matches: how many places are in `matches`, rising occurrences; -1: all places are kept for which there
        is room.

    Returns:
      How many are kept.
    """
    state = np.empty(N_STATE, np.int64)
    documents = np.empty(BLOCK + 4, np.int64)
    frequencies = np.zeros(FIELD_COUNT * BLOCK, np.int64)
    before = np.empty(BLOCK + 1, np.int64)  # occurrences in a block before each posting
    open_list(data, words, summed, sums, start, end, n_postings, state, documents, damage)
    if damage[0] >= 0:
        return 0
    takes_all = n_matches < 0
    checked = int64(-1)
    loaded = int64(-1)
    at_index = 0  # the posting that `at` is before
    at = int64(0)
    read = 0
    kept = 0
    for i in range(len(found)):
        document = found[i]
        if not takes_all:
            while read < n_matches and matches[read] >> DOCUMENT_SHIFT < document:
                read += 1
            if read == n_matches:
                break
            if matches[read] >> DOCUMENT_SHIFT != document:
                continue
        if indexes[i] < 0:
            continue
        block = indexes[i] // BLOCK
        index = indexes[i] % BLOCK
        if block != loaded:
            loaded = block
            size = block_size(n_postings, block)
            at = place
            block_place_end = place_end
            if n_postings < BLOCK:
                decode_rare(data, start, n_postings, documents, 0, frequencies)
            else:
                at_word = block_at(words, state, block)
                state[CHECKED] = are_sound(
                    summed, sums, at_word << 2, block_end(words, state, block) << 2, state[CHECKED], damage
                )
                if damage[0] >= 0:
                    return 0
                decode_frequencies(words, at_word, size, frequencies)
                entry = state[TABLE] + SKIP_WORDS * block
                at = place + int64(words[entry + 2])
                if block + 1 < state[N_BLOCKS]:
                    block_place_end = place + int64(words[entry + SKIP_WORDS + 2])
            checked = are_sound(
                positions_summed, positions_sums, at, block_place_end, checked, positions_damage
            )
            if positions_damage[0] >= 0:
                return 0
            before[0] = 0
            for j in range(size):
                n = 0
                for field in range(FIELD_COUNT):
                    n += frequencies[field * BLOCK + j]
                before[j + 1] = before[j] + n
            at_index = 0
        at = skip_positions(positions, positions_summed, at, before[index] - before[at_index])
        at_index = index + 1
        for field in range(FIELD_COUNT):
            n = frequencies[field * BLOCK + index]
            if n == 0:
                continue
            if not fields >> field & 1:
                at = skip_positions(positions, positions_summed, at, n)
                continue
            key = (document << DOCUMENT_SHIFT | field << FIELD_SHIFT) - distance
            least = key + distance
            for _ in range(n):
                step, at = read_varint(positions, at)
                key += step
                if key < least:
                    continue
                if takes_all:
                    if kept < len(matches):
                        matches[kept] = key
                        kept += 1
                    continue
                while read < n_matches and matches[read] < key:
                    read += 1
                if read < n_matches and matches[read] == key:
                    matches[kept] = key
                    kept += 1
                    read += 1
    return kept
