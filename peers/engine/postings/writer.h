/* Write the list of one entry, posting by posting; how is in writer.py. */

#pragma once

#include "peers/engine/postings/bounds.h"
#include "peers/engine/postings/format.h"

#define NO_LENGTH (INT64_C(1) << 62) /* longer than any */

/* Room for one list: the postings of a block, and the blocks before them. */
typedef struct {
    int64_t pending; /* postings that are in no block yet */
    int64_t n_blocks;
    int64_t used; /* words of the blocks */
    int64_t previous; /* the last document that is in a block */
    int64_t place; /* where the positions of the pending block start, from the list's first */
    int64_t documents[DOCUMENTS_ROOM]; /* of the postings that are pending */
    int64_t frequencies[FREQUENCIES_ROOM]; /* of the i-th of them in a field at field * BLOCK + i */
    Point points[POINTS_COLLECTED + 1]; /* the staircase of a block */
    int64_t most[FIELD_COUNT]; /* the greatest frequency in a block */
    int64_t least[FIELD_COUNT]; /* the least length in a block */
    uint32_t *skips; /* the summary and the skip entries */
    uint32_t *blocks;
    int64_t n_skip_words, n_block_words; /* for which there is room */
    const uint32_t *lengths; /* (documents, FIELD_COUNT) */
    Store store;
} Writer;

/* The lists of entries as they are written, one after the other. */
typedef struct {
    MutableBytes postings;
    MutableWords words; /* another view of these bytes */
    MutableBytes positions;
    MutableInts starts; /* entries + 1: where the postings of each start */
    MutableInts places; /* entries + 1: where its positions do */
    MutableInts doc_freqs;
} Written;
#define WRITTEN "(BWBIII)"

/* Make room for lists of so many postings at most, of documents with these lengths; false without memory. */
static bool open_writer(Writer *writer, int64_t n_postings_max, WordRows lengths)
{
    memset(writer, 0, sizeof *writer);
    writer->lengths = lengths.at;
    writer->n_skip_words = SKIP_WORDS * (2 + n_postings_max / BLOCK + 1);
    writer->n_block_words = (n_postings_max + BLOCK) * (POSTING_BYTES_MAX / 4) + ENTRY_BYTES_MAX;
    size_t n_bytes = stored_bytes(writer->n_skip_words, sizeof(uint32_t));
    if (!open_store(&writer->store, n_bytes + stored_bytes(writer->n_block_words, sizeof(uint32_t))))
        return false;
    writer->skips = take(&writer->store, writer->n_skip_words, sizeof(uint32_t));
    writer->blocks = take(&writer->store, writer->n_block_words, sizeof(uint32_t));
    return true;
}

static inline void close_writer(Writer *writer)
{
    close_store(&writer->store);
}

/* Forget the list before. */
static inline void begin_list(Writer *writer)
{
    writer->pending = writer->n_blocks = writer->used = writer->place = 0;
    writer->previous = -1;
}

static inline int64_t bits_of(int64_t value)
{
    return value ? 64 - __builtin_clzll((unsigned long long)value) : 0;
}

/* Write n values less `less` as a column at words[at]; return the index after it. */
static inline int64_t pack(
    const int64_t *values, int64_t n, int64_t less, int64_t width, uint32_t *words, int64_t at)
{
    int64_t end = at + column_words((n + 3) >> 2, width);
    memset(words + at, 0, (size_t)(end - at) * sizeof(uint32_t));
    if (width) {
        for (int64_t i = 0; i < n; i++) {
            int64_t value = values[i] - less;
            int64_t bit = (i >> 2) * width;
            int64_t j = at + ((bit >> 5) << 2) + (i & 3);
            int shift = (int)(bit & 31);
            words[j] |= (uint32_t)(value << shift);
            if (shift + width > 32)
                words[j + 4] = (uint32_t)(value >> (32 - shift));
        }
    }
    return end;
}

/* Note the greatest frequencies; make the two words of a block but for the bits of a delta. */
static inline void measure_block(Writer *writer, int64_t n, int64_t *head, int64_t *widths)
{
    *head = *widths = 0;
    for (int field = 0; field < FIELD_COUNT; field++) {
        const int64_t *frequencies = writer->frequencies + field * BLOCK;
        int64_t greatest = frequencies[0], smallest = frequencies[0];
        for (int64_t i = 1; i < n; i++) {
            greatest = most_of(greatest, frequencies[i]);
            smallest = least_of(smallest, frequencies[i]);
        }
        int64_t less = smallest ? 1 : 0;
        writer->most[field] = greatest;
        *head |= less << (6 + field);
        *widths |= bits_of(greatest - less) << (5 * field);
    }
}

/* Write what bounds the scores of the postings. */
static inline void bound_block(Writer *writer, int64_t n, int64_t entry)
{
    int64_t n_points = 0;
    for (int field = 0; field < FIELD_COUNT; field++) {
        if (writer->most[field] == 0)
            continue;
        int64_t shortest = NO_LENGTH;
        for (int64_t i = 0; i < n; i++) {
            int64_t frequency = writer->frequencies[field * BLOCK + i];
            if (frequency == 0)
                continue;
            int64_t length = writer->lengths[writer->documents[i] * FIELD_COUNT + field];
            if (field == BODY)
                n_points = add_point(
                    writer->points, n_points, least_of(frequency, FREQUENCY_ANY),
                    least_of(length, LENGTH_MAX));
            else
                shortest = least_of(shortest, length);
        }
        writer->least[field] = shortest;
    }
    write_points(writer->points, n_points, writer->skips, entry);
    write_fields(writer->most, writer->least, writer->skips, entry);
}

/* Replace documents by what they are more than the one before, less 1; return how many bits it takes. */
static inline int64_t make_deltas(int64_t *documents, int64_t n, int64_t previous)
{
    int64_t together = 0;
    /* From the end, so that what is before is still there. */
    for (int64_t i = n - 1; i >= 0; i--) {
        documents[i] -= (i ? documents[i - 1] : previous) + 1;
        together |= documents[i];
    }
    return bits_of(together);
}

/* Pack what is pending, at least one posting, into a block, and make its skip entry. */
static void pack_block(Writer *writer)
{
    int64_t n = writer->pending;
    int64_t entry = SKIP_WORDS * (1 + writer->n_blocks);
    int64_t at = writer->used;
    int64_t last = writer->documents[n - 1];
    writer->skips[entry] = (uint32_t)last;
    writer->skips[entry + 1] = (uint32_t)at;
    writer->skips[entry + 2] = (uint32_t)writer->place;
    int64_t head, widths;
    measure_block(writer, n, &head, &widths);
    bound_block(writer, n, entry);
    head |= make_deltas(writer->documents, n, writer->previous);
    writer->blocks[at] = (uint32_t)head;
    writer->blocks[at + 1] = (uint32_t)widths;
    at = pack(writer->documents, n, 0, head & 63, writer->blocks, at + HEAD_WORDS);
    for (int field = 0; field < FIELD_COUNT; field++) {
        const int64_t *frequencies = writer->frequencies + field * BLOCK;
        at = pack(frequencies, n, head >> (6 + field) & 1, width_of(widths, field), writer->blocks, at);
    }
    writer->used = at;
    writer->previous = last;
    writer->n_blocks++;
    writer->pending = 0;
}

/* Begin the posting of a document behind those before; its frequencies are to be set, also those of 0.

   Returns where the frequencies go: that in a field to frequencies[field * BLOCK + where]. */
static inline int64_t begin_posting(Writer *writer, int64_t document, int64_t place)
{
    if (writer->pending == BLOCK)
        pack_block(writer);
    if (writer->pending == 0)
        writer->place = place;
    writer->documents[writer->pending] = document;
    return writer->pending++;
}

/* Make room for a block of postings that are put in as a whole, behind blocks that are full. */
static inline void begin_block(Writer *writer)
{
    if (writer->pending)
        pack_block(writer);
}

/* Take the first n documents and frequencies in the writer as postings; `place` as in `begin_posting`. */
static inline void end_block(Writer *writer, int64_t n, int64_t place)
{
    writer->pending = n;
    writer->place = place;
}

/* Write the summary, which bounds all blocks. */
static void summarise(Writer *writer)
{
    uint32_t *skips = writer->skips;
    for (int field = 0; field < FIELD_COUNT; field++) {
        writer->most[field] = 0;
        writer->least[field] = NO_LENGTH;
    }
    int64_t n_points = 0;
    for (int64_t block = 0; block < writer->n_blocks; block++) {
        int64_t entry = SKIP_WORDS * (1 + block);
        for (int i = 0; i < POINTS; i++) {
            int64_t point = skips[entry + POINTS_AT + i];
            if (point)
                n_points = add_point(writer->points, n_points, point >> 16, point & 0xFFFF);
        }
        for (int i = 0; i < FIELD_COUNT - 1; i++) {
            int64_t bounds = field_bounds(skips, entry, i);
            if (bounds) {
                int field = other_field(i);
                writer->most[field] = most_of(writer->most[field], bounds >> 16);
                writer->least[field] = least_of(writer->least[field], bounds & 0xFFFF);
            }
        }
    }
    skips[0] = (uint32_t)writer->previous;
    skips[1] = (uint32_t)writer->used;
    skips[2] = 0;
    write_points(writer->points, n_points, skips, 0);
    write_fields(writer->most, writer->least, skips, 0);
}

/* Write a list of fewer than BLOCK postings; return the index after it. */
static int64_t write_rare(const Writer *writer, uint8_t *data, int64_t at)
{
    int64_t previous = -1;
    for (int64_t i = 0; i < writer->pending; i++) {
        int bits = 0;
        int64_t greatest = 0, in_body = writer->frequencies[BODY * BLOCK + i];
        for (int field = 0; field < FIELD_COUNT; field++) {
            int64_t frequency = writer->frequencies[field * BLOCK + i];
            bits |= (frequency > 0) << field;
            greatest = most_of(greatest, frequency);
        }
        int64_t delta = writer->documents[i] - previous;
        previous = writer->documents[i];
        if (bits == 1 << BODY && in_body == 1) {
            at = write_varint(data, at, delta << 1 | 1);
            continue;
        }
        at = write_varint(data, at, delta << 1);
        if (bits == 1 << BODY && in_body < RARE_BODY_LEAST + RARE_BODY) {
            data[at++] = (uint8_t)(RARE_BODY | (in_body - RARE_BODY_LEAST));
            continue;
        }
        data[at++] = (uint8_t)(greatest == 1 ? RARE_ONCE | bits : bits);
        if (greatest == 1)
            continue;
        for (int field = 0; field < FIELD_COUNT; field++)
            if (writer->frequencies[field * BLOCK + i])
                at = write_varint(data, at, writer->frequencies[field * BLOCK + i]);
    }
    return at;
}

/* Write the list to data[at:], of which `words` is another view; return the index after it. */
static int64_t end_list(Writer *writer, uint8_t *data, uint32_t *words, int64_t at)
{
    if (writer->n_blocks == 0 && writer->pending < BLOCK)
        return write_rare(writer, data, at);
    pack_block(writer);
    summarise(writer);
    int64_t start = table_at(at);
    memset(data + at, 0, (size_t)((start << 2) - at));
    int64_t n_skip_words = SKIP_WORDS * (1 + writer->n_blocks);
    memcpy(words + start, writer->skips, (size_t)n_skip_words * sizeof(uint32_t));
    start += n_skip_words;
    memcpy(words + start, writer->blocks, (size_t)writer->used * sizeof(uint32_t));
    return (start + writer->used) << 2;
}

/* Write the list as that of the n-th entry, and where the next begins. */
static inline void end_entry(Writer *writer, const Written *written, int64_t entry, int64_t *at, int64_t place)
{
    *at = end_list(writer, written->postings.at, written->words.at, *at);
    written->starts.at[entry + 1] = *at;
    written->places.at[entry + 1] = place;
}
