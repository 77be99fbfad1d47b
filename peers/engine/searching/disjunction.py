"""The best documents that have any entry: block-max MaxScore.

Once k documents are known, what all of the weakest lists could give together may be too little to become one
of the best: such lists are looked up only for documents found in the others. The same is done again, with the
bounds of blocks, in every window: a stretch of documents in which none of the other lists changes its block;
and a window whose bounds are too low is skipped whole. So the number of documents that match is not known,
unless nothing was skipped.

Sources: Turtle, Flood, "Query evaluation: strategies and optimizations", 1995; Ding, Suel, "Faster top-k
document retrieval using block-max indexes", SIGIR 2011; Lucene's BlockMaxMaxScore scorer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from peers.engine.dictionary import NUMBER, found_entries
from peers.engine.effort import LEFT
from peers.engine.lists import (
    AT,
    AT_BLOCK,
    LAST,
    N_BLOCKS,
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
    skip_entry,
)
from peers.engine.postings.format import BLOCK
from peers.engine.scoring import (
    SLACK,
    bound_of,
    greatest_of,
)
from peers.engine.searching.batch import (
    GOAL,
    IS_EXACT,
    NOT_ENOUGH,
    TOTAL,
    Batch,
    Goal,
    bound_at,
    conclude,
    empty_batch,
    keep_allowed,
    limit_of,
    may_go_on,
    narrow,
    offer_all,
    value_row,
    with_factors,
)
from peers.kernel import (
    IN_BYTES,
    IN_INTS,
    Bytes,
    Floats,
    Ints,
    allocating_leaf,
    int64,
    kernel,
    leaf,
)


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
                bound = bound_at(postings, lists, row, block * BLOCK, goal, batch)
        if batch.totals[i] + bound <= enough:
            batch.totals[i] = NOT_ENOUGH


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
    n = narrow(batch, n, n_lists, limit - window.before[n_probed])
    for place in range(n_probed - 1, -1, -1):
        if n == 0:
            break
        row = window.turn[place]
        enough = limit - window.before[place]
        goal.effort[LEFT] -= n
        _bound_ahead(postings, lists, goal, batch, row, n, enough)
        n = narrow(batch, n, n_lists, NOT_ENOUGH)
        locate_all(postings, lists, row, batch.documents, n, batch.indexes[row])
        value_row(postings, lists, goal, batch, row, n)
        for i in range(n):
            batch.totals[i] += batch.values[row, i]
        n = narrow(batch, n, n_lists, enough)
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
        n = keep_allowed(goal.allowed, batch, rows, n)
    goal.told[TOTAL] += n
    goal.effort[LEFT] -= n * n_lists
    batch.totals[:n] = 0.0
    for row in range(n_lists):
        batch.values[row, :n] = 0.0
    for r in range(len(rows)):
        value_row(postings, lists, goal, batch, rows[r], n)
        for i in range(n):
            batch.totals[i] += batch.values[rows[r], i]
    limit = limit_of(goal, size)
    n = _probe(postings, lists, goal, batch, window, n_probed, n, limit / SLACK if limit > 0.0 else limit)
    size = offer_all(goal, batch, n, size)
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
    while lists.damage[0] < 0 and may_go_on(goal):
        limit = limit_of(goal, size)
        while n_weak < n_lists and weak_most + window.most[window.order[n_weak]] <= limit:
            weak_most += window.most[window.order[n_weak]]
            n_weak += 1
        end = _bound_window(postings, lists, goal, window, n_weak, document)
        if end == NO_DOCUMENT:
            break
        n_turn = _take_turns(window, n_weak)
        goal.effort[LEFT] -= n_lists + ((n_turn - n_weak) * n_turn >> 2)
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


@kernel(POSTINGS, IN_BYTES, IN_INTS, types.int64, IN_BYTES, IN_INTS, GOAL)
def search_any(
    postings: Postings,
    dictionary: Bytes,
    dictionary_blocks: Ints,
    n_entries: int,
    wanted: Bytes,
    wanted_starts: Ints,
    goal: Goal,
) -> int:
    """Find the best documents that have at least one entry; see `search_all`. Returns how many are kept."""
    known = found_entries(dictionary, dictionary_blocks, n_entries, wanted, wanted_starts)
    present = np.empty(len(goal.factors), np.float64)  # factors of entries that the segment has
    lists = closed_lists(len(present))
    n_lists = 0
    for entry in range(len(present)):
        if known[entry, NUMBER] >= 0:
            open_list(postings, lists, n_lists, known[entry])
            present[n_lists] = goal.factors[entry]
            n_lists += 1
    goal.told[TOTAL] = 0
    goal.told[IS_EXACT] = 1
    size = 0
    if n_lists and lists.damage[0] < 0:
        goal = with_factors(goal, present[:n_lists])
        size = _search_any(postings, lists, goal, empty_batch(n_lists), _no_window(n_lists))
    conclude(lists, goal, size)
    return size
