/* What tells the main text of a page from what is around it: the features of its blocks, and what follows.

   Theory of operation. A block is what stands between two borders of elements that begin lines. While the markup
   is read, each block is counted (words, words in links, ends of sentences) and belongs to the innermost open
   element of those that begin lines; these make a tree, each knowing its parent only. When all is read, the
   counts go up the tree, every block gets a row of features (its own, its neighbours', its containers', the
   page's), and a small network with one hidden layer says how much of it is main text. That is done twice: what
   the first says of a block, of its neighbours and of the containers are features of the second. */

#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* What a block stands in. */
typedef enum {
    NOTHING, BOX, PARAGRAPH, HEADLINE, ITEM, CELL, TERM, LISTING, QUOTATION, PICTURE, CONTROL,
    NAVIGATION, HEADER, FOOTER, ASIDE, MAIN, ARTICLE, LIST, GRID,
} Part;
#define N_PARTS 19

/* What names of classes, ids and roles tell, as bits of `hints`; of words that begin so. */
typedef struct {
    const char *start;
    int hint;
} HintWord;

enum {
    SAYS_NAVIGATION, SAYS_FOOTER, SAYS_HEADER, SAYS_ASIDE, SAYS_COMMENT, SAYS_RELATED, SAYS_SHARING,
    SAYS_ORIGIN, SAYS_MAIN, SAYS_PICTURE, SAYS_TITLE, SAYS_HIDDEN, N_HINTS
};

/* By the first letter, for a search that looks at few. */
static const HintWord hint_words[] = {
    {"actions", SAYS_SHARING}, {"ad", SAYS_SHARING}, {"agree", SAYS_SHARING}, {"also", SAYS_RELATED},
    {"article", SAYS_MAIN}, {"aside", SAYS_ASIDE}, {"attribution", SAYS_ORIGIN}, {"author", SAYS_ORIGIN},
    {"avatar", SAYS_ORIGIN},
    {"banner", SAYS_HEADER}, {"bio", SAYS_ORIGIN}, {"body", SAYS_MAIN}, {"breadcrumb", SAYS_NAVIGATION},
    {"byline", SAYS_ORIGIN},
    {"caption", SAYS_PICTURE}, {"category", SAYS_ORIGIN}, {"comment", SAYS_COMMENT}, {"community", SAYS_COMMENT},
    {"complementary", SAYS_ASIDE}, {"content", SAYS_MAIN}, {"contentinfo", SAYS_FOOTER}, {"cookie", SAYS_SHARING},
    {"copyright", SAYS_FOOTER}, {"credit", SAYS_PICTURE}, {"crumb", SAYS_NAVIGATION},
    {"date", SAYS_ORIGIN}, {"description", SAYS_MAIN}, {"dialog", SAYS_HIDDEN}, {"disclaimer", SAYS_FOOTER},
    {"discuss", SAYS_COMMENT}, {"disqus", SAYS_COMMENT}, {"doc", SAYS_MAIN}, {"dropdown", SAYS_NAVIGATION},
    {"entry", SAYS_MAIN},
    {"facebook", SAYS_SHARING}, {"feedback", SAYS_COMMENT}, {"figure", SAYS_PICTURE}, {"foot", SAYS_FOOTER},
    {"form", SAYS_SHARING}, {"gallery", SAYS_PICTURE}, {"gdpr", SAYS_SHARING},
    {"head", SAYS_HEADER}, {"headline", SAYS_TITLE}, {"hidden", SAYS_HIDDEN}, {"hide", SAYS_HIDDEN},
    {"hot", SAYS_RELATED},
    {"image", SAYS_PICTURE}, {"info", SAYS_ORIGIN}, {"latest", SAYS_RELATED}, {"legal", SAYS_FOOTER},
    {"license", SAYS_FOOTER}, {"links", SAYS_NAVIGATION}, {"login", SAYS_SHARING}, {"logo", SAYS_HEADER},
    {"main", SAYS_MAIN}, {"markdown", SAYS_MAIN}, {"masthead", SAYS_HEADER}, {"media", SAYS_PICTURE},
    {"menu", SAYS_NAVIGATION}, {"meta", SAYS_ORIGIN}, {"modal", SAYS_HIDDEN}, {"more", SAYS_RELATED},
    {"most", SAYS_RELATED},
    {"nav", SAYS_NAVIGATION}, {"news", SAYS_MAIN}, {"newsletter", SAYS_SHARING}, {"next", SAYS_RELATED},
    {"overlay", SAYS_HIDDEN},
    {"page", SAYS_MAIN}, {"pager", SAYS_NAVIGATION}, {"pagination", SAYS_NAVIGATION}, {"photo", SAYS_PICTURE},
    {"popular", SAYS_RELATED}, {"popup", SAYS_HIDDEN}, {"post", SAYS_MAIN}, {"prev", SAYS_NAVIGATION},
    {"promo", SAYS_SHARING}, {"prose", SAYS_MAIN}, {"publish", SAYS_ORIGIN},
    {"rank", SAYS_RELATED}, {"read", SAYS_RELATED}, {"recent", SAYS_RELATED}, {"recirc", SAYS_RELATED},
    {"recommend", SAYS_RELATED}, {"related", SAYS_RELATED}, {"reply", SAYS_COMMENT}, {"respond", SAYS_COMMENT},
    {"rich", SAYS_MAIN}, {"right", SAYS_ASIDE},
    {"search", SAYS_SHARING}, {"secondary", SAYS_ASIDE}, {"share", SAYS_SHARING}, {"side", SAYS_ASIDE},
    {"signup", SAYS_SHARING}, {"single", SAYS_MAIN}, {"skip", SAYS_NAVIGATION}, {"social", SAYS_SHARING},
    {"source", SAYS_ORIGIN}, {"sponsor", SAYS_SHARING}, {"sr", SAYS_HIDDEN}, {"story", SAYS_MAIN},
    {"sub", SAYS_TITLE}, {"subscribe", SAYS_SHARING}, {"subscription", SAYS_SHARING}, {"summary", SAYS_MAIN},
    {"tab", SAYS_NAVIGATION}, {"tag", SAYS_ORIGIN}, {"teaser", SAYS_RELATED}, {"text", SAYS_MAIN},
    {"time", SAYS_ORIGIN}, {"title", SAYS_TITLE}, {"toc", SAYS_NAVIGATION}, {"tool", SAYS_NAVIGATION},
    {"top", SAYS_HEADER}, {"trending", SAYS_RELATED}, {"tweet", SAYS_SHARING}, {"twitter", SAYS_SHARING},
    {"video", SAYS_PICTURE}, {"visually", SAYS_HIDDEN},
    {"widget", SAYS_ASIDE},
};
#define N_HINT_WORDS ((int)(sizeof hint_words / sizeof *hint_words))

/* What short blocks say that are not what a page is about: beginnings of words, in small letters. */
typedef struct {
    const char *start;
    int topic;
} Phrase;

enum { ON_ADVERTISING, ON_SUBSCRIBING, ON_OTHER_PAGES, ON_SHARING, ON_RIGHTS, ON_ORIGIN, N_TOPICS };

/* By the first byte. */
static const Phrase phrases[] = {
    {"about the author", ON_ORIGIN}, {"ad ", ON_ADVERTISING}, {"advertis", ON_ADVERTISING},
    {"all rights", ON_RIGHTS}, {"also on", ON_OTHER_PAGES}, {"also read", ON_OTHER_PAGES},
    {"app store", ON_SUBSCRIBING}, {"author", ON_ORIGIN},
    {"by ", ON_ORIGIN},
    {"categor", ON_ORIGIN}, {"click here", ON_SUBSCRIBING}, {"comment", ON_SHARING}, {"contributed", ON_ORIGIN},
    {"cookie", ON_RIGHTS}, {"copyright", ON_RIGHTS}, {"credit", ON_ORIGIN},
    {"donat", ON_SUBSCRIBING}, {"download", ON_SUBSCRIBING},
    {"email", ON_SHARING},
    {"facebook", ON_SHARING}, {"filed under", ON_ORIGIN}, {"follow", ON_SHARING}, {"for more", ON_OTHER_PAGES},
    {"getty", ON_ORIGIN}, {"google play", ON_SUBSCRIBING},
    {"image", ON_ORIGIN}, {"in this article", ON_OTHER_PAGES}, {"instagram", ON_SHARING},
    {"learn more", ON_OTHER_PAGES}, {"license", ON_RIGHTS}, {"like us", ON_SHARING}, {"like this", ON_SHARING},
    {"log in", ON_SUBSCRIBING}, {"login", ON_SUBSCRIBING},
    {"min read", ON_ORIGIN}, {"more from", ON_OTHER_PAGES}, {"more on", ON_OTHER_PAGES},
    {"more:", ON_OTHER_PAGES}, {"most ", ON_OTHER_PAGES},
    {"newsletter", ON_SUBSCRIBING}, {"next ", ON_OTHER_PAGES},
    {"photo", ON_ORIGIN}, {"popular", ON_OTHER_PAGES}, {"posted", ON_ORIGIN}, {"previous", ON_OTHER_PAGES},
    {"print", ON_SHARING}, {"privacy", ON_RIGHTS}, {"published", ON_ORIGIN},
    {"read more", ON_OTHER_PAGES}, {"recommended", ON_OTHER_PAGES}, {"related", ON_OTHER_PAGES},
    {"reply", ON_SHARING},
    {"see also", ON_OTHER_PAGES}, {"share", ON_SHARING}, {"sign in", ON_SUBSCRIBING},
    {"sign up", ON_SUBSCRIBING}, {"source", ON_ORIGIN}, {"sponsor", ON_ADVERTISING},
    {"subscri", ON_SUBSCRIBING},
    {"tags", ON_ORIGIN}, {"terms of", ON_RIGHTS}, {"this article", ON_ORIGIN}, {"trending", ON_OTHER_PAGES},
    {"tweet", ON_SHARING}, {"twitter", ON_SHARING},
    {"updated", ON_ORIGIN},
    {"watch", ON_OTHER_PAGES}, {"whatsapp", ON_SHARING}, {"written by", ON_ORIGIN},
    {"you may", ON_OTHER_PAGES}, {"your email", ON_SUBSCRIBING},
    {"下一篇", ON_OTHER_PAGES}, {"上一篇", ON_OTHER_PAGES}, {"举报", ON_SHARING}, {"作者", ON_ORIGIN},
    {"关注", ON_SHARING}, {"分享", ON_SHARING}, {"原标题", ON_ORIGIN}, {"发布", ON_ORIGIN},
    {"图片", ON_ORIGIN}, {"声明", ON_RIGHTS}, {"备案", ON_RIGHTS}, {"客户端", ON_SUBSCRIBING},
    {"广告", ON_ADVERTISING}, {"延伸阅读", ON_OTHER_PAGES}, {"微信", ON_SHARING}, {"微博", ON_SHARING},
    {"扫码", ON_SUBSCRIBING}, {"扫描", ON_SUBSCRIBING}, {"推荐", ON_OTHER_PAGES}, {"收藏", ON_SHARING},
    {"更多", ON_OTHER_PAGES}, {"来源", ON_ORIGIN}, {"注册", ON_SUBSCRIBING}, {"热门", ON_OTHER_PAGES},
    {"版权", ON_RIGHTS}, {"登录", ON_SUBSCRIBING}, {"相关", ON_OTHER_PAGES}, {"编辑", ON_ORIGIN},
    {"许可证", ON_RIGHTS}, {"评论", ON_SHARING}, {"记者", ON_ORIGIN}, {"责任编辑", ON_ORIGIN},
    {"转载", ON_RIGHTS}, {"阅读", ON_OTHER_PAGES},
};
#define N_PHRASES ((int)(sizeof phrases / sizeof *phrases))
#define SHORT_WORDS 60 /* longer blocks are not looked through for phrases */

/* What is counted of a block, and summed up of a container. */
typedef struct {
    float words, linked, ends, commas, digits, capitals, good, blocks;
} Counts;

#define CONTAINER 8 /* features of a container */

/* An element that begins a line. */
typedef struct {
    int32_t parent; /* -1 for none */
    uint8_t part;
    uint16_t hints; /* of its own names */
    uint16_t all_hints; /* and of those of the elements around it */
    uint32_t looks; /* a hash of what it is and the names of its classes */
    int32_t n_alike; /* elements of the same parent that look like it */
    uint32_t all_parts; /* bits of the parts it is in */
    Counts counts;
    float mass; /* words, by how much they are main text */
    int32_t container; /* the next element around it that has more than it, -1 for none */
    double shape[CONTAINER]; /* features of the blocks in it */
    bool is_in_core[2]; /* by good words, and by what the first pass says */
} Element;

typedef struct {
    size_t start, end; /* in the text */
    int32_t element;
    uint8_t part;
    uint8_t topics; /* bits */
    bool is_repeated; /* what it says stands before already */
    bool is_cut; /* ends with "..." */
    float in_title, of_title; /* its words that are in the title, and those of the title that it has */
    bool is_hidden; /* by its style: no main text, whatever else speaks for it */
    bool ends_sentence, has_sign; /* "©", "|" and the like */
    bool after_headline, is_first_headline;
    Counts counts;
    double size; /* its words as a feature */
    float score; /* how much of it is main text, 0 to 1 */
} Block;

/* --- Names ------------------------------------------------------------------------------------------- */

static inline char small_letter(char c)
{
    return 'A' <= c && c <= 'Z' ? (char)(c | 32) : c;
}

static inline bool is_small(char c)
{
    return 'a' <= c && c <= 'z';
}

/* Return the hints in names, as in a class: of words that begin after no letter, or with a capital after none. */
static uint16_t hints_in(const char *names, size_t n)
{
    static int8_t first[26]; /* of the hint words with each letter; filled once, always with the same */
    static bool is_filled;
    if (!is_filled) {
        memset(first, -1, sizeof first);
        for (int i = N_HINT_WORDS; i-- > 0;)
            first[hint_words[i].start[0] - 'a'] = (int8_t)i;
        is_filled = true;
    }
    uint16_t hints = 0;
    char before = ' ';
    for (size_t at = 0; at < n; before = names[at++]) {
        char c = small_letter(names[at]);
        bool begins = is_small(c) && (!is_small(small_letter(before)) || (c != names[at] && is_small(before)));
        if (!begins || first[c - 'a'] < 0)
            continue;
        int best = -1;
        for (int i = first[c - 'a']; i < N_HINT_WORDS && hint_words[i].start[0] == c; i++) {
            const char *word = hint_words[i].start;
            size_t length = 0;
            while (word[length] && at + length < n && small_letter(names[at + length]) == word[length])
                length++;
            if (word[length])
                continue;
            /* Short ones are whole words: "ad" is not the beginning of "address". */
            bool is_whole = at + length == n || !is_small(names[at + length]) || (length == 2 && names[at + 2] == 's');
            if (length > 3 || is_whole)
                best = hint_words[i].hint; /* a longer one comes later */
        }
        if (best >= 0)
            hints |= (uint16_t)(1 << best);
    }
    return hints;
}

/* --- Counting ---------------------------------------------------------------------------------------- */

/* Return the code point of three bytes of UTF-8. */
static inline uint32_t code_of_three(const unsigned char *at)
{
    return (uint32_t)(at[0] & 15) << 12 | (uint32_t)(at[1] & 63) << 6 | (at[2] & 63);
}

static inline bool is_east_asian(uint32_t code)
{
    return (0x3040 <= code && code < 0xA000) || (0xAC00 <= code && code < 0xD7A4);
}

/* Count what a stretch of visible text adds to its block; two characters of Chinese are a word. */
static void count_text(Block *block, const char *bytes, size_t n, bool is_linked)
{
    const unsigned char *at = (const unsigned char *)bytes, *end = at + n;
    Counts *counts = &block->counts;
    float words = 0;
    bool in_word = false;
    while (at < end) {
        unsigned char c = *at;
        if (c < 0x80) {
            bool is_alphanumeric = is_small((char)(c | 32)) || ('0' <= c && c <= '9');
            if (is_alphanumeric) {
                if (!in_word) {
                    words++;
                    counts->digits += '0' <= c && c <= '9';
                    counts->capitals += 'A' <= c && c <= 'Z';
                }
                block->ends_sentence = false;
            } else if (c == '.' || c == '!' || c == '?') {
                bool is_end = at + 1 == end || at[1] <= ' ' || at[1] == '"' || at[1] == '\'' || at[1] >= 0x80;
                counts->ends += is_end;
                block->ends_sentence = block->ends_sentence || is_end;
            } else if (c == ',' || c == ';') {
                counts->commas++;
                block->ends_sentence = false;
            } else if (c == '|' || c == '>') {
                block->has_sign = true;
                block->ends_sentence = false;
            } else if (c == ':') {
                block->ends_sentence = false;
            }
            in_word = is_alphanumeric || (in_word && (c == '\'' || c == '-'));
            at++;
            continue;
        }
        if (c >= 0xE0 && c < 0xF0 && end - at >= 3) {
            uint32_t code = code_of_three(at);
            at += 3;
            if (is_east_asian(code)) {
                words += 0.5f;
                block->ends_sentence = false;
                in_word = false;
            } else if (code == 0x3002 || code == 0xFF01 || code == 0xFF1F) {
                counts->ends++;
                block->ends_sentence = true;
            } else if (code == 0xFF0C || code == 0x3001 || code == 0xFF1B) {
                counts->commas++;
            }
            continue;
        }
        if (c == 0xC2 && end - at > 1 && (at[1] == 0xA9 || at[1] == 0xBB || at[1] == 0xAB))
            block->has_sign = true;
        else if (c != 0xC2 && c >= 0xC0) {
            words += !in_word;
            in_word = true;
            block->ends_sentence = false;
        }
        at++;
    }
    counts->words += words;
    counts->linked += is_linked ? words : 0;
}

static void add_counts(Counts *to, const Counts *counts)
{
    to->words += counts->words;
    to->linked += counts->linked;
    to->ends += counts->ends;
    to->commas += counts->commas;
    to->digits += counts->digits;
    to->capitals += counts->capitals;
    to->good += counts->good;
    to->blocks += counts->blocks;
}

/* --- Features ---------------------------------------------------------------------------------------- */

#define CORE_SHARE 0.6 /* of the good words that the core of a page has */
#define LEVELS 4 /* of containers that are looked at */
#define NEAR 3 /* neighbours on each side */
#define SHAPE 6 /* features of a neighbour */
#define OWN_HINTS 2 /* levels of containers whose own names are looked at */
#define FIRST_FEATURES \
    (16 + N_TOPICS + N_PARTS + N_PARTS + N_HINTS * (1 + OWN_HINTS) + 8 + 2 * NEAR * SHAPE + LEVELS * CONTAINER \
     + 5)
#define SECOND_FEATURES (FIRST_FEATURES + 1 + 2 * NEAR + LEVELS * 3 + 8)

typedef struct {
    const char *text;
    Block *blocks;
    Element *elements;
    int64_t n_blocks, n_elements;
    Counts page;
    int32_t core, core_of_mass; /* the innermost element with most of the good words; -1 for none */
    int64_t first, last; /* blocks that the first pass is sure of */
    float mass;
} Layout;

static inline double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0.0;
}

/* To 2^-12: logarithms of different C libraries may differ in the last bit, and all peers are to judge alike. */
static inline double rounded(double value)
{
    return rint(value * 4096.0) / 4096.0;
}

static inline double scaled(double count)
{
    return rounded(log1p(count)) / 4.0;
}

/* Note which elements are in the innermost one that has at least a share of what is summed up; return that. */
static int32_t find_core(Layout *layout, int pass, const double *sums, double least)
{
    Element *elements = layout->elements;
    int32_t core = -1;
    for (int64_t i = 0; i < layout->n_elements; i++)
        if (sums[i] >= least && sums[i] > 0)
            core = (int32_t)i; /* they stand in the order they began in: the last is the innermost */
    for (int64_t i = 0; i < layout->n_elements; i++)
        elements[i].is_in_core[pass]
            = i == core || (elements[i].parent >= 0 && elements[elements[i].parent].is_in_core[pass]);
    return core;
}

/* Note the container of each element: those that hold nothing else say nothing. */
static void find_containers(Layout *layout)
{
    Element *elements = layout->elements;
    for (int64_t i = 0; i < layout->n_elements; i++) {
        int32_t parent = elements[i].parent;
        bool is_more = parent >= 0 && elements[parent].counts.blocks > elements[i].counts.blocks;
        elements[i].container = parent < 0 || is_more ? parent : elements[parent].container;
    }
}

static double *put_shape(double *to, const Layout *layout, int64_t i)
{
    if (i < 0 || i >= layout->n_blocks) {
        memset(to, 0, SHAPE * sizeof *to);
        to[SHAPE - 1] = 1.0;
        return to + SHAPE;
    }
    const Block *block = layout->blocks + i;
    *to++ = block->size;
    *to++ = share(block->counts.linked, block->counts.words);
    *to++ = block->ends_sentence;
    *to++ = block->part == HEADLINE;
    *to++ = block->topics != 0;
    *to++ = 0.0;
    return to;
}

static double *put_container(double *to, const Layout *layout, int32_t element)
{
    if (element < 0)
        memset(to, 0, CONTAINER * sizeof *to);
    else
        memcpy(to, layout->elements[element].shape, CONTAINER * sizeof *to);
    return to + CONTAINER;
}

/* Reckon once what the rows of many blocks have: the sizes of neighbours, the shapes of containers. */
static void measure_surroundings(Layout *layout)
{
    for (int64_t i = 0; i < layout->n_blocks; i++)
        layout->blocks[i].size = scaled(layout->blocks[i].counts.words);
    for (int64_t i = 0; i < layout->n_elements; i++) {
        Element *element = layout->elements + i;
        const Counts *counts = &element->counts;
        double *to = element->shape;
        if (counts->blocks == 0)
            continue; /* it is around no block */
        *to++ = scaled(counts->words);
        *to++ = share(counts->linked, counts->words);
        *to++ = share(counts->good, counts->words);
        *to++ = share(counts->good, layout->page.good);
        *to++ = share(counts->ends, counts->blocks) / 4.0;
        *to++ = scaled(share(counts->words, counts->blocks));
        *to++ = scaled(element->n_alike) * 2.0;
        *to++ = element->n_alike > 1;
    }
}

/* Put the features of a block for the first pass; return where they end. */
static double *put_features(double *to, const Layout *layout, int64_t i)
{
    const Block *block = layout->blocks + i;
    const Counts *counts = &block->counts;
    const Element *in = block->element >= 0 ? layout->elements + block->element : NULL;
    double words = counts->words;
    *to++ = block->size;
    *to++ = words >= 10;
    *to++ = words >= 25;
    *to++ = words <= 3;
    *to++ = share(counts->linked, words);
    *to++ = counts->linked == 0;
    *to++ = scaled(counts->ends);
    *to++ = scaled(counts->commas);
    *to++ = block->ends_sentence;
    *to++ = share(counts->digits, words);
    *to++ = share(counts->capitals, words);
    *to++ = block->has_sign;
    *to++ = block->is_repeated;
    *to++ = block->is_cut;
    *to++ = block->in_title;
    *to++ = block->of_title;
    for (int topic = 0; topic < N_TOPICS; topic++)
        *to++ = block->topics >> topic & 1;
    for (int part = 0; part < N_PARTS; part++)
        *to++ = block->part == part;
    for (int part = 0; part < N_PARTS; part++)
        *to++ = in && in->all_parts >> part & 1;
    for (int hint = 0; hint < N_HINTS; hint++)
        *to++ = in && in->all_hints >> hint & 1;
    int32_t container = block->element;
    for (int level = 0; level < OWN_HINTS; level++) {
        for (int hint = 0; hint < N_HINTS; hint++)
            *to++ = container >= 0 && layout->elements[container].hints >> hint & 1;
        container = container >= 0 ? layout->elements[container].container : -1;
    }
    *to++ = share((double)i, (double)layout->n_blocks);
    *to++ = 1.0 / (1.0 + (double)i / 4.0);
    *to++ = 1.0 / (1.0 + (double)(layout->n_blocks - 1 - i) / 4.0);
    *to++ = block->after_headline;
    *to++ = block->is_first_headline;
    *to++ = in && in->is_in_core[0];
    *to++ = layout->core >= 0 && block->element == layout->core;
    *to++ = block->is_hidden;
    for (int64_t d = 1; d <= NEAR; d++)
        to = put_shape(put_shape(to, layout, i - d), layout, i + d);
    container = block->element;
    for (int level = 0; level < LEVELS; level++) {
        to = put_container(to, layout, container);
        container = container >= 0 ? layout->elements[container].container : -1;
    }
    *to++ = scaled(layout->page.words) / 2.0;
    *to++ = share(layout->page.linked, layout->page.words);
    *to++ = scaled((double)layout->n_blocks) / 2.0;
    *to++ = share(layout->page.good, layout->page.words);
    *to++ = share(layout->page.ends, (double)layout->n_blocks) / 4.0;
    return to;
}

static double score_at(const Layout *layout, int64_t i)
{
    return i < 0 || i >= layout->n_blocks ? 0.0 : layout->blocks[i].score;
}

/* Put what the second pass looks at besides; return where it ends. */
static double *put_second(double *to, const Layout *layout, int64_t i)
{
    const Block *block = layout->blocks + i;
    *to++ = block->score;
    for (int64_t d = 1; d <= NEAR; d++) {
        *to++ = score_at(layout, i - d);
        *to++ = score_at(layout, i + d);
    }
    int32_t container = block->element;
    for (int level = 0; level < LEVELS; level++) {
        const Element *element = container >= 0 ? layout->elements + container : NULL;
        *to++ = element ? share(element->mass, element->counts.words) : 0.0;
        *to++ = element ? share(element->mass, layout->mass) : 0.0;
        *to++ = element ? scaled(element->mass) : 0.0;
        container = container >= 0 ? layout->elements[container].container : -1;
    }
    int32_t core = layout->core_of_mass;
    *to++ = block->element >= 0 && layout->elements[block->element].is_in_core[1];
    *to++ = core >= 0 ? share(layout->elements[core].mass, layout->elements[core].counts.words) : 0.0;
    *to++ = i < layout->first;
    *to++ = i > layout->last;
    *to++ = i < layout->first ? scaled((double)(layout->first - i)) : 0.0;
    *to++ = i > layout->last ? scaled((double)(i - layout->last)) : 0.0;
    *to++ = scaled(layout->mass) / 2.0;
    *to++ = share(layout->mass, layout->page.words);
    return to;
}

/* --- What blocks say ---------------------------------------------------------------------------------- */

/* Return the topics of the phrases that a text has. */
static uint8_t topics_in(const char *at, const char *end)
{
    static int16_t first[256]; /* of the phrases with each first byte; filled once, always with the same */
    static bool is_filled;
    if (!is_filled) {
        memset(first, -1, sizeof first);
        for (int i = N_PHRASES; i-- > 0;)
            first[(unsigned char)phrases[i].start[0]] = (int16_t)i;
        is_filled = true;
    }
    uint8_t topics = 0;
    char before = ' ';
    for (; at < end; before = *at++) {
        char c = small_letter(*at);
        int i = first[(unsigned char)c];
        if (i < 0 || is_small(small_letter(before)))
            continue;
        for (; i < N_PHRASES && phrases[i].start[0] == c; i++) {
            const char *phrase = phrases[i].start;
            size_t length = 0;
            while (phrase[length] && at + length < end && small_letter(at[length]) == phrase[length])
                length++;
            if (phrase[length] == 0)
                topics |= (uint8_t)(1 << phrases[i].topic);
        }
    }
    return topics;
}

static inline bool is_word_byte(char c)
{
    return is_small((char)(c | 32)) || ('0' <= c && c <= '9') || (unsigned char)c >= 0x80;
}

#define TITLE_WORDS_MAX 64

/* Read the next word and return its hash, 0 at the end. A character of Chinese is a word. */
static uint32_t next_word(const char **at, const char *end)
{
    while (*at < end && !is_word_byte(**at))
        (*at)++;
    const char *start = *at;
    uint32_t hash = 2166136261u;
    while (*at < end && is_word_byte(**at)) {
        bool is_wide = (unsigned char)**at >= 0xE3 && end - *at >= 3;
        if (is_wide && *at > start)
            break;
        for (int n = is_wide ? 3 : 1; n > 0; n--)
            hash = (hash ^ (unsigned char)small_letter(*(*at)++)) * 16777619u;
        if (is_wide)
            break;
    }
    return *at > start ? hash | 1 : 0;
}

/* Return the hash of a text, eight bytes at a time. */
static uint64_t hash_of(const char *at, const char *end)
{
    uint64_t hash = 14695981039346656037u ^ (uint64_t)(end - at), bytes;
    for (; end - at >= 8; at += 8) {
        memcpy(&bytes, at, 8);
        hash = (hash ^ bytes) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    for (; at < end; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* Compare short blocks with the title, look for phrases in them, and find those that say the same. */
static void read_blocks(Layout *layout, const char *title, size_t title_size, uint64_t *seen, size_t n_seen)
{
    uint32_t words[TITLE_WORDS_MAX], word;
    int n_words = 0;
    for (const char *at = title; n_words < TITLE_WORDS_MAX && (word = next_word(&at, title + title_size));)
        words[n_words++] = word;
    for (int64_t i = 0; i < layout->n_blocks; i++) {
        Block *block = layout->blocks + i;
        const char *at = layout->text + block->start, *end = layout->text + block->end;
        block->is_cut = end - at > 3 && (memcmp(end - 3, "...", 3) == 0 || memcmp(end - 3, "…", 3) == 0);
        uint64_t hash = hash_of(at, end);
        size_t place = hash % n_seen;
        while (seen[place] && seen[place] != (hash | 1))
            place = (place + 1) % n_seen;
        block->is_repeated = seen[place] != 0;
        seen[place] = hash | 1;
        if (block->counts.words > SHORT_WORDS)
            continue;
        block->topics = topics_in(at, end);
        int n = 0, n_in = 0;
        uint64_t had = 0;
        while ((word = next_word(&at, end))) {
            n++;
            for (int w = 0; w < n_words; w++)
                if (words[w] == word) {
                    n_in += !(had >> w & 1);
                    had |= UINT64_C(1) << w;
                }
        }
        block->in_title = (float)share(n_in, n);
        block->of_title = (float)share(n_in, n_words);
    }
}

/* Count for each element how many of its parent look like it.

   `table` has two numbers for each of `n_table` places: -1, which becomes the first such element, and 0. */
static void count_alike(Layout *layout, int32_t *table, size_t n_table)
{
    Element *elements = layout->elements;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < layout->n_elements; i++) {
            uint32_t hash = (elements[i].looks ^ (uint32_t)elements[i].parent) * 2654435761u;
            size_t place = hash % n_table;
            while (table[2 * place] >= 0
                   && (elements[table[2 * place]].parent != elements[i].parent
                       || elements[table[2 * place]].looks != elements[i].looks))
                place = (place + 1) % n_table;
            if (table[2 * place] < 0)
                table[2 * place] = (int32_t)i;
            if (pass == 0)
                table[2 * place + 1]++;
            else
                elements[i].n_alike = table[2 * place + 1];
        }
}

/* --- Judging ----------------------------------------------------------------------------------------- */

/* Sum up the tree what is counted of blocks. */
static void sum_counts(Layout *layout)
{
    for (int64_t i = 0; i < layout->n_blocks; i++) {
        Block *block = layout->blocks + i;
        Counts *counts = &block->counts;
        counts->blocks = 1;
        bool is_good = counts->words >= 10 && counts->linked < 0.4f * counts->words && counts->ends + counts->commas > 0;
        counts->good = is_good ? counts->words : 0;
        add_counts(&layout->page, counts);
        if (block->element >= 0)
            add_counts(&layout->elements[block->element].counts, counts);
    }
    for (int64_t i = layout->n_elements; i-- > 0;)
        if (layout->elements[i].parent >= 0)
            add_counts(&layout->elements[layout->elements[i].parent].counts, &layout->elements[i].counts);
}

/* Sum up what the first pass says, and find the blocks it is sure of. */
static void sum_mass(Layout *layout)
{
    layout->first = layout->n_blocks;
    layout->last = -1;
    for (int64_t i = 0; i < layout->n_blocks; i++) {
        const Block *block = layout->blocks + i;
        float mass = block->score * block->counts.words;
        layout->mass += mass;
        if (block->element >= 0)
            layout->elements[block->element].mass += mass;
        if (block->score > 0.8f && block->counts.words >= 10) {
            layout->first = layout->first < i ? layout->first : i;
            layout->last = i;
        }
    }
    for (int64_t i = layout->n_elements; i-- > 0;)
        if (layout->elements[i].parent >= 0)
            layout->elements[layout->elements[i].parent].mass += layout->elements[i].mass;
}

#define UNITS 24 /* units between features and score */

/* Weights: a row of UNITS biases, one of weights for each feature, one for the sum, and its bias; then the least
   value of each feature that counts as it is, and the greatest one of each. Or NULL. */
typedef const float *Network;

static inline int64_t network_size(int n_features)
{
    return (int64_t)UNITS * (n_features + 2) + 1 + 2 * n_features;
}

/* Add what features weigh in a network over `n_features` to the sums of its units, which begin as its biases.

   What is far from anything that the network was fitted to is taken as the farthest that it was fitted to.
   Args: first: number of the first of these features. */
static inline void add_weighted(
    float *sums, const double *features, int first, int n, Network network, int n_features)
{
    const float *least = network + (int64_t)UNITS * (n_features + 2) + 1 + first, *greatest = least + n_features;
    for (int f = 0; f < n; f++) {
        const float *weights = network + (int64_t)UNITS * (first + f + 1);
        float value = (float)features[f];
        value = value < least[f] ? least[f] : value > greatest[f] ? greatest[f] : value;
        if (value == 0.0f) /* as most are */
            continue;
        for (int unit = 0; unit < UNITS; unit++)
            sums[unit] += value * weights[unit];
    }
}

/* Return the score that follows from the sums of the units. */
static float score_of(const float *sums, int n_features, Network network)
{
    const float *last = network + (int64_t)UNITS * (n_features + 1);
    float total = last[UNITS];
    for (int unit = 0; unit < UNITS; unit++)
        total += sums[unit] > 0 ? sums[unit] * last[unit] : 0.0f;
    return (float)rounded(1.0 / (1.0 + exp(-(double)total)));
}

/* Let the first network say how much of each block is main text.

   What both networks go by is looked up once: `sums` takes what it weighs in the second one, a row of UNITS a
   block. What it is is kept in `rows`, a row a block, unless that is NULL. */
static void score_first(Layout *layout, const Network *networks, float *sums, double *rows)
{
    double features[FIRST_FEATURES];
    for (int64_t i = 0; i < layout->n_blocks; i++) {
        double *row = rows ? rows + i * FIRST_FEATURES : features;
        put_features(row, layout, i);
        layout->blocks[i].score = layout->blocks[i].is_hidden ? 0.0f : 0.5f;
        float own[UNITS], *later = sums + i * UNITS;
        if (networks[1]) {
            memcpy(later, networks[1], UNITS * sizeof *later);
            add_weighted(later, row, 0, FIRST_FEATURES, networks[1], SECOND_FEATURES);
        }
        if (networks[0] && !layout->blocks[i].is_hidden) {
            memcpy(own, networks[0], sizeof own);
            add_weighted(own, row, 0, FIRST_FEATURES, networks[0], FIRST_FEATURES);
            layout->blocks[i].score = score_of(own, FIRST_FEATURES, networks[0]);
        }
    }
}

/* Let the second network say it, from what the first says of a block and of what is around it.

   The scores are the same for all while it does: `scores` is room for one of each. */
static void score_second(Layout *layout, Network network, float *sums, float *scores, double *rows)
{
    double features[SECOND_FEATURES - FIRST_FEATURES];
    for (int64_t i = 0; i < layout->n_blocks; i++) {
        double *row = rows ? rows + i * SECOND_FEATURES + FIRST_FEATURES : features;
        if (rows)
            put_features(rows + i * SECOND_FEATURES, layout, i);
        put_second(row, layout, i);
        scores[i] = layout->blocks[i].is_hidden ? 0.0f : 0.5f;
        if (network && !layout->blocks[i].is_hidden) {
            add_weighted(
                sums + i * UNITS, row, FIRST_FEATURES, SECOND_FEATURES - FIRST_FEATURES, network, SECOND_FEATURES);
            scores[i] = score_of(sums + i * UNITS, SECOND_FEATURES, network);
        }
    }
    for (int64_t i = 0; i < layout->n_blocks; i++)
        layout->blocks[i].score = scores[i];
}

/* Score the blocks of a page in both passes. */
static void judge(
    Layout *layout, const Network *networks, float *scores, float *units, double *sums, double *first, double *second)
{
    sum_counts(layout);
    find_containers(layout);
    measure_surroundings(layout);
    for (int64_t i = 0; i < layout->n_elements; i++)
        sums[i] = layout->elements[i].counts.good;
    layout->core = find_core(layout, 0, sums, CORE_SHARE * layout->page.good);
    score_first(layout, networks, units, first);
    sum_mass(layout);
    for (int64_t i = 0; i < layout->n_elements; i++)
        sums[i] = layout->elements[i].mass;
    layout->core_of_mass = find_core(layout, 1, sums, CORE_SHARE * layout->mass);
    score_second(layout, networks[1], units, scores, second);
}
