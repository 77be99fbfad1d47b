/* The kernel of builder.py. */

#pragma once

#include "peers/engine/postings/writer.h"

/* Set the frequencies of a posting from the occurrences in its document, and write their positions.

   Returns the index of the first occurrence in another document. */
static inline int64_t count_occurrences(
    Writer *writer, int64_t to, const int64_t *keys, int64_t i, int64_t end, bool is_atom,
    uint8_t *positions, int64_t *place)
{
    int64_t *frequencies = writer->frequencies + to;
    for (int field = 0; field < FIELD_COUNT; field++)
        frequencies[field * BLOCK] = 0;
    int64_t document = keys[i] >> DOCUMENT_SHIFT;
    int64_t last_field = -1, last_position = 0;
    for (; i < end && keys[i] >> DOCUMENT_SHIFT == document; i++) {
        int64_t field = keys[i] >> FIELD_SHIFT & 15;
        frequencies[field * BLOCK]++;
        if (is_atom) {
            int64_t position = keys[i] & POSITION_MASK;
            if (field != last_field) {
                last_field = field;
                last_position = 0;
            }
            *place = write_varint(positions, *place, position - last_position);
            last_position = position;
        }
    }
    return i;
}

KERNEL(build_postings, "iiibw2" WRITTEN, {
    Ints starts;
    Ints keys;
    Ints order;
    Bytes is_atom;
    WordRows lengths;
    Written written;
})
{
    const int64_t *starts = a->starts.at, *keys = a->keys.at, *order = a->order.at;
    const Written *written = &a->written;
    int64_t widest = 0;
    for (int64_t term = 0; term < a->order.size; term++)
        widest = most_of(widest, starts[order[term] + 1] - starts[order[term]]);
    Writer writer;
    if (!open_writer(&writer, least_of(widest, a->lengths.rows), a->lengths))
        return NO_MEMORY;
    int64_t at = 0, place = 0, n_postings = 0;
    for (int64_t term = 0; term < a->order.size; term++) {
        int64_t i = starts[order[term]], end = starts[order[term] + 1];
        bool is_atom = a->is_atom.at[term];
        int64_t first_place = place, doc_freq = 0;
        begin_list(&writer);
        while (i < end) {
            int64_t to = begin_posting(&writer, keys[i] >> DOCUMENT_SHIFT, place - first_place);
            i = count_occurrences(&writer, to, keys, i, end, is_atom, written->positions.at, &place);
            doc_freq++;
        }
        written->doc_freqs.at[term] = doc_freq;
        n_postings += doc_freq;
        end_entry(&writer, written, term, &at, place);
    }
    close_writer(&writer);
    return n_postings;
}
