/* The kernel of occurrence_lookup.py: what the postings of some entries say of a few documents. */

#pragma once

#include "peers/engine/searching/intersection.h"

/* Places of an entry in one document that are looked at. */
#define PLACES_PER_ENTRY_MAX 128

/* A place is one number: index of the document << 36 | position in the body << 8 | unit. */
#define PLACE_DOCUMENT_SHIFT 36
#define PLACE_POSITION_SHIFT 8

/* Add the first places in the body of a posting that was gone to; return how many there are then. */
static int64_t add_places(
    const Postings *postings, const List *list, int64_t unit, int64_t index, int64_t document, int64_t *places,
    int64_t n_places)
{
    int64_t n = 0;
    for (int field = 0; field < BODY; field++)
        n += frequency_of(list, index, field);
    int64_t at = skip_positions(postings, list->placed_at, n);
    int64_t position = 0;
    for (n = least_of(frequency_of(list, index, BODY), PLACES_PER_ENTRY_MAX); n; n--) {
        position += read_varint(postings->positions.at, &at);
        places[n_places++] = document << PLACE_DOCUMENT_SHIFT | position << PLACE_POSITION_SHIFT | unit;
    }
    return n_places;
}

KERNEL(gather, POSTINGS "i2iii2nI3II", {
    Postings postings;
    IntRows known;
    Ints units;
    Ints rows;
    IntRows indexes;
    int64_t first;
    struct {
        int64_t *at;
        int64_t entries;
        int64_t documents;
        int64_t fields;
    } found;
    MutableInts places;
    MutableInts damage;
})
{
    Store store;
    if (!open_store(&store, lists_bytes(1)))
        return NO_MEMORY;
    Lists *lists = take_lists(&store, &a->postings, 1);
    List *list = lists->rows;
    int64_t n_places = 0;
    for (int64_t entry = 0; entry < a->known.rows; entry++) {
        const int64_t *known = row_of(a->known, entry), *indexes = row_of(a->indexes, entry);
        int64_t unit = a->units.at[entry], row = a->rows.at[entry];
        bool is_sound_so_far = open_list(lists, 0, known);
        for (int64_t i = 0; is_sound_so_far && i < a->indexes.columns; i++) {
            if (indexes[i] < 0)
                continue;
            if (unit >= 0)
                is_sound_so_far = place_posting(lists, list, known, indexes[i]);
            else
                read_frequencies(lists, list, indexes[i] >> BLOCK_BITS);
            if (!is_sound_so_far)
                break;
            if (row >= 0) {
                int64_t *frequencies = a->found.at + (row * a->found.documents + a->first + i) * FIELD_COUNT;
                for (int field = 0; field < FIELD_COUNT; field++)
                    frequencies[field] = frequency_of(list, indexes[i], field);
            }
            if (unit >= 0)
                n_places = add_places(
                    &a->postings, list, unit, indexes[i], a->first + i, a->places.at, n_places);
        }
        if (lists->damage >= 0 || lists->positions_damage >= 0)
            break;
    }
    a->damage.at[0] = lists->damage;
    a->damage.at[1] = lists->positions_damage;
    close_store(&store);
    return n_places;
}
