/* How blocks of postings are decoded; the format is in format.py. */

#pragma once

#include "peers/engine/native/kernels.h"

#define BLOCK_BITS 7
#define BLOCK (1 << BLOCK_BITS)
#define HEAD_WORDS 2
#define SKIP_WORDS 11
#define POSTING_BYTES_MAX 32
#define ENTRY_BYTES_MAX 512

/* In the byte behind a posting of a short list that is not simple: the rest is a frequency in the body alone,
   less the least; or the bits of fields that have it once each. */
#define RARE_BODY 0x80
#define RARE_BODY_LEAST 2
#define RARE_ONCE 0x40

/* Room for the documents of a block: three numbers more are decoded, and one is put behind. */
#define DOCUMENTS_ROOM (BLOCK + 4)
#define FREQUENCIES_ROOM (FIELD_COUNT * BLOCK)

/* Return how many words a column has. */
static inline int64_t column_words(int64_t rows, int64_t width)
{
    return ((rows * width + 31) >> 5) << 2;
}

/* Decode the first n values of a column to out, and up to three more. */
static inline void unpack(const uint32_t *words, int64_t at, int64_t width, int64_t n, int64_t *out)
{
    int64_t rows = (n + 3) >> 2;
    if (width == 0) {
        fill(out, rows << 2, 0);
        return;
    }
    /* In 32 bits as far as may be: twice as many at once as in 64. */
    uint32_t mask = (uint32_t)((INT64_C(1) << width) - 1);
    int64_t bit = 0;
    for (int64_t row = 0; row < rows; row++, bit += width) {
        const uint32_t *from = words + at + ((bit >> 5) << 2);
        int shift = (int)(bit & 31);
        int64_t *to = out + (row << 2);
        if (shift + width <= 32) {
            for (int lane = 0; lane < 4; lane++)
                to[lane] = from[lane] >> shift & mask;
        } else {
            for (int lane = 0; lane < 4; lane++)
                to[lane] = (from[lane] >> shift | from[4 + lane] << (32 - shift)) & mask;
        }
    }
}

/* Decode one value of a column. */
static inline int64_t pick(const uint32_t *words, int64_t at, int64_t width, int64_t i)
{
    int64_t bit = (i >> 2) * width;
    const uint32_t *from = words + at + ((bit >> 5) << 2) + (i & 3);
    int shift = (int)(bit & 31);
    int64_t value = (int64_t)from[0] >> shift;
    if (shift + width > 32)
        value |= (int64_t)from[4] << (32 - shift);
    return value & ((INT64_C(1) << width) - 1);
}

/* Return how many postings a block has. */
static inline int64_t block_size(int64_t n_postings, int64_t block)
{
    return least_of(BLOCK, n_postings - block * BLOCK);
}

/* Return the bits of a field's frequencies, by the second word of a block. */
static inline int64_t width_of(int64_t widths, int field)
{
    return widths >> (5 * field) & 31;
}

/* Return how many words the block at `at` has. */
static inline int64_t block_words(const uint32_t *words, int64_t at, int64_t n)
{
    int64_t rows = (n + 3) >> 2;
    int64_t total = HEAD_WORDS + column_words(rows, words[at] & 63);
    for (int field = 0; field < FIELD_COUNT; field++)
        total += column_words(rows, width_of(words[at + 1], field));
    return total;
}

/* Decode the documents of a block, and up to three numbers more. */
static inline void decode_documents(
    const uint32_t *words, int64_t at, int64_t n, int64_t previous, int64_t *documents)
{
    unpack(words, at + HEAD_WORDS, words[at] & 63, n, documents);
    for (int64_t i = 0; i < n; i++) {
        previous += documents[i] + 1;
        documents[i] = previous;
    }
}

/* Decode all frequencies of a block: frequencies[field * BLOCK + i]. */
static inline void decode_frequencies(const uint32_t *words, int64_t at, int64_t n, int64_t *frequencies)
{
    int64_t rows = (n + 3) >> 2;
    int64_t head = words[at];
    int64_t column = at + HEAD_WORDS + column_words(rows, head & 63);
    for (int field = 0; field < FIELD_COUNT; field++) {
        int64_t width = width_of(words[at + 1], field);
        int64_t *out = frequencies + field * BLOCK;
        unpack(words, column, width, n, out);
        if (head >> (6 + field) & 1)
            for (int64_t i = 0; i < n; i++)
                out[i]++;
        column += column_words(rows, width);
    }
}

/* Decode a list of fewer than BLOCK postings as the two functions above do; return bits of their fields. */
static inline int64_t decode_rare(
    const uint8_t *data, int64_t at, int64_t n, int64_t *documents, int64_t *frequencies)
{
    int64_t document = -1, fields = 0;
    for (int field = 0; field < FIELD_COUNT; field++)
        fill(frequencies + field * BLOCK, n, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t head = read_varint(data, &at);
        document += head >> 1;
        documents[i] = document;
        if (head & 1) {
            frequencies[BODY * BLOCK + i] = 1;
            fields |= 1 << BODY;
            continue;
        }
        int bits = data[at++];
        if (bits & RARE_BODY) {
            frequencies[BODY * BLOCK + i] = RARE_BODY_LEAST + (bits & ~RARE_BODY);
            fields |= 1 << BODY;
            continue;
        }
        bool are_once = bits & RARE_ONCE;
        fields |= bits &= ~RARE_ONCE;
        for (int field = 0; field < FIELD_COUNT; field++)
            if (bits >> field & 1)
                frequencies[field * BLOCK + i] = are_once ? 1 : read_varint(data, &at);
    }
    return fields;
}

/* Return the word at which the summary of a long list is whose bytes start at `start`. */
static inline int64_t table_at(int64_t start)
{
    return (start + 3) >> 2;
}

static inline int64_t block_count(int64_t n_postings)
{
    return (n_postings + BLOCK - 1) / BLOCK;
}

/* Decode one block of a list, long or short (which has one), with frequencies; return its size. */
static inline int64_t load_block(
    const uint8_t *data, const uint32_t *words, int64_t start, int64_t n_postings, int64_t block,
    int64_t *documents, int64_t *frequencies)
{
    if (n_postings < BLOCK) {
        decode_rare(data, start, n_postings, documents, frequencies);
        return n_postings;
    }
    int64_t table = table_at(start);
    int64_t entry = table + SKIP_WORDS * (1 + block);
    int64_t at = table + SKIP_WORDS * (1 + block_count(n_postings)) + words[entry + 1];
    int64_t previous = block ? (int64_t)words[entry - SKIP_WORDS] : -1;
    int64_t n = block_size(n_postings, block);
    decode_documents(words, at, n, previous, documents);
    decode_frequencies(words, at, n, frequencies);
    return n;
}

/* Return the index after n varints. */
static inline int64_t skip_varints(const uint8_t *data, int64_t at, int64_t n)
{
    while (n)
        if (data[at++] < 128)
            n--;
    return at;
}

KERNEL(documents_of, "bwnnI", {
    Bytes data;
    Words words;
    int64_t start;
    int64_t n_postings;
    MutableInts documents;
})
{
    int64_t frequencies[FREQUENCIES_ROOM];
    int64_t n_postings = a->n_postings;
    if (n_postings < BLOCK) {
        decode_rare(a->data.at, a->start, n_postings, a->documents.at, frequencies);
        return n_postings;
    }
    const uint32_t *words = a->words.at;
    int64_t n_blocks = block_count(n_postings);
    int64_t table = table_at(a->start);
    int64_t base = table + SKIP_WORDS * (1 + n_blocks);
    int64_t previous = -1;
    for (int64_t block = 0; block < n_blocks; block++) {
        int64_t entry = table + SKIP_WORDS * (1 + block);
        int64_t n = block_size(n_postings, block);
        decode_documents(words, base + words[entry + 1], n, previous, a->documents.at + block * BLOCK);
        previous = words[entry];
    }
    return n_postings;
}
