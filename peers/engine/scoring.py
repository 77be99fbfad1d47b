"""Scores of postings, and what bounds them; kernels of `ranking`.

Bounds and scores are computed by different expressions: bounds are raised by SLACK, so that rounding leaves
out no document. A score is the sum over the lists in their order, which is `in_scoring_order`: the same bits
whatever was skipped.
"""

from __future__ import annotations

from numba import types

from peers.engine.kernels import BODY, FIELD_COUNT
from peers.engine.lists import (
    N_POSTINGS,
    SIZE,
    Lists,
    Postings,
    block_at,
    body_frequency,
    is_short,
    read_block,
    skip_entry,
)
from peers.engine.postings.bounds import (
    FIELD_FREQUENCY_ANY,
    FIELDS_AT,
    FREQUENCY_ANY,
    POINTS,
    POINTS_AT,
    field_bounds,
)
from peers.engine.postings.format import BLOCK, BLOCK_BITS, HEAD_WORDS, block_size, column_words, pick
from peers.kernel import IN_FLOATS, IN_LENGTHS, Floats, Ints, Lengths, Words, inlined, int64, kernel, leaf

# More than the rounding of some 200 additions.
SLACK = 1.0 + 1e-9
_MOST = 1e300  # of what an occurrence or a posting counts: no infinity, of which NaN might be made

# What scores of a mesh depend on, in one array: k1, then for each field its weight, and base and slope of its
# length normalisation, which is base + slope * length.
K1, WEIGHT, BASE, SLOPE, MODEL_SIZE = 0, 1, 1 + FIELD_COUNT, 1 + 2 * FIELD_COUNT, 1 + 3 * FIELD_COUNT

FLOATS_2D = types.float64[:, ::1]


@kernel(IN_LENGTHS, IN_FLOATS, FLOATS_2D)
def normalise(lengths: Lengths, model: Floats, norms: Floats) -> int:
    """Set norms[field, document] to what one occurrence there adds to tf; see `ranking`."""
    for field in range(FIELD_COUNT):
        for document in range(len(lengths)):
            norm = model[BASE + field] + model[SLOPE + field] * lengths[document, field]
            norms[field, document] = min(model[WEIGHT + field] / norm, _MOST)
    return len(lengths)


@inlined
def contribution(factor: float, weighted: float, k1: float) -> float:
    """Return what a posting adds to a score."""
    # Fields without length, as those of marks, would give infinity.
    weighted = min(weighted, _MOST)
    return factor * (weighted * (k1 + 1.0) / (k1 + weighted))


@inlined
def weighted_in(frequencies: Ints, i: int, norms: Floats, document: int) -> float:
    """Return tf, see `ranking`, of the i-th posting of a block whose frequencies are decoded."""
    weighted = 0.0
    for field in range(FIELD_COUNT):
        frequency = frequencies[field * BLOCK + i]
        if frequency:
            weighted += frequency * norms[field, document]
    return weighted


@leaf
def _weighted_packed(words: Words, at: int, size: int, i: int, norms: Floats, document: int) -> float:
    """Return tf of the i-th posting of a block with several fields."""
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
                weighted += frequency * norms[field, document]
        widths >>= 6
        head >>= 1
    return weighted


@inlined
def weighted_at(
    postings: Postings, lists: Lists, row: int, index: int, norms: Floats, document: int
) -> float:
    """Return tf of a posting by its index; its block has been checked."""
    if is_short(lists, row):
        return weighted_in(lists.frequencies[row], index, norms, document)
    state = lists.states[row]
    block = index >> BLOCK_BITS
    i = index & (BLOCK - 1)
    if read_block(postings, lists, row, block):
        return body_frequency(postings, state, i) * float(norms[BODY, document])
    size = block_size(state[N_POSTINGS], block)
    return _weighted_packed(postings.words, block_at(postings, state, block), size, i, norms, document)


@leaf
def bound_of(words: Words, entry: int, factor: float, model: Floats) -> float:
    """Return what no score of a block is above, from its skip entry."""
    best = 0.0
    for i in range(POINTS):
        point = int64(words[entry + POINTS_AT + i])
        frequency = point >> 16
        norm = model[BASE + BODY] + model[SLOPE + BODY] * (point & 0xFFFF)
        weighted = frequency * (model[WEIGHT + BODY] / norm)
        best = max(best, _MOST if frequency == FREQUENCY_ANY else weighted if frequency else 0.0)
    if words[entry + FIELDS_AT] | words[entry + FIELDS_AT + 1] | words[entry + FIELDS_AT + 2]:
        best += _most_of_fields(words, entry, model)
    return contribution(factor, best, model[K1]) * SLACK


@leaf
def _most_of_fields(words: Words, entry: int, model: Floats) -> float:
    """Return what the fields without points add to tf at most."""
    total = 0.0
    for i in range(FIELD_COUNT - 1):
        bounds = field_bounds(words, entry, i)
        if bounds == 0:
            continue
        field = i if i < BODY else i + 1
        frequency = bounds >> 16
        if frequency == FIELD_FREQUENCY_ANY:
            return _MOST
        total += frequency * (
            model[WEIGHT + field] / (model[BASE + field] + model[SLOPE + field] * (bounds & 0xFFFF))
        )
    return total


@leaf
def greatest_of(
    postings: Postings, lists: Lists, row: int, factor: float, norms: Floats, model: Floats
) -> float:
    """Return what no score of an open list is above."""
    if not is_short(lists, row):
        return bound_of(postings.words, skip_entry(lists.states[row], -1), factor, model)
    most = 0.0
    frequencies = lists.frequencies[row]
    for i in range(lists.states[row, SIZE]):
        most = max(most, weighted_in(frequencies, i, norms, lists.documents[row, i]))
    return contribution(factor, most, model[K1]) * SLACK


@leaf
def sift(best: Ints, best_scores: Floats, size: int, document: int, value: float) -> int:
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
    _replace_worst(best, best_scores, k, document, value)
    return size


@leaf
def _replace_worst(best: Ints, best_scores: Floats, size: int, document: int, value: float) -> None:
    """Put a document in the place of the top of a heap, and let it sink."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
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


@leaf
def put_in_order(best: Ints, best_scores: Floats, size: int) -> None:
    """Sort a heap: the best first, of equal ones the first document."""
    for rest in range(size - 1, 0, -1):
        document = best[rest]
        value = best_scores[rest]
        best[rest] = best[0]
        best_scores[rest] = best_scores[0]
        _replace_worst(best, best_scores, rest, document, value)
