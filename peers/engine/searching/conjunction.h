/* The kernel of conjunction.py: the best documents that have all entries. */

#pragma once

#include "peers/engine/native/positions.h"
#include "peers/engine/searching/batch.h"

/* Positions of an atom in a document are read for about as much as so many visits. */
#define PHRASE_VISITS 8

/* Add a list to `order`, where there are n: the shortest first. */
static void put_by_length(const int64_t *known, int64_t *order, int64_t n, int64_t row)
{
    int64_t at = n;
    int64_t doc_freq = known[row * FOUND_COLUMNS + DOC_FREQ];
    for (; at > 0 && known[order[at - 1] * FOUND_COLUMNS + DOC_FREQ] > doc_freq; at--)
        order[at] = order[at - 1];
    order[at] = row;
}

/* Keep the documents that are in the list order[place], and what is known of those before it. */
static int64_t keep_located(Batch *batch, int64_t place, int64_t n)
{
    const int64_t *order = batch->order;
    int64_t *last = indexes_of(batch, order[place]);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        bool is_in = last[i] >= 0;
        batch->documents[kept] = batch->documents[i];
        for (int64_t earlier = 0; earlier < place; earlier++) {
            int64_t *indexes = indexes_of(batch, order[earlier]);
            indexes[kept] = indexes[i];
        }
        last[kept] = last[i];
        kept += is_in;
    }
    return kept;
}

/* Begin a batch with the documents of a block that are allowed. */
static int64_t enter_lead(Batch *batch, int64_t lead, int64_t block)
{
    List *list = batch->lists->rows + lead;
    if (!is_short(list) && !enter_block(batch->lists, list, block))
        return 0;
    int64_t *indexes = indexes_of(batch, lead);
    for (int64_t i = 0; i < list->size; i++) {
        batch->documents[i] = list->documents[i];
        indexes[i] = block * BLOCK + i;
    }
    return batch->goal->is_whole ? list->size : keep_allowed(batch, batch->order, 1, list->size);
}

/* Keep the documents of a batch, located in the required lists, that have a phrase. */
static int64_t keep_with_phrase(Batch *batch, const int64_t *known, Phrase *phrase, int64_t n)
{
    const int64_t *chosen = phrase->chosen;
    int64_t kept = choose_with_phrase(batch->lists, known, phrase, batch->indexes, n);
    for (int64_t i = 0; i < kept && kept < n; i++) {
        batch->documents[i] = batch->documents[chosen[i]];
        for (int64_t row = 0; row < batch->n_lists; row++) {
            int64_t *indexes = indexes_of(batch, row);
            indexes[i] = indexes[chosen[i]];
        }
    }
    return kept;
}

/* Locate documents in the lists that only score, if they could then become one of the best. */
static int64_t locate_optional(
    Batch *batch, const int64_t *known, const int64_t *is_required, int64_t n, double optional_most)
{
    Lists *lists = batch->lists;
    fill_floats(batch->totals, n, optional_most);
    for (int64_t row = 0; row < batch->n_lists; row++)
        if (is_required[row])
            bound_row(batch, row, n);
    n = narrow(batch, n, limit_of(batch));
    for (int64_t row = 0; row < batch->n_lists; row++) {
        if (is_required[row])
            continue;
        if (known[row * FOUND_COLUMNS + NUMBER] < 0)
            fill(indexes_of(batch, row), n, -1);
        else
            locate_all(lists, lists->rows + row, batch->documents, n, indexes_of(batch, row));
    }
    return n;
}

/* Search with lists that are closed; `known` as `find_entries` finds it. Returns false at damage. */
static bool search_lists(Batch *batch, const int64_t *known, const int64_t *is_required, Phrase *phrase)
{
    Lists *lists = batch->lists;
    const GoalView *goal = batch->goal;
    int64_t n_lists = batch->n_lists, n_required = 0;
    for (int64_t row = 0; row < n_lists; row++) {
        if (is_required[row]) {
            if (known[row * FOUND_COLUMNS + NUMBER] < 0)
                return true;
            put_by_length(known, batch->order, n_required++, row);
        }
    }
    for (int64_t atom = 0; atom < phrase->n_atoms; atom++) {
        const int64_t *entry = known + phrase->rows[atom] * FOUND_COLUMNS;
        if (entry[PLACE] == entry[PLACE_END])
            return true; /* an entry without positions is no atom: no honest peer asks for it */
    }
    double optional_most = 0.0;
    for (int64_t row = 0; row < n_lists; row++) {
        if (known[row * FOUND_COLUMNS + NUMBER] < 0)
            continue;
        if (!open_list(lists, row, known + row * FOUND_COLUMNS))
            return false;
        if (!is_required[row])
            optional_most += greatest_of(lists, lists->rows + row, batch->factors[row], &batch->scale);
    }
    int64_t lead = batch->order[0];
    const List *leading = lists->rows + lead;
    bool may_skip = n_required == 1 && goal->is_whole && !is_short(leading) && !phrase->n_atoms;
    for (int64_t block = 0; block < leading->n_blocks && may_go_on(batch); block++) {
        spend(batch, 1);
        if (may_skip && bound_at(batch, lead, block * BLOCK) + optional_most <= limit_of(batch)) {
            goal->told.at[TOTAL] += block_size(leading->n_postings, block);
            continue;
        }
        int64_t n = enter_lead(batch, lead, block);
        if (lists->damage >= 0)
            return false;
        spend(batch, n);
        for (int64_t place = 1; place < n_required; place++) {
            int64_t row = batch->order[place];
            spend(batch, n);
            locate_all(lists, lists->rows + row, batch->documents, n, indexes_of(batch, row));
            n = keep_located(batch, place, n);
        }
        if (phrase->n_atoms) {
            spend(batch, n * phrase->n_atoms * PHRASE_VISITS);
            n = keep_with_phrase(batch, known, phrase, n);
        }
        goal->told.at[TOTAL] += n;
        if (n && n_required < n_lists)
            n = locate_optional(batch, known, is_required, n, optional_most);
        spend(batch, n * n_lists);
        score_batch(batch, n);
        if (lists->damage >= 0)
            return false;
    }
    return true;
}

KERNEL(search_all, POSTINGS LEXICON "tj(jjn)" GOAL, {
    Postings postings;
    Lexicon lexicon;
    Bytes wanted;
    Ints wanted_starts;
    Ints is_required;
    Ints atoms;
    Ints distances;
    int64_t fields;
    GoalView goal;
})
{
    int64_t n_lists = a->goal.factors.size, n_wanted = a->wanted_starts.size - 1, n_atoms = a->atoms.size;
    Store store;
    size_t n_bytes = lists_bytes(n_lists) + batch_bytes(n_lists) + stored_bytes(n_wanted * FOUND_COLUMNS, 8)
        + phrase_bytes(n_atoms, n_lists);
    if (!open_store(&store, n_bytes))
        return NO_MEMORY;
    Dictionary dictionary = dictionary_of(&a->lexicon);
    int64_t *known = take_ints(&store, n_wanted * FOUND_COLUMNS);
    find_entries(&dictionary, a->wanted.at, a->wanted_starts.at, n_wanted, known);
    Phrase *phrase = take_phrase(&store, known, a->atoms, a->distances, a->fields, n_lists);
    Lists *lists = take_lists(&store, &a->postings, n_lists);
    Batch batch = take_batch(&store, &a->goal, lists, n_lists, a->goal.factors.at);
    a->goal.told.at[TOTAL] = 0;
    a->goal.told.at[IS_EXACT] = 1;
    if (!search_lists(&batch, known, a->is_required.at, phrase))
        batch.size = 0;
    int64_t size = conclude(&a->goal, lists, batch.size);
    close_store(&store);
    return size;
}
