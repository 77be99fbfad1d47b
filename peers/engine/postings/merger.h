/* The kernel of merger.py. */

#pragma once

#include "peers/engine/postings/reader.h"

/* Terms of segments, and how they become those of one segment. */
typedef struct {
    Ints starts; /* of each source: where its postings start */
    Ints doc_freqs; /* how many these are */
    Ints places; /* where its positions start */
    Ints place_ends; /* and end */
    Ints bases; /* where the documents of its segment start in `documents` */
    Ints order; /* the sources, those of one term side by side */
    Ints order_starts; /* terms + 1: where the sources of each term start in `order` */
} Sources;
#define SOURCES "(iiiiiii)"

/* Documents with new data from links: the last segment has this data, and nothing else. */
typedef struct {
    Bytes is_relinked; /* of each new document; empty when there is none, and no such segment */
    Bytes fields; /* of each term the fields, a bit for each, that it has from links alone */
    int64_t base; /* where the documents of that segment start in `documents` */
} Relinked;
#define RELINKED "(bbn)"

/* Return how many postings a term has in all segments, and how many bytes of positions. */
static inline int64_t sizes_of(const Sources *sources, int64_t term, int64_t *n_position_bytes)
{
    int64_t n_postings = 0;
    *n_position_bytes = 0;
    for (int64_t i = sources->order_starts.at[term]; i < sources->order_starts.at[term + 1]; i++) {
        int64_t source = sources->order.at[i];
        n_postings += sources->doc_freqs.at[source];
        *n_position_bytes += sources->place_ends.at[source] - sources->places.at[source];
    }
    return n_postings;
}

/* Go on to the next posting of a live document, return its new number; NO_POSTING when there is none. */
static inline int64_t next_live(Reader *reader, const int64_t *documents, int64_t base)
{
    for (;;) {
        int64_t document = document_at(reader);
        if (document == NO_POSTING)
            return NO_POSTING;
        int64_t new_document = documents[base + document];
        if (new_document >= 0)
            return new_document;
        skip_posting(reader);
    }
}

/* Return where the least of n numbers is, at least one; the first of equal ones. */
static inline int64_t place_of_least(const int64_t *numbers, int64_t n)
{
    int64_t least = 0;
    for (int64_t i = 1; i < n; i++)
        if (numbers[i] < numbers[least])
            least = i;
    return least;
}

/* Return whether a field of a document comes from its old posting, or else from that of its links. */
static inline bool is_kept(int64_t from_links, int field)
{
    return !(from_links >> field & 1);
}

/* Write the posting of a relinked document: the fields that links tell from the reader of links, the others
   from the old one. Each of the readers stands at the document, or is NULL; both go on to the next posting.

   Returns the index after the positions, -1 if nothing was written, for the term is not in the document. */
static inline int64_t join_posting(
    Reader *old, Reader *links, int64_t from_links, Writer *writer, int64_t document, uint8_t *positions,
    int64_t first, int64_t place)
{
    int64_t frequencies[FIELD_COUNT], n = 0;
    for (int field = 0; field < FIELD_COUNT; field++) {
        const Reader *reader = is_kept(from_links, field) ? old : links;
        frequencies[field] = reader ? reader->frequencies[field * BLOCK + (reader->at & (BLOCK - 1))] : 0;
        n += frequencies[field];
    }
    if (n == 0) { /* only links had the term, and have it no more */
        skip_posting(old);
        return -1;
    }
    int64_t to = begin_posting(writer, document, place - first);
    for (int field = 0; field < FIELD_COUNT; field++) {
        writer->frequencies[field * BLOCK + to] = frequencies[field];
        /* What is not taken from the old posting is passed by. */
        for (int is_old = 1; is_old >= 0; is_old--) {
            Reader *reader = is_old ? old : links;
            if (reader == NULL || !reader->has_positions)
                continue;
            int64_t here = reader->frequencies[field * BLOCK + (reader->at & (BLOCK - 1))];
            int64_t end = skip_varints(reader->lists->positions.at, reader->place, here);
            if (is_kept(from_links, field) == (bool)is_old) {
                memcpy(positions + place, reader->lists->positions.at + reader->place,
                       (size_t)(end - reader->place));
                place += end - reader->place;
            }
            reader->place = end;
        }
    }
    if (old)
        old->at++;
    if (links)
        links->at++;
    return place;
}

KERNEL(merge_postings, INVERTED SOURCES RELINKED "iw2n" WRITTEN, {
    Inverted lists;
    Sources sources;
    Relinked relinked;
    Ints documents;
    WordRows lengths;
    int64_t first_term;
    Written written;
})
{
    const Sources *sources = &a->sources;
    const Relinked *relinked = &a->relinked;
    const Written *written = &a->written;
    const int64_t *order_starts = sources->order_starts.at, *documents = a->documents.at;
    int64_t n_terms = sources->order_starts.size - 1;
    int64_t n_sources_max = 0, widest = 0, n_position_bytes;
    for (int64_t term = 0; term < n_terms; term++) {
        n_sources_max = most_of(n_sources_max, order_starts[term + 1] - order_starts[term]);
        widest = most_of(widest, sizes_of(sources, term, &n_position_bytes));
    }
    Writer writer;
    if (!open_writer(&writer, widest, a->lengths))
        return NO_MEMORY;
    Store store;
    size_t n_bytes = stored_bytes(n_sources_max, sizeof(Reader)) + stored_bytes(n_sources_max, sizeof(int64_t));
    if (!open_store(&store, n_bytes)) {
        close_writer(&writer);
        return NO_MEMORY;
    }
    Reader *readers = take(&store, n_sources_max, sizeof(Reader));
    int64_t *next_documents = take_ints(&store, n_sources_max); /* what each reader has to give */
    int64_t at = written->starts.at[a->first_term];
    int64_t place = written->places.at[a->first_term];
    int64_t term = a->first_term;
    for (; term < n_terms; term++) {
        /* Whether there is room is asked by the worst case, before anything of the term is written. */
        const int64_t *order = sources->order.at + order_starts[term];
        int64_t n_sources = order_starts[term + 1] - order_starts[term];
        int64_t n_postings = sizes_of(sources, term, &n_position_bytes);
        int64_t room = n_postings * POSTING_BYTES_MAX + ENTRY_BYTES_MAX;
        if (at + room > written->postings.size || place + n_position_bytes > written->positions.size)
            break;
        /* Each reader goes to the first live posting of its source. */
        for (int64_t row = 0; row < n_sources; row++) {
            int64_t source = order[row];
            int64_t first = sources->places.at[source];
            bool has_positions = sources->place_ends.at[source] > first;
            begin_reading(
                readers + row, &a->lists, sources->starts.at[source], sources->doc_freqs.at[source], 0, first,
                has_positions);
            next_documents[row] = next_live(readers + row, documents, sources->bases.at[source]);
        }
        int64_t first_place = place, doc_freq = 0;
        begin_list(&writer);
        /* The posting with the least new document is next, as often as there is one. */
        int64_t last = n_sources - 1;
        bool has_links = relinked->is_relinked.size && sources->bases.at[order[last]] == relinked->base;
        for (;;) {
            int64_t row = place_of_least(next_documents, n_sources);
            int64_t document = next_documents[row];
            if (document == NO_POSTING)
                break;
            if (relinked->is_relinked.size && relinked->is_relinked.at[document]) {
                /* That of its links comes after its old one. */
                bool is_linked = has_links && next_documents[last] == document;
                int64_t end = join_posting(
                    has_links && row == last ? NULL : readers + row, is_linked ? readers + last : NULL,
                    relinked->fields.at[term], &writer, document, written->positions.at, first_place, place);
                doc_freq += end >= 0;
                place = end >= 0 ? end : place;
                if (is_linked && row != last)
                    next_documents[last] = next_live(readers + last, documents, relinked->base);
            } else {
                place = copy_posting(
                    readers + row, &writer, document, written->positions.at, first_place, place);
                doc_freq++;
            }
            next_documents[row] = next_live(readers + row, documents, sources->bases.at[order[row]]);
        }
        /* A term of deleted documents only has no list; its start is that of the next term. */
        written->doc_freqs.at[term] += doc_freq;
        if (doc_freq)
            at = end_list(&writer, written->postings.at, written->words.at, at);
        written->starts.at[term + 1] = at;
        written->places.at[term + 1] = place;
    }
    close_store(&store);
    close_writer(&writer);
    return term;
}
