/* A batch of documents on their way to be among the best, and the goal of a search; see batch.py. */

#pragma once

#include "peers/engine/searching/scoring.h"

/* What is left of the work, see effort.py. */
enum { EFFORT_LEFT, EFFORT_IS_STOPPED, EFFORT_READ };
/* What a search tells besides the best. */
enum { TOTAL, IS_EXACT, DAMAGE, POSITIONS_DAMAGE };

#define NOT_ENOUGH (-INFINITY)
/* A block's frequencies are decoded for so many documents, else read one by one. */
#define DECODED_MIN 8

/* What is searched for, and what has been found, as batch.py says. */
typedef struct {
    Floats factors;
    Bytes allowed;
    int64_t is_whole;
    FloatRows norms;
    Floats model;
    double floor;
    double ceiling;
    int64_t first;
    MutableInts best;
    MutableFloats best_scores;
    MutableInts told;
    MutableInts effort;
} GoalView;
#define GOAL "(g(bnf2f)ddnrqoI)"

/* The same for lists that are open, with documents on their way, rising, and what is known of each list. */
typedef struct {
    const GoalView *goal;
    Lists *lists;
    int64_t n_lists;
    const double *factors; /* of each list */
    Scale scale;
    Best best;
    int64_t size; /* how many are kept as the best */
    volatile int64_t *effort; /* another thread may stop it */
    int64_t *documents;
    int64_t *indexes; /* (lists, BLOCK): of postings; -1 where there is none */
    double *values; /* (lists, BLOCK): what the list adds to the score */
    double *totals; /* what is known of the score, or bounds it */
    double *bounds; /* (lists,): of the block `bounded` */
    int64_t *bounded;
    int64_t *order; /* (lists,) */
} Batch;

static inline size_t batch_bytes(int64_t n_lists)
{
    return stored_bytes(DOCUMENTS_ROOM, 8) + 2 * stored_bytes(n_lists * BLOCK, 8) + stored_bytes(BLOCK, 8)
        + 3 * stored_bytes(n_lists, 8);
}

static Batch take_batch(
    Store *store, const GoalView *goal, Lists *lists, int64_t n_lists, const double *factors)
{
    Batch batch = {
        .goal = goal,
        .lists = lists,
        .n_lists = n_lists,
        .factors = factors,
        .scale = {goal->model.at, goal->norms.at, goal->norms.columns},
        .best = {goal->best.at, goal->best_scores.at, goal->best.size},
        .effort = goal->effort.at,
        .documents = take_ints(store, DOCUMENTS_ROOM),
        .indexes = take_ints(store, n_lists * BLOCK),
        .values = take_floats(store, n_lists * BLOCK),
        .totals = take_floats(store, BLOCK),
        .bounds = take_floats(store, n_lists),
        .bounded = take_ints(store, n_lists),
        .order = take_ints(store, n_lists),
    };
    fill(batch.bounded, n_lists, -1);
    return batch;
}

static inline int64_t *indexes_of(const Batch *batch, int64_t row)
{
    return batch->indexes + row * BLOCK;
}

static inline double *values_of(const Batch *batch, int64_t row)
{
    return batch->values + row * BLOCK;
}

/* Tell whether any effort is left. */
static inline bool may_go_on(const Batch *batch)
{
    return batch->effort[EFFORT_LEFT] > 0 && batch->effort[EFFORT_IS_STOPPED] == 0;
}

static inline void spend(const Batch *batch, int64_t visits)
{
    batch->effort[EFFORT_LEFT] -= visits;
}

/* Return a score: what no better score can be reached for is not wanted. All scores are at least 0. */
static inline double limit_of(const Batch *batch)
{
    if (batch->size && batch->size == batch->best.k)
        return batch->best.scores[0];
    return batch->goal->floor > 0.0 ? batch->goal->floor : -1.0;
}

/* Keep a document if it is wanted and one of the best so far. */
static inline void offer(Batch *batch, int64_t document, double score)
{
    const GoalView *goal = batch->goal;
    if (score < goal->floor || score > goal->ceiling || (score == goal->ceiling && document < goal->first))
        return;
    batch->size = sift(batch->best, batch->size, document, score);
}

/* Return what the score of a posting is not above, by its block. */
static inline double bound_at(Batch *batch, int64_t row, int64_t index)
{
    const List *list = batch->lists->rows + row;
    if (is_short(list)) {
        if (batch->bounded[row] < 0) {
            batch->bounded[row] = 0;
            batch->bounds[row] = greatest_of(batch->lists, list, batch->factors[row], &batch->scale);
        }
    } else {
        int64_t block = index >> BLOCK_BITS;
        if (batch->bounded[row] != block) {
            batch->bounded[row] = block;
            batch->bounds[row] = bound_of(
                batch->lists->postings->words.at, skip_entry(list, block), batch->factors[row],
                batch->scale.model);
        }
    }
    return batch->bounds[row];
}

/* Keep the documents of a batch that may be found, and where they are in some lists; return how many. */
static int64_t keep_allowed(Batch *batch, const int64_t *rows, int64_t n_rows, int64_t n)
{
    const uint8_t *allowed = batch->goal->allowed.at;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t document = batch->documents[i];
        batch->documents[kept] = document;
        for (int64_t r = 0; r < n_rows; r++) {
            int64_t *indexes = indexes_of(batch, rows[r]);
            indexes[kept] = indexes[i];
        }
        kept += allowed[document] != 0;
    }
    return kept;
}

/* Keep the documents of a batch whose totals are above a limit; return how many. */
static int64_t narrow(Batch *batch, int64_t n, double limit)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(batch->totals[i] > limit))
            continue;
        if (kept < i) {
            batch->documents[kept] = batch->documents[i];
            batch->totals[kept] = batch->totals[i];
            for (int64_t row = 0; row < batch->n_lists; row++) {
                indexes_of(batch, row)[kept] = indexes_of(batch, row)[i];
                values_of(batch, row)[kept] = values_of(batch, row)[i];
            }
        }
        kept++;
    }
    return kept;
}

/* Set values to what the list gives at most to documents located in it, and add that to the totals. */
static void bound_row(Batch *batch, int64_t row, int64_t n)
{
    const int64_t *indexes = indexes_of(batch, row);
    double *values = values_of(batch, row);
    for (int64_t i = 0; i < n; i++) {
        values[i] = indexes[i] >= 0 ? bound_at(batch, row, indexes[i]) : 0.0;
        batch->totals[i] += values[i];
    }
}

/* Read the frequencies of some documents one by one. */
static void value_few(Batch *batch, int64_t row, int64_t first, int64_t end)
{
    const int64_t *indexes = indexes_of(batch, row);
    double *values = values_of(batch, row);
    List *list = batch->lists->rows + row;
    for (int64_t i = first; i < end; i++) {
        values[i] = 0.0;
        if (indexes[i] >= 0) {
            double weighted = weighted_at(batch->lists, list, indexes[i], &batch->scale, batch->documents[i]);
            values[i] = contribution(batch->factors[row], weighted, batch->scale.model[K1]);
        }
    }
}

/* Use frequencies that are decoded, of a block in which only the body has any.

   Without branches, so that several are done at once: what is not there is computed, and not used. */
static void value_in_body(Batch *batch, int64_t row, int64_t first, int64_t end)
{
    const int64_t *restrict indexes = indexes_of(batch, row);
    const int64_t *restrict documents = batch->documents;
    const int64_t *restrict frequencies = batch->lists->rows[row].frequencies + BODY * BLOCK;
    const double *restrict norms = batch->scale.norms + BODY * batch->scale.n_documents;
    double *restrict values = values_of(batch, row);
    double factor = batch->factors[row], k1 = batch->scale.model[K1];
    for (int64_t i = first; i < end; i++) {
        double frequency = (double)frequencies[indexes[i] & (BLOCK - 1)];
        double value = contribution(factor, frequency * norms[documents[i]], k1);
        values[i] = indexes[i] >= 0 ? value : 0.0;
    }
}

/* Use frequencies that are decoded, in any field. */
static void value_in_fields(Batch *batch, int64_t row, int64_t first, int64_t end)
{
    const int64_t *indexes = indexes_of(batch, row);
    const int64_t *frequencies = batch->lists->rows[row].frequencies;
    double *values = values_of(batch, row);
    for (int64_t i = first; i < end; i++) {
        values[i] = 0.0;
        if (indexes[i] >= 0) {
            double weighted = weighted_in(
                frequencies, indexes[i] & (BLOCK - 1), &batch->scale, batch->documents[i]);
            values[i] = contribution(batch->factors[row], weighted, batch->scale.model[K1]);
        }
    }
}

/* Set values to what the list adds to the scores of documents that are located in it. */
static void value_row(Batch *batch, int64_t row, int64_t n)
{
    const int64_t *indexes = indexes_of(batch, row);
    double *values = values_of(batch, row);
    List *list = batch->lists->rows + row;
    int64_t first = 0;
    if (batch->factors[row] == 0.0)
        while (first < n)
            values[first++] = 0.0;
    while (first < n) {
        if (indexes[first] < 0) {
            values[first++] = 0.0;
            continue;
        }
        int64_t block = indexes[first] >> BLOCK_BITS;
        int64_t end = first + 1;
        while (end < n && (indexes[end] < 0 || indexes[end] >> BLOCK_BITS == block))
            end++;
        if (end - first < DECODED_MIN && !is_short(list))
            value_few(batch, row, first, end);
        else if (read_frequencies(batch->lists, list, block))
            value_in_body(batch, row, first, end);
        else
            value_in_fields(batch, row, first, end);
        first = end;
    }
}

/* Offer documents of which all values are known. */
static void offer_all(Batch *batch, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double score = 0.0;
        /* In this order, whatever the order in which they became known. */
        for (int64_t row = 0; row < batch->n_lists; row++)
            score += values_of(batch, row)[i];
        offer(batch, batch->documents[i], score);
    }
}

/* Return what totals must exceed that are sums of values, not of bounds. */
static inline double exact_limit(double limit)
{
    return limit > 0.0 ? limit / SLACK : limit;
}

static inline void fill_floats(double *numbers, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++)
        numbers[i] = value;
}

/* Score the documents of a batch that is located in all lists.

   The totals bound the scores at first; list by list, the bound of a block gives way to what is so. As long as
   every document is wanted, as in the first batch, there is nothing to be bounded for. */
static void score_batch(Batch *batch, int64_t n)
{
    double limit = limit_of(batch);
    if (limit < 0.0) {
        for (int64_t row = 0; row < batch->n_lists; row++)
            value_row(batch, row, n);
        offer_all(batch, n);
        return;
    }
    fill_floats(batch->totals, n, 0.0);
    for (int64_t row = 0; row < batch->n_lists; row++)
        bound_row(batch, row, n);
    n = narrow(batch, n, limit);
    for (int64_t row = 0; row < batch->n_lists; row++) {
        const double *values = values_of(batch, row);
        for (int64_t i = 0; i < n; i++)
            batch->totals[i] -= values[i];
        value_row(batch, row, n);
        for (int64_t i = 0; i < n; i++)
            batch->totals[i] += values[i];
        n = narrow(batch, n, exact_limit(limit));
    }
    offer_all(batch, n);
}

/* Tell what damage was met, and put the best in order; return how many these are. */
static int64_t conclude(const GoalView *goal, const Lists *lists, int64_t size)
{
    goal->effort.at[EFFORT_READ] += lists->bytes_read;
    goal->told.at[DAMAGE] = lists->damage;
    goal->told.at[POSITIONS_DAMAGE] = lists->positions_damage;
    put_in_order((Best){goal->best.at, goal->best_scores.at, goal->best.size}, size);
    return size;
}
