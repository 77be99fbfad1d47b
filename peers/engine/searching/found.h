/* The kernels of found.py: documents that were found before. */

#pragma once

#include "peers/engine/searching/batch.h"

KERNEL(rank, POSTINGS "i2ii2i" GOAL, {
    Postings postings;
    IntRows known;
    Ints found;
    IntRows indexes;
    Ints rows;
    GoalView goal;
})
{
    int64_t n_lists = a->goal.factors.size;
    Store store;
    if (!open_store(&store, lists_bytes(n_lists) + batch_bytes(n_lists)))
        return NO_MEMORY;
    Lists *lists = take_lists(&store, &a->postings, n_lists);
    Batch batch = take_batch(&store, &a->goal, lists, n_lists, a->goal.factors.at);
    for (int64_t row = 0; row < n_lists; row++)
        open_list(lists, row, a->known.at + row * a->known.columns);
    for (int64_t start = 0; start < a->found.size; start += BLOCK) {
        if (lists->damage >= 0 || !may_go_on(&batch))
            break;
        int64_t n = least_of(BLOCK, a->found.size - start);
        size_t n_bytes = (size_t)n * sizeof(int64_t);
        spend(&batch, n * n_lists);
        memcpy(batch.documents, a->found.at + start, n_bytes);
        for (int64_t row = 0; row < n_lists; row++) {
            const int64_t *indexes = a->indexes.at + a->rows.at[row] * a->indexes.columns;
            memcpy(indexes_of(&batch, row), indexes + start, n_bytes);
        }
        score_batch(&batch, n);
    }
    a->goal.told.at[TOTAL] = a->found.size;
    a->goal.told.at[IS_EXACT] = 1;
    int64_t size = conclude(&a->goal, lists, batch.size);
    close_store(&store);
    return size;
}

KERNEL(select_best, "ifdnrq", {
    Ints found;
    Floats values;
    double ceiling;
    int64_t first;
    MutableInts best;
    MutableFloats best_values;
})
{
    Best best = {a->best.at, a->best_values.at, a->best.size};
    int64_t size = 0;
    for (int64_t i = 0; i < a->found.size; i++) {
        int64_t document = a->found.at[i];
        double value = a->values.at[document];
        if (value < a->ceiling || (value == a->ceiling && document >= a->first))
            size = sift(best, size, document, value);
    }
    put_in_order(best, size);
    return size;
}
