/* The kernels of dictionary.py, where the format is. */

#pragma once

#include "peers/engine/native/kernels.h"

#define BLOCK_ENTRIES 16
#define BLOCK_NUMBERS 3

/* Columns of what is found of an entry. */
enum { NUMBER, DOC_FREQ, START, END, PLACE, PLACE_END, FOUND_COLUMNS };

KERNEL(pack_entries, "biiiiBI", {
    Bytes terms;
    Ints term_starts;
    Ints doc_freqs;
    Ints postings_starts;
    Ints positions_starts;
    MutableBytes packed;
    MutableInts numbers;
})
{
    const uint8_t *terms = a->terms.at;
    const int64_t *starts = a->term_starts.at;
    const int64_t *postings = a->postings_starts.at, *positions = a->positions_starts.at;
    uint8_t *packed = a->packed.at;
    int64_t *numbers = a->numbers.at;
    int64_t n_entries = a->doc_freqs.size;
    int64_t at = 0;
    for (int64_t entry = 0; entry < n_entries; entry++) {
        int64_t start = starts[entry], end = starts[entry + 1];
        int64_t shared = 0;
        if (entry % BLOCK_ENTRIES == 0) {
            int64_t block = entry / BLOCK_ENTRIES * BLOCK_NUMBERS;
            numbers[block] = at;
            numbers[block + 1] = postings[entry];
            numbers[block + 2] = positions[entry];
        } else {
            int64_t before = starts[entry - 1];
            int64_t longest = least_of(start - before, end - start);
            while (shared < longest && terms[before + shared] == terms[start + shared])
                shared++;
        }
        at = write_varint(packed, at, shared);
        at = write_varint(packed, at, end - start - shared);
        for (int64_t i = start + shared; i < end; i++)
            packed[at++] = terms[i];
        at = write_varint(packed, at, a->doc_freqs.at[entry]);
        at = write_varint(packed, at, postings[entry + 1] - postings[entry]);
        at = write_varint(packed, at, positions[entry + 1] - positions[entry]);
    }
    int64_t last = a->numbers.size - BLOCK_NUMBERS;
    numbers[last] = at;
    numbers[last + 1] = postings[n_entries];
    numbers[last + 2] = positions[n_entries];
    return at;
}

/* Read the numbers of all entries; -1 when they are not exactly those. */
KERNEL(measure_entries, "bnIIII", {
    Bytes packed;
    int64_t n_entries;
    MutableInts term_starts;
    MutableInts doc_freqs;
    MutableInts postings_starts;
    MutableInts positions_starts;
})
{
    const uint8_t *packed = a->packed.at;
    int64_t at = 0, end = a->packed.size, before = 0;
    for (int64_t entry = 0; entry < a->n_entries; entry++) {
        int64_t shared = read_checked(packed, &at, end);
        int64_t rest = read_checked(packed, &at, end);
        if (shared < 0 || rest < 0 || shared > before || rest > end - at)
            return -1;
        if (entry % BLOCK_ENTRIES == 0 && shared)
            return -1;
        before = shared + rest;
        at += rest;
        int64_t doc_freq = read_checked(packed, &at, end);
        int64_t postings_bytes = read_checked(packed, &at, end);
        int64_t positions_bytes = read_checked(packed, &at, end);
        if (doc_freq < 0 || postings_bytes < 0 || positions_bytes < 0)
            return -1;
        a->doc_freqs.at[entry] = doc_freq;
        a->term_starts.at[entry + 1] = a->term_starts.at[entry] + before;
        a->postings_starts.at[entry + 1] = a->postings_starts.at[entry] + postings_bytes;
        a->positions_starts.at[entry + 1] = a->positions_starts.at[entry] + positions_bytes;
    }
    return at == end ? 0 : -1;
}

/* Write the strings of entries that `measure_entries` has seen. */
KERNEL(unpack_entries, "biB", {
    Bytes packed;
    Ints term_starts;
    MutableBytes terms;
})
{
    const uint8_t *packed = a->packed.at;
    uint8_t *terms = a->terms.at;
    int64_t at = 0;
    for (int64_t entry = 0; entry + 1 < a->term_starts.size; entry++) {
        int64_t shared = read_varint(packed, &at);
        int64_t rest = read_varint(packed, &at);
        int64_t to = a->term_starts.at[entry];
        if (shared) {
            int64_t before = a->term_starts.at[entry - 1];
            for (int64_t i = 0; i < shared; i++)
                terms[to + i] = terms[before + i];
        }
        for (int64_t i = 0; i < rest; i++)
            terms[to + shared + i] = packed[at + i];
        at += rest;
        for (int i = 0; i < 3; i++)
            read_varint(packed, &at);
    }
    return at;
}

/* A dictionary as it is looked into, and strings that are wanted. */
typedef struct {
    const uint8_t *packed;
    const int64_t *numbers;
    const uint64_t *heads;
    int64_t n_blocks;
    int64_t n_entries;
} Dictionary;

/* As Python has it. */
typedef struct {
    Bytes packed;
    Ints numbers;
    Sums heads;
    int64_t n_entries;
} Lexicon;
#define LEXICON "(bisn)"

static inline Dictionary dictionary_of(const Lexicon *lexicon)
{
    return (Dictionary){
        lexicon->packed.at, lexicon->numbers.at, lexicon->heads.at, lexicon->heads.size, lexicon->n_entries};
}

/* Return the first eight of some bytes, zeros behind them, as a number. */
static inline uint64_t head_of(const uint8_t *bytes, int64_t n)
{
    uint64_t head = 0;
    for (int64_t i = 0; i < 8; i++)
        head = head << 8 | (i < n ? bytes[i] : 0);
    return head;
}

/* A string by its head, of which most differ. */
typedef struct {
    uint64_t head;
    int64_t number;
} Headed;

static inline bool is_after(const uint8_t *blob, const int64_t *starts, Headed a, Headed b)
{
    if (a.head != b.head)
        return a.head > b.head;
    return compare_in(blob, starts, a.number, b.number) > 0;
}

/* Merge two sorted neighbours. */
static void merge_headed(
    const uint8_t *blob, const int64_t *starts, const Headed *from, int64_t first, int64_t middle, int64_t end,
    Headed *to)
{
    int64_t left = first, right = middle;
    for (int64_t at = first; at < end; at++) {
        if (right >= end || (left < middle && !is_after(blob, starts, from[left], from[right])))
            to[at] = from[left++];
        else
            to[at] = from[right++];
    }
}

/* Sort strings by their bytes; write the number of each, the strings in that order, and their starts. */
KERNEL(sort_strings, "biIBI", {
    Bytes blob;
    Ints starts;
    MutableInts order;
    MutableBytes sorted;
    MutableInts sorted_starts;
})
{
    const uint8_t *blob = a->blob.at;
    const int64_t *starts = a->starts.at;
    int64_t n = a->order.size;
    Store store;
    if (!open_store(&store, 2 * stored_bytes(n, sizeof(Headed))))
        return NO_MEMORY;
    Headed *from = take(&store, n, sizeof(Headed)), *to = take(&store, n, sizeof(Headed));
    for (int64_t i = 0; i < n; i++)
        from[i] = (Headed){head_of(blob + starts[i], starts[i + 1] - starts[i]), i};
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t first = 0; first < n; first += 2 * width)
            merge_headed(
                blob, starts, from, first, least_of(first + width, n), least_of(first + 2 * width, n), to);
        Headed *before = from;
        from = to;
        to = before;
    }
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t number = from[i].number, length = starts[number + 1] - starts[number];
        a->order.at[i] = number;
        a->sorted_starts.at[i] = at;
        memcpy(a->sorted.at + at, blob + starts[number], (size_t)length);
        at += length;
    }
    a->sorted_starts.at[n] = at;
    close_store(&store);
    return n;
}

KERNEL(read_heads, "biS", {
    Bytes packed;
    Ints numbers;
    MutableSums heads;
})
{
    for (int64_t block = 0; block < a->heads.size; block++) {
        int64_t at = a->numbers.at[block * BLOCK_NUMBERS];
        read_varint(a->packed.at, &at);
        int64_t length = read_varint(a->packed.at, &at);
        a->heads.at[block] = head_of(a->packed.at + at, length);
    }
    return a->heads.size;
}

/* Return how many of the sorted heads first to end are less than a number, and `first`. */
static inline int64_t heads_before(const uint64_t *heads, int64_t first, int64_t end, uint64_t head)
{
    int64_t n = end - first;
    while (n > 0) {
        int64_t half = (n + 1) >> 1;
        first += heads[first + half - 1] < head ? half : 0;
        n -= half;
    }
    return first;
}

/* Compare packed bytes with what is behind the first `matched` bytes of a wanted string.

   Returns how many bytes agree, from the start of the wanted string; less 1 << 40 when the packed are
   greater. */
static inline int64_t order_of(
    const uint8_t *packed, int64_t at, int64_t length, const uint8_t *wanted, int64_t start, int64_t end,
    int64_t matched)
{
    int64_t i = 0;
    for (; i < length && start + matched + i < end; i++) {
        uint8_t p = packed[at + i], w = wanted[start + matched + i];
        if (p != w)
            return p < w ? matched + i : matched + i - (INT64_C(1) << 40);
    }
    if (i == length)
        return matched + i; /* equal or a beginning of it: not greater */
    return matched + i - (INT64_C(1) << 40);
}

/* Tell whether the first entry of a block is not greater than a wanted string. */
static bool begins_at_most(const Dictionary *d, int64_t block, const uint8_t *wanted, int64_t start, int64_t end)
{
    int64_t at = d->numbers[block * BLOCK_NUMBERS];
    read_varint(d->packed, &at);
    int64_t length = read_varint(d->packed, &at);
    return order_of(d->packed, at, length, wanted, start, end, 0) >= 0;
}

/* Tell what an entry is: a row of FOUND_COLUMNS. */
static inline void put_entry(
    int64_t *found, int64_t number, int64_t doc_freq, int64_t posting, int64_t postings_bytes, int64_t place,
    int64_t positions_bytes)
{
    found[NUMBER] = number;
    found[DOC_FREQ] = doc_freq;
    found[START] = posting;
    found[END] = posting + postings_bytes;
    found[PLACE] = place;
    found[PLACE_END] = place + positions_bytes;
}

/* Look strings up: FOUND_COLUMNS numbers each, NUMBER -1 for those that are not there.

   Returns, for the last string, the number of the first entry that is not less than it. */
static int64_t find_entries(
    const Dictionary *d, const uint8_t *wanted, const int64_t *wanted_starts, int64_t n_wanted, int64_t *found)
{
    int64_t number = 0;
    for (int64_t w = 0; w < n_wanted; w++) {
        int64_t start = wanted_starts[w], end = wanted_starts[w + 1];
        int64_t *row = found + w * FOUND_COLUMNS;
        fill(row, FOUND_COLUMNS, 0);
        row[NUMBER] = -1;
        number = 0;
        /* The last block whose first entry is not greater than what is wanted: heads that differ tell. */
        uint64_t head = head_of(wanted + start, end - start);
        int64_t low = heads_before(d->heads, 0, d->n_blocks, head), high = d->n_blocks;
        if (low < high && d->heads[low] != head)
            high = low;
        else if (head < UINT64_MAX)
            high = heads_before(d->heads, low, high, head + 1);
        while (low < high) {
            int64_t middle = (low + high) >> 1;
            if (begins_at_most(d, middle, wanted, start, end))
                low = middle + 1;
            else
                high = middle;
        }
        int64_t block = low - 1;
        if (block < 0)
            continue;
        int64_t at = d->numbers[block * BLOCK_NUMBERS];
        int64_t posting = d->numbers[block * BLOCK_NUMBERS + 1];
        int64_t place = d->numbers[block * BLOCK_NUMBERS + 2];
        int64_t matched = 0;
        number = block * BLOCK_ENTRIES;
        int64_t last = least_of(number + BLOCK_ENTRIES, d->n_entries);
        for (; number < last; number++) {
            int64_t shared = read_varint(d->packed, &at);
            int64_t length = read_varint(d->packed, &at);
            bool is_equal = false;
            if (shared < matched)
                break; /* the entry before agreed further and was less: this one is greater */
            if (shared == matched) {
                int64_t order = order_of(d->packed, at, length, wanted, start, end, matched);
                if (order < 0)
                    break;
                is_equal = order == end - start && shared + length == end - start;
                matched = order;
            }
            at += length;
            int64_t doc_freq = read_varint(d->packed, &at);
            int64_t postings_bytes = read_varint(d->packed, &at);
            int64_t positions_bytes = read_varint(d->packed, &at);
            if (is_equal) {
                put_entry(row, number, doc_freq, posting, postings_bytes, place, positions_bytes);
                break;
            }
            posting += postings_bytes;
            place += positions_bytes;
        }
    }
    return number;
}

KERNEL(look_up, LEXICON "tI", {
    Lexicon lexicon;
    Bytes wanted;
    Ints wanted_starts;
    MutableInts found;
})
{
    Dictionary d = dictionary_of(&a->lexicon);
    return find_entries(&d, a->wanted.at, a->wanted_starts.at, a->wanted_starts.size - 1, a->found.at);
}

KERNEL(list_entries, "binnI", {
    Bytes packed;
    Ints numbers;
    int64_t first;
    int64_t end;
    MutableInts found;
})
{
    const uint8_t *packed = a->packed.at;
    int64_t out = 0, at = 0, posting = 0, place = 0;
    for (int64_t number = a->first / BLOCK_ENTRIES * BLOCK_ENTRIES; number < a->end; number++) {
        if (number % BLOCK_ENTRIES == 0) {
            int64_t block = number / BLOCK_ENTRIES * BLOCK_NUMBERS;
            at = a->numbers.at[block];
            posting = a->numbers.at[block + 1];
            place = a->numbers.at[block + 2];
        }
        read_varint(packed, &at);
        int64_t length = read_varint(packed, &at);
        at += length;
        int64_t doc_freq = read_varint(packed, &at);
        int64_t postings_bytes = read_varint(packed, &at);
        int64_t positions_bytes = read_varint(packed, &at);
        if (number >= a->first) {
            int64_t *row = a->found.at + out++ * FOUND_COLUMNS;
            put_entry(row, number, doc_freq, posting, postings_bytes, place, positions_bytes);
        }
        posting += postings_bytes;
        place += positions_bytes;
    }
    return out;
}
