/* Positions of postings: how those of one are found and read, and whether a document has a phrase.

   The positions of a block begin where its skip entry says; how many bytes belong to a posting is not noted, so
   those before it are skipped by counting the ends of varints, eight bytes at a time. A phrase is looked for by
   going through the positions of its atoms in turn, up to the first place from which all of them follow; before
   that, a table of the places of its rarest atom tells most texts in which the next one does not follow. */

#pragma once

#include "peers/engine/lists.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)
#define LOW_BITS UINT64_C(0x0101010101010101)

/* Words of eight bytes whose ends of varints are added up bytewise before the sums are: 8 * 8 fit a byte. */
#define SKIPPED_WORDS 8

/* Return the index after n varints, looking at eight bytes at a time, and at eight times as many when far. */
static inline int64_t skip_positions(const Postings *postings, int64_t at, int64_t n)
{
    const uint8_t *positions = postings->positions.at;
    for (; n && at & 7; at++)
        n -= positions[at] < 128;
    for (; n > 8 * SKIPPED_WORDS; at += 8 * SKIPPED_WORDS) {
        const uint64_t *words = postings->positions_summed.at + (at >> 3);
        uint64_t ends = 0;
        for (int word = 0; word < SKIPPED_WORDS; word++)
            ends += (~words[word] & HIGH_BITS) >> 7;
        n -= (int64_t)(ends * LOW_BITS >> 56);
    }
    for (; n > 8; at += 8)
        n -= (int64_t)(((~postings->positions_summed.at[at >> 3] & HIGH_BITS) >> 7) * LOW_BITS >> 56);
    for (; n; at++)
        n -= positions[at] < 128;
    return at;
}

static inline int64_t sum_numbers(const int64_t *numbers, int64_t first, int64_t end)
{
    int64_t sum = 0;
    for (int64_t i = first; i < end; i++)
        sum += numbers[i];
    return sum;
}

/* Return how many occurrences the postings from `first` to before `end` of a block have. */
static inline int64_t occurrences(const List *list, int64_t first, int64_t end)
{
    int64_t n = 0;
    for (int field = 0; field < FIELD_COUNT; field++)
        if (is_short(list) || list->fields >> field & 1)
            n += sum_numbers(list->frequencies + field * BLOCK, first, end);
    return n;
}

/* Check the positions of a block, and go to the first of them. */
static bool place_block(Lists *lists, List *list, const int64_t *known, int64_t block)
{
    const Postings *postings = lists->postings;
    const uint32_t *words = postings->words.at;
    int64_t start = known[PLACE], end = known[PLACE_END];
    if (!is_short(list)) {
        start += words[skip_entry(list, block) + 2];
        if (block + 1 < list->n_blocks)
            end = known[PLACE] + words[skip_entry(list, block + 1) + 2];
    }
    check_bytes(postings->positions_summed, postings->positions_sums, start, end, -1, &lists->positions_damage);
    list->placed = block;
    list->placed_posting = 0;
    list->placed_at = start;
    return lists->positions_damage < 0 && lists->damage < 0;
}

/* Go to the positions of a posting, at `placed_at`, and decode the frequencies of its block.

   Postings of a block are gone to in their order. Returns whether all is as it was written. */
static inline bool place_posting(Lists *lists, List *list, const int64_t *known, int64_t index)
{
    int64_t block = index >> BLOCK_BITS, posting = index & (BLOCK - 1);
    read_frequencies(lists, list, block);
    if (list->placed != block && !place_block(lists, list, known, block))
        return false;
    int64_t n = occurrences(list, list->placed_posting, posting);
    list->placed_at = skip_positions(lists->postings, list->placed_at, n);
    list->placed_posting = posting;
    return true;
}

/* Return how often an entry is in a field, for a posting that was gone to. */
static inline int64_t frequency_of(const List *list, int64_t index, int field)
{
    if (field != BODY && !is_short(list) && list->fields == ONLY_BODY)
        return 0;
    return list->frequencies[field * BLOCK + (index & (BLOCK - 1))];
}

/* --- Phrases --------------------------------------------------------------------------------------- */

/* Places of the first atom leave the number of their text in a table. */
#define SEEN_PLACES (1 << 12)

/* An atom of a phrase in a field. */
typedef struct {
    int64_t next; /* where its next position is */
    int64_t left; /* how many are left */
    int64_t place; /* the last one read less the atom's distance */
} Cursor;

/* Atoms at their distances from a common place. */
typedef struct {
    int64_t n_atoms;
    const int64_t *rows; /* of each atom its list */
    const int64_t *distances;
    int64_t fields; /* bits of those in which it may be */
    Cursor *cursors;
    int32_t text; /* the number of the text that is looked at */
    int32_t seen[SEEN_PLACES];
} Phrase;

/* Set the cursors of some atoms to the positions in a field, false if one of them is not there. */
static inline bool start_field(
    const Lists *lists, Phrase *phrase, int64_t first, int64_t end, const int64_t *indexes, int64_t stride, int field)
{
    bool is_there = true;
    for (int64_t atom = first; atom < end; atom++) {
        const List *list = lists->rows + phrase->rows[atom];
        int64_t index = indexes[phrase->rows[atom] * stride];
        int64_t n = 0;
        for (int before = 0; before < field; before++)
            n += frequency_of(list, index, before);
        Cursor *cursor = phrase->cursors + atom;
        cursor->left = frequency_of(list, index, field);
        cursor->next = skip_positions(lists->postings, list->placed_at, n);
        cursor->place = -phrase->distances[atom];
        is_there = is_there && cursor->left > 0;
    }
    return is_there;
}

/* Tell whether the second atom may follow the first; that it does not is sure.

   Nearly all documents with both are left out here: in each step the processor knows what comes next, which
   it does not where two lists are merged. */
static inline bool may_be_in_field(const Postings *postings, Phrase *phrase)
{
    if (phrase->n_atoms < 2)
        return true;
    const uint8_t *positions = postings->positions.at;
    int32_t text = ++phrase->text;
    int64_t place = -phrase->distances[0], at = phrase->cursors[0].next;
    for (int64_t n = phrase->cursors[0].left; n; n--) {
        place += read_varint(positions, &at);
        phrase->seen[place & (SEEN_PLACES - 1)] = text;
    }
    place = -phrase->distances[1];
    at = phrase->cursors[1].next;
    for (int64_t n = phrase->cursors[1].left; n; n--) {
        place += read_varint(positions, &at);
        if (phrase->seen[place & (SEEN_PLACES - 1)] == text)
            return true;
    }
    return false;
}

/* Read positions up to the first that is not before a place; false if there is none. */
static inline bool go_to_place(const Postings *postings, Cursor *cursor, int64_t place)
{
    while (cursor->place < place && cursor->left > 0) {
        cursor->place += read_varint(postings->positions.at, &cursor->next);
        cursor->left--;
    }
    return cursor->place >= place;
}

/* Tell whether there is a place from which all atoms stand at their distances. */
static bool is_in_field(const Postings *postings, Phrase *phrase)
{
    int64_t place = 0;
    /* The first position of each, which may be 0, and so before any place. */
    for (int64_t atom = 0; atom < phrase->n_atoms; atom++) {
        Cursor *cursor = phrase->cursors + atom;
        cursor->place += read_varint(postings->positions.at, &cursor->next);
        cursor->left--;
        place = most_of(place, cursor->place);
    }
    int64_t n_agreed = 0, atom = 0;
    while (n_agreed < phrase->n_atoms) {
        Cursor *cursor = phrase->cursors + atom;
        if (cursor->place < place && !go_to_place(postings, cursor, place))
            return false;
        n_agreed = cursor->place == place ? n_agreed + 1 : 1;
        place = cursor->place;
        atom = atom + 1 < phrase->n_atoms ? atom + 1 : 0;
    }
    return true;
}

/* Go to the positions of some atoms in a document; tell whether all is as it was written. */
static inline bool place_atoms(
    Lists *lists, const int64_t *known, const Phrase *phrase, int64_t first, int64_t end, const int64_t *indexes,
    int64_t stride)
{
    for (int64_t atom = first; atom < end; atom++) {
        int64_t row = phrase->rows[atom];
        if (!place_posting(lists, lists->rows + row, known + row * FOUND_COLUMNS, indexes[row * stride]))
            return false;
    }
    return true;
}

/* Tell whether a document has a phrase, by the indexes of its postings: of list `row` at indexes[row * stride].

   In most documents the second atom does not follow the first: those behind it are not looked at. */
static inline bool has_phrase(
    Lists *lists, const int64_t *known, Phrase *phrase, const int64_t *indexes, int64_t stride)
{
    int64_t n_first = least_of(phrase->n_atoms, 2), n_placed = n_first;
    if (!place_atoms(lists, known, phrase, 0, n_first, indexes, stride))
        return false;
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (!(phrase->fields >> field & 1) || !start_field(lists, phrase, 0, n_first, indexes, stride, field)
            || !may_be_in_field(lists->postings, phrase))
            continue;
        if (!place_atoms(lists, known, phrase, n_placed, phrase->n_atoms, indexes, stride))
            return false;
        n_placed = phrase->n_atoms;
        if (start_field(lists, phrase, n_first, phrase->n_atoms, indexes, stride, field)
            && is_in_field(lists->postings, phrase))
            return true;
    }
    return false;
}
