/* The kernel of inspection.py: lists that nobody vouches for. */

#pragma once

#include "peers/engine/postings/reader.h"

/* Tell whether the documents of a block are behind those before, ascending, and there. */
static bool are_ascending(const int64_t *documents, int64_t n, int64_t previous, int64_t n_documents)
{
    for (int64_t i = 0; i < n; i++) {
        if (documents[i] <= previous || documents[i] >= n_documents)
            return false;
        previous = documents[i];
    }
    return true;
}

/* Add the occurrences of a block to the totals, if they count; false when a posting cannot be. */
static bool add_occurrences(
    const int64_t *documents, const int64_t *frequencies, int64_t n, bool counts, int64_t *totals)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t n_occurrences = 0;
        for (int field = 0; field < FIELD_COUNT; field++) {
            int64_t frequency = frequencies[field * BLOCK + i];
            if (frequency > POSITION_MASK)
                return false;
            n_occurrences += frequency;
            if (counts)
                totals[documents[i] * FIELD_COUNT + field] += frequency;
        }
        if (n_occurrences == 0)
            return false;
    }
    return true;
}

/* Return the index after the positions of a posting; -1 when they are not ascending in each field. */
static int64_t inspect_positions(
    const uint8_t *positions, int64_t place, int64_t end, const int64_t *frequencies, int64_t i)
{
    for (int field = 0; field < FIELD_COUNT; field++) {
        int64_t position = 0;
        for (int64_t n = 0; n < frequencies[field * BLOCK + i]; n++) {
            int64_t step = read_checked(positions, &place, end);
            position += step;
            if (step < least_of(n, 1) || position > POSITION_MASK)
                return -1;
        }
    }
    return place;
}

/* Decode a short list that nobody vouches for; false when it is none. */
static bool inspect_rare(
    const uint8_t *data, int64_t at, int64_t end, int64_t n, int64_t *documents, int64_t *frequencies)
{
    int64_t document = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t head = read_checked(data, &at, end);
        if (head < 2)
            return false;
        document += head >> 1;
        documents[i] = document;
        for (int field = 0; field < FIELD_COUNT; field++)
            frequencies[field * BLOCK + i] = 0;
        if (head & 1) {
            frequencies[BODY * BLOCK + i] = 1;
            continue;
        }
        if (at >= end)
            return false;
        int bits = data[at++];
        if (bits & RARE_BODY) {
            frequencies[BODY * BLOCK + i] = RARE_BODY_LEAST + (bits & ~RARE_BODY);
            continue;
        }
        for (int field = 0; field < FIELD_COUNT; field++) {
            if (bits >> field & 1) {
                int64_t frequency = bits & RARE_ONCE ? 1 : read_checked(data, &at, end);
                if (frequency < 1)
                    return false;
                frequencies[field * BLOCK + i] = frequency;
            }
        }
    }
    return at == end;
}

/* Decode a block that nobody vouches for; return the index after it, -1 when it does not fit. */
static int64_t inspect_block(
    const uint32_t *words, int64_t at, int64_t end, int64_t n, int64_t previous, int64_t *documents,
    int64_t *frequencies)
{
    if (at + HEAD_WORDS > end || (words[at] & 63) > 32)
        return -1;
    int64_t after = at + block_words(words, at, n);
    if (after > end)
        return -1;
    decode_documents(words, at, n, previous, documents);
    decode_frequencies(words, at, n, frequencies);
    return after;
}

/* What `inspect_postings` is given, without the writer that it opens. */
typedef struct {
    const Inverted *lists;
    const int64_t *starts, *places, *doc_freqs;
    const uint8_t *counts;
    int64_t n_documents;
    int64_t *totals;
} Inspection;

/* Read the list of a term with every step checked, and write it again: tell whether it is the same. */
static bool inspect_list(const Inspection *o, int64_t term, Writer *writer, uint8_t *again, uint32_t *again_words)
{
    const Inverted *lists = o->lists;
    int64_t start = o->starts[term], end = o->starts[term + 1];
    int64_t place = o->places[term], place_end = o->places[term + 1];
    int64_t n_left = o->doc_freqs[term];
    int64_t at = table_at(start) + SKIP_WORDS * (1 + block_count(n_left));
    int64_t previous = -1;
    begin_list(writer);
    while (n_left) {
        int64_t n = least_of(n_left, BLOCK);
        n_left -= n;
        /* Read a block into the writer. */
        begin_block(writer);
        bool is_right;
        if (o->doc_freqs[term] < BLOCK) {
            is_right = inspect_rare(
                lists->postings.at, start, end, n, writer->documents, writer->frequencies);
        } else {
            at = inspect_block(
                lists->words.at, at, end >> 2, n, previous, writer->documents, writer->frequencies);
            is_right = at >= 0;
        }
        if (!is_right || !are_ascending(writer->documents, n, previous, o->n_documents))
            return false;
        if (!add_occurrences(writer->documents, writer->frequencies, n, o->counts[term], o->totals))
            return false;
        /* Its positions are ascending in each field of each posting. */
        previous = writer->documents[n - 1];
        end_block(writer, n, place - o->places[term]);
        if (place_end > o->places[term]) {
            for (int64_t i = 0; i < n; i++) {
                place = inspect_positions(lists->positions.at, place, place_end, writer->frequencies, i);
                if (place < 0)
                    return false;
            }
        }
    }
    if (place != place_end)
        return false;
    /* Written again at the same place between words, so that the padding is the same, it is the same. */
    int64_t first = start & 3;
    int64_t again_end = end_list(writer, again, again_words, first);
    if (again_end - first != end - start)
        return false;
    return memcmp(again + first, lists->postings.at + start, (size_t)(end - start)) == 0;
}

KERNEL(inspect_postings, INVERTED "iiibw2I", {
    Inverted lists;
    Ints starts;
    Ints places;
    Ints doc_freqs;
    Bytes counts_for_length;
    WordRows lengths;
    MutableInts totals;
})
{
    int64_t widest = 0;
    for (int64_t term = 0; term < a->doc_freqs.size; term++) {
        if (a->doc_freqs.at[term] > a->lengths.rows || a->doc_freqs.at[term] < 1)
            return term;
        widest = most_of(widest, a->doc_freqs.at[term]);
    }
    Inspection inspection = {
        &a->lists, a->starts.at, a->places.at, a->doc_freqs.at, a->counts_for_length.at, a->lengths.rows,
        a->totals.at,
    };
    Writer writer;
    if (!open_writer(&writer, widest, a->lengths))
        return NO_MEMORY;
    uint32_t *again = malloc((size_t)(writer.n_block_words + writer.n_skip_words) * sizeof(uint32_t));
    int64_t term = 0;
    while (again != NULL && term < a->doc_freqs.size
           && inspect_list(&inspection, term, &writer, (uint8_t *)again, again))
        term++;
    if (again == NULL)
        term = NO_MEMORY;
    else if (term == a->doc_freqs.size)
        term = -1;
    free(again);
    close_writer(&writer);
    return term;
}
