/* The kernels of dictionary_scan.py. */

#pragma once

#include "peers/engine/postings/dictionary.h"

#define TYPED_BYTES_MAX 64
#define EDITS_MAX 2
#define NEAR_COLUMNS 3
#define HAN_CHARS_MAX 8
#define READINGS_MAX 3
#define VARIANTS_MAX 4
#define SOUND_COLUMNS 4
#define PLACES_TYPED_MAX 63
#define HAN_FIRST 0x4E00
#define HAN_BYTES 3

typedef uint8_t EditRows[TYPED_BYTES_MAX + EDITS_MAX + 2][TYPED_BYTES_MAX + 1];

/* Fill the row of an entry's first `depth` bytes; return the least number in it.

   rows[i][j]: edits between the first i bytes of the entry and the first j typed, where i and j differ by no more
   than `edits_max`: elsewhere they are more, and beside that band one number says so. */
static int64_t fill_row(
    EditRows rows, int64_t depth, const uint8_t *entry, const uint8_t *typed, int64_t n_typed, int64_t edits_max)
{
    uint8_t *row = rows[depth], *above = rows[depth - 1];
    uint8_t byte = entry[depth - 1];
    int64_t first = depth > edits_max ? depth - edits_max : 1, last = least_of(n_typed, depth + edits_max);
    int64_t least = row[first - 1] = (uint8_t)least_of(depth, edits_max + 1);
    for (int64_t j = first; j <= last; j++) {
        int64_t edits = above[j - 1] + (typed[j - 1] != byte);
        edits = least_of(edits, least_of(above[j], row[j - 1]) + 1);
        if (depth > 1 && j > 1 && typed[j - 2] == byte && typed[j - 1] == entry[depth - 2])
            edits = least_of(edits, rows[depth - 2][j - 2] + 1);
        row[j] = (uint8_t)edits;
        least = least_of(least, edits);
    }
    if (last < n_typed)
        row[last + 1] = (uint8_t)(edits_max + 1);
    return least;
}

/* Return how many bytes the first entry of a block has in common with the beginning of another, `most` at most. */
static int64_t shared_bytes(const uint8_t *packed, int64_t at, const uint8_t *entry, int64_t most)
{
    read_varint(packed, &at);
    most = least_of(most, read_varint(packed, &at));
    int64_t n = 0;
    while (n < most && packed[at + n] == entry[n])
        n++;
    return n;
}

KERNEL(near_entries, "binnnbnI", {
    Bytes packed;
    Ints numbers;
    int64_t n_entries;
    int64_t first_block;
    int64_t end_block;
    Bytes typed;
    int64_t edits_max;
    MutableInts found;
})
{
    const uint8_t *packed = a->packed.at;
    int64_t n_typed = a->typed.size, edits_max = a->edits_max;
    int64_t longest = n_typed + edits_max;
    int64_t n = 0, room = a->found.size / NEAR_COLUMNS;
    EditRows rows;
    uint8_t entry[TYPED_BYTES_MAX + EDITS_MAX + 1];
    for (int64_t j = 0; j <= n_typed; j++)
        rows[0][j] = (uint8_t)j;
    /* Rows up to `depth` are those of the entry before; with so many of its bytes or more it was hopeless. */
    int64_t depth = 0, hopeless = INT64_MAX;
    for (int64_t block = a->first_block; block < a->end_block && n < room; block++) {
        int64_t at = a->numbers.at[block * BLOCK_NUMBERS];
        int64_t number = block * BLOCK_ENTRIES, end = least_of(number + BLOCK_ENTRIES, a->n_entries);
        if (hopeless < INT64_MAX && block + 1 < a->end_block &&
            shared_bytes(packed, a->numbers.at[(block + 1) * BLOCK_NUMBERS], entry, hopeless) == hopeless)
            continue; /* all between have that beginning, too */
        /* The first entry of a block is written whole. */
        int64_t shared = shared_bytes(packed, at, entry, hopeless < INT64_MAX ? hopeless : depth);
        for (; number < end && n < room; number++) {
            int64_t unwritten = read_varint(packed, &at);
            int64_t length = unwritten + read_varint(packed, &at);
            if (number % BLOCK_ENTRIES)
                shared = unwritten;
            if (shared < hopeless) {
                hopeless = INT64_MAX;
                depth = least_of(depth, shared);
                for (int64_t i = depth; i < length && hopeless == INT64_MAX; i++) {
                    entry[i] = packed[at + i - unwritten];
                    if (i >= longest) {
                        hopeless = i + 1;
                    } else {
                        depth = i + 1;
                        if (fill_row(rows, depth, entry, a->typed.at, n_typed, edits_max) > edits_max)
                            hopeless = depth;
                    }
                }
            }
            at += length - unwritten;
            int64_t doc_freq = read_varint(packed, &at);
            read_varint(packed, &at);
            read_varint(packed, &at);
            if (hopeless == INT64_MAX && length >= n_typed - edits_max && rows[length][n_typed] <= edits_max) {
                int64_t *row = a->found.at + n++ * NEAR_COLUMNS;
                row[0] = number;
                row[1] = doc_freq;
                row[2] = rows[length][n_typed];
            }
        }
    }
    return n;
}

/* Return the character in three bytes of UTF-8, less HAN_FIRST; negative where there is another. */
static int64_t han_at(const uint8_t *bytes)
{
    if ((bytes[0] & 0xF0) != 0xE0)
        return -1;
    return ((bytes[0] & 15) << 12 | (bytes[1] & 63) << 6 | (bytes[2] & 63)) - HAN_FIRST;
}

KERNEL(sounding_entries, "binnnisiinnI", {
    Bytes packed;
    Ints numbers;
    int64_t n_entries;
    int64_t first_block;
    int64_t end_block;
    Ints readings;
    Sums matches;
    Ints lengths;
    Ints starts;
    int64_t n_before;
    int64_t n_behind;
    MutableInts found;
})
{
    const uint8_t *packed = a->packed.at;
    int64_t n_before = a->n_before, n_behind = a->n_behind;
    int64_t n_starts = a->starts.size, n_known = a->readings.size / READINGS_MAX;
    int64_t n = 0, room = a->found.size / SOUND_COLUMNS;
    /* Of each beginning of the entry: the places where it may end, for each start, as bits. */
    uint64_t ends[HAN_CHARS_MAX + 1][PLACES_TYPED_MAX];
    uint8_t entry[HAN_CHARS_MAX * HAN_BYTES];
    for (int64_t s = 0; s < n_starts; s++)
        ends[0][s] = UINT64_C(1) << a->starts.at[s];
    int64_t at = a->numbers.at[a->first_block * BLOCK_NUMBERS];
    int64_t end = least_of(a->end_block * BLOCK_ENTRIES, a->n_entries);
    int64_t depth = 0, hopeless = INT64_MAX; /* in characters, as in `near_entries` */
    for (int64_t number = a->first_block * BLOCK_ENTRIES; number < end && n < room; number++) {
        int64_t shared = read_varint(packed, &at);
        int64_t rest = read_varint(packed, &at);
        int64_t length = shared + rest - n_before - n_behind;
        for (int64_t i = shared; i < least_of(shared + rest, n_before + HAN_CHARS_MAX * HAN_BYTES); i++)
            if (i >= n_before)
                entry[i - n_before] = packed[at + i - shared];
        shared = shared > n_before ? shared - n_before : 0;
        if (shared / HAN_BYTES < hopeless) {
            hopeless = INT64_MAX;
            depth = least_of(depth, shared / HAN_BYTES);
            if (length < 0 || length % HAN_BYTES || length > HAN_CHARS_MAX * HAN_BYTES)
                hopeless = length < 0 ? 1 : length / HAN_BYTES + 1; /* of this entry alone */
            for (int64_t i = depth; i < length / HAN_BYTES && hopeless == INT64_MAX; i++) {
                int64_t character = han_at(entry + i * HAN_BYTES);
                uint64_t any = 0;
                fill((int64_t *)ends[i + 1], n_starts, 0);
                for (int64_t r = 0; r < READINGS_MAX && character >= 0 && character < n_known; r++) {
                    int64_t syllable = a->readings.at[character * READINGS_MAX + r];
                    for (int64_t v = syllable * VARIANTS_MAX; syllable >= 0 && v < (syllable + 1) * VARIANTS_MAX; v++) {
                        uint64_t match = a->matches.at[v];
                        for (int64_t s = 0; match && s < n_starts; s++) {
                            ends[i + 1][s] |= (ends[i][s] & match) << a->lengths.at[v];
                            any |= ends[i + 1][s];
                        }
                    }
                }
                depth = i + 1;
                if (!any)
                    hopeless = depth;
            }
        }
        at += rest;
        int64_t doc_freq = read_varint(packed, &at);
        read_varint(packed, &at);
        read_varint(packed, &at);
        for (int64_t s = 0; hopeless == INT64_MAX && length > 0 && s < n_starts; s++) {
            uint64_t places = ends[length / HAN_BYTES][s];
            for (int64_t place = 0; places >> place && n < room; place++) {
                if (!(places >> place & 1))
                    continue;
                int64_t *row = a->found.at + n++ * SOUND_COLUMNS;
                row[0] = number;
                row[1] = doc_freq;
                row[2] = a->starts.at[s];
                row[3] = place;
            }
        }
    }
    return n;
}
