/* The kernel of features.py. */

#pragma once

#include "peers/engine/rescoring/proximity.h"

#define TITLE 0
#define URL 4

/* Pages that are measured, and what has been read of them. */
typedef struct {
    int64_t n_documents;
    int64_t n_scoring;
    int64_t *frequencies; /* (scoring entries, documents, fields) */
    int64_t *places; /* of each entry those behind one another, rising */
    int64_t *starts; /* where those of each entry start */
    int64_t n_runs;
} Measured;

static inline int64_t *frequencies_of(const Measured *measured, int64_t entry, int64_t document)
{
    return measured->frequencies + (entry * measured->n_documents + document) * FIELD_COUNT;
}

/* Read what an open list says of the documents; false at damage. */
static bool read_entry(
    Lists *lists, Measured *measured, const int64_t *known, int64_t entry, int64_t unit, const int64_t *documents,
    int64_t *indexes)
{
    List *list = lists->rows;
    int64_t n_places = measured->starts[measured->n_runs];
    if (!open_list(lists, 0, known) || !locate_all(lists, list, documents, measured->n_documents, indexes))
        return false;
    for (int64_t i = 0; i < measured->n_documents; i++) {
        if (indexes[i] < 0)
            continue;
        if (unit >= 0 && !place_posting(lists, list, known, indexes[i]))
            return false;
        read_frequencies(lists, list, indexes[i] >> BLOCK_BITS);
        if (entry < measured->n_scoring)
            for (int field = 0; field < FIELD_COUNT; field++)
                frequencies_of(measured, entry, i)[field] = frequency_of(list, indexes[i], field);
        if (unit >= 0)
            n_places = add_places(lists->postings, list, unit, indexes[i], i, measured->places, n_places);
    }
    if (n_places > measured->starts[measured->n_runs])
        measured->starts[++measured->n_runs] = n_places;
    return lists->damage < 0;
}

/* Merge rising numbers from[starts[run]:starts[run + 1]] of all runs; return where they are then. */
static int64_t *merge_runs(int64_t *from, int64_t *to, int64_t *starts, int64_t n_runs)
{
    while (n_runs > 1) {
        int64_t n_merged = 0;
        for (int64_t run = 0; run < n_runs; run += 2) {
            int64_t first = starts[run], middle = starts[run + 1];
            int64_t end = run + 1 < n_runs ? starts[run + 2] : middle;
            int64_t a = first, b = middle, at = first;
            /* Without branches: which of them is next is anybody's guess. */
            while (a < middle && b < end) {
                bool is_a = from[a] <= from[b];
                to[at++] = from[is_a ? a : b];
                a += is_a;
                b += !is_a;
            }
            memcpy(to + at, from + a, (size_t)(middle - a) * sizeof(int64_t));
            at += middle - a;
            memcpy(to + at, from + b, (size_t)(end - b) * sizeof(int64_t));
            starts[++n_merged] = end;
        }
        n_runs = n_merged;
        int64_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

/* Set the features that are shares of the query: title, URL, coverage. */
static void add_shares(
    const Measured *measured, const double *shares, const int64_t *are_counted, int64_t document,
    double title_length, double *found)
{
    double in_title = 0.0, in_url = 0.0, anywhere = 0.0;
    int64_t matched = 0;
    for (int64_t entry = 0; entry < measured->n_scoring; entry++) {
        const int64_t *of_field = frequencies_of(measured, entry, document);
        bool occurs = false;
        for (int field = 0; field < FIELD_COUNT; field++)
            occurs = occurs || of_field[field] > 0;
        if (occurs)
            anywhere += shares[entry];
        if (of_field[TITLE] > 0) {
            in_title += shares[entry];
            matched += are_counted[entry] * of_field[TITLE];
        }
        if (of_field[URL] > 0)
            in_url += shares[entry];
    }
    in_title = lesser(1.0, in_title);
    double of_title = lesser(1.0, (double)matched / greater(title_length, 1.0));
    found[0] = 2.0 * in_title * of_title / greater(in_title + of_title, 1e-9);
    found[measured->n_documents] = lesser(1.0, in_url);
    found[2 * measured->n_documents] = lesser(1.0, anywhere);
}

KERNEL(measure, POSTINGS LEXICON "tjgjgddjw2qo", {
    Postings postings;
    Lexicon lexicon;
    Bytes wanted;
    Ints wanted_starts;
    Ints units;
    Floats shares;
    Ints are_counted;
    Floats idf;
    double total_idf;
    double average_body;
    Ints documents;
    WordRows lengths;
    MutableFloats found;
    MutableInts damage;
})
{
    int64_t n_wanted = a->wanted_starts.size - 1, n = a->documents.size;
    Measured measured = {.n_documents = n, .n_scoring = a->shares.size};
    int64_t n_frequencies = measured.n_scoring * n * FIELD_COUNT;
    Store store, places;
    size_t n_bytes = lists_bytes(1) + stored_bytes(n_wanted * (FOUND_COLUMNS + 1) + 1 + 2 * n + n_frequencies, 8)
        + stored_bytes(a->idf.size, 8);
    if (!open_store(&store, n_bytes))
        return NO_MEMORY;
    Lists *lists = take_lists(&store, &a->postings, 1);
    int64_t *known = take_ints(&store, n_wanted * FOUND_COLUMNS);
    measured.starts = take_ints(&store, n_wanted + 1);
    int64_t *indexes = take_ints(&store, n);
    double *lengths = take_floats(&store, n);
    measured.frequencies = take_ints(&store, n_frequencies);
    double *nearness = take_floats(&store, a->idf.size);
    fill(measured.frequencies, n_frequencies, 0);
    measured.starts[0] = 0;
    Dictionary dictionary = dictionary_of(&a->lexicon);
    find_entries(&dictionary, a->wanted.at, a->wanted_starts.at, n_wanted, known);
    int64_t n_atoms = 0;
    for (int64_t entry = 0; entry < n_wanted; entry++) {
        const int64_t *row = known + entry * FOUND_COLUMNS;
        n_atoms += row[NUMBER] >= 0 && row[PLACE_END] > row[PLACE] && a->units.at[entry] >= 0;
    }
    int64_t n_places_max = n_atoms * n * PLACES_PER_ENTRY_MAX;
    if (!open_store(&places, stored_bytes(2 * n_places_max, 8))) {
        close_store(&store);
        return NO_MEMORY;
    }
    measured.places = take_ints(&places, n_places_max);
    for (int64_t entry = 0; entry < n_wanted; entry++) {
        const int64_t *row = known + entry * FOUND_COLUMNS;
        int64_t unit = row[PLACE_END] > row[PLACE] ? a->units.at[entry] : -1;
        if (row[NUMBER] >= 0 && !read_entry(lists, &measured, row, entry, unit, a->documents.at, indexes))
            break;
    }
    int64_t n_places = measured.starts[measured.n_runs];
    int64_t *merged =
        merge_runs(measured.places, take_ints(&places, n_places_max), measured.starts, measured.n_runs);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t *of_fields = a->lengths.at + a->documents.at[i] * a->lengths.columns;
        lengths[i] = (double)of_fields[BODY] / a->average_body;
        a->found.at[i] = 0.0;
        add_shares(&measured, a->shares.at, a->are_counted.at, i, of_fields[TITLE], a->found.at + n + i);
    }
    if (a->total_idf > 0.0)
        add_proximity(
            (Ints){merged, n_places}, a->idf, (Floats){lengths, n}, a->total_idf, nearness, a->found.at);
    a->damage.at[0] = lists->damage;
    a->damage.at[1] = lists->positions_damage;
    close_store(&places);
    close_store(&store);
    return 4 * n;
}
