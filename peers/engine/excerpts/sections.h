/* The kernel of sections.py: where the headings of a page stand in its text. */

#pragma once

#include "peers/engine/excerpts/windows.h"
#include "peers/engine/postings/word_numbers.h"
#include "peers/kernel.h"

#define UNSEEN_AT_END_MAX 3

static int64_t count_lines(Words text)
{
    int64_t n = 1;
    for (int64_t place = 0; place < text.size; place++)
        n += text.at[place] == '\n';
    return n;
}

static inline int64_t line_end(Words text, int64_t start)
{
    while (start < text.size && text.at[start] != '\n')
        start++;
    return start;
}

/* Room for a table of so many: a power of two, at least twice as much. */
static int64_t table_size(int64_t n)
{
    int64_t size = 4;
    while (size < 2 * n)
        size *= 2;
    return size;
}

/* Headings, in order; those that read alike are of one kind, which is the number of the first of them. */
typedef struct {
    Words text;
    int64_t n;
    int64_t *starts; /* of each, and behind the end */
    int64_t *kinds; /* of each, -1 for an empty one */
    int64_t *table; /* kinds + 1 by the hash of what they read */
    int64_t table_mask;
    uint64_t seed; /* of hashes: no page knows it */
    uint64_t sizes; /* a bit for the length of each, modulo 64 */
    int64_t n_kinds;
} Headings;

/* Return where in the table the kind of a line is, or would be. */
static int64_t kind_place(const Headings *headings, const uint32_t *codes, int64_t size)
{
    int64_t place = (int64_t)(hash_word(codes, size, headings->seed) >> 8) & headings->table_mask;
    for (; headings->table[place]; place = (place + 1) & headings->table_mask) {
        int64_t start = headings->starts[headings->table[place] - 1];
        int64_t end = headings->starts[headings->table[place]] - 1;
        if (end - start == size && !memcmp(headings->text.at + start, codes, (size_t)size * sizeof *codes))
            break;
    }
    return place;
}

static void read_headings(Headings *headings)
{
    fill(headings->table, headings->table_mask + 1, 0);
    headings->n_kinds = 0;
    headings->sizes = 0;
    for (int64_t number = 0, start = 0; number < headings->n; number++) {
        int64_t end = line_end(headings->text, start);
        headings->starts[number] = start;
        headings->starts[number + 1] = end + 1;
        headings->kinds[number] = -1;
        if (end > start) {
            int64_t place = kind_place(headings, headings->text.at + start, end - start);
            if (!headings->table[place]) {
                headings->table[place] = number + 1;
                headings->sizes |= UINT64_C(1) << ((end - start) & 63);
                headings->n_kinds++;
            }
            headings->kinds[number] = headings->table[place] - 1;
        }
        start = end + 1;
    }
}

/* Headings that another of a kind follows: those of one pair of kinds are one after the other. */
typedef struct {
    const int64_t *kinds;
    int64_t *table; /* the first heading of a pair + 1, by a hash of its kinds */
    int64_t table_mask;
    uint64_t seed;
    int64_t *members; /* headings, rising in each pair */
    int64_t *ends; /* where those of the pair are that begins with a heading */
    int64_t *counts; /* how many */
} Pairs;

static int64_t pair_place(const Pairs *pairs, int64_t kind, int64_t following)
{
    const uint32_t both[] = {(uint32_t)kind, (uint32_t)following};
    int64_t place = (int64_t)(hash_word(both, 2, pairs->seed) >> 8) & pairs->table_mask;
    for (; pairs->table[place]; place = (place + 1) & pairs->table_mask) {
        int64_t number = pairs->table[place] - 1;
        if (pairs->kinds[number] == kind && pairs->kinds[number + 1] == following)
            break;
    }
    return place;
}

static bool is_followed(const int64_t *kinds, int64_t n, int64_t number)
{
    return number + 1 < n && kinds[number] >= 0 && kinds[number + 1] >= 0;
}

static void pair_headings(const Pairs *pairs, int64_t n)
{
    fill(pairs->table, pairs->table_mask + 1, 0);
    fill(pairs->counts, n, 0);
    for (int64_t number = 0; number < n; number++)
        if (is_followed(pairs->kinds, n, number)) {
            int64_t place = pair_place(pairs, pairs->kinds[number], pairs->kinds[number + 1]);
            if (!pairs->table[place])
                pairs->table[place] = number + 1;
            pairs->counts[pairs->table[place] - 1]++;
        }
    int64_t n_before = 0;
    for (int64_t number = 0; number < n; number++) {
        pairs->ends[number] = n_before;
        n_before += pairs->counts[number];
    }
    for (int64_t number = 0; number < n; number++)
        if (is_followed(pairs->kinds, n, number)) {
            int64_t place = pair_place(pairs, pairs->kinds[number], pairs->kinds[number + 1]);
            pairs->members[pairs->ends[pairs->table[place] - 1]++] = number;
        }
}

KERNEL(place_headings, "wwrr", {
    Words text;
    Words headings;
    MutableInts starts;
    MutableInts numbers;
})
{
    Headings headings = {.text = a->headings, .n = count_lines(a->headings)};
    int64_t n = headings.n, n_table = table_size(n);
    Store store;
    if (!open_store(&store, stored_bytes(7 * n + 1 + 2 * n_table, 8)))
        return NO_MEMORY;
    headings.starts = take_ints(&store, n + 1);
    headings.kinds = take_ints(&store, n);
    headings.table = take_ints(&store, n_table);
    headings.table_mask = n_table - 1;
    /* Another one in each process. */
    headings.seed = (uint64_t)(uintptr_t)store.memory * UINT64_C(0x9E3779B97F4A7C15);
    read_headings(&headings);
    int64_t n_found = 0;
    for (int64_t start = 0; headings.n_kinds > 1 && start <= a->text.size && n_found < a->starts.size;) {
        int64_t end = line_end(a->text, start);
        if (end > start && headings.sizes >> ((end - start) & 63) & 1) {
            int64_t kind = headings.table[kind_place(&headings, a->text.at + start, end - start)] - 1;
            if (kind >= 0) {
                a->starts.at[n_found] = start;
                a->numbers.at[n_found++] = kind;
            }
        }
        start = end + 1;
    }
    if (n_found) {
        const Pairs pairs = {
            .kinds = headings.kinds,
            .table = take_ints(&store, n_table),
            .table_mask = n_table - 1,
            .seed = headings.seed,
            .members = take_ints(&store, n),
            .ends = take_ints(&store, n),
            .counts = take_ints(&store, n),
        };
        int64_t *n_below = take_ints(&store, n), *last = take_ints(&store, n);
        pair_headings(&pairs, n);
        fill(n_below, n, 0);
        for (int64_t number = 0; number < n; number++)
            if (headings.kinds[number] >= 0)
                last[headings.kinds[number]] = number;
        for (int64_t at = n_found - 1, following = -1; at >= 0; at--) {
            int64_t kind = a->numbers.at[at], number = 0;
            if (following < 0) {
                number = last[kind] >= n - 1 - UNSEEN_AT_END_MAX ? last[kind] : 0;
            } else {
                int64_t first = pairs.table[pair_place(&pairs, kind, following)] - 1;
                int64_t n_like = first < 0 ? 0 : pairs.counts[first];
                int64_t n_same = n_like > 1 ? n_below[kind] : 0;
                if (n_same < n_like)
                    number = pairs.members[pairs.ends[first] - 1 - n_same];
            }
            a->numbers.at[at] = number;
            n_below[kind]++;
            following = kind;
        }
    }
    close_store(&store);
    return n_found;
}
