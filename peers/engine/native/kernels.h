/* The kernels of kernels.py: varints, checksums, numbers of tokens, sorted strings. */

#pragma once

#include "peers/kernel.h"

#define FIELD_COUNT 6
#define BODY 3

/* An occurrence is one number: document << 32 | field << 28 | position. */
#define FIELD_SHIFT 28
#define DOCUMENT_SHIFT 32
#define POSITION_MASK ((INT64_C(1) << FIELD_SHIFT) - 1)

/* --- Varints: seven bits a byte, low bits first ------------------------------------------------ */

/* Return the varint at *at, and move on behind it. */
static inline int64_t read_varint(const uint8_t *data, int64_t *at)
{
    int64_t byte = data[(*at)++];
    int64_t value = byte & 127;
    for (int shift = 7; byte >= 128; shift += 7) {
        byte = data[(*at)++];
        value |= (byte & 127) << shift;
    }
    return value;
}

/* Write a varint at `at`; return the index after it. */
static inline int64_t write_varint(uint8_t *data, int64_t at, int64_t value)
{
    for (; value >= 128; value >>= 7)
        data[at++] = (uint8_t)((value & 127) | 128);
    data[at] = (uint8_t)value;
    return at + 1;
}

/* 35 bits: more than a document number and its flag, a frequency or a length has. */
#define VARINT_BYTES_MAX 5

/* Return the varint at *at and move on behind it; -1, staying there, when it is none that ends before `end`
   or is longer than need be. */
static inline int64_t read_checked(const uint8_t *data, int64_t *at, int64_t end)
{
    int64_t value = 0;
    for (int64_t i = 0; i < VARINT_BYTES_MAX && *at + i < end; i++) {
        int64_t byte = data[*at + i];
        value |= (byte & 127) << (7 * i);
        if (byte < 128) {
            if (byte == 0 && i > 0)
                return -1;
            *at += i + 1;
            return value;
        }
    }
    return -1;
}

/* --- Sums of blocks of bytes ------------------------------------------------------------------- */

/* What a check covers: about six blocks of postings, 25 ns; the sums are 0.8 % of what they cover. */
#define SUM_BLOCK_BYTES 1024
#define SUM_WORDS (SUM_BLOCK_BYTES / 8)
#define SUM_STEP UINT64_C(0x9E3779B185EBCA87)
#define SUM_MIX_1 UINT64_C(0xC2B2AE3D27D4EB4F)
#define SUM_MIX_2 UINT64_C(0x165667B19E3779F9)

/* Return the sum of words[start:end].

   Each word and a multiple of SUM_STEP, so that places count, is x; the sum of all x, which shows any change
   of one word, and the sum of the products of the halves of each x, which shows others but one in 2^32 (as NH
   of UMAC: Black and others, CRYPTO 1999; XXH3 does likewise), are mixed. Both sums are taken in vector
   registers, four times as fast as XXH64, whose multiplications of 64 bits are not. */
WITH_WIDE_REGISTERS static uint64_t sum_of(const uint64_t *words, int64_t start, int64_t end)
{
    uint64_t total = 0;
    uint64_t products = 0;
    uint64_t key = SUM_STEP;
    for (int64_t i = start; i < end; i++) {
        uint64_t x = words[i] + key;
        key += SUM_STEP;
        total += x;
        products += (x & 0xFFFFFFFF) * (x >> 32);
    }
    uint64_t mixed = (products ^ products >> 29) * SUM_MIX_1 + total;
    mixed = (mixed ^ mixed >> 32) * SUM_MIX_2;
    return mixed ^ mixed >> 29;
}

static inline uint64_t sum_of_block(Sums words, int64_t block)
{
    int64_t start = block * SUM_WORDS;
    return sum_of(words.at, start, least_of(start + SUM_WORDS, words.size));
}

/* Tell whether a block has its sum. */
static inline bool is_sound(Sums words, Sums sums, int64_t block)
{
    return sum_of_block(words, block) == sums.at[block];
}

KERNEL(sum_blocks, "sS", {
    Sums words;
    MutableSums sums;
})
{
    for (int64_t block = 0; block < a->sums.size; block++)
        a->sums.at[block] = sum_of_block(a->words, block);
    return a->sums.size;
}

/* --- Numbers of tokens ------------------------------------------------------------------------- */

/* Three code points of 21 bits fit a number: most Chinese words need no comparison of strings. */
#define PACKED_CHARS_MAX 3
#define PACKED_BITS 21

/* Return where a key is in an open-addressing table of 2^n entries, or the free entry for it. */
static inline int64_t table_place(const int64_t *keys, int64_t size, int64_t key)
{
    int64_t mask = size - 1;
    int64_t mixed = (int64_t)((uint64_t)(key ^ key >> 29) * UINT64_C(0x2545F4914F6CDD1D));
    int64_t at = (mixed ^ mixed >> 32) & mask;
    while (keys[at] != 0 && keys[at] != key)
        at = (at + 1) & mask;
    return at;
}

KERNEL(number_tokens, "wIInII", {
    Words codes;
    MutableInts keys;
    MutableInts table_numbers;
    int64_t next_number;
    MutableInts numbers;
    MutableInts new_keys;
})
{
    int64_t token = 0, n_new = 0, length = 0;
    uint64_t key = 0;
    for (int64_t i = 0; i < a->codes.size; i++) {
        uint32_t code = a->codes.at[i];
        if (code) {
            key = key << PACKED_BITS | code;
            length++;
            continue;
        }
        if (length > PACKED_CHARS_MAX) {
            a->numbers.at[token] = -1;
        } else {
            int64_t at = table_place(a->keys.at, a->keys.size, (int64_t)key);
            if (a->keys.at[at] == 0) {
                a->keys.at[at] = (int64_t)key;
                a->table_numbers.at[at] = a->next_number + n_new;
                a->new_keys.at[n_new++] = (int64_t)key;
            }
            a->numbers.at[token] = a->table_numbers.at[at];
        }
        token++;
        key = 0;
        length = 0;
    }
    return n_new;
}

KERNEL(rehash, "iiII", {
    Ints old_keys;
    Ints old_numbers;
    MutableInts keys;
    MutableInts numbers;
})
{
    for (int64_t i = 0; i < a->old_keys.size; i++) {
        if (a->old_keys.at[i]) {
            int64_t at = table_place(a->keys.at, a->keys.size, a->old_keys.at[i]);
            a->keys.at[at] = a->old_keys.at[i];
            a->numbers.at[at] = a->old_numbers.at[i];
        }
    }
    return a->keys.size;
}

KERNEL(scatter, "iiII", {
    Ints terms;
    Ints keys;
    MutableInts cursors;
    MutableInts grouped;
})
{
    for (int64_t i = 0; i < a->terms.size; i++)
        a->grouped.at[a->cursors.at[a->terms.at[i]]++] = a->keys.at[i];
    return a->terms.size;
}

/* --- Sorted strings: one after the other in a blob, with starts, one more than there are ---------- */

static inline int64_t compare(
    const uint8_t *a, int64_t a_start, int64_t a_end, const uint8_t *b, int64_t b_start, int64_t b_end)
{
    int64_t n = least_of(a_end - a_start, b_end - b_start);
    for (int64_t i = 0; i < n; i++) {
        int64_t difference = (int64_t)a[a_start + i] - b[b_start + i];
        if (difference)
            return difference;
    }
    return (a_end - a_start) - (b_end - b_start);
}

static inline int64_t compare_in(const uint8_t *blob, const int64_t *starts, int64_t a, int64_t b)
{
    return compare(blob, starts[a], starts[a + 1], blob, starts[b], starts[b + 1]);
}

KERNEL(find, "bitI", {
    Bytes blob;
    Ints starts;
    Bytes wanted;
    Ints wanted_starts;
    MutableInts found;
})
{
    const int64_t *starts = a->starts.at;
    const int64_t *wanted = a->wanted_starts.at;
    for (int64_t w = 0; w + 1 < a->wanted_starts.size; w++) {
        int64_t low = 0, high = a->starts.size - 1;
        a->found.at[w] = -1;
        while (low < high) {
            int64_t middle = (low + high) >> 1;
            int64_t order = compare(
                a->blob.at, starts[middle], starts[middle + 1], a->wanted.at, wanted[w], wanted[w + 1]);
            if (order == 0) {
                a->found.at[w] = middle;
                break;
            }
            if (order < 0)
                low = middle + 1;
            else
                high = middle;
        }
    }
    return a->starts.size - 1;
}

KERNEL(sum_lengths, "w2bI", {
    WordRows lengths;
    Bytes allowed;
    MutableInts totals;
})
{
    int64_t n = 0;
    for (int64_t document = 0; document < a->allowed.size; document++) {
        if (!a->allowed.at[document])
            continue;
        n++;
        for (int field = 0; field < FIELD_COUNT; field++)
            a->totals.at[field] += a->lengths.at[document * FIELD_COUNT + field];
    }
    return n;
}

KERNEL(merge_order, "biibI", {
    Bytes blob;
    Ints starts;
    Ints list_starts;
    Bytes is_live;
    MutableInts ranks;
})
{
    const uint8_t *blob = a->blob.at;
    const int64_t *starts = a->starts.at, *list_starts = a->list_starts.at;
    int64_t *ranks = a->ranks.at;
    int64_t n_lists = a->list_starts.size - 1;
    Store store;
    if (!open_store(&store, stored_bytes(n_lists, sizeof(int64_t))))
        return NO_MEMORY;
    int64_t *heads = take_ints(&store, n_lists);
    for (int64_t i = 0; i < n_lists; i++)
        heads[i] = list_starts[i];
    int64_t rank = 0;
    for (;;) {
        int64_t least = -1;
        for (int64_t i = 0; i < n_lists; i++) {
            while (heads[i] < list_starts[i + 1] && !a->is_live.at[heads[i]])
                ranks[heads[i]++] = -1;
            if (heads[i] == list_starts[i + 1])
                continue;
            if (least < 0 || compare_in(blob, starts, heads[i], heads[least]) < 0)
                least = i;
        }
        if (least < 0)
            break;
        int64_t chosen = heads[least];
        for (int64_t i = 0; i < n_lists; i++) {
            if (i == least || heads[i] == list_starts[i + 1])
                continue;
            if (compare_in(blob, starts, heads[i], chosen) == 0)
                ranks[heads[i]++] = rank;
        }
        ranks[chosen] = rank++;
        heads[least]++;
    }
    close_store(&store);
    return rank;
}

KERNEL(is_ascending, "bi", {
    Bytes blob;
    Ints starts;
})
{
    for (int64_t i = 1; i + 1 < a->starts.size; i++)
        if (compare_in(a->blob.at, a->starts.at, i - 1, i) >= 0)
            return 0;
    return 1;
}
