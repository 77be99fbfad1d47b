/* Posting lists that are open: each stands at one of its blocks and goes forward only; see lists.py. */

#pragma once

#include "peers/engine/postings/dictionary.h"
#include "peers/engine/postings/format.h"

/* More than any document. */
#define NO_DOCUMENT (INT64_C(1) << 40)

#define ONLY_BODY (1 << BODY)
/* Documents within so many are found in a block by a table, when they are so many, else by bisection. */
#define MARKED_SPAN (1 << 13)
#define MARKED_MIN 12

/* The postings and positions of a segment: views of the same bytes, and the sums of their blocks. */
typedef struct {
    Bytes data;
    Words words;
    Sums summed;
    Sums sums;
    Bytes positions;
    Sums positions_summed;
    Sums positions_sums;
    MutableInts reads; /* see lists.py; usually without room */
} Postings;
#define POSTINGS "(bwssbssI)"

#define OF_POSTINGS 0
#define OF_POSITIONS 1
#define READ_COLUMNS 3

/* An open list. Of a list of fewer than BLOCK postings there is one block, decoded when it is opened. */
typedef struct {
    int64_t n_postings;
    int64_t table; /* the word at which the skip entries of a long list are; the summary is before them */
    int64_t n_blocks;
    int64_t data; /* the word at which its blocks are */
    int64_t checked; /* the last block of bytes that was compared with its sum */
    int64_t counted; /* the last block whose bytes are in `bytes_read` */
    /* Where it stands. */
    int64_t at_block;
    int64_t last; /* the last document of that block */
    int64_t size;
    int64_t at;
    /* Of the frequencies in the block `read`: bits of the fields that occur, and those of the body. */
    int64_t read;
    int64_t fields;
    int64_t width;
    int64_t least;
    int64_t column;
    int64_t decoded; /* the block whose frequencies are */
    /* Where in the positions of the block `placed` it is, and behind how many of them. */
    int64_t placed;
    int64_t placed_at;
    int64_t placed_before;
    int64_t places_checked; /* the last block of bytes of positions that was compared with its sum */
    int64_t documents[DOCUMENTS_ROOM]; /* of the block, NO_DOCUMENT behind the last one */
    int64_t frequencies[FREQUENCIES_ROOM];
    int64_t before[BLOCK]; /* of the postings of the block `placed`, occurrences before each */
} List;

/* Open lists of a segment. */
typedef struct {
    const Postings *postings;
    List *rows;
    int64_t bytes_read; /* of postings: short lists, skip tables, blocks that were entered or read */
    int64_t damage; /* the first damaged block of postings that was met, -1: none */
    int64_t positions_damage; /* likewise */
    bool has_marks; /* these are written to at last: zeroing them costs as much as a search of rare words */
    uint8_t marks[MARKED_SPAN]; /* where in a block a document may be, less than BLOCK */
} Lists;

/* Lists take much room: they are part of what a kernel takes from its store. */
static inline size_t lists_bytes(int64_t n_lists)
{
    return stored_bytes(1, sizeof(Lists)) + stored_bytes(n_lists, sizeof(List));
}

static Lists *take_lists(Store *store, const Postings *postings, int64_t n_lists)
{
    Lists *lists = take(store, 1, sizeof(Lists));
    lists->postings = postings;
    lists->rows = take(store, n_lists, sizeof(List));
    lists->damage = lists->positions_damage = -1;
    lists->bytes_read = 0;
    lists->has_marks = false;
    return lists;
}

/* Record a read where there is room for records. */
static inline void note_read(const Postings *postings, int64_t part, int64_t start, int64_t end)
{
    if (postings->reads.size == 0 || start >= end)
        return;
    int64_t at = 1 + READ_COLUMNS * postings->reads.at[0]++;
    if (at + READ_COLUMNS > postings->reads.size)
        return;
    int64_t *record = postings->reads.at + at;
    record[0] = part;
    record[1] = start;
    record[2] = end;
}

/* Check the bytes start to end, as far as they are behind what was checked; return up to where now. */
static int64_t check_bytes(Sums summed, Sums sums, int64_t start, int64_t end, int64_t checked, int64_t *damage)
{
    if (start < end) {
        int64_t last = (end - 1) / SUM_BLOCK_BYTES;
        for (int64_t block = most_of(start / SUM_BLOCK_BYTES, checked + 1); block <= last; block++) {
            if (!is_sound(summed, sums, block))
                *damage = block;
            checked = block;
        }
    }
    return checked;
}

/* Tell whether a list is one block without a skip table. */
static inline bool is_short(const List *list)
{
    return list->n_postings < BLOCK;
}

static void read_rare(const Postings *postings, List *list, int64_t start)
{
    int64_t n = list->n_postings;
    list->fields = decode_rare(postings->data.at, start, n, list->documents, list->frequencies);
    fill(list->documents + n, BLOCK + 1 - n, NO_DOCUMENT);
    list->n_blocks = 1;
    list->at_block = 0;
    list->size = n;
    list->last = list->documents[n - 1];
}

/* Open what was found of an entry: a short list is decoded, of a long one the skip table is checked.

   Returns whether it is as it was written. */
static bool open_list(Lists *lists, int64_t row, const int64_t *found)
{
    const Postings *postings = lists->postings;
    List *list = lists->rows + row;
    int64_t start = found[START];
    list->n_postings = found[DOC_FREQ];
    list->at_block = list->last = list->read = list->decoded = list->placed = list->places_checked = -1;
    list->counted = -1;
    list->size = list->at = 0;
    if (is_short(list)) {
        check_bytes(postings->summed, postings->sums, start, found[END], -1, &lists->damage);
        if (lists->damage >= 0)
            return false;
        lists->bytes_read += found[END] - start;
        note_read(postings, OF_POSTINGS, start, found[END]);
        read_rare(postings, list, start);
        return true;
    }
    int64_t table = table_at(start);
    list->n_blocks = block_count(list->n_postings);
    list->table = table + SKIP_WORDS;
    list->data = table + SKIP_WORDS * (1 + list->n_blocks);
    lists->bytes_read += (list->data << 2) - start;
    note_read(postings, OF_POSTINGS, start, list->data << 2);
    list->checked = check_bytes(postings->summed, postings->sums, start, list->data << 2, -1, &lists->damage);
    return lists->damage < 0;
}

/* Return the word at which the skip entry of a block of a long list is; -1 is the summary. */
static inline int64_t skip_entry(const List *list, int64_t block)
{
    return list->table + SKIP_WORDS * block;
}

/* Return the word at which a block of a long list starts. */
static inline int64_t block_at(const Postings *postings, const List *list, int64_t block)
{
    return list->data + postings->words.at[skip_entry(list, block) + 1];
}

/* Return the word after a block; the summary has that of the last. */
static inline int64_t block_end(const Postings *postings, const List *list, int64_t block)
{
    return block_at(postings, list, block + 1 < list->n_blocks ? block + 1 : -1);
}

/* Return the last document of a block of a long list. */
static inline int64_t last_of(const Postings *postings, const List *list, int64_t block)
{
    return postings->words.at[skip_entry(list, block)];
}

/* Check a block of a long list, from that on which was checked before. */
static inline bool check_block(Lists *lists, List *list, int64_t block)
{
    const Postings *postings = lists->postings;
    int64_t start = block_at(postings, list, block) << 2, end = block_end(postings, list, block) << 2;
    list->checked = check_bytes(postings->summed, postings->sums, start, end, list->checked, &lists->damage);
    if (block > list->counted) {
        list->counted = block;
        lists->bytes_read += end - start;
        note_read(postings, OF_POSTINGS, start, end);
    }
    return lists->damage < 0;
}

/* Check a block of a long list and decode its documents. */
static bool enter_block(Lists *lists, List *list, int64_t block)
{
    if (!check_block(lists, list, block))
        return false;
    const Postings *postings = lists->postings;
    int64_t size = block_size(list->n_postings, block);
    int64_t previous = block ? last_of(postings, list, block - 1) : -1;
    decode_documents(postings->words.at, block_at(postings, list, block), size, previous, list->documents);
    fill(list->documents + size, BLOCK + 1 - size, NO_DOCUMENT);
    list->at_block = block;
    list->at = 0;
    list->size = size;
    list->last = last_of(postings, list, block);
    return true;
}

/* Return the first block from `first` on that ends with the document or later, else their number. */
static int64_t block_with(const Postings *postings, const List *list, int64_t first, int64_t document)
{
    int64_t low = first, high = first;
    for (int64_t step = 1; high < list->n_blocks && last_of(postings, list, high) < document; step *= 2) {
        low = high + 1;
        high += step;
    }
    high = least_of(high, list->n_blocks);
    while (low < high) {
        int64_t middle = (low + high) >> 1;
        if (last_of(postings, list, middle) < document)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Enter the block with a document that is behind the present block; false when there is none. */
static bool go_to(Lists *lists, List *list, int64_t document)
{
    if (is_short(list))
        return false;
    int64_t block = block_with(lists->postings, list, list->at_block + 1, document);
    if (block == list->n_blocks) {
        list->at_block = block - 1;
        list->last = NO_DOCUMENT;
        list->size = list->at = 0;
        return false;
    }
    return enter_block(lists, list, block);
}

/* Return the first place in a block with the document or a later one; the last one is not before it.

   Without branches: which way each goes is anybody's guess. */
static inline int64_t place_in(const int64_t *documents, int64_t document)
{
    int64_t at = 0;
    for (int64_t half = BLOCK / 2; half; half >>= 1)
        at += half * (documents[at + half - 1] < document);
    return at;
}

/* Locate found[first:end] in a block through a table of its documents.

   The table is never emptied: what it says is compared with the block. */
static void locate_marked(
    const List *list, uint8_t *marks, const int64_t *found, int64_t first, int64_t end, int64_t *indexes)
{
    const int64_t *documents = list->documents;
    int64_t base = list->at_block * BLOCK, lowest = documents[0];
    for (int64_t i = 0; i < list->size; i++)
        marks[documents[i] - lowest] = (uint8_t)i;
    for (int64_t i = first; i < end; i++) {
        int64_t at = marks[most_of(found[i] - lowest, 0)];
        indexes[i] = documents[at] == found[i] ? base + at : -1;
    }
}

/* Set indexes[i] to the index of the posting of the i-th document, rising, -1 without one. */
static bool locate_all(Lists *lists, List *list, const int64_t *found, int64_t n_found, int64_t *indexes)
{
    int64_t first = 0;
    while (first < n_found) {
        if (list->last < found[first] && !go_to(lists, list, found[first])) {
            fill(indexes + first, n_found - first, -1);
            break;
        }
        int64_t last = list->last, end = first + 1;
        while (end < n_found && found[end] <= last)
            end++;
        if (end - first >= MARKED_MIN && last - list->documents[0] < MARKED_SPAN) {
            if (!lists->has_marks) {
                memset(lists->marks, 0, sizeof lists->marks);
                lists->has_marks = true;
            }
            locate_marked(list, lists->marks, found, first, end, indexes);
        } else {
            int64_t base = list->at_block * BLOCK;
            for (int64_t i = first; i < end; i++) {
                int64_t at = place_in(list->documents, found[i]);
                indexes[i] = list->documents[at] == found[i] ? base + at : -1;
            }
        }
        first = end;
    }
    return lists->damage < 0;
}

/* Note where the frequencies of a block are. */
static void read_columns(const Postings *postings, List *list, int64_t block)
{
    const uint32_t *words = postings->words.at;
    int64_t at = block_at(postings, list, block);
    int64_t rows = (block_size(list->n_postings, block) + 3) >> 2;
    int64_t head = words[at], widths = words[at + 1];
    int64_t column = at + HEAD_WORDS + column_words(rows, head & 63);
    int64_t fields = head >> 6;
    for (int field = 0; field < FIELD_COUNT; field++) {
        int64_t width = width_of(widths, field);
        if (width)
            fields |= 1 << field;
        if (field < BODY)
            column += column_words(rows, width);
    }
    list->read = block;
    list->fields = fields;
    list->width = width_of(widths, BODY);
    list->least = head >> (6 + BODY) & 1;
    list->column = column;
}

/* Check a block of a long list and note where its frequencies are; tell whether only the body has any. */
static inline bool read_block(Lists *lists, List *list, int64_t block)
{
    if (list->read != block) {
        if (check_block(lists, list, block)) {
            read_columns(lists->postings, list, block);
        } else {
            /* Nothing is read of it: as if all frequencies were none. */
            list->read = block;
            list->fields = ONLY_BODY;
            list->width = list->least = 0;
        }
    }
    return list->fields == ONLY_BODY;
}

/* Return how often the entry is in the body, for the i-th posting of the block that was read. */
static inline int64_t body_frequency(const Postings *postings, const List *list, int64_t i)
{
    return list->least + (list->width ? pick(postings->words.at, list->column, list->width, i) : 0);
}

static void decode_body(const Postings *postings, List *list, int64_t size)
{
    int64_t *frequencies = list->frequencies + BODY * BLOCK;
    unpack(postings->words.at, list->column, list->width, size, frequencies);
    if (list->least)
        for (int64_t i = 0; i < size; i++)
            frequencies[i]++;
}

/* Decode the frequencies of a block of a list, long or short; tell whether only the body has any. */
static bool read_frequencies(Lists *lists, List *list, int64_t block)
{
    if (is_short(list))
        return list->fields == ONLY_BODY;
    bool is_body = read_block(lists, list, block);
    if (list->decoded != block) {
        const Postings *postings = lists->postings;
        int64_t size = block_size(list->n_postings, block);
        list->decoded = block;
        if (is_body)
            decode_body(postings, list, size);
        else if (lists->damage < 0)
            decode_frequencies(postings->words.at, block_at(postings, list, block), size, list->frequencies);
    }
    return is_body;
}

KERNEL(find_damage, POSTINGS "ii", {
    Postings postings;
    Ints starts;
    Ints ends;
})
{
    for (int64_t i = 0; i < a->starts.size; i++) {
        int64_t start = a->starts.at[i], end = a->ends.at[i];
        if (start >= end)
            continue;
        note_read(&a->postings, OF_POSTINGS, start, end);
        for (int64_t block = start / SUM_BLOCK_BYTES; block <= (end - 1) / SUM_BLOCK_BYTES; block++)
            if (!is_sound(a->postings.summed, a->postings.sums, block))
                return block;
    }
    return -1;
}
