/* The kernels of windows.py: the words of a query in a page's text, and the parts of it to be shown. */

#pragma once

#include "peers/engine/postings/word_numbers.h"
#include "peers/engine/searching/batch.h"
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
#define PROSE_COLUMNS 60 /* of a line at least, when it is of sentences rather than of a list */

/* What looking through text costs: 3 ns a character for a few terms, 20 for a hundred and more. */
#define CHARS_PER_VISIT 8
#define TERMS_PER_COST 16

/* Kinds of terms. */
enum { ANYWHERE, WHOLE, FORMS };

#define UNKNOWN_MAX 32

#define START_SHIFT 40
#define LENGTH_SHIFT 16
#define LENGTH_MASK ((INT64_C(1) << 24) - 1)
#define TERM_MASK ((INT64_C(1) << 16) - 1)

#define HEADS 256

/* As `hash_word`, but never 0. */
static inline uint64_t hash_codes(const uint32_t *codes, int64_t n, int64_t seed)
{
    uint64_t hashed = hash_word(codes, n, (uint64_t)seed);
    return hashed ? hashed : 1;
}

KERNEL(hash_text, "wnS", {
    Words codes;
    int64_t seed;
    MutableSums hashed;
})
{
    a->hashed.at[0] = hash_codes(a->codes.at, a->codes.size, a->seed);
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

/* A stretch of a text, folded, in pieces that are looked through each by itself. */
typedef struct {
    Words folded;
    Ints origin_starts; /* in its piece, of each folded character; empty where that is its own place */
    Ints origin_ends;
    Ints ends; /* of the pieces in it */
    Ints chars; /* of each piece in the text */
} Stretch;

/* The terms, one after the other. */
typedef struct {
    Words codes;
    Ints starts; /* of each, and the end */
    Ints kinds;
    Ints numbers;
    Sums forms;
    Ints worths; /* of each number */
} Wanted;

/* What words are forms of, as in `FormTable`. */
typedef struct {
    Sums words;
    Sums forms;
    int64_t seed; /* of the hashes */
} KnownForms;

/* How far a text has been looked through, and why no further. */
enum { PIECES_DONE, IS_PAID, CHARS_DONE, N_FOUND, N_UNKNOWN, IS_OVER, IS_SPENT, PROGRESS_SIZE };

/* All that a look through a stretch goes by, as windows.py says. */
typedef struct {
    Stretch stretch;
    Bytes classes;
    Wanted wanted;
    KnownForms known;
    int64_t chars_max;
    MutableInts effort;
    Ints before;
    MutableInts found;
    MutableIntRows unknown;
    MutableInts progress;
} Look;

#define PAIRS 4096
#define LAST_BITS 63

/* The terms in an order in which those that may begin at a place are found, and where each was met. */
typedef struct {
    uint8_t pairs[PAIRS]; /* 1 for the last bits of each two characters that a term may begin with */
    int64_t first[HEADS]; /* of those that may begin with a character, by its last bits */
    int64_t *next; /* of each, -1 for none */
    int64_t *n_places; /* of each, in a piece */
    int64_t *next_places; /* from where it may be met again: its places do not overlap */
} TermList;

static inline uint32_t pair_of(uint32_t code, uint32_t next)
{
    return (code & LAST_BITS) << 6 | (next & LAST_BITS);
}

static void list_terms(TermList *list, const Wanted *wanted)
{
    memset(list->pairs, 0, sizeof list->pairs);
    fill(list->first, HEADS, -1);
    for (int64_t term = wanted->kinds.size - 1; term >= 0; term--) {
        const uint32_t *codes = wanted->codes.at + wanted->starts.at[term];
        uint32_t head = codes[0] % HEADS;
        list->next[term] = list->first[head];
        list->first[head] = term;
        if (wanted->starts.at[term + 1] - wanted->starts.at[term] == 1)
            memset(list->pairs + pair_of(codes[0], 0), 1, LAST_BITS + 1);
        else
            list->pairs[pair_of(codes[0], codes[1])] = 1;
    }
}

/* Return the first place from one on at which a term may begin, or the end. */
static inline int64_t next_start(const TermList *list, const Text *text, int64_t place)
{
    const uint32_t *codes = text->codes;
    for (; place + 1 < text->size; place++)
        if (list->pairs[pair_of(codes[place], codes[place + 1])])
            break;
    return place;
}

/* Tell whether a term stands at a place as it is. */
static inline bool stands_at(const Wanted *wanted, int64_t term, const Text *text, int64_t place)
{
    int64_t length = wanted->starts.at[term + 1] - wanted->starts.at[term];
    if (place + length > text->size)
        return false;
    const uint32_t *codes = wanted->codes.at + wanted->starts.at[term];
    for (int64_t i = 0; i < length; i++)
        if (text->codes[place + i] != codes[i])
            return false;
    return true;
}

static inline int64_t end_of_word(const Text *text, int64_t place)
{
    int64_t end = place;
    while (end < place + CUT_MOVE_MAX && is_letter(text, end))
        end++;
    return end;
}

/* Find the terms in a piece, from `start` of what is folded; return how many words of unknown form are in it. */
static int64_t find_in_piece(
    const Look *look, TermList *list, const Text *text, int64_t start, int64_t *n_found)
{
    const Wanted *wanted = &look->wanted;
    const Stretch *stretch = &look->stretch;
    bool is_even = stretch->origin_starts.size == 0;
    int64_t offset = look->progress.at[CHARS_DONE], n_unknown = 0, place = 0;
    fill(list->n_places, wanted->kinds.size, 0);
    fill(list->next_places, wanted->kinds.size, 0);
    for (; (place = next_start(list, text, place)) < text->size; place++) {
        for (int64_t term = list->first[text->codes[place] % HEADS]; term >= 0; term = list->next[term]) {
            if (place < list->next_places[term] || list->n_places[term] == PLACES_MAX)
                continue;
            if (!stands_at(wanted, term, text, place))
                continue;
            int64_t end = place + wanted->starts.at[term + 1] - wanted->starts.at[term];
            list->next_places[term] = end;
            if (wanted->kinds.at[term] != ANYWHERE && is_letter(text, place - 1))
                continue;
            if (wanted->kinds.at[term] == WHOLE && is_letter(text, end))
                continue;
            if (wanted->kinds.at[term] == FORMS) {
                end = end_of_word(text, place);
                int64_t at = form_place(look->known.words, hash_codes(text->codes + place, end - place, look->known.seed));
                if (look->known.words.at[at] == 0) {
                    if (n_unknown == UNKNOWN_MAX)
                        return n_unknown;
                    look->unknown.at[2 * n_unknown] = start + place;
                    look->unknown.at[2 * n_unknown + 1] = start + end;
                    n_unknown++;
                    continue;
                }
                if (look->known.forms.at[at] != wanted->forms.at[term])
                    continue;
            }
            int64_t first = offset + (is_even ? place : stretch->origin_starts.at[place]);
            int64_t last = offset + (is_even ? end : stretch->origin_ends.at[end - 1]);
            int64_t rest = most_of(0, LENGTH_MASK - (last - first));
            look->found.at[(*n_found)++] = first << START_SHIFT | rest << LENGTH_SHIFT | wanted->numbers.at[term];
            list->n_places[term]++;
        }
    }
    return n_unknown;
}

/* Pay for a piece, once; tell whether there was so much effort left. */
static bool pay_for_piece(const Look *look, int64_t chars)
{
    volatile int64_t *effort = look->effort.at; /* another thread may stop it */
    int64_t visits = chars * (TERMS_PER_COST + look->wanted.kinds.size) / (TERMS_PER_COST * CHARS_PER_VISIT);
    if (look->progress.at[IS_PAID])
        return true;
    if (effort[EFFORT_IS_STOPPED] || effort[EFFORT_LEFT] < visits)
        return false;
    effort[EFFORT_LEFT] -= visits;
    look->progress.at[IS_PAID] = 1;
    return true;
}

/* Note the terms that were found at some of the places; return how many have not been seen before. */
static int64_t note_seen(const Look *look, uint8_t *seen, int64_t first, int64_t end)
{
    int64_t n_new = 0;
    for (int64_t m = first; m < end; m++) {
        int64_t term = look->found.at[m] & TERM_MASK;
        n_new += !seen[term];
        seen[term] = 1;
    }
    return n_new;
}

KERNEL(find_terms, "(wiijj)b(wiiisi)(ssn)nIjII2o", {
    Look look;
})
{
    const Look *look = &a->look;
    const Stretch *stretch = &look->stretch;
    int64_t *progress = look->progress.at, n_terms = look->wanted.kinds.size;
    int64_t n_missing = look->wanted.worths.size;
    Store store;
    if (!open_store(&store, 3 * stored_bytes(n_terms, sizeof(int64_t)) + stored_bytes(n_missing, 1)))
        return NO_MEMORY;
    TermList list = {
        .next = take_ints(&store, n_terms),
        .n_places = take_ints(&store, n_terms),
        .next_places = take_ints(&store, n_terms),
    };
    uint8_t *seen = take(&store, n_missing, 1);
    memset(seen, 0, (size_t)n_missing);
    list_terms(&list, &look->wanted);
    memcpy(progress, look->before.at, PROGRESS_SIZE * sizeof *progress);
    n_missing -= note_seen(look, seen, 0, progress[N_FOUND]);
    progress[N_UNKNOWN] = 0;
    while (progress[PIECES_DONE] < stretch->ends.size) {
        int64_t piece = progress[PIECES_DONE], chars = stretch->chars.at[piece];
        int64_t start = piece ? stretch->ends.at[piece - 1] : 0;
        const Text text = {stretch->folded.at + start, stretch->ends.at[piece] - start, look->classes.at};
        int64_t n_found = progress[N_FOUND];
        progress[IS_SPENT] = !pay_for_piece(look, chars);
        if (progress[IS_SPENT])
            break;
        progress[N_UNKNOWN] = find_in_piece(look, &list, &text, start, &n_found);
        if (progress[N_UNKNOWN])
            break;
        n_missing -= note_seen(look, seen, progress[N_FOUND], n_found);
        progress[N_FOUND] = n_found;
        progress[PIECES_DONE]++;
        progress[CHARS_DONE] += chars;
        progress[IS_PAID] = 0;
        progress[IS_OVER] = look->chars_max >= 0 && (n_missing == 0 || progress[CHARS_DONE] >= look->chars_max);
        if (progress[IS_OVER])
            break;
    }
    close_store(&store);
    return 0;
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

/* Tell whether a place is in a line as long as sentences are. */
static bool is_in_prose(const Text *text, int64_t place)
{
    int64_t columns = 0;
    for (int64_t at = place; at >= 0 && text->codes[at] != '\n' && columns < PROSE_COLUMNS; at--)
        columns += class_of(text, at) & WIDE ? 2 : 1;
    for (int64_t at = place + 1; at < text->size && text->codes[at] != '\n' && columns < PROSE_COLUMNS; at++)
        columns += class_of(text, at) & WIDE ? 2 : 1;
    return columns >= PROSE_COLUMNS;
}

/* Return the first match of the window with the most distinct terms, in sentences where one is, then the most
   matches: a table of contents has many of them. */
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
    bool best_is_prose = false;
    for (int64_t left = 0; left < n_left; left++) {
        int64_t start = start_of(matches[left]);
        int64_t term = matches[left] & TERM_MASK;
        for (; right < n_left && end_of(matches[right]) <= start + reach; right++) {
            int64_t seen = matches[right] & TERM_MASK;
            if (++counts[seen] == 1)
                worth += worths[seen];
        }
        bool is_prose = is_in_prose(&scene->text, start);
        bool is_better = is_prose == best_is_prose ? right - left > best_count : is_prose;
        if (worth > best_worth || (worth == best_worth && is_better)) {
            best = start;
            best_is_prose = is_prose;
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

KERNEL(choose_fragments, "wbiinor", {
    Words text;
    Bytes classes;
    Ints matches;
    Ints worths;
    int64_t columns;
    MutableInts fragments;
    MutableInts spans;
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
        int64_t *fragment = a->fragments.at + 2 + number * FRAGMENT_COLUMNS;
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
    a->fragments.at[0] = n_fragments;
    a->fragments.at[1] = !is_blank(text, shown_to, text->size);
    close_store(&store);
    return 2 * n_spans;
}

KERNEL(tell_line, "wiii", {
    Words lines;
    Ints matches;
    Ints in_title;
    Ints worths;
})
{
    int64_t n_terms = a->worths.size;
    Store store;
    if (!open_store(&store, stored_bytes(2 * n_terms, 8)))
        return NO_MEMORY;
    int64_t *asked = take_ints(&store, n_terms), *seen_at = take_ints(&store, n_terms);
    memcpy(asked, a->worths.at, (size_t)n_terms * sizeof(int64_t));
    fill(seen_at, n_terms, -1);
    for (int64_t m = 0; m < a->in_title.size; m++)
        asked[a->in_title.at[m] & TERM_MASK] = 0;
    int64_t all = 0;
    for (int64_t term = 0; term < n_terms; term++)
        all += asked[term];
    int64_t best = -1, best_worth = 0, best_size = 0, start = 0, m = 0;
    for (int64_t line = 0; m < a->matches.size && start <= a->lines.size; line++) {
        int64_t end = start, worth = 0;
        while (end < a->lines.size && a->lines.at[end] != '\n')
            end++;
        for (; m < a->matches.size && start_of(a->matches.at[m]) <= end; m++) {
            int64_t term = a->matches.at[m] & TERM_MASK;
            if (seen_at[term] != line)
                worth += asked[term];
            seen_at[term] = line;
        }
        if (worth > best_worth || (worth == best_worth && worth && end - start < best_size)) {
            best = line;
            best_worth = worth;
            best_size = end - start;
        }
        start = end + 1;
    }
    close_store(&store);
    return 2 * best_worth > all ? best : -1;
}
