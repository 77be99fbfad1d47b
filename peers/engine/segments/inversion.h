/* The kernels of inversion.py. */

#pragma once

#include "peers/engine/native/kernels.h"

#define TEXT_BREAK 10 /* a line feed */
#define NO_RUN 0 /* the kind of what separates runs */

/* Cut texts into runs of characters of one kind. Lines without runs have no number. */
KERNEL(cut_runs, "wbBIIBI", {
    Words codes;
    Bytes kind_of;
    MutableBytes kinds;
    MutableInts starts;
    MutableInts ends;
    MutableBytes run_kinds;
    MutableInts lines;
})
{
    const uint32_t *codes = a->codes.at;
    int64_t n = a->codes.size, n_runs = 0, line = 0, i = 0;
    bool is_broken = false;
    for (int64_t at = 0; at < n; at++)
        a->kinds.at[at] = a->kind_of.at[codes[at]];
    const uint8_t *kinds = a->kinds.at;
    while (i < n) {
        uint8_t kind = kinds[i];
        if (kind == NO_RUN) {
            is_broken |= codes[i++] == TEXT_BREAK;
            continue;
        }
        line += is_broken && n_runs > 0;
        is_broken = false;
        a->starts.at[n_runs] = i;
        a->run_kinds.at[n_runs] = kind;
        a->lines.at[n_runs] = line;
        while (i < n && kinds[i] == kind)
            i++;
        a->ends.at[n_runs++] = i;
    }
    return n_runs;
}

/* Give each run the key of its first atom. One position stays free after each text, so that no phrase goes
   from one text of a field into the next. */
KERNEL(place_runs, "iiiiI", {
    Ints run_starts;
    Ints atom_counts;
    Ints text_ends;
    Ints text_keys;
    MutableInts run_keys;
})
{
    const int64_t *keys = a->text_keys.at;
    int64_t text = 0, position = 0;
    for (int64_t run = 0; run < a->run_starts.size; run++) {
        while (a->run_starts.at[run] >= a->text_ends.at[text]) {
            text++;
            position = keys[text] == keys[text - 1] ? position + 1 : 0;
        }
        a->run_keys.at[run] = keys[text] + position;
        position += a->atom_counts.at[run];
    }
    return a->run_starts.size;
}

/* Count occurrences for the lengths of their fields. */
KERNEL(count_lengths, "iW", {
    Ints keys;
    MutableWords lengths; /* of each field of the first document, then of the next one */
})
{
    for (int64_t i = 0; i < a->keys.size; i++) {
        int64_t field = a->keys.at[i] >> FIELD_SHIFT & 15;
        a->lengths.at[(a->keys.at[i] >> DOCUMENT_SHIFT) * FIELD_COUNT + field]++;
    }
    return a->keys.size;
}
