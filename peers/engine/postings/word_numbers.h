/* The kernel of word_numbers.py. */

#pragma once

#include "peers/kernel.h"

/* Hash code points; nobody outside knows the seed, so that nobody can make words that share a place. */
static inline uint64_t hash_word(const uint32_t *codes, int64_t n, uint64_t seed)
{
    uint64_t hash = seed ^ (uint64_t)n;
    for (int64_t i = 0; i < n; i++) {
        hash = (hash ^ codes[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    hash *= 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 29;
}

KERNEL(find_words, "wiinISIWnI", {
    Words codes;
    Ints starts;
    Ints lengths;
    int64_t seed;
    MutableInts slots;
    MutableSums hashes;
    MutableInts word_starts;
    MutableWords store;
    int64_t n_known;
    MutableInts found;
})
{
    int64_t n_words = a->n_known;
    uint64_t mask = (uint64_t)a->slots.size - 1;
    for (int64_t i = 0; i < a->starts.size; i++) {
        const uint32_t *codes = a->codes.at + a->starts.at[i];
        int64_t n = a->lengths.at[i];
        uint64_t hash = hash_word(codes, n, (uint64_t)a->seed);
        uint64_t at = hash & mask;
        int64_t word;
        while ((word = a->slots.at[at] - 1) >= 0) {
            int64_t start = a->word_starts.at[word];
            if (a->hashes.at[word] == hash && a->word_starts.at[word + 1] - start == n
                && memcmp(a->store.at + start, codes, (size_t)n * sizeof *codes) == 0)
                break;
            at = (at + 1) & mask;
        }
        if (word < 0) {
            word = n_words++;
            a->slots.at[at] = n_words;
            a->hashes.at[word] = hash;
            memcpy(a->store.at + a->word_starts.at[word], codes, (size_t)n * sizeof *codes);
            a->word_starts.at[n_words] = a->word_starts.at[word] + n;
        }
        a->found.at[i] = word;
    }
    return n_words;
}

KERNEL(place_words, "sI", {
    Sums hashes;
    MutableInts slots;
})
{
    uint64_t mask = (uint64_t)a->slots.size - 1;
    for (int64_t word = 0; word < a->hashes.size; word++) {
        uint64_t at = a->hashes.at[word] & mask;
        while (a->slots.at[at])
            at = (at + 1) & mask;
        a->slots.at[at] = word + 1;
    }
    return 0;
}
