/* The kernels of windows.py: the words of a query in a page's text, and the parts of it to be shown. */

#pragma once

#include "peers/kernel.h"

/* Classes of characters, as in characters.py. */
#define WIDE 1
#define LETTER 2
#define ALPHANUMERIC 4
#define SPACE 8
#define SENTENCE_END 16
#define SENTENCE_END_BEFORE_SPACE 32

#define CUT_MOVE_MAX 24
#define PLACES_MAX 16
#define FRAGMENTS_MAX 3
#define FRAGMENT_COLUMNS 3
#define LEAD_COLUMNS 60
#define SAMPLE_CHARS 50

/* Kinds of terms. */
enum { ANYWHERE, WHOLE, FORMS };

#define UNKNOWN_MAX 32

#define START_SHIFT 40
#define LENGTH_SHIFT 16
#define LENGTH_MASK ((INT64_C(1) << 24) - 1)
#define TERM_MASK ((INT64_C(1) << 16) - 1)

#define HEADS 256

/* FNV-1a over code points, 64 bits; never 0. */
static inline uint64_t hash_codes(const uint32_t *codes, int64_t start, int64_t end)
{
    uint64_t hashed = UINT64_C(14695981039346656037);
    for (int64_t place = start; place < end; place++)
        hashed = (hashed ^ codes[place]) * UINT64_C(1099511628211);
    return hashed ? hashed : 1;
}

KERNEL(hash_text, "wS", {
    Words codes;
    MutableSums hashed;
})
{
    a->hashed.at[0] = hash_codes(a->codes.at, 0, a->codes.size);
    return 0;
}

/* A text: its code points, and the classes of all there are. */
typedef struct {
    const uint32_t *codes;
    int64_t size;
    const uint8_t *classes;
} Text;

static inline int class_of(const Text *text, int64_t place)
{
    return text->classes[text->codes[place]];
}

static inline bool is_letter(const Text *text, int64_t place)
{
    return place >= 0 && place < text->size && class_of(text, place) & LETTER;
}

/* Return where a word is in the table, or the empty place where it would be. */
static inline int64_t form_place(Sums words, uint64_t hashed)
{
    uint64_t mask = (uint64_t)words.size - 1;
    uint64_t place = hashed & mask;
    while (words.at[place] != 0 && words.at[place] != hashed)
        place = (place + 1) & mask;
    return (int64_t)place;
}

KERNEL(find_terms, "wbwiiisssiinnII2", {
    Words folded;
    Bytes classes;
    Words terms;
    Ints starts;
    Ints kinds;
    Ints numbers;
    Sums term_forms;
    Sums words;
    Sums forms;
    Ints origin_starts;
    Ints origin_ends;
    int64_t offset;
    int64_t first;
    MutableInts found;
    MutableIntRows unknown;
})
{
    const Text text = {a->folded.at, a->folded.size, a->classes.at};
    const uint32_t *folded = a->folded.at, *terms = a->terms.at;
    const int64_t *starts = a->starts.at;
    int64_t n_found = a->first, n_unknown = 0, n_terms = a->kinds.size;
    bool is_even = a->origin_starts.size == 0;
    Store store;
    if (!open_store(&store, 3 * stored_bytes(n_terms, sizeof(int64_t))))
        return NO_MEMORY;
    int64_t *n_places = take_ints(&store, n_terms);
    int64_t *next_places = take_ints(&store, n_terms); /* those of one term do not overlap */
    fill(n_places, n_terms, 0);
    fill(next_places, n_terms, 0);
    /* Of the terms that may begin with a character, by its last bits, the first, and of each the next. */
    int64_t first_terms[HEADS];
    int64_t *next_terms = take_ints(&store, n_terms);
    fill(first_terms, HEADS, -1);
    for (int64_t term = n_terms - 1; term >= 0; term--) {
        uint32_t head = terms[starts[term]] % HEADS;
        next_terms[term] = first_terms[head];
        first_terms[head] = term;
    }
    bool is_full = false;
    for (int64_t place = 0; place < text.size && !is_full; place++) {
        for (int64_t term = first_terms[folded[place] % HEADS]; term >= 0; term = next_terms[term]) {
            if (place < next_places[term] || n_places[term] == PLACES_MAX)
                continue;
            int64_t length = starts[term + 1] - starts[term];
            if (place + length > text.size)
                continue;
            int64_t same = 0;
            while (same < length && folded[place + same] == terms[starts[term] + same])
                same++;
            if (same < length)
                continue;
            int64_t end = next_places[term] = place + length;
            if (a->kinds.at[term] != ANYWHERE) {
                if (is_letter(&text, place - 1))
                    continue;
                if (a->kinds.at[term] == WHOLE) {
                    if (is_letter(&text, end))
                        continue;
                } else {
                    end = place;
                    while (end < place + CUT_MOVE_MAX && is_letter(&text, end))
                        end++;
                    int64_t at = form_place(a->words, hash_codes(folded, place, end));
                    if (a->words.at[at] == 0) {
                        if (n_unknown == UNKNOWN_MAX) {
                            is_full = true;
                            break;
                        }
                        a->unknown.at[2 * n_unknown] = place;
                        a->unknown.at[2 * n_unknown + 1] = end;
                        n_unknown++;
                        continue;
                    }
                    if (a->forms.at[at] != a->term_forms.at[term])
                        continue;
                }
            }
            int64_t start = a->offset + (is_even ? place : a->origin_starts.at[place]);
            int64_t stop = a->offset + (is_even ? end : a->origin_ends.at[end - 1]);
            int64_t rest = most_of(0, LENGTH_MASK - (stop - start));
            a->found.at[n_found++] = start << START_SHIFT | rest << LENGTH_SHIFT | a->numbers.at[term];
            n_places[term]++;
        }
    }
    close_store(&store);
    return n_unknown ? -n_unknown : n_found;
}

static inline int64_t start_of(int64_t match)
{
    return match >> START_SHIFT;
}

static inline int64_t end_of(int64_t match)
{
    return (match >> START_SHIFT) + LENGTH_MASK - (match >> LENGTH_SHIFT & LENGTH_MASK);
}

/* Tell whether text[:place] and text[place:] part without cutting a word. */
static inline bool is_border(const Text *text, int64_t place)
{
    int before = class_of(text, place - 1), after = class_of(text, place);
    return !(before & after & ALPHANUMERIC) || (before | after) & WIDE;
}

static inline int64_t lead_columns(int64_t columns)
{
    return least_of(LEAD_COLUMNS, columns / 4);
}

/* Step back from a match to the start of its sentence when that is near, else to a word's. */
static int64_t lead_in(const Text *text, int64_t start, int64_t columns)
{
    int64_t earliest = start, most = lead_columns(columns);
    for (int64_t used = 0; earliest > 0 && used < most;) {
        earliest--;
        used += class_of(text, earliest) & WIDE ? 2 : 1;
    }
    if (earliest == 0)
        return 0;
    for (int64_t place = earliest; place < start; place++) {
        int class = class_of(text, place);
        if (class & SENTENCE_END)
            return place + 1;
        if (class & SENTENCE_END_BEFORE_SPACE && place + 1 < start && class_of(text, place + 1) & SPACE)
            return place + 2;
    }
    for (int64_t place = earliest; place < least_of(start, earliest + CUT_MOVE_MAX); place++)
        if (is_border(text, place))
            return place;
    return earliest;
}

static inline int64_t count_wide(const Text *text, int64_t start, int64_t end)
{
    int64_t n = 0;
    for (int64_t place = start; place < end; place++)
        n += class_of(text, place) & WIDE;
    return n;
}

/* Return the end of the text that fits into `columns` from `start`, between words. */
static int64_t window_end(const Text *text, int64_t start, int64_t columns)
{
    int64_t length = least_of(columns, text->size - start);
    int64_t n_wide = count_wide(text, start, start + length);
    /* A character less gives back two columns at most, so this never drops one too many. */
    while (length + n_wide > columns) {
        int64_t shorter = length - (length + n_wide - columns + 1) / 2;
        n_wide -= count_wide(text, start + shorter, start + length);
        length = shorter;
    }
    int64_t end = start + length;
    if (end == text->size)
        return end;
    for (int64_t place = end; place > most_of(start + 1, end - CUT_MOVE_MAX); place--)
        if (is_border(text, place))
            return place;
    return end;
}

static bool is_mostly_wide(const Text *text, int64_t around)
{
    int64_t first = most_of(0, around - SAMPLE_CHARS), end = least_of(text->size, around + SAMPLE_CHARS);
    return count_wide(text, first, end) * 2 > end - first;
}

/* The matches in a text, and what their terms are worth. */
typedef struct {
    Text text;
    Ints matches;
    Ints worths; /* of each term */
    int64_t *left; /* matches that no window shows so far */
    int64_t *counts; /* of each term, to be used */
    uint8_t *shown; /* 1 for each term in the windows */
} Scene;

/* Return the first match of the window with the most distinct terms, then the most matches. */
static int64_t best_start(const Scene *scene, int64_t n_left, int64_t columns)
{
    const int64_t *matches = scene->left, *worths = scene->worths.at;
    int64_t *counts = scene->counts;
    /* Half of the columns may be lost to wide characters; matches are counted in the part that is sure. */
    int64_t reach = columns - lead_columns(columns);
    if (is_mostly_wide(&scene->text, start_of(matches[0])))
        reach /= 2;
    fill(counts, scene->worths.size, 0);
    int64_t worth = 0; /* of the terms that are counted */
    int64_t best = 0, best_worth = -1, best_count = -1, right = 0;
    for (int64_t left = 0; left < n_left; left++) {
        int64_t start = start_of(matches[left]);
        int64_t term = matches[left] & TERM_MASK;
        for (; right < n_left && end_of(matches[right]) <= start + reach; right++) {
            int64_t seen = matches[right] & TERM_MASK;
            if (++counts[seen] == 1)
                worth += worths[seen];
        }
        if (worth > best_worth || (worth == best_worth && right - left > best_count)) {
            best = start;
            best_worth = worth;
            best_count = right - left;
        }
        if (right > left) {
            if (--counts[term] == 0)
                worth -= worths[term];
        } else {
            right = left + 1;
        }
    }
    return best;
}

/* Choose windows one after the other, each for the terms that those before do not have.

   `windows` becomes their starts and ends, ascending, `worth` what the terms in them are worth: a long word
   more than the short ones in it. Returns how many. */
static int64_t choose_windows(
    const Scene *scene, int64_t count, int64_t columns, int64_t *windows, int64_t *worth)
{
    const Text *text = &scene->text;
    int64_t n_terms = scene->worths.size, n_left = scene->matches.size, n_windows = 0;
    memset(scene->shown, 0, (size_t)n_terms);
    *worth = 0;
    if (n_left == 0) {
        windows[0] = 0;
        windows[1] = window_end(text, 0, columns);
        return 1;
    }
    memcpy(scene->left, scene->matches.at, (size_t)n_left * sizeof(int64_t));
    while (n_windows < count && n_left) {
        int64_t first = best_start(scene, n_left, columns);
        int64_t start = lead_in(text, first, columns);
        int64_t end = window_end(text, start, columns);
        /* What is left of it beside the others is not worth a fragment of its own. */
        bool is_apart = true;
        for (int64_t other = 0; other < n_windows; other++)
            is_apart = is_apart && (end <= windows[2 * other] || windows[2 * other + 1] <= start);
        fill(scene->counts, n_terms, 0); /* from here on: 1 for the terms in this window */
        if (is_apart) {
            int64_t at = n_windows++;
            for (; at > 0 && windows[2 * at - 2] > start; at--) {
                windows[2 * at] = windows[2 * at - 2];
                windows[2 * at + 1] = windows[2 * at - 1];
            }
            windows[2 * at] = start;
            windows[2 * at + 1] = end;
            for (int64_t m = 0; m < scene->matches.size; m++) {
                int64_t match = scene->matches.at[m];
                if (start <= start_of(match) && end_of(match) <= end) {
                    scene->counts[match & TERM_MASK] = 1;
                    scene->shown[match & TERM_MASK] = 1;
                }
            }
        }
        int64_t kept = 0;
        for (int64_t m = 0; m < n_left; m++) {
            int64_t match = scene->left[m];
            if (scene->counts[match & TERM_MASK] == 0 && start_of(match) != first)
                scene->left[kept++] = match;
        }
        n_left = kept;
    }
    for (int64_t term = 0; term < n_terms; term++)
        if (scene->shown[term])
            *worth += scene->worths.at[term];
    return n_windows;
}

static bool is_blank(const Text *text, int64_t start, int64_t end)
{
    while (start < end && class_of(text, start) & SPACE)
        start++;
    return start >= end;
}

KERNEL(choose_fragments, "wbiinI2I2I", {
    Words text;
    Bytes classes;
    Ints matches;
    Ints worths;
    int64_t columns;
    MutableIntRows fragments;
    MutableIntRows spans;
    MutableInts counted;
})
{
    int64_t n_terms = a->worths.size, n_matches = a->matches.size;
    int64_t windows[2 * FRAGMENTS_MAX] = {0}, best[2 * FRAGMENTS_MAX] = {0};
    Store store;
    size_t n_bytes = stored_bytes(n_matches, 8) + stored_bytes(n_terms, 8) + stored_bytes(n_terms, 1);
    if (!open_store(&store, n_bytes))
        return NO_MEMORY;
    const Scene scene = {
        {a->text.at, a->text.size, a->classes.at}, a->matches, a->worths, take_ints(&store, n_matches),
        take_ints(&store, n_terms), take(&store, n_terms, 1),
    };
    const Text *text = &scene.text;
    memset(scene.shown, 0, (size_t)n_terms);
    for (int64_t m = 0; m < n_matches; m++)
        scene.shown[a->matches.at[m] & TERM_MASK] = 1;
    int64_t all_worth = 0;
    for (int64_t term = 0; term < n_terms; term++)
        if (scene.shown[term])
            all_worth += a->worths.at[term];
    int64_t n_fragments = 0, best_worth = -1;
    for (int64_t count = 1; count <= FRAGMENTS_MAX; count++) {
        int64_t worth;
        int64_t n_windows = choose_windows(&scene, count, a->columns / count, windows, &worth);
        if (worth > best_worth) {
            n_fragments = n_windows;
            best_worth = worth;
            memcpy(best, windows, sizeof best);
        }
        if (worth == all_worth)
            break;
    }
    int64_t line_chars = 0, shown_to = 0, n_spans = 0;
    int64_t *spans = a->spans.at;
    for (int64_t number = 0; number < n_fragments; number++) {
        int64_t start = best[2 * number], end = best[2 * number + 1];
        bool has_before = !is_blank(text, shown_to, start);
        line_chars += has_before;
        shown_to = end;
        int64_t first = start, last = end;
        while (first < last && class_of(text, first) & SPACE)
            first++;
        while (last > first && class_of(text, last - 1) & SPACE)
            last--;
        int64_t *fragment = a->fragments.at + number * FRAGMENT_COLUMNS;
        fragment[0] = first;
        fragment[1] = last;
        fragment[2] = has_before;
        for (int64_t m = 0; m < n_matches; m++) {
            int64_t from = start_of(a->matches.at[m]), to = end_of(a->matches.at[m]);
            if (from < start || to > end)
                continue;
            from += line_chars - first;
            to += line_chars - first;
            if (n_spans && from <= spans[2 * n_spans - 1]) {
                spans[2 * n_spans - 1] = most_of(to, spans[2 * n_spans - 1]);
            } else {
                spans[2 * n_spans] = from;
                spans[2 * n_spans + 1] = to;
                n_spans++;
            }
        }
        line_chars += last - first;
    }
    a->counted.at[0] = n_spans;
    a->counted.at[1] = !is_blank(text, shown_to, text->size);
    close_store(&store);
    return n_fragments;
}
