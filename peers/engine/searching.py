"""The kernels of searching: the best documents that have all entries, or any of them, or were found before.

Each is one call for a segment: entries are looked up, their lists opened (`lists`), and documents scored
(`scoring`) in batches of at most a block. What is known of a batch is narrowed step by step, the cheapest
first, and only documents that could still become one of the best go on.

Conjunctions (`search_all`) go through the rarest list; the documents of each of its blocks are located in the
other lists. All of them are counted, but frequencies are read only where the bounds of the blocks that a
document's postings are in could make it one of the best.

Disjunctions (`search_any`) are block-max MaxScore. Once k documents are known, what all of the weakest lists
could give together may be too little to become one of the best: such lists are looked up only for documents
found in the others. The same is done again, with the bounds of blocks, in every window: a stretch of
documents in which none of the other lists changes its block; and a window whose bounds are too low is skipped
whole. So the number of documents that match is not known, unless nothing was skipped.

Sources: Turtle, Flood, "Query evaluation: strategies and optimizations", 1995; Ding, Suel, "Faster top-k
document retrieval using block-max indexes", SIGIR 2011; Lucene's BlockMaxMaxScore scorer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from peers.engine.dictionary import DOC_FREQ, FOUND_COLUMNS, NUMBER, PLACE, PLACE_END, find_entries
from peers.engine.kernels import BODY
from peers.engine.lists import (
    AT,
    AT_BLOCK,
    LAST,
    N_BLOCKS,
    N_POSTINGS,
    NO_DOCUMENT,
    POSTINGS,
    SIZE,
    Lists,
    Postings,
    block_with,
    closed_lists,
    enter_block,
    is_short,
    last_of,
    locate_all,
    open_list,
    place_in,
    read_frequencies,
    skip_entry,
)
from peers.engine.positions import CURSOR_SIZE, SEEN_SIZE, Phrase, has_phrase
from peers.engine.postings.format import BLOCK, BLOCK_BITS, block_size
from peers.engine.scoring import (
    IN_FLOATS_2D,
    K1,
    SLACK,
    bound_of,
    contribution,
    greatest_of,
    put_in_order,
    sift,
    weighted_at,
    weighted_in,
)
from peers.kernel import (
    IN_BYTES,
    IN_FLOATS,
    IN_INTS,
    MUTABLE_FLOATS,
    MUTABLE_INTS,
    Bytes,
    Floats,
    Ints,
    allocating_leaf,
    inlined,
    int64,
    kernel,
    leaf,
)

INTS_2D = types.int64[:, ::1]

# What a search tells besides the best: documents that match, as far as was looked; 1 if that is all; the
# first damaged block of postings, and of positions, that was met, or -1.
TOTAL, IS_EXACT, DAMAGE, POSITIONS_DAMAGE, TOLD_SIZE = range(5)


class Goal(NamedTuple):
    """What is searched for, and what has been found."""

    factors: Floats  # of each list, idf times weight, not negative, in the order in which scores are added
    allowed: Bytes  # 1 for each document that may be found
    is_whole: int  # 1 when all of them may be
    norms: Floats  # (fields, documents), as `normalise` makes them
    model: Floats
    floor: float  # documents with a lower score are not wanted
    ceiling: float  # nor are those with a higher score,
    first: int  # nor of those with this one any before this document
    best: Ints  # room for k: a heap
    best_scores: Floats
    told: Ints


_NOT_ENOUGH = -np.inf
# A block's frequencies are decoded for so many documents, else read one by one.
_DECODED_MIN = 8


class Batch(NamedTuple):
    """Documents on their way, rising, and of each list what is known of them."""

    documents: Ints
    indexes: Ints  # (lists, documents): of postings; -1 where there is none
    values: Floats  # (lists, documents): what the list adds to the score
    totals: Floats  # what is known of the score, or bounds it
    bounds: Floats  # (lists,): of the block `bounded`
    bounded: Ints
    order: Ints  # (lists,)


@allocating_leaf
def _empty_batch(n_lists: int) -> Batch:
    return Batch(
        np.empty(BLOCK + 4, np.int64),
        np.empty((n_lists, BLOCK), np.int64),
        np.empty((n_lists, BLOCK), np.float64),
        np.empty(BLOCK, np.float64),
        np.empty(n_lists, np.float64),
        np.full(n_lists, -1, np.int64),
        np.empty(n_lists, np.int64),
    )


@inlined
def _limit(goal: Goal, size: int) -> float:
    """Return a score: what no better score can be reached for is not wanted. All scores are at least 0."""
    if size and size == len(goal.best):
        return float(goal.best_scores[0])
    return goal.floor if goal.floor > 0.0 else -1.0


@inlined
def _offer(goal: Goal, size: int, document: int, value: float) -> int:
    """Keep a document if it is wanted and one of the best so far; return how many are kept."""
    if value < goal.floor or value > goal.ceiling or (value == goal.ceiling and document < goal.first):
        return size
    return sift(goal.best, goal.best_scores, size, document, value)


@inlined
def _bound_at(postings: Postings, lists: Lists, row: int, index: int, goal: Goal, batch: Batch) -> float:
    """Return what the score of a posting is not above, by its block."""
    if is_short(lists, row):
        if batch.bounded[row] < 0:
            batch.bounded[row] = 0
            batch.bounds[row] = greatest_of(postings, lists, row, goal.factors[row], goal.norms, goal.model)
    else:
        block = index >> BLOCK_BITS
        if batch.bounded[row] != block:
            entry = skip_entry(lists.states[row], block)
            batch.bounded[row] = block
            batch.bounds[row] = bound_of(postings.words, entry, goal.factors[row], goal.model)
    return float(batch.bounds[row])


@leaf
def _narrow(batch: Batch, n: int, n_lists: int, limit: float) -> int:
    """Keep the documents of a batch whose totals are above a limit."""
    kept = 0
    for i in range(n):
        if batch.totals[i] > limit:
            batch.documents[kept] = batch.documents[i]
            batch.totals[kept] = batch.totals[i]
            for row in range(n_lists):
                batch.indexes[row, kept] = batch.indexes[row, i]
                batch.values[row, kept] = batch.values[row, i]
            kept += 1
    return kept


@leaf
def _bound_row(postings: Postings, lists: Lists, goal: Goal, batch: Batch, row: int, n: int) -> None:
    """Set values to what the list gives at most to documents located in it, and add that to the totals."""
    indexes = batch.indexes[row]
    values = batch.values[row]
    for i in range(n):
        values[i] = _bound_at(postings, lists, row, indexes[i], goal, batch) if indexes[i] >= 0 else 0.0
        batch.totals[i] += values[i]


@leaf
def _value_row(postings: Postings, lists: Lists, goal: Goal, batch: Batch, row: int, n: int) -> None:
    """Set values to what the list adds to the scores of documents that are located in it."""
    indexes = batch.indexes[row]
    values = batch.values[row]
    first = n if goal.factors[row] == 0.0 else 0
    values[:first] = 0.0
    while first < n:
        if indexes[first] < 0:
            values[first] = 0.0
            first += 1
            continue
        block = indexes[first] >> BLOCK_BITS
        end = first + 1
        while end < n and (indexes[end] < 0 or indexes[end] >> BLOCK_BITS == block):
            end += 1
        if end - first < _DECODED_MIN and not is_short(lists, row):
            _value_few(postings, lists, goal, batch, row, first, end)
        elif read_frequencies(postings, lists, row, block):
            _value_in_body(lists, goal, batch, row, first, end)
        else:
            _value_in_fields(lists, goal, batch, row, first, end)
        first = end


@leaf
def _value_few(
    postings: Postings, lists: Lists, goal: Goal, batch: Batch, row: int, first: int, end: int
) -> None:
    """Read the frequencies of some documents one by one."""
    indexes = batch.indexes[row]
    for i in range(first, end):
        value = 0.0
        if indexes[i] >= 0:
            weighted = weighted_at(postings, lists, row, indexes[i], goal.norms, batch.documents[i])
            value = contribution(goal.factors[row], weighted, goal.model[K1])
        batch.values[row, i] = value


@leaf
def _value_in_body(lists: Lists, goal: Goal, batch: Batch, row: int, first: int, end: int) -> None:
    """Use frequencies that are decoded, of a block in which only the body has any.

    Without branches, so that several are done at once: what is not there is computed, and not used.
    """
    factor = goal.factors[row]
    k1 = goal.model[K1]
    indexes = batch.indexes[row]
    values = batch.values[row]
    frequencies = lists.frequencies[row, BODY * BLOCK : (BODY + 1) * BLOCK]
    norms = goal.norms[BODY]
    for i in range(np.uint64(first), np.uint64(end)):
        frequency = frequencies[np.uint64(indexes[i] & (BLOCK - 1))]
        value = contribution(factor, frequency * norms[np.uint64(batch.documents[i])], k1)
        values[i] = value if indexes[i] >= 0 else 0.0


@leaf
def _value_in_fields(lists: Lists, goal: Goal, batch: Batch, row: int, first: int, end: int) -> None:
    """Use frequencies that are decoded, in any field."""
    indexes = batch.indexes[row]
    frequencies = lists.frequencies[row]
    for i in range(first, end):
        value = 0.0
        if indexes[i] >= 0:
            weighted = weighted_in(frequencies, indexes[i] & (BLOCK - 1), goal.norms, batch.documents[i])
            value = contribution(goal.factors[row], weighted, goal.model[K1])
        batch.values[row, i] = value


@leaf
def _offer_all(goal: Goal, batch: Batch, n: int, size: int) -> int:
    """Offer documents of which all values are known; return how many are kept."""
    for i in range(n):
        value = 0.0
        # In this order, whatever the order in which they became known.
        for row in range(len(goal.factors)):
            value += batch.values[row, i]
        size = _offer(goal, size, batch.documents[i], value)
    return size


@leaf
def _score(postings: Postings, lists: Lists, goal: Goal, batch: Batch, n: int, size: int) -> int:
    """Score the documents of a batch that is located in all lists; return how many are kept.

    The totals bound the scores at first; list by list, the bound of a block gives way to what is so.
    """
    n_lists = len(goal.factors)
    limit = _limit(goal, size)
    batch.totals[:n] = 0.0
    for row in range(n_lists):
        _bound_row(postings, lists, goal, batch, row, n)
    n = _narrow(batch, n, n_lists, limit)
    for row in range(n_lists):
        for i in range(n):
            batch.totals[i] -= batch.values[row, i]
        _value_row(postings, lists, goal, batch, row, n)
        for i in range(n):
            batch.totals[i] += batch.values[row, i]
        n = _narrow(batch, n, n_lists, limit / SLACK if limit > 0.0 else limit)
    return _offer_all(goal, batch, n, size)


# --- All entries ------------------------------------------------------------------------------


@leaf
def _keep_allowed(allowed: Bytes, batch: Batch, rows: Ints, n: int) -> int:
    """Keep the documents of a batch that may be found, and where they are in some lists."""
    kept = 0
    for i in range(n):
        document = batch.documents[i]
        batch.documents[kept] = document
        for r in range(len(rows)):
            batch.indexes[rows[r], kept] = batch.indexes[rows[r], i]
        kept += int64(allowed[document] != 0)
    return kept


@leaf
def keep_located(documents: Ints, indexes: Ints, order: Ints, place: int, n: int) -> int:
    """Keep the documents that are in the list order[place], and what is known of those before it."""
    last = indexes[order[place]]
    kept = 0
    for i in range(n):
        is_in = last[i] >= 0
        documents[kept] = documents[i]
        for earlier in range(place):
            indexes[order[earlier], kept] = indexes[order[earlier], i]
        last[kept] = last[i]
        kept += int64(is_in)
    return kept


@leaf
def put_by_length(known: Ints, order: Ints, n: int, row: int) -> None:
    """Add a list to `order`, where there are n: the shortest first."""
    at = n
    while at > 0 and known[order[at - 1], DOC_FREQ] > known[row, DOC_FREQ]:
        order[at] = order[at - 1]
        at -= 1
    order[at] = row


@leaf
def _search_all(
    postings: Postings,
    lists: Lists,
    known: Ints,
    is_required: Bytes,
    phrase: Phrase,
    goal: Goal,
    batch: Batch,
) -> int:
    """Do as `search_all`; `known` as `look_up` finds it."""
    n_lists = len(goal.factors)
    n_required = 0
    for row in range(n_lists):
        if is_required[row]:
            if known[row, NUMBER] < 0:
                return 0
            put_by_length(known, batch.order, n_required, row)
            n_required += 1
    optional_most = 0.0
    for atom in range(len(phrase.rows)):
        if known[phrase.rows[atom], PLACE] == known[phrase.rows[atom], PLACE_END]:
            return 0  # an entry without positions is no atom: no honest peer asks for it
    for row in range(n_lists):
        if known[row, NUMBER] >= 0:
            if not open_list(postings, lists, row, known[row]):
                return 0
            if not is_required[row]:
                factor = goal.factors[row]
                optional_most += greatest_of(postings, lists, row, factor, goal.norms, goal.model)
    lead = batch.order[0]
    state = lists.states[lead]
    size = 0
    may_skip = n_required == 1 and goal.is_whole != 0 and not is_short(lists, lead) and not len(phrase.rows)
    for block in range(state[N_BLOCKS]):
        if may_skip:
            most = _bound_at(postings, lists, lead, block * BLOCK, goal, batch)
            if most + optional_most <= _limit(goal, size):
                goal.told[TOTAL] += block_size(state[N_POSTINGS], block)
                continue
        n = _enter_lead(postings, lists, goal, batch, lead, block)
        if lists.damage[0] >= 0:
            return 0
        for place in range(1, n_required):
            row = batch.order[place]
            locate_all(postings, lists, row, batch.documents, n, batch.indexes[row])
            n = keep_located(batch.documents, batch.indexes, batch.order, place, n)
        if len(phrase.rows):
            n = _keep_with_phrase(postings, lists, known, phrase, batch, n)
        goal.told[TOTAL] += n
        if n and n_required < n_lists:
            n = _locate_optional(postings, lists, known, is_required, goal, batch, n, size, optional_most)
        size = _score(postings, lists, goal, batch, n, size)
        if lists.damage[0] >= 0:
            return 0
    return size


@leaf
def _enter_lead(postings: Postings, lists: Lists, goal: Goal, batch: Batch, lead: int, block: int) -> int:
    """Begin a batch with the documents of a block that are allowed."""
    if not is_short(lists, lead) and not enter_block(postings, lists, lead, block):
        return 0
    size = lists.states[lead, SIZE]
    indexes = batch.indexes[lead]
    for i in range(size):
        batch.documents[i] = lists.documents[lead, i]
        indexes[i] = block * BLOCK + i
    return size if goal.is_whole else _keep_allowed(goal.allowed, batch, batch.order[:1], size)


@leaf
def _keep_with_phrase(
    postings: Postings, lists: Lists, known: Ints, phrase: Phrase, batch: Batch, n: int
) -> int:
    """Keep the documents of a batch, located in the required lists, that have a phrase."""
    kept = 0
    for i in range(n):
        if has_phrase(postings, lists, known, phrase, batch.indexes, i):
            batch.documents[kept] = batch.documents[i]
            for row in range(len(batch.indexes)):
                batch.indexes[row, kept] = batch.indexes[row, i]
            kept += 1
    return kept if lists.damage[0] < 0 and lists.positions_damage[0] < 0 else 0


@leaf
def _locate_optional(
    postings: Postings,
    lists: Lists,
    known: Ints,
    is_required: Bytes,
    goal: Goal,
    batch: Batch,
    n: int,
    size: int,
    optional_most: float,
) -> int:
    """Locate documents in the lists that only score, if they could then become one of the best."""
    n_lists = len(goal.factors)
    batch.totals[:n] = optional_most
    for row in range(n_lists):
        if is_required[row]:
            _bound_row(postings, lists, goal, batch, row, n)
    n = _narrow(batch, n, n_lists, _limit(goal, size))
    for row in range(n_lists):
        if not is_required[row]:
            if known[row, NUMBER] < 0:
                batch.indexes[row, :n] = -1
            else:
                locate_all(postings, lists, row, batch.documents, n, batch.indexes[row])
    return n


@kernel(
    POSTINGS, IN_BYTES, IN_INTS, types.int64, IN_BYTES, IN_INTS, IN_BYTES, IN_INTS, IN_INTS, types.int64,
    IN_FLOATS, IN_BYTES, types.int64, IN_FLOATS_2D, IN_FLOATS, types.float64, types.float64, types.int64,
    MUTABLE_INTS, MUTABLE_FLOATS, MUTABLE_INTS,
)  # fmt: skip
def search_all(
    postings: Postings,
    dictionary: Bytes,
    dictionary_blocks: Ints,
    n_entries: int,
    wanted: Bytes,
    wanted_starts: Ints,
    is_required: Bytes,
    atoms: Ints,
    distances: Ints,
    fields: int,
    factors: Floats,
    allowed: Bytes,
    is_whole: int,
    norms: Floats,
    model: Floats,
    floor: float,
    ceiling: float,
    first: int,
    best: Ints,
    best_scores: Floats,
    told: Ints,
) -> int:
    """Find the best documents that have all required entries, at least one, and a phrase, if there is one.

    See `Goal` for the arguments that are not explained.

    Args:
      dictionary, dictionary_blocks, n_entries: of the segment. wanted, wanted_starts: the entries.
      is_required: 1 for those that must occur; the others only score.
      atoms, distances, fields: of the phrase, see `Phrase`; atoms are required. Without any there is none.
      best, best_scores: room for k, at least one; become the best, the best first, ties by rising document.
      told: becomes what `TOTAL` and so on say.

    Returns:
      How many are kept.
    """
    n_lists = len(factors)
    found = np.empty(n_lists * FOUND_COLUMNS, np.int64)
    find_entries(dictionary, dictionary_blocks, n_entries, wanted, wanted_starts, found)
    lists = closed_lists(n_lists)
    goal = Goal(factors, allowed, is_whole, norms, model, floor, ceiling, first, best, best_scores, told)
    told[TOTAL] = 0
    told[IS_EXACT] = 1
    known = found.reshape(n_lists, FOUND_COLUMNS)
    cursors = np.empty((len(atoms), CURSOR_SIZE), np.int64)
    phrase = Phrase(atoms, distances, fields, cursors, np.zeros(SEEN_SIZE if len(atoms) else 1, np.int64))
    size = _search_all(postings, lists, known, is_required, phrase, goal, _empty_batch(n_lists))
    told[DAMAGE] = lists.damage[0]
    told[POSITIONS_DAMAGE] = lists.positions_damage[0]
    put_in_order(best, best_scores, size)
    return size


# --- Any entry --------------------------------------------------------------------------------


class Window(NamedTuple):
    """What each list can give at most, everywhere and in a stretch of documents."""

    most: Floats  # anywhere
    order: Ints  # the lists by that; those in front are weak: together they make no good document
    bounds: Floats  # in the block `block`
    block: Ints  # of a long list; it need not have been entered
    lasts: Ints  # the last document for which the bound holds
    here: Floats  # in the window
    turn: Ints  # the lists of the window by that, the weak ones in front
    before: Floats  # (lists + 1,): what those in front of each can give together


@allocating_leaf
def _no_window(n_lists: int) -> Window:
    return Window(
        np.empty(n_lists, np.float64),
        np.empty(n_lists, np.int64),
        np.empty(n_lists, np.float64),
        np.full(n_lists, -1, np.int64),
        np.full(n_lists, -1, np.int64),
        np.empty(n_lists, np.float64),
        np.empty(n_lists, np.int64),
        np.zeros(n_lists + 1, np.float64),
    )


@leaf
def _put_by(values: Floats, rows: Ints, first: int, n: int, row: int) -> None:
    """Add a row to rows[first:n], which are sorted by rising value."""
    at = n
    while at > first and values[rows[at - 1]] > values[row]:
        rows[at] = rows[at - 1]
        at -= 1
    rows[at] = row


@leaf
def _bound_window(
    postings: Postings, lists: Lists, goal: Goal, window: Window, n_weak: int, document: int
) -> int:
    """Set the bounds of all lists but the weak ones from a document on; return the window's last document.

    It ends where one of them changes its block; NO_DOCUMENT when all of them are at their end.
    """
    end = int64(NO_DOCUMENT)
    for o in range(n_weak, len(window.order)):
        row = window.order[o]
        if window.lasts[row] < document:
            _bound_block_with(postings, lists, goal, window, row, document)
        end = min(end, window.lasts[row])
    return int(end)


@leaf
def _bound_block_with(
    postings: Postings, lists: Lists, goal: Goal, window: Window, row: int, document: int
) -> None:
    """Set the bound of the block of a list with a document, 0 if there is none."""
    state = lists.states[row]
    if not is_short(lists, row):
        block = block_with(postings, state, window.block[row] + 1, document)
        if block < state[N_BLOCKS]:
            entry = skip_entry(state, block)
            window.block[row] = block
            window.lasts[row] = last_of(postings, state, block)
            window.bounds[row] = bound_of(postings.words, entry, goal.factors[row], goal.model)
            return
    elif document <= state[LAST]:
        window.lasts[row] = state[LAST]
        window.bounds[row] = window.most[row]
        return
    window.block[row] = state[N_BLOCKS] - 1
    window.lasts[row] = NO_DOCUMENT
    window.bounds[row] = 0.0


@leaf
def _take_turns(window: Window, n_weak: int) -> int:
    """Put the lists of a window in their order, and sum up what they can give; return how many."""
    n = n_weak
    for o in range(len(window.order)):
        row = window.order[o]
        if o < n_weak:
            window.here[row] = window.most[row]
            window.turn[o] = row
        elif window.lasts[row] != NO_DOCUMENT:
            window.here[row] = window.bounds[row]
            _put_by(window.here, window.turn, n_weak, n, row)
            n += 1
    for i in range(n):
        window.before[i + 1] = window.before[i] + window.here[window.turn[i]]
    return n


@leaf
def _enter_window(postings: Postings, lists: Lists, window: Window, row: int, document: int) -> bool:
    """Enter the block of the window, with frequencies, and go to a document or the one after it."""
    state = lists.states[row]
    if not is_short(lists, row):
        block = window.block[row]
        if state[AT_BLOCK] != block and not enter_block(postings, lists, row, block):
            return False
    if state[AT] < state[SIZE] and lists.documents[row, state[AT]] < document:
        state[AT] = place_in(lists.documents[row], document) if document <= state[LAST] else state[SIZE]
    return True


@leaf
def _take_one(lists: Lists, batch: Batch, row: int, end: int) -> int:
    """Take the documents of one list up to `end`; return how many."""
    state = lists.states[row]
    documents = lists.documents[row]
    base = state[AT_BLOCK] * BLOCK
    first = state[AT]
    stop = state[SIZE]
    if end < state[LAST]:
        stop = place_in(documents, end + 1)
    for i in range(first, stop):
        batch.documents[i - first] = documents[i]
        batch.indexes[row, i - first] = base + i
    state[AT] = stop
    return int(stop - first)


@leaf
def _take_two(lists: Lists, batch: Batch, a: int, b: int, end: int) -> int:
    """Do as `_take_all` for two lists: most windows have no more."""
    documents_a = lists.documents[a]
    documents_b = lists.documents[b]
    base_a = lists.states[a, AT_BLOCK] * BLOCK
    base_b = lists.states[b, AT_BLOCK] * BLOCK
    at_a = np.uint64(lists.states[a, AT])
    at_b = np.uint64(lists.states[b, AT])
    n = 0
    while n < BLOCK:
        first_a = documents_a[at_a]
        first_b = documents_b[at_b]
        document = min(first_a, first_b)
        if document > end:
            break
        batch.documents[n] = document
        batch.indexes[a, n] = base_a + int64(at_a) if first_a == document else -1
        batch.indexes[b, n] = base_b + int64(at_b) if first_b == document else -1
        at_a += np.uint64(first_a == document)
        at_b += np.uint64(first_b == document)
        n += 1
    lists.states[a, AT] = at_a
    lists.states[b, AT] = at_b
    return n


@leaf
def _take_all(lists: Lists, batch: Batch, rows: Ints, end: int) -> int:
    """Merge the documents of lists up to `end`, as far as there is room; return how many."""
    n = 0
    while n < BLOCK:
        document = int64(NO_DOCUMENT)
        for r in range(len(rows)):
            row = rows[r]
            document = min(document, lists.documents[row, lists.states[row, AT]])
        if document > end:
            break
        batch.documents[n] = document
        for r in range(len(rows)):
            row = rows[r]
            at = lists.states[row, AT]
            is_in = lists.documents[row, at] == document
            batch.indexes[row, n] = lists.states[row, AT_BLOCK] * BLOCK + at if is_in else -1
            lists.states[row, AT] = at + int64(is_in)
        n += 1
    return n


@leaf
def _bound_ahead(
    postings: Postings, lists: Lists, goal: Goal, batch: Batch, row: int, n: int, enough: float
) -> None:
    """Give up documents that are not brought above `enough` by the bounds of the list's blocks for them."""
    state = lists.states[row]
    if is_short(lists, row):
        return
    block = max(state[AT_BLOCK], 0)
    last = -1
    bound = 0.0
    for i in range(n):
        document = batch.documents[i]
        if last < document:
            block = block_with(postings, state, block, document)
            if block == state[N_BLOCKS]:
                last = NO_DOCUMENT
                bound = 0.0
            else:
                last = last_of(postings, state, block)
                bound = _bound_at(postings, lists, row, block * BLOCK, goal, batch)
        if batch.totals[i] + bound <= enough:
            batch.totals[i] = _NOT_ENOUGH


@leaf
def _probe(
    postings: Postings,
    lists: Lists,
    goal: Goal,
    batch: Batch,
    window: Window,
    n_probed: int,
    n: int,
    limit: float,
) -> int:
    """Add what the lists in front give to documents, as long as these can be good; return how many are.

    Args:
      limit: what totals must exceed in the end.
    """
    n_lists = len(goal.factors)
    n = _narrow(batch, n, n_lists, limit - window.before[n_probed])
    for place in range(n_probed - 1, -1, -1):
        if n == 0:
            break
        row = window.turn[place]
        enough = limit - window.before[place]
        _bound_ahead(postings, lists, goal, batch, row, n, enough)
        n = _narrow(batch, n, n_lists, _NOT_ENOUGH)
        locate_all(postings, lists, row, batch.documents, n, batch.indexes[row])
        _value_row(postings, lists, goal, batch, row, n)
        for i in range(n):
            batch.totals[i] += batch.values[row, i]
        n = _narrow(batch, n, n_lists, enough)
    return n


@leaf
def _search_window(
    postings: Postings,
    lists: Lists,
    goal: Goal,
    batch: Batch,
    window: Window,
    n_probed: int,
    n_turn: int,
    document: int,
    end: int,
    size: int,
) -> tuple[int, int]:
    """Offer the documents of a window, as far as there is room; return (document to go on with, size)."""
    n_lists = len(goal.factors)
    rows = window.turn[n_probed:n_turn]
    for i in range(len(rows)):
        if not _enter_window(postings, lists, window, rows[i], document):
            return end + 1, size
    following = int64(end + 1)
    if len(rows) == 1:
        n = _take_one(lists, batch, rows[0], end)
    elif len(rows) == 2:
        n = _take_two(lists, batch, rows[0], rows[1], end)
    else:
        n = _take_all(lists, batch, rows, end)
    if len(rows) > 1 and n == BLOCK:
        following = int64(batch.documents[n - 1] + 1)
    if not goal.is_whole:
        n = _keep_allowed(goal.allowed, batch, rows, n)
    goal.told[TOTAL] += n
    batch.totals[:n] = 0.0
    for row in range(n_lists):
        batch.values[row, :n] = 0.0
    for r in range(len(rows)):
        _value_row(postings, lists, goal, batch, rows[r], n)
        for i in range(n):
            batch.totals[i] += batch.values[rows[r], i]
    limit = _limit(goal, size)
    n = _probe(postings, lists, goal, batch, window, n_probed, n, limit / SLACK if limit > 0.0 else limit)
    size = _offer_all(goal, batch, n, size)
    return following, size


@leaf
def _search_any(postings: Postings, lists: Lists, goal: Goal, batch: Batch, window: Window) -> int:
    """Do as `search_any` with lists that are open."""
    n_lists = len(goal.factors)
    for row in range(n_lists):
        window.most[row] = greatest_of(postings, lists, row, goal.factors[row], goal.norms, goal.model)
        _put_by(window.most, window.order, 0, row, row)
    size = int64(0)
    n_weak = 0
    weak_most = 0.0
    document = int64(0)  # all before it are done
    while lists.damage[0] < 0:
        limit = _limit(goal, size)
        while n_weak < n_lists and weak_most + window.most[window.order[n_weak]] <= limit:
            weak_most += window.most[window.order[n_weak]]
            n_weak += 1
        end = _bound_window(postings, lists, goal, window, n_weak, document)
        if end == NO_DOCUMENT:
            break
        n_turn = _take_turns(window, n_weak)
        n_probed = n_weak
        while n_probed < n_turn and window.before[n_probed + 1] <= limit:
            n_probed += 1
        if n_probed:
            goal.told[IS_EXACT] = 0
        if n_probed == n_turn:
            document = end + 1
            continue
        document, size = _search_window(
            postings, lists, goal, batch, window, n_probed, n_turn, document, end, size
        )
    if n_weak:
        goal.told[IS_EXACT] = 0
    return int(size)


@kernel(
    POSTINGS, IN_BYTES, IN_INTS, types.int64, IN_BYTES, IN_INTS, IN_FLOATS, IN_BYTES, types.int64,
    IN_FLOATS_2D, IN_FLOATS, types.float64, types.float64, types.int64, MUTABLE_INTS, MUTABLE_FLOATS,
    MUTABLE_INTS,
)  # fmt: skip
def search_any(
    postings: Postings,
    dictionary: Bytes,
    dictionary_blocks: Ints,
    n_entries: int,
    wanted: Bytes,
    wanted_starts: Ints,
    factors: Floats,
    allowed: Bytes,
    is_whole: int,
    norms: Floats,
    model: Floats,
    floor: float,
    ceiling: float,
    first: int,
    best: Ints,
    best_scores: Floats,
    told: Ints,
) -> int:
    """Find the best documents that have at least one entry; see `search_all`. Returns how many are kept."""
    found = np.empty(len(factors) * FOUND_COLUMNS, np.int64)
    find_entries(dictionary, dictionary_blocks, n_entries, wanted, wanted_starts, found)
    known = found.reshape(len(factors), FOUND_COLUMNS)
    of_present = np.empty(len(factors), np.float64)
    lists = closed_lists(len(factors))
    n_lists = 0
    for entry in range(len(factors)):
        if known[entry, NUMBER] >= 0:
            open_list(postings, lists, n_lists, known[entry])
            of_present[n_lists] = factors[entry]
            n_lists += 1
    goal = Goal(
        of_present[:n_lists], allowed, is_whole, norms, model, floor, ceiling, first, best, best_scores, told
    )
    told[TOTAL] = 0
    told[IS_EXACT] = 1
    size = 0
    if n_lists and lists.damage[0] < 0:
        size = _search_any(postings, lists, goal, _empty_batch(n_lists), _no_window(n_lists))
    told[DAMAGE] = lists.damage[0]
    told[POSITIONS_DAMAGE] = lists.positions_damage[0]
    put_in_order(best, best_scores, size)
    return size


# --- Documents found before -------------------------------------------------------------------


@kernel(
    POSTINGS, INTS_2D, IN_FLOATS, IN_INTS, INTS_2D, IN_INTS, IN_BYTES,
    IN_FLOATS_2D, IN_FLOATS, types.float64, types.float64, types.int64, MUTABLE_INTS, MUTABLE_FLOATS,
    MUTABLE_INTS,
)  # fmt: skip
def rank(
    postings: Postings,
    known: Ints,
    factors: Floats,
    found: Ints,
    indexes: Ints,
    rows: Ints,
    allowed: Bytes,
    norms: Floats,
    model: Floats,
    floor: float,
    ceiling: float,
    first: int,
    best: Ints,
    best_scores: Floats,
    told: Ints,
) -> int:
    """Score documents and keep the best; see `search_all`.

    Args:
      known: of each list, what `look_up` found.
      found: the documents, rising. indexes: of their postings, -1 where there is none; rows may be longer
        than `found`. rows: of these, which belongs to each list.
    """
    n_lists = len(factors)
    lists = closed_lists(n_lists)
    batch = _empty_batch(n_lists)
    goal = Goal(factors, allowed, 1, norms, model, floor, ceiling, first, best, best_scores, told)
    size = 0
    for row in range(n_lists):
        open_list(postings, lists, row, known[row])
    for start in range(0, len(found), BLOCK):
        if lists.damage[0] >= 0:
            break
        n = min(BLOCK, len(found) - start)
        batch.documents[:n] = found[start : start + n]
        for row in range(n_lists):
            batch.indexes[row, :n] = indexes[rows[row], start : start + n]
        size = _score(postings, lists, goal, batch, n, size)
    told[TOTAL] = len(found)
    told[IS_EXACT] = 1
    told[DAMAGE] = lists.damage[0]
    told[POSITIONS_DAMAGE] = lists.positions_damage[0]
    put_in_order(best, best_scores, size)
    return size


@kernel(IN_INTS, IN_FLOATS, types.float64, types.int64, MUTABLE_INTS, MUTABLE_FLOATS)
def select(
    found: Ints,
    values: Floats,
    ceiling: float,
    first: int,
    best: Ints,
    best_values: Floats,
) -> int:
    """Keep the documents with the greatest values, of equal ones the first; see `search_all`.

    Args:
      values: of every document of the segment.
    """
    size = 0
    for i in range(len(found)):
        document = found[i]
        value = values[document]
        if value < ceiling or (value == ceiling and document >= first):
            size = sift(best, best_values, size, document, value)
    put_in_order(best, best_values, size)
    return size
