/* The kernel of near_copies.py. */

#pragma once

#include "peers/kernel.h"

#define SKETCH_BINS 240
#define SHINGLE_TOKENS 4

#define SKETCH_WORDS 4
#define TITLE_BITS 15
#define LONG_BITS_MAX 21
#define SHORT_BITS_MAX 15
#define OTHER_TITLE_BITS_MAX 6

enum { NO_TOKEN, IN_WORD, ALONE };

static inline uint64_t mixed_bits(uint64_t number)
{
    number = (number ^ number >> 33) * 0xFF51AFD7ED558CCDu;
    number = (number ^ number >> 33) * 0xC4CEB9FE1A85EC53u;
    return number ^ number >> 33;
}

/* What a character is of. No table of Unicode is asked, since these differ from one release of Python to the
   next, and sketches must not. */
static inline int token_part(uint32_t code)
{
    static const uint64_t are_in_words[2] = {UINT64_C(0x03FF) << '0', UINT64_C(0x07FFFFFE07FFFFFE)};
    if (code < 0x80)
        return are_in_words[code / 64] >> code % 64 & 1 ? IN_WORD : NO_TOKEN;
    if (code < 0xC0)
        return code == 0xAA || code == 0xB5 || code == 0xBA ? IN_WORD : NO_TOKEN;
    if (code < 0x2000)
        return code == 0xD7 || code == 0xF7 || code == 0x1680 ? NO_TOKEN : IN_WORD;
    if (code < 0x2070 || (code >= 0x2190 && code < 0x2C00))
        return NO_TOKEN; /* spaces, dashes, quotation marks; arrows, signs, frames */
    if (code < 0x2E80)
        return code >= 0x2E00 ? NO_TOKEN : IN_WORD;
    if (code < 0xA4D0)
        return code < 0x3040 && code != 0x3005 && code != 0x3007 ? NO_TOKEN : ALONE;
    if ((code >= 0xAC00 && code < 0xD7A4) || (code >= 0xF900 && code < 0xFB00))
        return ALONE;
    if ((code >= 0xFE10 && code < 0xFE70) || (code >= 0xFF00 && code < 0xFF10))
        return NO_TOKEN;
    return code >= 0x20000 && code < 0x40000 ? ALONE : IN_WORD;
}

/* The last tokens read, and the least number of a shingle in each bin. */
typedef struct {
    uint64_t tokens[SHINGLE_TOKENS];
    int64_t n_tokens;
    uint64_t least[SKETCH_BINS];
} Sketching;

static inline void take_token(Sketching *sketching, uint64_t token)
{
    sketching->tokens[sketching->n_tokens++ % SHINGLE_TOKENS] = mixed_bits(token);
    if (sketching->n_tokens < SHINGLE_TOKENS)
        return;
    uint64_t shingle = 0;
    for (int64_t i = 0; i < SHINGLE_TOKENS; i++) {
        shingle += sketching->tokens[(sketching->n_tokens + i) % SHINGLE_TOKENS];
        shingle *= 0x9E3779B97F4A7C15u;
    }
    shingle = mixed_bits(shingle);
    uint64_t *least = &sketching->least[(shingle >> 32) * SKETCH_BINS >> 32];
    uint64_t number = mixed_bits(shingle) | 1;
    if (number < *least)
        *least = number;
}

static void read_tokens(Sketching *sketching, Words codes)
{
    uint64_t word = 0;
    for (int64_t i = 0; i < codes.size; i++) {
        uint32_t code = codes.at[i];
        int part = token_part(code);
        if (part == IN_WORD) {
            word = (word ^ (code + 1)) * 0x100000001B3u;
            continue;
        }
        if (word)
            take_token(sketching, word);
        word = 0;
        if (part == ALONE)
            take_token(sketching, code);
    }
    if (word)
        take_token(sketching, word);
}

/* The bin whose number stands for that of an empty one: the same in every text that has it. */
static inline int64_t lender_of(const uint64_t *least, int64_t bin)
{
    for (uint64_t attempt = 1;; attempt++) {
        int64_t lender = (int64_t)(mixed_bits((uint64_t)bin << 32 | attempt) % SKETCH_BINS);
        if (least[lender] != UINT64_MAX)
            return lender;
    }
}

KERNEL(sketch_text, "wS", {
    Words codes;
    MutableSums sketch;
})
{
    Sketching sketching = {.n_tokens = 0};
    for (int64_t bin = 0; bin < SKETCH_BINS; bin++)
        sketching.least[bin] = UINT64_MAX;
    read_tokens(&sketching, a->codes);
    int64_t n_filled = 0;
    for (int64_t bin = 0; bin < SKETCH_BINS; bin++)
        n_filled += sketching.least[bin] != UINT64_MAX;
    memset(a->sketch.at, 0, (size_t)a->sketch.size * sizeof *a->sketch.at);
    for (int64_t bin = 0; n_filled && bin < SKETCH_BINS; bin++) {
        int64_t from = sketching.least[bin] != UINT64_MAX ? bin : lender_of(sketching.least, bin);
        a->sketch.at[bin / 64] |= (mixed_bits(sketching.least[from]) & 1) << bin % 64;
    }
    return n_filled;
}

static bool are_near(const uint64_t *one, const uint64_t *other)
{
    const int title_shift = SKETCH_BINS % 64;
    const uint64_t last = SKETCH_WORDS - 1, bins = (UINT64_C(1) << title_shift) - 1;
    if (!one[last] || !other[last])
        return false;
    bool have_same_title = !((one[last] ^ other[last]) >> title_shift & ((1 << TITLE_BITS) - 1));
    bool are_long = (one[last] & other[last]) >> 63;
    int n_differing = 0;
    for (uint64_t word = 0; word < SKETCH_WORDS; word++)
        n_differing += __builtin_popcountll((one[word] ^ other[word]) & (word < last ? UINT64_MAX : bins));
    return (have_same_title && n_differing <= (are_long ? LONG_BITS_MAX : SHORT_BITS_MAX))
        || (are_long && n_differing <= OTHER_TITLE_BITS_MAX);
}

KERNEL(compare_sketches, "s2B2", {
    struct {
        const uint64_t *at;
        int64_t rows;
        int64_t columns;
    } sketches;
    struct {
        uint8_t *at;
        int64_t rows;
        int64_t columns;
    } found;
})
{
    int64_t n = a->sketches.rows, n_found = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            bool is_near = are_near(a->sketches.at + i * SKETCH_WORDS, a->sketches.at + j * SKETCH_WORDS);
            a->found.at[i * n + j] = a->found.at[j * n + i] = is_near;
            n_found += is_near;
        }
    return n_found;
}
