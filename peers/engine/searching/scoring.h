/* Scores of postings, and what bounds them; see scoring.py. */

#pragma once

#include "peers/engine/native/lists.h"
#include "peers/engine/postings/bounds.h"

/* More than the rounding of some 200 additions. */
#define SLACK (1.0 + 1e-9)
#define MOST 1e300 /* of what an occurrence or a posting counts: no infinity, of which NaN might be made */

/* What scores of a mesh depend on, in one array: k1, then for each field its weight, and base and slope of
   its length normalisation, which is base + slope * length. */
enum { K1 = 0, WEIGHT = 1, BASE = 1 + FIELD_COUNT, SLOPE = 1 + 2 * FIELD_COUNT };

/* The numbers behind a score: norms[field * n_documents + document] is the amount that one occurrence there
   adds to tf. */
typedef struct {
    const double *model;
    const double *norms;
    int64_t n_documents;
} Scale;

static inline double norm_of(const Scale *scale, int field, int64_t document)
{
    return scale->norms[field * scale->n_documents + document];
}

KERNEL(normalise, "w2fF2", {
    WordRows lengths;
    Floats model;
    MutableFloatRows norms;
})
{
    const double *model = a->model.at;
    for (int field = 0; field < FIELD_COUNT; field++) {
        for (int64_t document = 0; document < a->lengths.rows; document++) {
            double length = a->lengths.at[document * a->lengths.columns + field];
            double norm = model[BASE + field] + model[SLOPE + field] * length;
            a->norms.at[field * a->norms.columns + document] = lesser(model[WEIGHT + field] / norm, MOST);
        }
    }
    return a->lengths.rows;
}

/* Return what a posting adds to a score. */
static inline double contribution(double factor, double weighted, double k1)
{
    /* Fields without length, as those of marks, would give infinity. */
    weighted = lesser(weighted, MOST);
    return factor * (weighted * (k1 + 1.0) / (k1 + weighted));
}

/* Return tf, see `ranking`, of the i-th posting of a block whose frequencies are decoded. */
static inline double weighted_in(const int64_t *frequencies, int64_t i, const Scale *scale, int64_t document)
{
    double weighted = 0.0;
    for (int field = 0; field < FIELD_COUNT; field++) {
        int64_t frequency = frequencies[field * BLOCK + i];
        if (frequency)
            weighted += (double)frequency * norm_of(scale, field, document);
    }
    return weighted;
}

/* Return tf of the i-th posting of a block with several fields. */
static double weighted_packed(
    const uint32_t *words, int64_t at, int64_t size, int64_t i, const Scale *scale, int64_t document)
{
    int64_t head = words[at], widths = words[at + 1];
    int64_t rows = (size + 3) >> 2;
    int64_t column = at + HEAD_WORDS + column_words(rows, head & 63);
    double weighted = 0.0;
    for (int field = 0; field < FIELD_COUNT; field++) {
        int64_t width = width_of(widths, field);
        int64_t frequency = head >> (6 + field) & 1;
        if (width) {
            frequency += pick(words, column, width, i);
            column += column_words(rows, width);
        }
        if (frequency)
            weighted += (double)frequency * norm_of(scale, field, document);
    }
    return weighted;
}

/* Return tf of a posting by its index; its block has been checked. */
static inline double weighted_at(
    Lists *lists, List *list, int64_t index, const Scale *scale, int64_t document)
{
    if (is_short(list))
        return weighted_in(list->frequencies, index, scale, document);
    const Postings *postings = lists->postings;
    int64_t block = index >> BLOCK_BITS, i = index & (BLOCK - 1);
    if (read_block(lists, list, block))
        return (double)body_frequency(postings, list, i) * norm_of(scale, BODY, document);
    int64_t size = block_size(list->n_postings, block);
    return weighted_packed(postings->words.at, block_at(postings, list, block), size, i, scale, document);
}

/* Return what the fields without points add to tf at most. */
static double most_of_fields(const uint32_t *words, int64_t entry, const double *model)
{
    double total = 0.0;
    for (int i = 0; i < FIELD_COUNT - 1; i++) {
        int64_t bounds = field_bounds(words, entry, i);
        if (bounds == 0)
            continue;
        int field = other_field(i);
        int64_t frequency = bounds >> 16;
        if (frequency == FIELD_FREQUENCY_ANY)
            return MOST;
        double norm = model[BASE + field] + model[SLOPE + field] * (double)(bounds & 0xFFFF);
        total += (double)frequency * (model[WEIGHT + field] / norm);
    }
    return total;
}

/* Return what no score of a block is above, from its skip entry. */
static double bound_of(const uint32_t *words, int64_t entry, double factor, const double *model)
{
    double best = 0.0;
    for (int i = 0; i < POINTS; i++) {
        int64_t point = words[entry + POINTS_AT + i];
        int64_t frequency = point >> 16;
        double norm = model[BASE + BODY] + model[SLOPE + BODY] * (double)(point & 0xFFFF);
        double weighted = (double)frequency * (model[WEIGHT + BODY] / norm);
        best = greater(best, frequency == FREQUENCY_ANY ? MOST : frequency ? weighted : 0.0);
    }
    uint32_t any = 0;
    for (int i = 0; i < FIELDS_WORDS; i++)
        any |= words[entry + FIELDS_AT + i];
    if (any)
        best += most_of_fields(words, entry, model);
    return contribution(factor, best, model[K1]) * SLACK;
}

/* Return what no score of an open list is above. */
static double greatest_of(const Lists *lists, const List *list, double factor, const Scale *scale)
{
    if (!is_short(list))
        return bound_of(lists->postings->words.at, skip_entry(list, -1), factor, scale->model);
    double most = 0.0;
    for (int64_t i = 0; i < list->size; i++)
        most = greater(most, weighted_in(list->frequencies, i, scale, list->documents[i]));
    return contribution(factor, most, scale->model[K1]) * SLACK;
}

/* --- The best k documents: a heap with the worst on top; of equal scores the later document is worse --- */

typedef struct {
    int64_t *documents;
    double *scores;
    int64_t k;
} Best;

static inline bool is_worse(double score, int64_t document, double other_score, int64_t other)
{
    return score < other_score || (score == other_score && document > other);
}

/* Put a document in the place of the top of a heap of so many, and let it sink. */
static void replace_worst(Best best, int64_t size, int64_t document, double score)
{
    int64_t i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= size)
            break;
        int64_t other = child + 1;
        if (other < size
            && is_worse(best.scores[other], best.documents[other], best.scores[child], best.documents[child]))
            child = other;
        if (is_worse(score, document, best.scores[child], best.documents[child]))
            break;
        best.scores[i] = best.scores[child];
        best.documents[i] = best.documents[child];
        i = child;
    }
    best.scores[i] = score;
    best.documents[i] = document;
}

/* Keep a document if it is one of the best; return how many are kept. */
static inline int64_t sift(Best best, int64_t size, int64_t document, double score)
{
    if (size < best.k) {
        int64_t i = size;
        while (i > 0) {
            int64_t parent = (i - 1) >> 1;
            if (is_worse(best.scores[parent], best.documents[parent], score, document))
                break;
            best.scores[i] = best.scores[parent];
            best.documents[i] = best.documents[parent];
            i = parent;
        }
        best.scores[i] = score;
        best.documents[i] = document;
        return size + 1;
    }
    if (best.k && !is_worse(score, document, best.scores[0], best.documents[0]))
        replace_worst(best, best.k, document, score);
    return size;
}

/* Sort a heap: the best first, of equal ones the first document. */
static void put_in_order(Best best, int64_t size)
{
    for (int64_t rest = size - 1; rest > 0; rest--) {
        int64_t document = best.documents[rest];
        double score = best.scores[rest];
        best.documents[rest] = best.documents[0];
        best.scores[rest] = best.scores[0];
        replace_worst(best, rest, document, score);
    }
}
