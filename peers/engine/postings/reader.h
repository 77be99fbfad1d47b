/* Read lists posting by posting, positions too: the code that merging and slicing share; see reader.py. */

#pragma once

#include "peers/engine/postings/writer.h"

/* Behind the last posting; more than any document. */
#define NO_POSTING (INT64_C(1) << 62)

/* Lists of entries as they are read. */
typedef struct {
    Bytes postings;
    Words words; /* another view of these bytes */
    Bytes positions;
} Inverted;
#define INVERTED "(bwb)"

/* A reader of a list: it stands at a posting, or behind the last one. */
typedef struct {
    const Inverted *lists;
    int64_t start, n_postings;
    bool has_positions;
    int64_t at; /* the number of the posting it stands at */
    int64_t loaded; /* the block that is decoded */
    int64_t place; /* where the positions of the posting start */
    int64_t documents[DOCUMENTS_ROOM];
    int64_t frequencies[FREQUENCIES_ROOM];
} Reader;

/* Stand at a posting of a list, whose positions start at a place. */
static inline void begin_reading(
    Reader *reader, const Inverted *lists, int64_t start, int64_t n_postings, int64_t at, int64_t place,
    bool has_positions)
{
    reader->lists = lists;
    reader->start = start;
    reader->n_postings = n_postings;
    reader->has_positions = has_positions;
    reader->at = at;
    reader->loaded = -1;
    reader->place = place;
}

/* Return the document of the posting, NO_POSTING behind the last one. */
static inline int64_t document_at(Reader *reader)
{
    if (reader->at == reader->n_postings)
        return NO_POSTING;
    int64_t block = reader->at >> BLOCK_BITS;
    if (block != reader->loaded) {
        reader->loaded = block;
        load_block(
            reader->lists->postings.at, reader->lists->words.at, reader->start, reader->n_postings, block,
            reader->documents, reader->frequencies);
    }
    return reader->documents[reader->at & (BLOCK - 1)];
}

/* Go on to the next posting, after `document_at`. */
static inline void skip_posting(Reader *reader)
{
    int64_t i = reader->at & (BLOCK - 1);
    if (reader->has_positions) {
        int64_t n = 0;
        for (int field = 0; field < FIELD_COUNT; field++)
            n += reader->frequencies[field * BLOCK + i];
        reader->place = skip_varints(reader->lists->positions.at, reader->place, n);
    }
    reader->at++;
}

/* Write the posting, as one of another document, and go on to the next, after `document_at`; its positions
   are written at `place`, where those of the list start at `first`. Returns the index after them. */
static inline int64_t copy_posting(
    Reader *reader, Writer *writer, int64_t document, uint8_t *positions, int64_t first, int64_t place)
{
    int64_t i = reader->at & (BLOCK - 1);
    int64_t to = begin_posting(writer, document, place - first);
    int64_t n = 0;
    for (int field = 0; field < FIELD_COUNT; field++) {
        int64_t frequency = reader->frequencies[field * BLOCK + i];
        writer->frequencies[field * BLOCK + to] = frequency;
        n += frequency;
    }
    if (reader->has_positions) {
        const uint8_t *from = reader->lists->positions.at;
        int64_t at = reader->place;
        while (n) {
            uint8_t byte = from[at++];
            positions[place++] = byte;
            if (byte < 128)
                n--;
        }
        reader->place = at;
    }
    reader->at++;
    return place;
}
