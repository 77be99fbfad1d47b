/* The kernels of intersection.py: which documents are in lists, and where their postings and positions are. */

#pragma once

#include "peers/engine/native/positions.h"

static inline const int64_t *row_of(IntRows table, int64_t row)
{
    return table.at + row * table.columns;
}

static inline int64_t *mutable_row_of(MutableIntRows table, int64_t row)
{
    return table.at + row * table.columns;
}

/* Copy all documents of an open list to `found`; return how many. */
static int64_t all_of(Lists *lists, List *list, int64_t *found)
{
    int64_t n = 0;
    for (int64_t block = 0; block < list->n_blocks; block++) {
        if (!is_short(list) && !enter_block(lists, list, block))
            return 0;
        memcpy(found + n, list->documents, (size_t)list->size * sizeof(int64_t));
        n += list->size;
    }
    return n;
}

/* Keep the documents that are in a list, and their indexes in it and in those before it. */
static int64_t keep_found(int64_t *found, MutableIntRows indexes, int64_t row, int64_t n)
{
    const int64_t *last = mutable_row_of(indexes, row);
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        bool is_in = last[i] >= 0;
        found[kept] = found[i];
        for (int64_t each = 0; each <= row; each++)
            mutable_row_of(indexes, each)[kept] = mutable_row_of(indexes, each)[i];
        kept += is_in;
    }
    return kept;
}

static int64_t intersect_lists(Lists *lists, IntRows known, int64_t n_found, int64_t *found, MutableIntRows indexes)
{
    for (int64_t row = 0; row < known.rows; row++) {
        List *list = lists->rows + row;
        if (!open_list(lists, row, row_of(known, row)))
            return 0;
        int64_t *of_list = mutable_row_of(indexes, row);
        if (n_found < 0) {
            n_found = all_of(lists, list, found);
            for (int64_t i = 0; i < n_found; i++)
                of_list[i] = i;
        } else {
            locate_all(lists, list, found, n_found, of_list);
            n_found = keep_found(found, indexes, row, n_found);
        }
        if (lists->damage >= 0 || n_found == 0)
            return 0;
    }
    return n_found;
}

KERNEL(intersect, POSTINGS "i2nII2I", {
    Postings postings;
    IntRows known;
    int64_t n_found;
    MutableInts found;
    MutableIntRows indexes;
    MutableInts damage;
})
{
    Store store;
    if (!open_store(&store, lists_bytes(a->known.rows)))
        return NO_MEMORY;
    Lists *lists = take_lists(&store, &a->postings, a->known.rows);
    int64_t n_found = intersect_lists(lists, a->known, a->n_found, a->found.at, a->indexes);
    a->damage.at[0] = lists->damage;
    close_store(&store);
    return n_found;
}

KERNEL(locate, POSTINGS "i2iI2I", {
    Postings postings;
    IntRows known;
    Ints found;
    MutableIntRows indexes;
    MutableInts damage;
})
{
    Store store;
    if (!open_store(&store, lists_bytes(1)))
        return NO_MEMORY;
    Lists *lists = take_lists(&store, &a->postings, 1);
    for (int64_t row = 0; row < a->known.rows; row++)
        if (open_list(lists, 0, row_of(a->known, row)))
            locate_all(lists, lists->rows, a->found.at, a->found.size, mutable_row_of(a->indexes, row));
    a->damage.at[0] = lists->damage;
    close_store(&store);
    return a->known.rows;
}

KERNEL(count_allowed, POSTINGS "i2bI", {
    Postings postings;
    IntRows known;
    Bytes allowed;
    MutableInts counts;
})
{
    int64_t documents[DOCUMENTS_ROOM], frequencies[FREQUENCIES_ROOM];
    for (int64_t row = 0; row < a->known.rows; row++) {
        int64_t n = 0;
        const int64_t *known = row_of(a->known, row);
        for (int64_t block = 0; block < block_count(known[DOC_FREQ]); block++) {
            int64_t size = load_block(
                a->postings.data.at, a->postings.words.at, known[START], known[DOC_FREQ], block, documents,
                frequencies);
            for (int64_t i = 0; i < size; i++)
                n += a->allowed.at[documents[i]];
        }
        a->counts.at[row] = n;
    }
    return a->known.rows;
}

/* --- Phrases --------------------------------------------------------------------------------------- */

/* Places of a phrase: rising occurrences, of which those read so far have been compared. */
typedef struct {
    MutableInts at;
    int64_t n; /* -1: all are kept for which there is room */
    int64_t read; /* the first that has not been compared */
    int64_t kept;
} Matches;

/* Keep the places at which one of n positions follows; return the index after the positions.

   `key` is document and field, as in an occurrence. */
static int64_t match_positions(
    const uint8_t *positions, int64_t at, int64_t n, int64_t key, int64_t distance, Matches *matches)
{
    int64_t *places = matches->at.at;
    int64_t place = key - distance;
    for (; n; n--) {
        place += read_varint(positions, &at);
        if (place < key)
            continue; /* the phrase would begin before the field */
        if (matches->n < 0) {
            if (matches->kept < matches->at.size)
                places[matches->kept++] = place;
            continue;
        }
        while (matches->read < matches->n && places[matches->read] < place)
            matches->read++;
        if (matches->read < matches->n && places[matches->read] == place) {
            places[matches->kept++] = place;
            matches->read++;
        }
    }
    return at;
}

/* Keep the places at which the atom of an open list follows at a distance; return how many. */
static int64_t match_list(
    Lists *lists, const int64_t *known, int64_t distance, int64_t fields, Ints found, const int64_t *indexes,
    int64_t n_matches, MutableInts places)
{
    List *list = lists->rows;
    Matches matches = {places, n_matches, 0, 0};
    for (int64_t i = 0; i < found.size; i++) {
        int64_t document = found.at[i];
        if (n_matches >= 0) {
            while (matches.read < n_matches && places.at[matches.read] >> DOCUMENT_SHIFT < document)
                matches.read++;
            if (matches.read == n_matches)
                break;
            if (places.at[matches.read] >> DOCUMENT_SHIFT != document)
                continue;
        }
        if (indexes[i] < 0)
            continue;
        if (!place_posting(lists, list, known, indexes[i]))
            return 0;
        int64_t at = list->placed_at;
        for (int field = 0; field < FIELD_COUNT; field++) {
            int64_t n = frequency_of(list, indexes[i], field);
            if (n == 0)
                continue;
            if (fields >> field & 1) {
                int64_t key = document << DOCUMENT_SHIFT | (int64_t)field << FIELD_SHIFT;
                at = match_positions(lists->postings->positions.at, at, n, key, distance, &matches);
            } else {
                at = skip_positions(lists->postings, at, n);
            }
        }
    }
    return matches.kept;
}

KERNEL(match_atoms, POSTINGS "i2iinii2nII", {
    Postings postings;
    IntRows known;
    Ints rows;
    Ints distances;
    int64_t fields;
    Ints found;
    IntRows indexes;
    int64_t n_matches;
    MutableInts matches;
    MutableInts damage;
})
{
    Store store;
    if (!open_store(&store, lists_bytes(1)))
        return NO_MEMORY;
    Lists *lists = take_lists(&store, &a->postings, 1);
    int64_t n_matches = a->n_matches;
    for (int64_t atom = 0; atom < a->rows.size; atom++) {
        int64_t row = a->rows.at[atom];
        const int64_t *known = row_of(a->known, row);
        if (!open_list(lists, 0, known))
            break;
        n_matches = match_list(
            lists, known, a->distances.at[atom], a->fields, a->found, row_of(a->indexes, row), n_matches,
            a->matches);
        if (n_matches == 0)
            break;
    }
    a->damage.at[0] = lists->damage;
    a->damage.at[1] = lists->positions_damage;
    close_store(&store);
    return n_matches;
}

KERNEL(keep_matched, "inii2II2", {
    Ints matches;
    int64_t n_matches;
    Ints found;
    IntRows indexes;
    MutableInts kept;
    MutableIntRows kept_indexes;
})
{
    int64_t n = 0, i = 0, last = -1;
    for (int64_t m = 0; m < a->n_matches; m++) {
        int64_t document = a->matches.at[m] >> DOCUMENT_SHIFT;
        if (document == last)
            continue;
        last = document;
        while (a->found.at[i] < document)
            i++;
        a->kept.at[n] = document;
        for (int64_t row = 0; row < a->indexes.rows; row++)
            mutable_row_of(a->kept_indexes, row)[n] = row_of(a->indexes, row)[i];
        n++;
    }
    return n;
}
