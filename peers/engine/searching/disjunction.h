/* The kernel of disjunction.py: the best documents that have any entry, by block-max MaxScore. */

#pragma once

#include "peers/engine/searching/batch.h"

/* What each list can give at most, everywhere and in a stretch of documents. */
typedef struct {
    int64_t n_lists;
    int64_t n_weak; /* lists in front of `order` that together make no good document */
    double *most; /* anywhere */
    int64_t *order; /* the lists by that */
    double *bounds; /* in the block `block` */
    int64_t *block; /* of a long list; it need not have been entered */
    int64_t *lasts; /* the last document for which the bound holds */
    double *here; /* in the window */
    int64_t *turn; /* the lists of the window by that, the weak ones in front */
    double *before; /* (lists + 1,): what those in front of each can give together */
} Window;

static inline size_t window_bytes(int64_t n_lists)
{
    return 7 * stored_bytes(n_lists, 8) + stored_bytes(n_lists + 1, 8);
}

static Window take_window(Store *store, int64_t n_lists)
{
    Window window = {
        .n_lists = n_lists,
        .most = take_floats(store, n_lists),
        .order = take_ints(store, n_lists),
        .bounds = take_floats(store, n_lists),
        .block = take_ints(store, n_lists),
        .lasts = take_ints(store, n_lists),
        .here = take_floats(store, n_lists),
        .turn = take_ints(store, n_lists),
        .before = take_floats(store, n_lists + 1),
    };
    fill(window.block, n_lists, -1);
    fill(window.lasts, n_lists, -1);
    fill_floats(window.before, n_lists + 1, 0.0);
    return window;
}

/* Add a row to rows[first:n], which are sorted by rising value. */
static void put_by(const double *values, int64_t *rows, int64_t first, int64_t n, int64_t row)
{
    int64_t at = n;
    for (; at > first && values[rows[at - 1]] > values[row]; at--)
        rows[at] = rows[at - 1];
    rows[at] = row;
}

/* Set the bound of the block of a list with a document, 0 if there is none. */
static void bound_block_with(const Batch *batch, Window *window, int64_t row, int64_t document)
{
    const Postings *postings = batch->lists->postings;
    const List *list = batch->lists->rows + row;
    if (!is_short(list)) {
        int64_t block = block_with(postings, list, window->block[row] + 1, document);
        if (block < list->n_blocks) {
            window->block[row] = block;
            window->lasts[row] = last_of(postings, list, block);
            window->bounds[row] = bound_of(
                postings->words.at, skip_entry(list, block), batch->factors[row], batch->scale.model);
            return;
        }
    } else if (document <= list->last) {
        window->lasts[row] = list->last;
        window->bounds[row] = window->most[row];
        return;
    }
    window->block[row] = list->n_blocks - 1;
    window->lasts[row] = NO_DOCUMENT;
    window->bounds[row] = 0.0;
}

/* Set the bounds of all lists but the weak ones from a document on; return the window's last document.

   It ends where one of them changes its block; NO_DOCUMENT when all of them are at their end. */
static int64_t bound_window(const Batch *batch, Window *window, int64_t document)
{
    int64_t end = NO_DOCUMENT;
    for (int64_t o = window->n_weak; o < window->n_lists; o++) {
        int64_t row = window->order[o];
        if (window->lasts[row] < document)
            bound_block_with(batch, window, row, document);
        end = least_of(end, window->lasts[row]);
    }
    return end;
}

/* Put the lists of a window in their order, and sum up what they can give; return how many. */
static int64_t take_turns(Window *window)
{
    int64_t n = window->n_weak;
    for (int64_t o = 0; o < window->n_lists; o++) {
        int64_t row = window->order[o];
        if (o < window->n_weak) {
            window->here[row] = window->most[row];
            window->turn[o] = row;
        } else if (window->lasts[row] != NO_DOCUMENT) {
            window->here[row] = window->bounds[row];
            put_by(window->here, window->turn, window->n_weak, n++, row);
        }
    }
    for (int64_t i = 0; i < n; i++)
        window->before[i + 1] = window->before[i] + window->here[window->turn[i]];
    return n;
}

/* Enter the block of the window, with frequencies, and go to a document or the one after it. */
static bool enter_window(Lists *lists, const Window *window, int64_t row, int64_t document)
{
    List *list = lists->rows + row;
    if (!is_short(list)) {
        int64_t block = window->block[row];
        if (list->at_block != block && !enter_block(lists, list, block))
            return false;
    }
    if (list->at < list->size && list->documents[list->at] < document)
        list->at = document <= list->last ? place_in(list->documents, document) : list->size;
    return true;
}

/* Take the documents of one list up to `end`; return how many. */
static int64_t take_one(Batch *batch, int64_t row, int64_t end)
{
    List *list = batch->lists->rows + row;
    int64_t *indexes = indexes_of(batch, row);
    int64_t base = list->at_block * BLOCK;
    int64_t first = list->at;
    int64_t stop = end < list->last ? place_in(list->documents, end + 1) : list->size;
    for (int64_t i = first; i < stop; i++) {
        batch->documents[i - first] = list->documents[i];
        indexes[i - first] = base + i;
    }
    list->at = stop;
    return stop - first;
}

/* Do as `take_all` for two lists: most windows have no more. */
static int64_t take_two(Batch *batch, int64_t row_a, int64_t row_b, int64_t end)
{
    List *a = batch->lists->rows + row_a, *b = batch->lists->rows + row_b;
    int64_t *restrict indexes_a = indexes_of(batch, row_a), *restrict indexes_b = indexes_of(batch, row_b);
    int64_t *restrict documents = batch->documents;
    int64_t base_a = a->at_block * BLOCK, base_b = b->at_block * BLOCK;
    int64_t at_a = a->at, at_b = b->at, n = 0;
    for (; n < BLOCK; n++) {
        int64_t first_a = a->documents[at_a], first_b = b->documents[at_b];
        int64_t document = least_of(first_a, first_b);
        if (document > end)
            break;
        documents[n] = document;
        indexes_a[n] = first_a == document ? base_a + at_a : -1;
        indexes_b[n] = first_b == document ? base_b + at_b : -1;
        at_a += first_a == document;
        at_b += first_b == document;
    }
    a->at = at_a;
    b->at = at_b;
    return n;
}

/* Merge the documents of lists up to `end`, as far as there is room; return how many. */
static int64_t take_all(Batch *batch, const int64_t *rows, int64_t n_rows, int64_t end)
{
    List *lists = batch->lists->rows;
    int64_t n = 0;
    for (; n < BLOCK; n++) {
        int64_t document = NO_DOCUMENT;
        for (int64_t r = 0; r < n_rows; r++) {
            const List *list = lists + rows[r];
            document = least_of(document, list->documents[list->at]);
        }
        if (document > end)
            break;
        batch->documents[n] = document;
        for (int64_t r = 0; r < n_rows; r++) {
            List *list = lists + rows[r];
            bool is_in = list->documents[list->at] == document;
            indexes_of(batch, rows[r])[n] = is_in ? list->at_block * BLOCK + list->at : -1;
            list->at += is_in;
        }
    }
    return n;
}

/* Give up documents that are not brought above `enough` by the bounds of the list's blocks for them. */
static void bound_ahead(Batch *batch, int64_t row, int64_t n, double enough)
{
    const Postings *postings = batch->lists->postings;
    const List *list = batch->lists->rows + row;
    if (is_short(list))
        return;
    int64_t block = most_of(list->at_block, 0), last = -1;
    double bound = 0.0;
    for (int64_t i = 0; i < n; i++) {
        int64_t document = batch->documents[i];
        if (last < document) {
            block = block_with(postings, list, block, document);
            if (block == list->n_blocks) {
                last = NO_DOCUMENT;
                bound = 0.0;
            } else {
                last = last_of(postings, list, block);
                bound = bound_at(batch, row, block * BLOCK);
            }
        }
        if (batch->totals[i] + bound <= enough)
            batch->totals[i] = NOT_ENOUGH;
    }
}

static void add_values(Batch *batch, int64_t row, int64_t n)
{
    const double *values = values_of(batch, row);
    value_row(batch, row, n);
    for (int64_t i = 0; i < n; i++)
        batch->totals[i] += values[i];
}

/* Add what the lists in front give to documents, as long as these can be good; return how many are.

   `limit` is what totals must exceed in the end. */
static int64_t probe(Batch *batch, const Window *window, int64_t n_probed, int64_t n, double limit)
{
    Lists *lists = batch->lists;
    n = narrow(batch, n, limit - window->before[n_probed]);
    for (int64_t place = n_probed - 1; place >= 0 && n; place--) {
        int64_t row = window->turn[place];
        double enough = limit - window->before[place];
        spend(batch, n);
        bound_ahead(batch, row, n, enough);
        n = narrow(batch, n, NOT_ENOUGH);
        locate_all(lists, lists->rows + row, batch->documents, n, indexes_of(batch, row));
        add_values(batch, row, n);
        n = narrow(batch, n, enough);
    }
    return n;
}

/* Offer the documents of a window, as far as there is room; return the document to go on with. */
static int64_t search_window(
    Batch *batch, const Window *window, int64_t n_probed, int64_t n_turn, int64_t document, int64_t end)
{
    const int64_t *rows = window->turn + n_probed;
    int64_t n_rows = n_turn - n_probed;
    for (int64_t r = 0; r < n_rows; r++)
        if (!enter_window(batch->lists, window, rows[r], document))
            return end + 1;
    int64_t following = end + 1, n;
    if (n_rows == 1)
        n = take_one(batch, rows[0], end);
    else if (n_rows == 2)
        n = take_two(batch, rows[0], rows[1], end);
    else
        n = take_all(batch, rows, n_rows, end);
    if (n_rows > 1 && n == BLOCK)
        following = batch->documents[n - 1] + 1;
    if (!batch->goal->is_whole)
        n = keep_allowed(batch, rows, n_rows, n);
    batch->goal->told.at[TOTAL] += n;
    spend(batch, n * batch->n_lists);
    fill_floats(batch->totals, n, 0.0);
    for (int64_t row = 0; row < batch->n_lists; row++)
        fill_floats(values_of(batch, row), n, 0.0);
    for (int64_t r = 0; r < n_rows; r++)
        add_values(batch, rows[r], n);
    n = probe(batch, window, n_probed, n, exact_limit(limit_of(batch)));
    offer_all(batch, n);
    return following;
}

/* Search lists that are open. */
static void search_open_lists(Batch *batch, Window *window)
{
    Lists *lists = batch->lists;
    int64_t n_lists = batch->n_lists;
    int64_t *told = batch->goal->told.at;
    for (int64_t row = 0; row < n_lists; row++) {
        window->most[row] = greatest_of(lists, lists->rows + row, batch->factors[row], &batch->scale);
        put_by(window->most, window->order, 0, row, row);
    }
    double weak_most = 0.0;
    int64_t document = 0; /* all before it are done */
    while (lists->damage < 0 && may_go_on(batch)) {
        double limit = limit_of(batch);
        while (window->n_weak < n_lists && weak_most + window->most[window->order[window->n_weak]] <= limit)
            weak_most += window->most[window->order[window->n_weak++]];
        int64_t end = bound_window(batch, window, document);
        if (end == NO_DOCUMENT)
            break;
        int64_t n_turn = take_turns(window);
        spend(batch, n_lists + ((n_turn - window->n_weak) * n_turn >> 2));
        int64_t n_probed = window->n_weak;
        while (n_probed < n_turn && window->before[n_probed + 1] <= limit)
            n_probed++;
        if (n_probed)
            told[IS_EXACT] = 0;
        if (n_probed == n_turn)
            document = end + 1;
        else
            document = search_window(batch, window, n_probed, n_turn, document, end);
    }
    if (window->n_weak)
        told[IS_EXACT] = 0;
}

KERNEL(search_any, POSTINGS LEXICON "t" GOAL, {
    Postings postings;
    Lexicon lexicon;
    Bytes wanted;
    Ints wanted_starts;
    GoalView goal;
})
{
    int64_t n_factors = a->goal.factors.size, n_wanted = a->wanted_starts.size - 1;
    Store store;
    size_t n_bytes = lists_bytes(n_factors) + batch_bytes(n_factors) + window_bytes(n_factors)
        + stored_bytes(n_wanted * FOUND_COLUMNS, 8) + stored_bytes(n_factors, 8);
    if (!open_store(&store, n_bytes))
        return NO_MEMORY;
    Dictionary dictionary = dictionary_of(&a->lexicon);
    int64_t *known = take_ints(&store, n_wanted * FOUND_COLUMNS);
    find_entries(&dictionary, a->wanted.at, a->wanted_starts.at, n_wanted, known);
    double *present = take_floats(&store, n_factors); /* factors of entries that the segment has */
    Lists *lists = take_lists(&store, &a->postings, n_factors);
    int64_t n_lists = 0;
    for (int64_t entry = 0; entry < n_factors; entry++) {
        if (known[entry * FOUND_COLUMNS + NUMBER] >= 0) {
            open_list(lists, n_lists, known + entry * FOUND_COLUMNS);
            present[n_lists++] = a->goal.factors.at[entry];
        }
    }
    a->goal.told.at[TOTAL] = 0;
    a->goal.told.at[IS_EXACT] = 1;
    int64_t size = 0;
    if (n_lists && lists->damage < 0) {
        Batch batch = take_batch(&store, &a->goal, lists, n_lists, present);
        Window window = take_window(&store, n_lists);
        search_open_lists(&batch, &window);
        size = batch.size;
    }
    conclude(&a->goal, lists, size);
    close_store(&store);
    return size;
}
