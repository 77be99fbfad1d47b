/* The kernel of page_classes.py: the classes of documents by a linear model, from their postings. */

#pragma once

#include "peers/engine/native/lists.h"

/* The sums of documents, in the order of their numbers. */
typedef struct {
    int64_t first; /* document */
    int64_t end;
    int64_t n_classes;
    int64_t *squares; /* of each document: of u, see class_model.py */
    int64_t *sums; /* of each document and class: of weights times u */
} ClassSums;

struct find_classes_arguments;

/* Add the weights of one term to the sums of a document. */
static inline void add_term(
    ClassSums *sums, int64_t document, int64_t u, const int64_t *classes, const int64_t *weights, int64_t n)
{
    int64_t row = document - sums->first;
    int64_t *of_document = sums->sums + row * sums->n_classes;
    sums->squares[row] += u * u;
    for (int64_t i = 0; i < n; i++)
        of_document[classes[i]] += weights[i] * u;
}

/* Return how often the entry is in title and main text, for the i-th posting of a block. */
static inline int64_t text_frequency(const List *list, int64_t i, bool is_body)
{
    int64_t n = list->frequencies[BODY * BLOCK + i];
    return is_body ? n : n + list->frequencies[i]; /* the title is the first field */
}

KERNEL(find_classes, POSTINGS "i2niiiiii2f2II", {
    Postings postings;
    IntRows known;
    int64_t first;
    Ints gains;
    Ints idf;
    Ints starts;
    Ints classes;
    Ints weights;
    IntRows tree;
    FloatRows readings;
    MutableInts found;
    MutableInts damage;
});

/* Add up what a list has of the documents; false when it is damaged. */
static bool add_list(const struct find_classes_arguments *a, Lists *lists, int64_t term, ClassSums *sums)
{
    List *list = lists->rows;
    if (!open_list(lists, 0, a->known.at + term * a->known.columns))
        return false;
    const int64_t *classes = a->classes.at + a->starts.at[term], *weights = a->weights.at + a->starts.at[term];
    int64_t n_weights = a->starts.at[term + 1] - a->starts.at[term], most = a->gains.size - 1;
    int64_t block = is_short(list) ? 0 : block_with(&a->postings, list, 0, sums->first);
    for (; block < list->n_blocks; block++) {
        if (!is_short(list) && !enter_block(lists, list, block))
            return false;
        bool is_body = read_frequencies(lists, list, block);
        if (lists->damage >= 0)
            return false;
        for (int64_t i = 0; i < list->size; i++) {
            int64_t document = list->documents[i];
            int64_t n = text_frequency(list, i, is_body);
            if (n > 0 && sums->first <= document && document < sums->end)
                add_term(sums, document, a->gains.at[least_of(n, most)] * a->idf.at[term], classes, weights, n_weights);
        }
        if (list->last >= sums->end)
            break;
    }
    return true;
}

/* Go down from the top, at each level to the class with the highest score, as far as thresholds let it. */
static int64_t page_class(const struct find_classes_arguments *a, const int64_t *sums, int64_t square)
{
    int64_t taken = -1, above = a->tree.rows - 1;
    double root = sqrt((double)square);
    while (square) {
        const int64_t *children = a->tree.at + above * a->tree.columns;
        int64_t best = -1;
        double highest = 0;
        for (int64_t each = children[0]; each < children[0] + children[1]; each++) {
            const double *reading = a->readings.at + each * a->readings.columns;
            double score = reading[0] * (double)sums[each] / root + reading[1];
            if (best < 0 || score > highest) {
                best = each;
                highest = score;
            }
        }
        if (best < 0 || highest < a->readings.at[best * a->readings.columns + 2])
            break;
        taken = above = best;
    }
    return taken;
}

static int64_t find_classes(const struct find_classes_arguments *a)
{
    int64_t n = a->found.size, n_classes = a->readings.rows, n_classed = 0;
    Store store;
    size_t n_bytes = lists_bytes(1) + stored_bytes(n, sizeof(int64_t)) + stored_bytes(n * n_classes, sizeof(int64_t));
    if (!open_store(&store, n_bytes))
        return NO_MEMORY;
    Lists *lists = take_lists(&store, &a->postings, 1);
    ClassSums sums = {a->first, a->first + n, n_classes, take_ints(&store, n), take_ints(&store, n * n_classes)};
    fill(sums.squares, n, 0);
    fill(sums.sums, n * n_classes, 0);
    for (int64_t term = 0; term < a->known.rows; term++)
        if (a->known.at[term * a->known.columns + NUMBER] >= 0 && !add_list(a, lists, term, &sums))
            break;
    for (int64_t row = 0; row < n; row++) {
        a->found.at[row] = page_class(a, sums.sums + row * n_classes, sums.squares[row]);
        n_classed += a->found.at[row] >= 0;
    }
    a->damage.at[0] = lists->damage;
    close_store(&store);
    return n_classed;
}
