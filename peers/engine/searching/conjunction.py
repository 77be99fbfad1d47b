"""The best documents that have all entries.

It goes through the rarest list; the documents of each of its blocks are located in the other lists. All of
them are counted, but frequencies are read only where the bounds of the blocks that a document's postings are
in could make it one of the best.
"""

from __future__ import annotations

import numpy as np
from numba import types

from peers.engine.dictionary import (
    DOC_FREQ,
    NUMBER,
    PLACE,
    PLACE_END,
    found_entries,
)
from peers.engine.effort import LEFT
from peers.engine.lists import (
    N_BLOCKS,
    N_POSTINGS,
    POSTINGS,
    SIZE,
    Lists,
    Postings,
    closed_lists,
    enter_block,
    is_short,
    locate_all,
    open_list,
)
from peers.engine.positions import CURSOR_SIZE, SEEN_SIZE, Phrase, has_phrase
from peers.engine.postings.format import BLOCK, block_size
from peers.engine.scoring import (
    greatest_of,
)
from peers.engine.searching.batch import (
    GOAL,
    IS_EXACT,
    TOTAL,
    Batch,
    Goal,
    bound_at,
    bound_row,
    conclude,
    empty_batch,
    keep_allowed,
    limit_of,
    may_go_on,
    narrow,
    score,
)
from peers.kernel import (
    IN_BYTES,
    IN_INTS,
    Bytes,
    Ints,
    int64,
    kernel,
    leaf,
)

# Positions of an atom in a document are read for about as much as so many visits.
PHRASE_VISITS = 8


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
        if not may_go_on(goal):
            break
        goal.effort[LEFT] -= 1
        if may_skip:
            most = bound_at(postings, lists, lead, block * BLOCK, goal, batch)
            if most + optional_most <= limit_of(goal, size):
                goal.told[TOTAL] += block_size(state[N_POSTINGS], block)
                continue
        n = _enter_lead(postings, lists, goal, batch, lead, block)
        if lists.damage[0] >= 0:
            return 0
        goal.effort[LEFT] -= n
        for place in range(1, n_required):
            row = batch.order[place]
            goal.effort[LEFT] -= n
            locate_all(postings, lists, row, batch.documents, n, batch.indexes[row])
            n = keep_located(batch.documents, batch.indexes, batch.order, place, n)
        if len(phrase.rows):
            goal.effort[LEFT] -= n * len(phrase.rows) * PHRASE_VISITS
            n = _keep_with_phrase(postings, lists, known, phrase, batch, n)
        goal.told[TOTAL] += n
        if n and n_required < n_lists:
            n = _locate_optional(postings, lists, known, is_required, goal, batch, n, size, optional_most)
        goal.effort[LEFT] -= n * n_lists
        size = score(postings, lists, goal, batch, n, size)
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
    return size if goal.is_whole else keep_allowed(goal.allowed, batch, batch.order[:1], size)


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
            bound_row(postings, lists, goal, batch, row, n)
    n = narrow(batch, n, n_lists, limit_of(goal, size))
    for row in range(n_lists):
        if not is_required[row]:
            if known[row, NUMBER] < 0:
                batch.indexes[row, :n] = -1
            else:
                locate_all(postings, lists, row, batch.documents, n, batch.indexes[row])
    return n


@kernel(
    POSTINGS, IN_BYTES, IN_INTS, types.int64, IN_BYTES, IN_INTS, IN_BYTES, IN_INTS, IN_INTS, types.int64, GOAL
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
    goal: Goal,
) -> int:
    """Find the best documents that have all required entries, at least one, and a phrase, if there is one.

    Args:
      dictionary, dictionary_blocks, n_entries: of the segment. wanted, wanted_starts: the entries.
      is_required: 1 for those that must occur; the others only score.
      atoms, distances, fields: of the phrase, see `Phrase`; atoms are required. Without any there is none.

    Returns:
      How many are kept.
    """
    n_lists = len(goal.factors)
    known = found_entries(dictionary, dictionary_blocks, n_entries, wanted, wanted_starts)
    lists = closed_lists(n_lists)
    goal.told[TOTAL] = 0
    goal.told[IS_EXACT] = 1
    cursors = np.empty((len(atoms), CURSOR_SIZE), np.int64)
    phrase = Phrase(atoms, distances, fields, cursors, np.zeros(SEEN_SIZE if len(atoms) else 1, np.int64))
    size = _search_all(postings, lists, known, is_required, phrase, goal, empty_batch(n_lists))
    conclude(lists, goal, size)
    return size
