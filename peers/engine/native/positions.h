/* Positions of postings: how those of one are found and read, and whether a document has a phrase.

   The positions of a block begin where its skip entry says; how many bytes belong to a posting is not noted, so
   those before it are skipped by counting the ends of varints, eight bytes at a time. A phrase is looked for in
   the documents of a batch: it is noted where the positions of its two rarest atoms are in each; a table of the
   places of the rarest tells most texts in which the other one does not follow; where both stand as the phrase
   has them, the positions of all its atoms are gone through in turn, up to the first place from which all of
   them follow. */

#pragma once

#include "peers/engine/native/lists.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)
#define LOW_BITS UINT64_C(0x0101010101010101)

/* Words of eight bytes whose ends of varints are added up bytewise before the sums are: 8 * 8 fit a byte. */
#define SKIPPED_WORDS 8

/* Return a mark in the lowest bit of each byte that ends a varint, of the eight bytes from `at` on. */
static inline uint64_t ends_at(const uint8_t *positions, int64_t at)
{
    uint64_t word;
    memcpy(&word, positions + at, sizeof word);
    return (~word & HIGH_BITS) >> 7;
}

/* Return the index after n varints, looking at eight bytes at a time, and at eight times as many when far. */
static inline int64_t skip_positions(const Postings *postings, int64_t at, int64_t n)
{
    const uint8_t *positions = postings->positions.at;
    /* With the zeros behind them. */
    int64_t last_word = postings->positions_summed.size * 8 - 8;
    for (; n > 8 * SKIPPED_WORDS && at <= last_word - 8 * SKIPPED_WORDS; at += 8 * SKIPPED_WORDS) {
        uint64_t ends = 0;
        for (int word = 0; word < SKIPPED_WORDS; word++)
            ends += ends_at(positions, at + 8 * word);
        n -= (int64_t)(ends * LOW_BITS >> 56);
    }
    while (n && at <= last_word) {
        /* In each byte, how many ends there are up to it. */
        uint64_t ends = ends_at(positions, at) * LOW_BITS;
        int64_t n_ends = (int64_t)(ends >> 56);
        if (n_ends >= n) {
            uint64_t before = ~((ends | HIGH_BITS) - (uint64_t)n * LOW_BITS) & HIGH_BITS;
            return at + (int64_t)((before >> 7) * LOW_BITS >> 56) + 1;
        }
        n -= n_ends;
        at += 8;
    }
    for (; n; at++)
        n -= positions[at] < 128;
    return at;
}

/* Count, for each posting of a block whose frequencies are decoded, the occurrences before it in the block. */
static void count_before(List *list, int64_t size)
{
    int64_t n = 0;
    if (list->fields == ONLY_BODY) {
        const int64_t *frequencies = list->frequencies + BODY * BLOCK;
        for (int64_t i = 0; i < size; i++) {
            list->before[i] = n;
            n += frequencies[i];
        }
        return;
    }
    for (int64_t i = 0; i < size; i++) {
        list->before[i] = n;
        for (int field = 0; field < FIELD_COUNT; field++)
            n += list->frequencies[field * BLOCK + i];
    }
}

/* Check the positions of a block whose frequencies are decoded, and go to the first of them. */
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
    list->places_checked = check_bytes(
        postings->positions_summed, postings->positions_sums, start, end, list->places_checked,
        &lists->positions_damage);
    note_read(postings, OF_POSITIONS, start, end);
    list->placed = block;
    list->placed_before = 0;
    list->placed_at = start;
    count_before(list, block_size(list->n_postings, block));
    return lists->positions_damage < 0 && lists->damage < 0;
}

/* Go to the positions of a posting of the block `placed`. */
static inline void go_to_posting(const Postings *postings, List *list, int64_t posting)
{
    list->placed_at = skip_positions(postings, list->placed_at, list->before[posting] - list->placed_before);
    list->placed_before = list->before[posting];
}

/* Go to the positions of a posting, at `placed_at`, and decode the frequencies of its block.

   Postings of a block are gone to in their order. Returns whether all is as it was written. */
static inline bool place_posting(Lists *lists, List *list, const int64_t *known, int64_t index)
{
    int64_t block = index >> BLOCK_BITS, posting = index & (BLOCK - 1);
    read_frequencies(lists, list, block);
    if (list->placed != block && !place_block(lists, list, known, block))
        return false;
    go_to_posting(lists->postings, list, posting);
    return true;
}

/* Return how often an entry is in a field, for a posting that was gone to. */
static inline int64_t frequency_of(const List *list, int64_t index, int field)
{
    if (field != BODY && list->fields == ONLY_BODY)
        return 0;
    return list->frequencies[field * BLOCK + (index & (BLOCK - 1))];
}

/* --- Phrases --------------------------------------------------------------------------------------- */

/* Places of the first atom leave a bit in a table. */
#define SEEN_WORDS 16

/* Where the positions of a posting are. */
typedef struct {
    int64_t at;
    int64_t fields; /* bits of those that have any */
    int64_t frequencies[FIELD_COUNT]; /* in these */
} Place;

/* An atom of a phrase in a field. */
typedef struct {
    int64_t next; /* where its next position is */
    int64_t left; /* how many are left */
    int64_t place; /* the last one read less the atom's distance */
} Cursor;

/* Atoms at their distances from a common place, the rarest first. */
typedef struct {
    int64_t n_atoms;
    int64_t *rows; /* of each atom its list */
    int64_t *distances;
    int64_t fields; /* bits of those in which it may be */
    Cursor *cursors;
    Place *places; /* (lists, BLOCK): of the postings of a batch */
    int64_t chosen[BLOCK]; /* which of its documents are left */
} Phrase;

static inline size_t phrase_bytes(int64_t n_atoms, int64_t n_lists)
{
    return stored_bytes(1, sizeof(Phrase)) + stored_bytes(n_atoms, sizeof(Cursor)) + 2 * stored_bytes(n_atoms, 8)
        + stored_bytes(n_atoms ? n_lists * BLOCK : 0, sizeof(Place));
}

static Phrase *take_phrase(
    Store *store, const int64_t *known, Ints rows, Ints distances, int64_t fields, int64_t n_lists)
{
    Phrase *phrase = take(store, 1, sizeof(Phrase));
    phrase->n_atoms = rows.size;
    phrase->rows = take_ints(store, rows.size);
    phrase->distances = take_ints(store, rows.size);
    phrase->fields = fields;
    for (int64_t atom = 0; atom < rows.size; atom++) {
        int64_t at = atom, doc_freq = known[rows.at[atom] * FOUND_COLUMNS + DOC_FREQ];
        for (; at > 0 && known[phrase->rows[at - 1] * FOUND_COLUMNS + DOC_FREQ] > doc_freq; at--) {
            phrase->rows[at] = phrase->rows[at - 1];
            phrase->distances[at] = phrase->distances[at - 1];
        }
        phrase->rows[at] = rows.at[atom];
        phrase->distances[at] = distances.at[atom];
    }
    phrase->cursors = take(store, rows.size, sizeof(Cursor));
    phrase->places = take(store, rows.size ? n_lists * BLOCK : 0, sizeof(Place));
    return phrase;
}

static inline const Place *place_of(const Phrase *phrase, int64_t atom, int64_t document)
{
    return phrase->places + phrase->rows[atom] * BLOCK + document;
}

/* Note where the positions of postings of the block `placed` are in which only the body has any. */
static inline void place_in_body(
    const Postings *postings, List *list, const int64_t *indexes, const int64_t *chosen, int64_t n, Place *places)
{
    const int64_t *frequencies = list->frequencies + BODY * BLOCK;
    for (int64_t i = 0; i < n; i++) {
        int64_t posting = indexes[chosen[i]] & (BLOCK - 1);
        go_to_posting(postings, list, posting);
        Place *place = places + chosen[i];
        place->at = list->placed_at;
        place->fields = ONLY_BODY;
        place->frequencies[BODY] = frequencies[posting];
    }
}

/* The same in any field. */
static void place_in_fields(
    const Postings *postings, List *list, const int64_t *indexes, const int64_t *chosen, int64_t n, Place *places)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t posting = indexes[chosen[i]] & (BLOCK - 1);
        go_to_posting(postings, list, posting);
        Place *place = places + chosen[i];
        place->at = list->placed_at;
        place->fields = 0;
        for (int field = 0; field < FIELD_COUNT; field++) {
            place->frequencies[field] = list->frequencies[field * BLOCK + posting];
            place->fields |= (int64_t)(place->frequencies[field] > 0) << field;
        }
    }
}

/* Note where the positions of a list are in documents of a batch, by the indexes of its postings there.

   Returns whether all is as it was written. */
static bool place_row(
    Lists *lists, List *list, const int64_t *known, const int64_t *indexes, const int64_t *chosen, int64_t n,
    Place *places)
{
    int64_t first = 0;
    while (first < n) {
        int64_t block = indexes[chosen[first]] >> BLOCK_BITS, end = first + 1;
        while (end < n && indexes[chosen[end]] >> BLOCK_BITS == block)
            end++;
        bool is_body = read_frequencies(lists, list, block);
        if (list->placed != block && !place_block(lists, list, known, block))
            return false;
        if (is_body)
            place_in_body(lists->postings, list, indexes, chosen + first, end - first, places);
        else
            place_in_fields(lists->postings, list, indexes, chosen + first, end - first, places);
        first = end;
    }
    return true;
}

/* Note where the positions of some atoms are, of each list once; tell whether all is as it was written. */
static bool place_atoms(
    Lists *lists, const int64_t *known, const Phrase *phrase, int64_t first, int64_t end, const int64_t *indexes,
    int64_t n)
{
    for (int64_t atom = first; atom < end; atom++) {
        int64_t row = phrase->rows[atom], earlier = 0;
        while (phrase->rows[earlier] != row)
            earlier++;
        if (earlier == atom
            && !place_row(
                lists, lists->rows + row, known + row * FOUND_COLUMNS, indexes + row * BLOCK, phrase->chosen, n,
                phrase->places + row * BLOCK))
            return false;
    }
    return true;
}

/* Return a cursor before the positions of a posting in a field where it has some. */
static inline Cursor cursor_at(const Postings *postings, const Place *place, int field, int64_t distance)
{
    int64_t n = 0;
    for (int before = 0; before < field; before++)
        if (place->fields >> before & 1)
            n += place->frequencies[before];
    return (Cursor){skip_positions(postings, place->at, n), place->frequencies[field], -distance};
}

/* Read positions up to the first that is not before a place; false if there is none. */
static inline bool go_to_place(const uint8_t *positions, Cursor *cursor, int64_t place)
{
    while (cursor->place < place && cursor->left > 0) {
        cursor->place += read_varint(positions, &cursor->next);
        cursor->left--;
    }
    return cursor->place >= place;
}

/* Tell whether the second atom follows the first in a field, from a place that is in the text.

   Nearly all documents with both are left out here: in each step the processor knows what comes next, which
   it does not where two lists are merged. So they are only where the table says that it may be worth it. */
static inline bool follows(const uint8_t *positions, Cursor first, Cursor second)
{
    first.place += read_varint(positions, &first.next);
    if (--first.left == 0) {
        do
            second.place += read_varint(positions, &second.next);
        while (--second.left && second.place < first.place);
        return first.place >= 0 && second.place == first.place;
    }
    Cursor again = first;
    uint64_t seen[SEEN_WORDS] = {0};
    seen[first.place >> 6 & (SEEN_WORDS - 1)] |= UINT64_C(1) << (first.place & 63);
    for (; first.left; first.left--) {
        first.place += read_varint(positions, &first.next);
        seen[first.place >> 6 & (SEEN_WORDS - 1)] |= UINT64_C(1) << (first.place & 63);
    }
    for (; second.left; second.left--) {
        second.place += read_varint(positions, &second.next);
        if (second.place > first.place)
            return false;
        if (seen[second.place >> 6 & (SEEN_WORDS - 1)] >> (second.place & 63) & 1 && second.place >= 0
            && go_to_place(positions, &again, second.place) && again.place == second.place)
            return true;
    }
    return false;
}

/* Tell whether the first two atoms are in a document as the phrase has them. */
static inline bool has_pair(const Postings *postings, const Phrase *phrase, int64_t document)
{
    const Place *first = place_of(phrase, 0, document), *second = place_of(phrase, 1, document);
    int64_t fields = phrase->fields & first->fields & second->fields;
    for (int field = 0; fields >> field; field++)
        if (fields >> field & 1
            && follows(
                postings->positions.at, cursor_at(postings, first, field, phrase->distances[0]),
                cursor_at(postings, second, field, phrase->distances[1])))
            return true;
    return false;
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
        if (cursor->place < place && !go_to_place(postings->positions.at, cursor, place))
            return false;
        n_agreed = cursor->place == place ? n_agreed + 1 : 1;
        place = cursor->place;
        atom = atom + 1 < phrase->n_atoms ? atom + 1 : 0;
    }
    return true;
}

/* Tell whether a document has the phrase, in a field that all atoms are in. */
static bool has_phrase(const Postings *postings, Phrase *phrase, int64_t document)
{
    int64_t fields = phrase->fields;
    for (int64_t atom = 0; atom < phrase->n_atoms; atom++)
        fields &= place_of(phrase, atom, document)->fields;
    for (int field = 0; fields >> field; field++) {
        if (!(fields >> field & 1))
            continue;
        for (int64_t atom = 0; atom < phrase->n_atoms; atom++)
            phrase->cursors[atom] = cursor_at(
                postings, place_of(phrase, atom, document), field, phrase->distances[atom]);
        if (is_in_field(postings, phrase))
            return true;
    }
    return false;
}

/* Choose the documents of a batch that have the phrase, by the indexes of their postings; return how many.

   Of most documents only the positions of the first two atoms are looked at. None are chosen at damage. */
static int64_t choose_with_phrase(
    Lists *lists, const int64_t *known, Phrase *phrase, const int64_t *indexes, int64_t n)
{
    int64_t *chosen = phrase->chosen;
    int64_t n_first = least_of(phrase->n_atoms, 2), n_left = 0, n_chosen = 0;
    for (int64_t i = 0; i < n; i++)
        chosen[i] = i;
    if (!place_atoms(lists, known, phrase, 0, n_first, indexes, n))
        return 0;
    for (int64_t i = 0; i < n; i++) {
        chosen[n_left] = i;
        n_left += n_first < 2 || has_pair(lists->postings, phrase, i);
    }
    if (phrase->n_atoms == 2)
        return n_left;
    if (!place_atoms(lists, known, phrase, n_first, phrase->n_atoms, indexes, n_left))
        return 0;
    for (int64_t i = 0; i < n_left; i++) {
        chosen[n_chosen] = chosen[i];
        n_chosen += has_phrase(lists->postings, phrase, chosen[i]);
    }
    return n_chosen;
}
