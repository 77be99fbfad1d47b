/* The kernels of slicer.py. */

#pragma once

#include "peers/engine/postings/reader.h"

KERNEL(begin_slices, INVERTED "iiI", {
    Inverted lists;
    Ints starts;
    Ints doc_freqs;
    MutableInts pending;
})
{
    int64_t documents[DOCUMENTS_ROOM], frequencies[FREQUENCIES_ROOM];
    for (int64_t term = 0; term < a->doc_freqs.size; term++) {
        int64_t at = a->starts.at[term], n_postings = a->doc_freqs.at[term];
        if (n_postings < BLOCK) {
            a->pending.at[term] = (read_varint(a->lists.postings.at, &at) >> 1) - 1;
        } else {
            load_block(a->lists.postings.at, a->lists.words.at, at, n_postings, 0, documents, frequencies);
            a->pending.at[term] = documents[0];
        }
    }
    return a->pending.size;
}

/* How far the terms of a segment have been taken. */
typedef struct {
    MutableInts pending; /* of each term the document of the posting that is next, NO_POSTING without one */
    MutableInts taken; /* how many postings are before that one */
    MutableInts places; /* where its positions start */
} Cursors;
#define CURSORS "(III)"

KERNEL(slice_postings, INVERTED "iibiw2n" CURSORS "I" WRITTEN, {
    Inverted lists;
    Ints starts;
    Ints doc_freqs;
    Bytes is_atom;
    Ints documents;
    WordRows lengths;
    int64_t stop;
    Cursors cursors;
    MutableInts terms;
    Written written;
})
{
    const Cursors *cursors = &a->cursors;
    const Written *written = &a->written;
    int64_t widest = 0;
    for (int64_t term = 0; term < a->doc_freqs.size; term++)
        widest = most_of(widest, a->doc_freqs.at[term]);
    Writer writer;
    if (!open_writer(&writer, widest, a->lengths))
        return NO_MEMORY;
    Reader reader;
    int64_t at = 0, place = 0, n_terms = 0;
    for (int64_t term = 0; term < a->doc_freqs.size; term++) {
        if (cursors->pending.at[term] >= a->stop)
            continue;
        /* Go on where the slice before ended. */
        begin_reading(
            &reader, &a->lists, a->starts.at[term], a->doc_freqs.at[term], cursors->taken.at[term],
            cursors->places.at[term], a->is_atom.at[term]);
        int64_t first_place = place, n_kept = 0;
        begin_list(&writer);
        int64_t document = document_at(&reader);
        while (document < a->stop) {
            int64_t new_document = a->documents.at[document];
            if (new_document >= 0) {
                place = copy_posting(
                    &reader, &writer, new_document, written->positions.at, first_place, place);
                n_kept++;
            } else {
                skip_posting(&reader);
            }
            document = document_at(&reader);
        }
        /* Note where the next slice begins. */
        cursors->pending.at[term] = document;
        cursors->taken.at[term] = reader.at;
        cursors->places.at[term] = reader.place;
        if (n_kept) {
            a->terms.at[n_terms] = term;
            written->doc_freqs.at[n_terms] = n_kept;
            end_entry(&writer, written, n_terms, &at, place);
            n_terms++;
        }
    }
    close_writer(&writer);
    return n_terms;
}
