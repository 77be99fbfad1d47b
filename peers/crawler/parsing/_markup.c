/* The extension module `peers.crawler.parsing._markup`: reads HTML and collects what `parser.py` keeps of a page.

   Theory of operation. One pass over the bytes, by the tokenizer of the HTML standard (13.2.5), with no tree: a
   stack of the names of open elements says what an end tag closes, by the rules that browsers once had and
   libxml2 has (an end tag closes nothing that weighs more than itself). Visible text goes into one buffer, with
   a NUL between blocks; a page has no NULs, they were taken out. Links, headings and the title are stretches of
   that buffer, whose white space is folded when they end. What the attribute `hidden` keeps from view until a
   script says otherwise, as of tabs, goes into another, and so do the readings of <ruby> and the titles of
   drawings. Elements that few pages have many of (meta, base) are given to Python with all attributes, and so are
   those that may say when the page was written, with their text.

   Of the tree construction (13.2.6) there is what decides what a name means: in <svg> and <math> names are not
   those of HTML, up to where they may have HTML inside or to a tag that ends them (13.2.6.5); what is in
   <template> is no part of the page; and the head ends with the first thing that cannot be in it.

   Nothing in a page costs more than the time to read it: no byte is looked at more than a few times, an end
   tag looks at `LOOKED_AT_MAX` open elements at most, and what is kept is bounded. */

#define Py_LIMITED_API 0x030b0000 /* as kernel_module.h has it */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "peers/crawler/parsing/main_text.h"

#define LOOKED_AT_MAX 256 /* open elements that an end tag may close */
#define NOTED_MAX 10000 /* elements given to Python */
#define ID_BYTES_MAX 100 /* of the id of a heading: longer ones are not kept */
#define ID_DISTANCE_MAX 64 /* bytes of white space between an id and its heading */
#define DATED_MAX 12 /* elements with dates: later ones are of lists */
#define DATED_BYTES_MAX 200 /* of the text of one: a longer one says more than a date */
#define DATA_BYTES_MAX (1 << 18) /* of JSON-LD in one script */
#define NAME_BYTES_MAX 16 /* of a name that means anything */
#define ENTITY_BYTES_MAX 33 /* the longest name of a character, &CounterClockwiseContourIntegral; */
#define BARE_ENTITY_BYTES_MAX 6 /* the longest that needs no semicolon */

enum { /* what a tag means */
    BLOCK = 1, /* text before and after it is apart */
    HEADING = 2,
    HIDDEN = 4, /* its text is not shown */
    VOID = 8, /* it has no end */
    RAW = 16, /* up to its end tag there is text only */
    RAW_ENTITIES = 32, /* likewise, with entities */
    NOTED = 64, /* given to Python */
    ENDS_ITS_LIKE = 128, /* it ends one that is open */
    READING = 256, /* its text is beside the page's: as what is `hidden` */
    OF_HEAD = 512, /* it does not end the head of the page */
    FOREIGN = 1024, /* in it names are not those of HTML */
    FOREIGN_TOO = 2048, /* there it means the same */
    HAS_HTML = 4096, /* but in it they are again: an integration point */
    ENDS_FOREIGN = 8192, /* it cannot be there, but ends it */
    ENDS_UNSAID = 16384, /* its end tag may be left out: 13.1.2.4 */
};

enum { /* what is wrong with the syntax of a page, as the standard has it (13.2.2) and one pass can tell */
    UNCLOSED, /* elements that others end, or the page */
    STRAY, /* end tags of nothing that is open */
    MISNESTED, /* end tags that come when others have ended the element, links in links, HTML in drawings */
    IN_TAG, /* attributes twice or misspelt, `/` where it ends nothing, attributes of end tags */
    IN_DECLARATION, /* none of the document type, comments that are none */
    N_ERRORS
};
#define CUT_MAX 8 /* elements ended by others that are remembered */
#define ATTRIBUTES_MAX 32 /* of a tag, looked at for one that is there twice */

typedef enum {
    OTHER, A, AREA, DRAWING_TITLE, FRAME, IMG, LINK, OBJECT, P, PLAINTEXT, RUBY, RUBY_TEXT, SCRIPT, TABLE, TEMPLATE,
    TIME, TITLE,
} Kind;

typedef struct {
    const char *name;
    int meaning;
    Kind kind;
    int weight; /* an end tag closes what weighs no more than itself */
    Part part; /* what its text is a part of; NOTHING when that does not begin a line */
} Tag;

#define LIGHT 100

/* By name. */
static const Tag tags[] = {
    {"a", FOREIGN_TOO, A, LIGHT, NOTHING},
    {"address", BLOCK, OTHER, LIGHT, BOX},
    {"annotation-xml", FOREIGN_TOO | HAS_HTML, OTHER, LIGHT, NOTHING},
    {"area", VOID, AREA, LIGHT, NOTHING},
    {"article", BLOCK, OTHER, LIGHT, ARTICLE},
    {"aside", BLOCK, OTHER, LIGHT, ASIDE},
    {"b", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"base", VOID | NOTED | OF_HEAD, OTHER, LIGHT, NOTHING},
    {"basefont", VOID | OF_HEAD, OTHER, LIGHT, NOTHING},
    {"bgsound", VOID | OF_HEAD, OTHER, LIGHT, NOTHING},
    {"big", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"blockquote", BLOCK | ENDS_FOREIGN, OTHER, LIGHT, QUOTATION},
    {"body", BLOCK | ENDS_FOREIGN | ENDS_UNSAID, OTHER, 200, BOX},
    {"br", BLOCK | VOID | ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"caption", BLOCK, OTHER, LIGHT, CELL},
    {"center", BLOCK | ENDS_FOREIGN, OTHER, LIGHT, BOX},
    {"code", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"col", VOID, OTHER, LIGHT, NOTHING},
    {"colgroup", ENDS_UNSAID, OTHER, LIGHT, NOTHING},
    {"dd", BLOCK | ENDS_ITS_LIKE | ENDS_FOREIGN | ENDS_UNSAID, OTHER, LIGHT, TERM},
    {"desc", FOREIGN_TOO | HAS_HTML, OTHER, LIGHT, NOTHING},
    {"details", BLOCK, OTHER, LIGHT, BOX},
    {"dialog", BLOCK, OTHER, LIGHT, CONTROL},
    {"dir", BLOCK, OTHER, LIGHT, LIST},
    {"div", BLOCK | ENDS_FOREIGN, OTHER, 150, BOX},
    {"dl", BLOCK | ENDS_FOREIGN, OTHER, LIGHT, LIST},
    {"dt", BLOCK | ENDS_ITS_LIKE | ENDS_FOREIGN | ENDS_UNSAID, OTHER, LIGHT, TERM},
    {"em", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"embed", VOID | ENDS_FOREIGN, OBJECT, LIGHT, NOTHING},
    {"fieldset", BLOCK, TABLE, LIGHT, CONTROL},
    {"figcaption", BLOCK, OTHER, LIGHT, PICTURE},
    {"figure", BLOCK, OTHER, LIGHT, PICTURE},
    {"footer", BLOCK, OTHER, LIGHT, FOOTER},
    {"foreignobject", FOREIGN_TOO | HAS_HTML, OTHER, LIGHT, NOTHING},
    {"form", BLOCK, OTHER, LIGHT, CONTROL},
    {"frame", BLOCK | VOID, FRAME, LIGHT, NOTHING},
    {"h1", BLOCK | HEADING | ENDS_FOREIGN, OTHER, LIGHT, HEADLINE},
    {"h2", BLOCK | HEADING | ENDS_FOREIGN, OTHER, LIGHT, HEADLINE},
    {"h3", BLOCK | HEADING | ENDS_FOREIGN, OTHER, LIGHT, HEADLINE},
    {"h4", BLOCK | HEADING | ENDS_FOREIGN, OTHER, LIGHT, HEADLINE},
    {"h5", BLOCK | HEADING | ENDS_FOREIGN, OTHER, LIGHT, HEADLINE},
    {"h6", BLOCK | HEADING | ENDS_FOREIGN, OTHER, LIGHT, HEADLINE},
    {"head", ENDS_FOREIGN | OF_HEAD | ENDS_UNSAID, OTHER, 200, NOTHING},
    {"header", BLOCK, OTHER, LIGHT, HEADER},
    {"hr", BLOCK | VOID | ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"html", BLOCK | NOTED | OF_HEAD | ENDS_UNSAID, OTHER, 220, BOX},
    {"i", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"iframe", BLOCK | HIDDEN | RAW, FRAME, LIGHT, NOTHING},
    {"img", VOID | ENDS_FOREIGN, IMG, LIGHT, NOTHING},
    {"input", VOID, OTHER, LIGHT, NOTHING},
    {"keygen", VOID, OTHER, LIGHT, NOTHING},
    {"legend", BLOCK, OTHER, LIGHT, CONTROL},
    {"li", BLOCK | ENDS_ITS_LIKE | ENDS_FOREIGN | ENDS_UNSAID, OTHER, LIGHT, ITEM},
    {"link", VOID | OF_HEAD, LINK, LIGHT, NOTHING},
    {"listing", BLOCK | ENDS_FOREIGN, OTHER, LIGHT, LISTING},
    {"main", BLOCK, OTHER, LIGHT, MAIN},
    {"math", FOREIGN | FOREIGN_TOO, OTHER, LIGHT, NOTHING},
    {"menu", BLOCK | ENDS_FOREIGN, OTHER, LIGHT, LIST},
    {"meta", VOID | NOTED | ENDS_FOREIGN | OF_HEAD, OTHER, LIGHT, NOTHING},
    {"mi", FOREIGN_TOO | HAS_HTML, OTHER, LIGHT, NOTHING},
    {"mn", FOREIGN_TOO | HAS_HTML, OTHER, LIGHT, NOTHING},
    {"mo", FOREIGN_TOO | HAS_HTML, OTHER, LIGHT, NOTHING},
    {"ms", FOREIGN_TOO | HAS_HTML, OTHER, LIGHT, NOTHING},
    {"mtext", FOREIGN_TOO | HAS_HTML, OTHER, LIGHT, NOTHING},
    {"nav", BLOCK, OTHER, LIGHT, NAVIGATION},
    {"nobr", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"noembed", HIDDEN | RAW, OTHER, LIGHT, NOTHING},
    {"noframes", HIDDEN | RAW | OF_HEAD, OTHER, LIGHT, NOTHING},
    {"noscript", HIDDEN | OF_HEAD, OTHER, LIGHT, NOTHING},
    {"object", 0, OBJECT, LIGHT, NOTHING},
    {"ol", BLOCK | ENDS_FOREIGN, OTHER, LIGHT, LIST},
    {"optgroup", BLOCK | ENDS_UNSAID, OTHER, LIGHT, CONTROL},
    {"option", BLOCK | ENDS_ITS_LIKE | ENDS_UNSAID, OTHER, LIGHT, CONTROL},
    {"p", BLOCK | ENDS_ITS_LIKE | ENDS_FOREIGN | ENDS_UNSAID, P, LIGHT, PARAGRAPH},
    {"param", VOID, OTHER, LIGHT, NOTHING},
    {"plaintext", RAW, PLAINTEXT, LIGHT, LISTING},
    {"pre", BLOCK | ENDS_FOREIGN, OTHER, LIGHT, LISTING},
    {"rb", ENDS_UNSAID, RUBY_TEXT, LIGHT, NOTHING},
    {"rp", HIDDEN | ENDS_UNSAID, RUBY_TEXT, LIGHT, NOTHING},
    {"rt", READING | ENDS_UNSAID, RUBY_TEXT, LIGHT, NOTHING},
    {"rtc", READING | ENDS_ITS_LIKE | ENDS_UNSAID, OTHER, LIGHT, NOTHING},
    {"ruby", ENDS_FOREIGN, RUBY, LIGHT, NOTHING},
    {"s", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"script", HIDDEN | RAW | OF_HEAD | FOREIGN_TOO, SCRIPT, LIGHT, NOTHING},
    {"section", BLOCK, OTHER, LIGHT, BOX},
    {"select", BLOCK, OTHER, LIGHT, CONTROL},
    {"small", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"source", VOID, OTHER, LIGHT, NOTHING},
    {"span", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"strike", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"strong", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"style", HIDDEN | RAW | OF_HEAD | FOREIGN_TOO, OTHER, LIGHT, NOTHING},
    {"sub", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"summary", BLOCK, OTHER, LIGHT, BOX},
    {"sup", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"svg", FOREIGN | FOREIGN_TOO, OTHER, LIGHT, NOTHING},
    {"table", BLOCK | ENDS_FOREIGN, TABLE, 190, GRID},
    {"tbody", BLOCK | ENDS_UNSAID, OTHER, 180, GRID},
    {"td", BLOCK | ENDS_ITS_LIKE | ENDS_UNSAID, TABLE, 160, CELL},
    {"template", HIDDEN | OF_HEAD, TEMPLATE, LIGHT, NOTHING},
    {"textarea", RAW_ENTITIES, OTHER, LIGHT, CONTROL},
    {"tfoot", BLOCK | ENDS_UNSAID, OTHER, 180, GRID},
    {"th", BLOCK | ENDS_ITS_LIKE | ENDS_UNSAID, TABLE, 160, CELL},
    {"thead", BLOCK | ENDS_UNSAID, OTHER, 180, GRID},
    {"time", 0, TIME, LIGHT, NOTHING},
    {"title", BLOCK | RAW_ENTITIES | OF_HEAD, TITLE, LIGHT, NOTHING},
    {"tr", BLOCK | ENDS_ITS_LIKE | ENDS_UNSAID, OTHER, 170, GRID},
    {"track", VOID, OTHER, LIGHT, NOTHING},
    {"tt", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"u", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"ul", BLOCK | ENDS_FOREIGN, OTHER, LIGHT, LIST},
    {"var", ENDS_FOREIGN, OTHER, LIGHT, NOTHING},
    {"wbr", VOID, OTHER, LIGHT, NOTHING},
    {"xmp", RAW, OTHER, LIGHT, LISTING},
};
#define N_TAGS (sizeof tags / sizeof *tags)

static const Tag unknown_tag = {"", 0, OTHER, LIGHT, NOTHING};
/* In <svg> and <math>. */
static const Tag unseen_there = {"", HIDDEN, OTHER, LIGHT, NOTHING};
static const Tag title_there = {"", BLOCK | READING | HAS_HTML, DRAWING_TITLE, LIGHT, NOTHING};

/* Bytes that grow. */
typedef struct {
    char *at;
    size_t size, room;
} Buffer;

/* A stretch of the markup. */
typedef struct {
    const char *at;
    size_t size;
} Span;

/* A name as it is compared: in small letters. */
typedef struct {
    const Tag *tag;
    uint32_t number; /* of a tag its place, of others a hash */
} Name;

/* Attributes that mean something, the first of each name; `at` is NULL when there is none. */
typedef struct {
    Span href, source, rel, alt, type, names, id, anchor, role, style, language, title, property, moment, content;
    bool is_hidden; /* by the attribute of that name */
    PyObject *all; /* a dict, of elements that are given to Python */
    bool is_closed; /* <x/> */
} Attributes;

/* An element that is open. */
typedef struct {
    uint32_t number; /* of its name */
    int32_t outer; /* the element that text belonged to around it */
    bool is_hidden, is_veiled; /* by its attributes: not shown, or not at first */
    bool is_foreign; /* it stands where names are not those of HTML */
    PyObject *dated; /* what is noted of it, if it may say a date; borrowed from `noted` */
    size_t dated_at; /* where its text begins */
} Open;

typedef struct {
    const char *at, *end; /* what is not yet read */
    Py_ssize_t text_chars_max, elements_max, links_max, anchor_chars_max;
    PyObject *entities; /* dict of str: what each name stands for */
    Buffer text; /* visible, NUL between blocks */
    Buffer unseen_text; /* what is in elements that are `hidden`, likewise */
    Buffer folded, decoded, alts; /* alts: of the images in the open link */
    Open *open;
    Py_ssize_t n_open, open_room;
    Block *blocks;
    Element *elements;
    Py_ssize_t n_blocks, blocks_room, n_elements_kept, elements_room;
    Block block; /* the one that text goes into */
    size_t block_at; /* in text */
    bool has_block; /* whether that has begun */
    int32_t element; /* that text belongs to, -1 for none */
    int64_t veiled; /* open elements that are */
    bool is_linking; /* in a link, whether that is followed or not */
    bool has_headline, in_headline; /* a first h1 */
    Py_ssize_t text_chars, n_elements, n_dated;
    int64_t hidden; /* open elements whose text is none of the page's */
    int64_t unseen; /* open elements that are `hidden`, or readings */
    int64_t inert, rubies; /* open templates, and <ruby> */
    bool is_foreign; /* names are not those of HTML here */
    bool has_body; /* the head is over */
    PyObject *href; /* of the open link, NULL when there is none */
    size_t link_at; /* in text */
    Py_ssize_t heading_at, title_at; /* in text; -1 when none is open */
    size_t caption_at; /* in unseen_text: the title of a drawing */
    PyObject *links; /* dict of (href, text) */
    Span heading_id, last_id; /* of the open heading; the last one beside headings, and where in text it is */
    size_t last_id_at;
    PyObject *headings, *heading_ids, *noted; /* lists */
    PyObject *title; /* NULL until there is one */
    bool is_cut, has_doctype;
    int64_t errors[N_ERRORS];
    uint32_t cut[CUT_MAX]; /* numbers of the names of elements that others ended last, without their end tags */
} Reader;

/* --- Bytes ------------------------------------------------------------------------------------------- */

static bool make_room(Buffer *buffer, size_t n)
{
    if (buffer->size + n <= buffer->room)
        return true;
    size_t room = 2 * buffer->room + n + 64;
    char *grown = PyMem_Realloc(buffer->at, room);
    if (grown == NULL) {
        PyErr_NoMemory();
        return false;
    }
    buffer->at = grown;
    buffer->room = room;
    return true;
}

static bool append(Buffer *buffer, const char *bytes, size_t n)
{
    if (n == 0)
        return true;
    if (!make_room(buffer, n))
        return false;
    memcpy(buffer->at + buffer->size, bytes, n);
    buffer->size += n;
    return true;
}

static inline bool append_byte(Buffer *buffer, char byte)
{
    return append(buffer, &byte, 1);
}

static bool append_code(Buffer *buffer, uint32_t code)
{
    char bytes[4];
    size_t n = 0;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xE0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 63));
    } else {
        bytes[n++] = (char)(0xF0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 63));
        bytes[n++] = (char)(0x80 | (code >> 6 & 63));
    }
    if (code >= 0x80)
        bytes[n++] = (char)(0x80 | (code & 63));
    return append(buffer, bytes, n);
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}

static const char *after_spaces(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static inline char lowered(char c)
{
    return 'A' <= c && c <= 'Z' ? (char)(c | 32) : c;
}

static inline bool is_letter(char c)
{
    return 'a' <= (c | 32) && (c | 32) <= 'z';
}

static inline bool is_digit(char c)
{
    return '0' <= c && c <= '9';
}

/* Tell whether what is at a place begins with a word in small letters. */
static bool starts_with(const char *at, const char *end, const char *word)
{
    for (; *word; word++, at++)
        if (at == end || lowered(*at) != *word)
            return false;
    return true;
}

static Py_ssize_t count_characters(const char *at, size_t n)
{
    Py_ssize_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (at[i] & 0xC0) != 0x80;
    return count;
}

/* --- White space ------------------------------------------------------------------------------------- */

/* Return how many bytes the white space at a place has, as Python's `str.split` sees it; 0 for none. */
static inline int space_bytes(const unsigned char *at, const unsigned char *end)
{
    unsigned char c = at[0];
    if (c < 0x80)
        return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
    if (c == 0xC2)
        return end - at > 1 && (at[1] == 0x85 || at[1] == 0xA0) ? 2 : 0;
    if ((c != 0xE1 && c != 0xE2 && c != 0xE3) || end - at < 3)
        return 0;
    uint32_t code = (uint32_t)(c & 15) << 12 | (uint32_t)(at[1] & 63) << 6 | (at[2] & 63);
    bool is_white = code == 0x1680 || (0x2000 <= code && code <= 0x200A) || code == 0x2028 || code == 0x2029
        || code == 0x202F || code == 0x205F || code == 0x3000;
    return is_white ? 3 : 0;
}

/* Return text with its white space folded: one space between words, `gap` between blocks, none at the ends. */
static PyObject *folded(Reader *r, const char *bytes, size_t n, char gap)
{
    Buffer *to = &r->folded;
    to->size = 0;
    if (!make_room(to, n + 1))
        return NULL;
    const unsigned char *at = (const unsigned char *)bytes, *end = at + n;
    char *out = to->at;
    char before = 0; /* what goes before the next word */
    while (at < end) {
        int n_bytes = space_bytes(at, end);
        if (*at == 0 || n_bytes) {
            if (out > to->at && before != '\n')
                before = *at == 0 ? gap : before ? before : ' ';
            at += *at == 0 ? 1 : n_bytes;
            continue;
        }
        if (before)
            *out++ = before;
        before = 0;
        do
            *out++ = (char)*at++;
        while (at < end && *at && !space_bytes(at, end));
    }
    return PyUnicode_DecodeUTF8(to->at, out - to->at, "replace");
}

/* --- Blocks ------------------------------------------------------------------------------------------ */

static bool is_blank(const char *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes, *end = at + n;
    while (at < end) {
        int n_bytes = *at ? space_bytes(at, end) : 1;
        if (n_bytes == 0)
            return false;
        at += n_bytes;
    }
    return true;
}

/* Return what an array has become that has no room for one more, NULL for a failure. */
static void *with_room(void *array, Py_ssize_t *room, size_t item)
{
    Py_ssize_t more = 2 * *room + 256;
    void *grown = PyMem_Realloc(array, (size_t)more * item);
    if (grown == NULL)
        PyErr_NoMemory();
    else
        *room = more;
    return grown;
}

/* End the block that text goes into, which is one when anything is in it. */
static bool end_block(Reader *r)
{
    bool has_text = r->has_block && !is_blank(r->text.at + r->block_at, r->text.size - r->block_at);
    r->has_block = false;
    if (!has_text)
        return true;
    if (r->n_blocks == r->blocks_room) {
        Block *grown = with_room(r->blocks, &r->blocks_room, sizeof *grown);
        if (grown == NULL)
            return false;
        r->blocks = grown;
    }
    r->block.start = r->block_at;
    r->block.end = r->text.size;
    while (r->block.end > r->block.start && (unsigned char)r->text.at[r->block.end - 1] <= ' ')
        r->block.end--;
    r->blocks[r->n_blocks++] = r->block;
    return true;
}

static bool break_text(Reader *r)
{
    return end_block(r) && append_byte(&r->text, 0) && (r->unseen == 0 || append_byte(&r->unseen_text, 0));
}

/* Count text that was added from a place on. */
static void count_added(Reader *r, size_t at)
{
    if (!r->has_block) {
        if (is_blank(r->text.at + at, r->text.size - at))
            return;
        r->has_block = true;
        r->block_at = at;
        r->block = (Block){
            .element = r->element,
            .part = r->element >= 0 ? r->elements[r->element].part : NOTHING,
            .is_hidden = r->veiled > 0,
            .after_headline = r->has_headline,
            .is_first_headline = r->in_headline,
        };
    }
    count_text(&r->block, r->text.at + at, r->text.size - at, r->is_linking);
}

static uint16_t hints_of(const Attributes *attributes)
{
    uint16_t hints = attributes->names.at ? hints_in(attributes->names.at, attributes->names.size) : 0;
    hints |= attributes->id.at ? hints_in(attributes->id.at, attributes->id.size) : 0;
    return hints | (attributes->role.at ? hints_in(attributes->role.at, attributes->role.size) : 0);
}

static uint32_t looks_of(const Tag *tag, const Attributes *attributes)
{
    uint32_t hash = (2166136261u ^ (uint32_t)(tag - tags)) * 16777619u;
    for (size_t i = 0; attributes->names.at && i < attributes->names.size; i++)
        hash = (hash ^ (unsigned char)attributes->names.at[i]) * 16777619u;
    return hash;
}

/* Make an element that begins a line the one that text belongs to. */
static bool enter_element(Reader *r, const Tag *tag, const Attributes *attributes)
{
    if (tag->part == NOTHING)
        return true;
    if (r->n_elements_kept == r->elements_room) {
        Element *grown = with_room(r->elements, &r->elements_room, sizeof *grown);
        if (grown == NULL)
            return false;
        r->elements = grown;
    }
    bool is_page = tag->weight >= 200; /* what a page calls all of itself says nothing about a part */
    Element entered = {.parent = r->element, .part = (uint8_t)tag->part};
    entered.hints = is_page ? 0 : hints_of(attributes);
    entered.all_hints = entered.hints;
    entered.looks = looks_of(tag, attributes);
    entered.all_parts = 1u << tag->part;
    if (r->element >= 0) {
        entered.all_hints |= r->elements[r->element].all_hints;
        entered.all_parts |= r->elements[r->element].all_parts;
    }
    r->element = (int32_t)r->n_elements_kept;
    r->elements[r->n_elements_kept++] = entered;
    return true;
}

static PyObject *text_since(Reader *r, size_t at)
{
    return at < r->text.size ? folded(r, r->text.at + at, r->text.size - at, ' ') : PyUnicode_FromString("");
}

/* --- Entities ---------------------------------------------------------------------------------------- */

/* What numbers from 0x80 to 0x9F stand for: HTML standard, 13.2.5.80. */
static const uint16_t windows[32] = {
    0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152,
    0x8D, 0x17D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122,
    0x161, 0x203A, 0x153, 0x9D, 0x17E, 0x178,
};

/* Append what a number between & and ; stands for; return where it ends, NULL when there is none. */
static const char *read_number(const char *at, const char *end, uint32_t *code)
{
    at += 2;
    bool is_hexadecimal = at < end && (*at | 32) == 'x';
    at += is_hexadecimal;
    const char *first = at;
    uint32_t number = 0;
    for (; at < end; at++) {
        char c = lowered(*at);
        uint32_t digit = is_digit(c) ? (uint32_t)(c - '0') : (uint32_t)(c - 'a') + 10;
        if (!is_digit(c) && !(is_hexadecimal && 'a' <= c && c <= 'f'))
            break;
        number = number > 0x110000 ? number : number * (is_hexadecimal ? 16 : 10) + digit;
    }
    if (at == first)
        return NULL;
    if (0x80 <= number && number < 0xA0)
        number = windows[number - 0x80];
    bool is_character = number && number < 0x110000 && !(0xD800 <= number && number < 0xE000);
    *code = is_character ? number : 0xFFFD;
    return at < end && *at == ';' ? at + 1 : at;
}

/* Return what a name stands for, borrowed; NULL when it is none, or with an exception set. */
static PyObject *look_up(Reader *r, const char *name, size_t n)
{
    PyObject *key = PyUnicode_DecodeLatin1(name, (Py_ssize_t)n, NULL);
    if (key == NULL)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(r->entities, key);
    Py_DECREF(key);
    return found;
}

/* Append what the name after & stands for; return where it ends, `at` when it is none, NULL for a failure. */
static const char *read_named(Reader *r, const char *at, const char *end, bool is_attribute, Buffer *to)
{
    const char *name = at + 1, *after = name;
    while (after < end && after - name < ENTITY_BYTES_MAX && (is_letter(*after) || is_digit(*after)))
        after++;
    size_t n = (size_t)(after - name);
    PyObject *found = NULL;
    if (after < end && *after == ';')
        found = look_up(r, name, ++n);
    size_t bare = n < BARE_ENTITY_BYTES_MAX ? n : BARE_ENTITY_BYTES_MAX;
    for (; found == NULL && bare > 1 && !PyErr_Occurred(); bare--) {
        n = bare;
        found = look_up(r, name, n);
        /* 13.2.5.73: what goes on in an attribute is part of an address. */
        char next = name + n < end ? name[n] : ' ';
        if (is_attribute && (next == '=' || is_letter(next) || is_digit(next)))
            found = NULL;
    }
    if (found == NULL)
        return PyErr_Occurred() ? NULL : at;
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(found, &size);
    return bytes && append(to, bytes, (size_t)size) ? name + n : NULL;
}

/* Append text with its entities replaced. */
static bool append_decoded(Reader *r, Span text, bool is_attribute, Buffer *to)
{
    const char *at = text.at, *end = text.at + text.size;
    while (at < end) {
        const char *sign = memchr(at, '&', (size_t)(end - at));
        if (!append(to, at, (size_t)((sign ? sign : end) - at)))
            return false;
        if (sign == NULL)
            return true;
        const char *after = sign;
        if (end - sign > 2 && sign[1] == '#') {
            uint32_t code;
            after = read_number(sign, end, &code);
            if (after && !append_code(to, code))
                return false;
            after = after ? after : sign;
        } else if (end - sign > 1 && is_letter(sign[1])) {
            after = read_named(r, sign, end, is_attribute, to);
            if (after == NULL)
                return false;
        }
        at = after;
        if (at == sign && !append_byte(to, *at++))
            return false;
    }
    return true;
}

/* Return the value of an attribute. */
static PyObject *value_of(Reader *r, Span value)
{
    if (value.size == 0)
        return PyUnicode_FromString("");
    if (memchr(value.at, '&', value.size)) {
        r->decoded.size = 0;
        if (!append_decoded(r, value, true, &r->decoded))
            return NULL;
        value = (Span){r->decoded.at, r->decoded.size};
    }
    return PyUnicode_DecodeUTF8(value.at, (Py_ssize_t)value.size, "replace");
}

/* --- What is found ----------------------------------------------------------------------------------- */

/* Return text without the lines before and behind it: in <ruby> these part characters of one word. */
static Span without_indents(Span text)
{
    const char *at = after_spaces(text.at, text.at + text.size), *end = text.at + text.size;
    if (memchr(text.at, '\n', (size_t)(at - text.at)))
        text = (Span){at, (size_t)(end - at)};
    while (end > text.at && is_space(end[-1]))
        end--;
    size_t size = (size_t)(end - text.at);
    return memchr(end, '\n', text.size - size) ? (Span){text.at, size} : text;
}

static bool is_spaces(Span text)
{
    const char *end = text.at + text.size;
    return after_spaces(text.at, end) == end;
}

static bool add_text(Reader *r, Span text, bool has_entities)
{
    if (r->hidden > 0 || r->text_chars > r->text_chars_max || text.size == 0)
        return true;
    bool is_title = r->title_at >= 0;
    r->has_body = r->has_body || !(is_title || is_spaces(text));
    if (r->rubies > 0)
        text = without_indents(text);
    r->text_chars += count_characters(text.at, text.size);
    Buffer *to = r->unseen > 0 && !is_title ? &r->unseen_text : &r->text;
    size_t at = to->size;
    bool is_added = has_entities ? append_decoded(r, text, false, to) : append(to, text.at, text.size);
    if (is_added && to == &r->text)
        count_added(r, at);
    return is_added;
}

/* Have a variable hold another reference instead of its own. */
static void set_reference(PyObject **variable, PyObject *object)
{
    PyObject *before = *variable;
    *variable = object;
    Py_DECREF(before);
}

/* Keep a link; takes over the references, of which each may be NULL with an exception set. */
static bool add_link(Reader *r, PyObject *href, PyObject *text)
{
    if (text && PyUnicode_GetLength(text) > r->anchor_chars_max)
        set_reference(&text, PyUnicode_Substring(text, 0, r->anchor_chars_max));
    PyObject *link = href && text ? PyTuple_Pack(2, href, text) : NULL;
    Py_XDECREF(href);
    Py_XDECREF(text);
    if (link == NULL)
        return false;
    bool is_kept = true;
    if (PyDict_Size(r->links) < r->links_max)
        is_kept = PyDict_SetItem(r->links, link, Py_None) == 0;
    else
        r->is_cut = true;
    Py_DECREF(link);
    return is_kept;
}

/* Tell whether an address leads out of the page at all. */
static bool leads_somewhere(Span href)
{
    const char *scheme = "javascript:";
    bool is_script = href.size >= strlen(scheme) && memcmp(href.at, scheme, strlen(scheme)) == 0;
    return href.at != NULL && !is_script && (href.size == 0 || href.at[0] != '#');
}

static bool end_link(Reader *r)
{
    PyObject *href = r->href;
    r->href = NULL;
    bool is_done = true;
    if (href) {
        PyObject *text = text_since(r, r->link_at);
        if (text && PyUnicode_GetLength(text) == 0 && r->alts.size)
            set_reference(&text, folded(r, r->alts.at, r->alts.size, ' '));
        is_done = add_link(r, href, text);
    }
    r->alts.size = 0;
    return is_done;
}

static bool begins_with(Span value, const char *word)
{
    return value.at && starts_with(value.at, value.at + value.size, word);
}

static bool has_word(Span words, const char *word)
{
    const char *at = words.at, *end = at + words.size;
    for (; at && at < end; at++)
        if ((at == words.at || is_space(at[-1])) && starts_with(at, end, word)) {
            const char *after = at + strlen(word);
            if (after == end || is_space(*after))
                return true;
        }
    return false;
}

/* Give an element to Python; takes over the attributes, NULL with an exception set. */
static bool note(Reader *r, const char *name, PyObject *attributes)
{
    bool is_full = PyList_Size(r->noted) >= NOTED_MAX;
    r->is_cut = r->is_cut || is_full;
    PyObject *item = NULL;
    if (attributes && !is_full)
        item = Py_BuildValue("sOO", name, attributes, r->hidden > 0 ? Py_False : Py_True);
    bool is_noted = is_full || (item && PyList_Append(r->noted, item) == 0);
    Py_XDECREF(attributes);
    Py_XDECREF(item);
    return is_noted;
}

/* Keep what <link> leads to: pages in a row, the same in other languages, feeds; the page's own name, and its icon. */
static bool take_link(Reader *r, const Attributes *attributes)
{
    Span rel = attributes->rel;
    if (!leads_somewhere(attributes->href))
        return true;
    if (has_word(rel, "canonical") && !r->has_body && r->hidden == 0) { /* 4.6.7.3: not allowed in the body */
        if (!note(r, "link", Py_BuildValue("{sN}", "href", value_of(r, attributes->href))))
            return false;
    }
    if (has_word(rel, "icon") && !r->has_body && r->hidden == 0) { /* 4.6.7.9 */
        if (!note(r, "icon", Py_BuildValue("{sN}", "href", value_of(r, attributes->href))))
            return false;
    }
    bool is_feed
        = begins_with(attributes->type, "application/rss+xml") || begins_with(attributes->type, "application/atom+xml");
    bool is_other = has_word(rel, "alternate") && !has_word(rel, "stylesheet");
    if (!has_word(rel, "next") && !has_word(rel, "prev") && !(is_other && (is_feed || attributes->language.at)))
        return true;
    return add_link(r, value_of(r, attributes->href), PyUnicode_FromString(""));
}

/* Tell whether names, as of a class, speak of a date: "entry-date", "published", "timestamp". */
static bool are_of_date(Span names)
{
    const char *at = names.at, *end = at + names.size;
    for (; at && end - at >= 4; at++) {
        char c = lowered(*at);
        const char *word = c == 'd' ? "date" : c == 't' ? "time" : c == 'p' ? "publish" : NULL;
        if (word && starts_with(at, end, word))
            return true;
    }
    return false;
}

/* Note what an element says of a date, but its text, which is not read yet; false for a failure. */
static bool note_dated(Reader *r, const Tag *tag, const Attributes *attributes, Open *opened)
{
    if (r->n_dated >= DATED_MAX || r->hidden > 0)
        return true;
    bool is_dated = tag->kind == TIME || begins_with(attributes->property, "date")
        || begins_with(attributes->property, "upload") || are_of_date(attributes->names) || are_of_date(attributes->id);
    if (!is_dated || tag->part == MAIN || tag->weight >= 200)
        return true;
    PyObject *said = Py_BuildValue(
        "{sNsNsNsNsN}", "itemprop", value_of(r, attributes->property), "class", value_of(r, attributes->names),
        "datetime", value_of(r, attributes->moment), "content", value_of(r, attributes->content), "title",
        value_of(r, attributes->title));
    opened->dated = said; /* `noted` has it as long as the reader lives, when it has room */
    opened->dated_at = r->text.size;
    Py_ssize_t n_noted = PyList_Size(r->noted);
    if (!note(r, tag->kind == TIME ? "time" : "dated", said))
        return false;
    if (PyList_Size(r->noted) == n_noted)
        opened->dated = NULL;
    r->n_dated++;
    return true;
}

/* Add the text of an element that may say a date. */
static bool add_dated_text(Reader *r, const Open *closed)
{
    if (closed->dated == NULL || r->text.size <= closed->dated_at || r->text.size - closed->dated_at > DATED_BYTES_MAX)
        return true;
    PyObject *text = text_since(r, closed->dated_at);
    bool is_added = text && PyDict_SetItemString(closed->dated, "text", text) == 0;
    Py_XDECREF(text);
    return is_added;
}

static bool is_media(Span type)
{
    return begins_with(type, "image/") || begins_with(type, "audio/") || begins_with(type, "video/");
}

static bool start_link(Reader *r, const Attributes *attributes)
{
    if (!end_link(r))
        return false;
    r->is_linking = attributes->href.at != NULL;
    if (!leads_somewhere(attributes->href) || has_word(attributes->rel, "nofollow"))
        return true;
    r->href = value_of(r, attributes->href);
    r->link_at = r->text.size;
    return r->href != NULL;
}

static bool start_special(Reader *r, const Tag *tag, const Attributes *attributes)
{
    if (r->inert > 0)
        return true;
    switch (tag->kind) {
    case A:
        return start_link(r, attributes);
    case IMG:
        if (r->href == NULL || attributes->alt.at == NULL)
            return true;
        return append_decoded(r, attributes->alt, true, &r->alts) && append_byte(&r->alts, ' ');
    case AREA:
        if (!leads_somewhere(attributes->href) || has_word(attributes->rel, "nofollow"))
            return true;
        return add_link(r, value_of(r, attributes->href), value_of(r, attributes->alt));
    case LINK:
        return take_link(r, attributes);
    case FRAME:
    case OBJECT:
        if (!leads_somewhere(attributes->source) || is_media(attributes->type))
            return true;
        return add_link(r, value_of(r, attributes->source), PyUnicode_FromString(""));
    case TITLE:
        r->title_at = r->hidden == 0 ? (Py_ssize_t)r->text.size : -1;
        return true;
    case DRAWING_TITLE:
        r->caption_at = r->unseen_text.size;
        return true;
    default:
        return !(tag->meaning & NOTED) || note(r, tag->name, Py_NewRef(attributes->all));
    }
}

/* Keep a heading and the name by which links lead to it; false for a failure. */
static bool add_heading(Reader *r, PyObject *text)
{
    Span none = {"", 0};
    bool is_short = r->heading_id.size <= ID_BYTES_MAX && !memchr(r->heading_id.at, '\n', r->heading_id.size);
    PyObject *id = value_of(r, is_short ? r->heading_id : none);
    bool is_kept = id && PyList_Append(r->headings, text) == 0 && PyList_Append(r->heading_ids, id) == 0;
    Py_XDECREF(id);
    return is_kept;
}

/* Do what the end of an element means, be there an end tag or not. */
static bool end_element(Reader *r, const Tag *tag)
{
    if (tag->kind == A) {
        r->is_linking = false;
        return end_link(r);
    }
    if (tag->meaning & HEADING && r->heading_at >= 0) {
        PyObject *text = text_since(r, (size_t)r->heading_at);
        r->heading_at = -1;
        bool is_kept = text && (PyUnicode_GetLength(text) == 0 || add_heading(r, text));
        Py_XDECREF(text);
        if (!is_kept)
            return false;
    }
    if (tag->kind == TITLE && r->title_at >= 0) {
        PyObject *title = text_since(r, (size_t)r->title_at);
        r->text.size = (size_t)r->title_at; /* shown in the window's frame, not on the page */
        r->has_block = false;
        r->title_at = -1;
        if (title == NULL)
            return false;
        if (r->title == NULL && PyUnicode_GetLength(title))
            r->title = Py_NewRef(title); /* the first that says anything */
        Py_DECREF(title);
    }
    if (tag->kind == DRAWING_TITLE && r->href && r->hidden == 0 && r->caption_at < r->unseen_text.size) {
        const char *caption = r->unseen_text.at + r->caption_at;
        if (!append(&r->alts, caption, r->unseen_text.size - r->caption_at) || !append_byte(&r->alts, ' '))
            return false;
    }
    if ((tag->kind == RUBY || tag->kind == DRAWING_TITLE) && !append_byte(&r->unseen_text, 0))
        return false;
    r->inert -= tag->kind == TEMPLATE;
    r->rubies -= tag->kind == RUBY;
    r->unseen -= (tag->meaning & READING) != 0;
    r->hidden -= (tag->meaning & HIDDEN) != 0;
    if (tag->meaning & HEADING)
        r->in_headline = false;
    return !(tag->meaning & BLOCK) || break_text(r);
}

/* --- Elements ---------------------------------------------------------------------------------------- */

/* Return what a tag means where names are not those of HTML. */
static const Tag *foreign(const Tag *tag)
{
    if (tag->kind == TITLE)
        return &title_there;
    if (!(tag->meaning & FOREIGN_TOO))
        return &unknown_tag;
    return tag->meaning & RAW ? &unseen_there : tag;
}

static inline const Tag *tag_of(const Open *open)
{
    const Tag *tag = open->number < N_TAGS ? tags + open->number : &unknown_tag;
    return open->is_foreign ? foreign(tag) : tag;
}

static Name read_name(const char *at, size_t n)
{
    char name[NAME_BYTES_MAX];
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < n; i++) {
        char c = lowered(at[i]);
        if (i < NAME_BYTES_MAX)
            name[i] = c;
        hash = (hash ^ (unsigned char)c) * 16777619u;
    }
    size_t first = 0, last = n < NAME_BYTES_MAX ? N_TAGS : 0;
    while (first < last) {
        size_t middle = (first + last) / 2;
        const char *other = tags[middle].name;
        int order = strncmp(name, other, n);
        order = order ? order : -(other[n] != 0);
        if (order == 0)
            return (Name){tags + middle, (uint32_t)middle};
        if (order < 0)
            last = middle;
        else
            first = middle + 1;
    }
    return (Name){&unknown_tag, hash | 1u << 31};
}

/* Tell whether a style says that an element is not displayed (at first). */
static bool hides(Span style)
{
    const char *at = style.at, *end = at + style.size;
    for (; at && at < end; at++)
        if (starts_with(at, end, "display")) {
            for (at += strlen("display"); at < end && (is_space(*at) || *at == ':'); at++)
                ;
            return starts_with(at, end, "none");
        }
    return false;
}

/* Open an element of a name, that means what the tag says here. */
static bool open_element(Reader *r, Name name, const Tag *tag, const Attributes *attributes)
{
    if (r->n_open == r->open_room) {
        Open *grown = with_room(r->open, &r->open_room, sizeof *grown);
        if (grown == NULL)
            return false;
        r->open = grown;
    }
    bool is_page = tag->weight >= 200; /* scripts show it */
    Open opened = {.number = name.number, .outer = r->element, .is_foreign = r->is_foreign};
    opened.is_hidden = attributes->is_hidden && !is_page;
    opened.is_veiled = !is_page && hides(attributes->style);
    r->unseen += opened.is_hidden;
    r->veiled += opened.is_veiled;
    if (!r->is_foreign && !note_dated(r, tag, attributes, &opened))
        return false;
    r->is_foreign = tag->meaning & FOREIGN || (r->is_foreign && !(tag->meaning & HAS_HTML));
    r->open[r->n_open++] = opened;
    return enter_element(r, tag, attributes);
}

static bool close_last(Reader *r)
{
    Open closed = r->open[--r->n_open];
    if (!add_dated_text(r, &closed))
        return false;
    bool is_ended = end_element(r, tag_of(&closed));
    if (closed.is_hidden && !append_byte(&r->unseen_text, 0))
        return false;
    r->unseen -= closed.is_hidden;
    r->veiled -= closed.is_veiled;
    r->is_foreign = closed.is_foreign;
    r->element = closed.outer;
    return is_ended;
}

/* Count elements above some that end without end tags, though they need one. */
static void count_unclosed(Reader *r, Py_ssize_t n_left)
{
    for (Py_ssize_t i = r->n_open; i-- > n_left;)
        if (!(tag_of(r->open + i)->meaning & ENDS_UNSAID))
            r->cut[r->errors[UNCLOSED]++ % CUT_MAX] = r->open[i].number + 1; /* 0 is none */
}

/* Count an end tag of nothing that is open. */
static void count_stray(Reader *r, Name name)
{
    for (int i = 0; i < CUT_MAX; i++)
        if (r->cut[i] == name.number + 1) {
            r->cut[i] = 0;
            r->errors[MISNESTED]++;
            r->errors[UNCLOSED]--;
            return;
        }
    bool is_implied = name.tag->weight >= 180 && name.tag->meaning & ENDS_UNSAID; /* <body> and the like */
    r->errors[STRAY] += !is_implied;
}

/* End what an end tag, or the end of the page, leaves open above `n_left` elements. */
static bool close_elements(Reader *r, Py_ssize_t n_left)
{
    while (r->n_open > n_left)
        if (!close_last(r))
            return false;
    return true;
}

/* End what cannot go on where an element starts. */
static bool close_before(Reader *r, Name name)
{
    if (r->n_open == 0)
        return true;
    const Open *open = r->open + r->n_open - 1;
    const Tag *last = tag_of(open), *tag = name.tag;
    bool is_like = open->number == name.number && tag->meaning & ENDS_ITS_LIKE;
    bool ends_text = last->kind == P && tag->meaning & BLOCK && !(tag->meaning & VOID);
    bool ends_link = last->kind == A && (tag->kind == TABLE || tag->kind == A);
    bool ends_reading = last->kind == RUBY_TEXT && tag->kind == RUBY_TEXT;
    r->errors[MISNESTED] += ends_link && tag->kind == A;
    return !(is_like || ends_text || ends_link || ends_reading) || close_elements(r, r->n_open - 1);
}

/* Go to where names are those of HTML, past <svg> and <math> that lack their ends. */
static bool leave_foreign(Reader *r)
{
    r->errors[MISNESTED] += r->is_foreign;
    while (r->is_foreign)
        if (!close_last(r))
            return false;
    return true;
}

static bool end_tag(Reader *r, Name name)
{
    /* Standard, 13.2.6.4.7: </p> and </br> of nothing are elements. */
    bool is_void = (name.tag->meaning & (BLOCK | VOID)) == (BLOCK | VOID), is_break = is_void || name.tag->kind == P;
    bool is_page = name.tag->meaning & BLOCK && name.tag->weight >= 200;
    if (is_page || is_void) /* 13.2.6.4.6: </body>, </html> and </br> begin a body */
        r->has_body = r->has_body || r->hidden == 0;
    if (is_break && !leave_foreign(r))
        return false;
    Py_ssize_t least = r->n_open > LOOKED_AT_MAX ? r->n_open - LOOKED_AT_MAX : 0;
    for (Py_ssize_t i = r->n_open; i-- > least;) {
        if (r->open[i].number == name.number) {
            count_unclosed(r, i + 1);
            return close_elements(r, i);
        }
        if (tag_of(r->open + i)->weight > name.tag->weight)
            break;
    }
    count_stray(r, name);
    return !is_break || break_text(r);
}

/* --- Tags -------------------------------------------------------------------------------------------- */

/* Give a dict a value for a key that it has none for; false for a failure. */
static bool set_default(PyObject *dict, PyObject *key, PyObject *value)
{
    int has_one = PyDict_Contains(dict, key);
    return has_one > 0 || (has_one == 0 && PyDict_SetItem(dict, key, value) == 0);
}

/* Note an attribute; false for a failure. */
static bool take_attribute(Reader *r, Span name, Span value, Attributes *to)
{
    if (to->all) {
        char small[NAME_BYTES_MAX];
        if (name.size > NAME_BYTES_MAX)
            return true;
        for (size_t i = 0; i < name.size; i++)
            small[i] = lowered(name.at[i]);
        PyObject *key = PyUnicode_DecodeUTF8(small, (Py_ssize_t)name.size, "replace");
        PyObject *text = key ? value_of(r, value) : NULL;
        bool is_taken = text && set_default(to->all, key, text);
        Py_XDECREF(key);
        Py_XDECREF(text);
        return is_taken;
    }
    const char *end = name.at + name.size;
    Span *place = NULL;
    if (name.size == 4 && starts_with(name.at, end, "href"))
        place = &to->href;
    else if (name.size == 3 && starts_with(name.at, end, "rel"))
        place = &to->rel;
    else if (name.size == 3 && starts_with(name.at, end, "alt"))
        place = &to->alt;
    else if (name.size == 3 && starts_with(name.at, end, "src"))
        place = &to->source;
    else if (name.size == 4 && starts_with(name.at, end, "type"))
        place = &to->type;
    else if (name.size == 5 && starts_with(name.at, end, "class"))
        place = &to->names;
    else if (name.size == 2 && starts_with(name.at, end, "id"))
        place = &to->id;
    else if (name.size == 4 && starts_with(name.at, end, "name"))
        place = &to->anchor;
    else if (name.size == 4 && starts_with(name.at, end, "role"))
        place = &to->role;
    else if (name.size == 5 && starts_with(name.at, end, "style"))
        place = &to->style;
    else if (name.size == 8 && starts_with(name.at, end, "hreflang"))
        place = &to->language;
    else if (name.size == 4 && starts_with(name.at, end, "data"))
        place = &to->source;
    else if (name.size == 5 && starts_with(name.at, end, "title"))
        place = &to->title;
    else if (name.size == 8 && starts_with(name.at, end, "itemprop"))
        place = &to->property;
    else if (name.size == 8 && starts_with(name.at, end, "datetime"))
        place = &to->moment;
    else if (name.size == 7 && starts_with(name.at, end, "content"))
        place = &to->content;
    else if (name.size == 10 && starts_with(name.at, end, "xlink:href") && r->is_foreign)
        place = &to->href;
    else if (name.size == 6 && starts_with(name.at, end, "hidden"))
        to->is_hidden = value.size != strlen("until-found");
    if (place && place->at == NULL)
        *place = value;
    return true;
}

/* Read the value behind a "="; return where it ends, `end` when the page does before. */
static const char *read_value(const char *at, const char *end, Span *value)
{
    at = after_spaces(at, end);
    if (at == end || *at == '>')
        return at;
    if (*at == '"' || *at == '\'') {
        const char *quote = memchr(at + 1, *at, (size_t)(end - at - 1));
        if (quote == NULL)
            return end;
        *value = (Span){at + 1, (size_t)(quote - at - 1)};
        return quote + 1;
    }
    value->at = at;
    while (at < end && !is_space(*at) && *at != '>')
        at++;
    value->size = (size_t)(at - value->at);
    return at;
}

/* Tell whether a value without quotes has a sign that asks for them: 13.2.5.38. */
static bool has_sign(Span value)
{
    for (size_t i = 0; i < value.size; i++)
        if (strchr("\"'<=`", value.at[i]))
            return true;
    return false;
}

/* Tell whether an attribute has a name that the tag has had, or one with a sign that none has. */
static bool is_repeated(Span name, uint32_t *names, int *n_names)
{
    uint32_t hash = 2166136261u;
    bool is_misspelt = *name.at == '=';
    for (size_t i = 0; i < name.size; i++) {
        char c = lowered(name.at[i]);
        is_misspelt = is_misspelt || c == '"' || c == '\'' || c == '<';
        hash = (hash ^ (unsigned char)c) * 16777619u;
    }
    for (int i = 0; i < *n_names; i++)
        if (names[i] == hash)
            return true;
    if (*n_names < ATTRIBUTES_MAX)
        names[(*n_names)++] = hash;
    return is_misspelt;
}

/* Read the attributes of a tag, and go behind it; false for a failure, at the end when the page ends within. */
static bool read_attributes(Reader *r, bool is_wanted, Attributes *attributes)
{
    const char *at = r->at, *end = r->end;
    uint32_t names[ATTRIBUTES_MAX];
    int n_names = 0;
    for (;;) {
        for (attributes->is_closed = false; at < end && (is_space(*at) || *at == '/'); at++)
            attributes->is_closed = *at == '/';
        if (at == end || *at == '>')
            break;
        Span name = {at++, 0}, value = {"", 0};
        while (at < end && !is_space(*at) && *at != '/' && *at != '>' && *at != '=')
            at++;
        name.size = (size_t)(at - name.at);
        const char *after = after_spaces(at, end);
        bool is_wrong = is_repeated(name, names, &n_names);
        if (after < end && *after == '=') {
            const char *first = after_spaces(after + 1, end);
            bool is_quoted = first < end && (*first == '"' || *first == '\'');
            at = read_value(first, end, &value);
            bool is_glued = is_quoted && at < end && !is_space(*at) && *at != '/' && *at != '>';
            is_wrong = is_wrong || is_glued || (!is_quoted && (value.size == 0 || has_sign(value)));
        }
        r->errors[IN_TAG] += is_wrong;
        if (at < end && is_wanted && !take_attribute(r, name, value, attributes))
            return false;
    }
    r->at = at;
    return true;
}

/* Return where the end tag of a script begins: 13.2.5.15 to 31, with scripts written by scripts. */
static const char *script_end(const char *at, const char *end)
{
    bool is_escaped = false, is_doubly = false;
    for (; at < end; at++) {
        if (*at == '-' && is_escaped && starts_with(at, end, "-->")) {
            is_escaped = is_doubly = false;
        } else if (*at == '<') {
            bool is_end = starts_with(at, end, "</script");
            const char *after = at + (is_end ? 8 : 7);
            bool is_tag = (is_end || starts_with(at, end, "<script")) && after < end
                && (is_space(*after) || *after == '/' || *after == '>');
            if (is_tag && is_end && !is_doubly)
                return at;
            if (is_tag)
                is_doubly = is_escaped && !is_end;
            else if (starts_with(at, end, "<!--"))
                is_escaped = true;
        }
    }
    return end;
}

/* Return where the end tag of an element without tags begins, the end of the page when there is none. */
static const char *raw_end(const char *at, const char *end, const Tag *tag)
{
    if (tag->kind == SCRIPT)
        return script_end(at, end);
    if (tag->kind == PLAINTEXT)
        return end;
    size_t n = strlen(tag->name);
    while (at < end && (at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        const char *after = at + 2 + n;
        if (after < end && at[1] == '/' && starts_with(at + 2, end, tag->name)
            && (is_space(*after) || *after == '/' || *after == '>'))
            return at;
        at++;
    }
    return end;
}

/* Note by which name links lead to an element: `id`, of <a> also `name` (HTML standard, 7.4.6.3). */
static void note_id(Reader *r, const Tag *tag, const Attributes *attributes)
{
    Span id = attributes->id.size || tag->kind != A ? attributes->id : attributes->anchor;
    if (id.size == 0 || r->hidden > 0 || r->inert > 0)
        return;
    if (r->heading_at < 0) {
        r->last_id = id;
        r->last_id_at = r->text.size;
    } else if (r->heading_id.size == 0) {
        r->heading_id = id;
    }
}

/* Begin a heading; without a name of its own it has the one right before it, as that of its section. */
static void start_heading(Reader *r, const Tag *tag)
{
    Span none = {"", 0};
    size_t between = r->text.size - r->last_id_at;
    bool is_near = r->last_id.size && r->last_id_at <= r->text.size && between <= ID_DISTANCE_MAX
        && is_blank(r->text.at + r->last_id_at, between);
    r->heading_id = is_near ? r->last_id : none;
    r->heading_at = (Py_ssize_t)r->text.size;
    r->in_headline = tag->name[1] == '1' && !r->has_headline;
    r->has_headline = r->has_headline || r->in_headline;
}

/* Take what is an element's text whatever it looks like; JSON-LD is given to Python. */
static bool take_raw(Reader *r, const Tag *tag, const Attributes *attributes)
{
    const char *end = raw_end(r->at, r->end, tag);
    Span text = {r->at, (size_t)(end - r->at)};
    r->at = end;
    bool is_data = tag->kind == SCRIPT && begins_with(attributes->type, "application/ld+json") && r->inert == 0;
    if (is_data && text.size <= DATA_BYTES_MAX)
        return note(r, tag->name, Py_BuildValue("{sN}", "text", PyUnicode_DecodeUTF8(text.at, (Py_ssize_t)text.size, "replace")));
    return add_text(r, text, (tag->meaning & RAW_ENTITIES) != 0);
}

static bool start_element(Reader *r, Name name, Attributes *attributes)
{
    if (name.tag->meaning & ENDS_FOREIGN && !leave_foreign(r))
        return false;
    const Tag *tag = r->is_foreign ? foreign(name.tag) : name.tag;
    r->has_body = r->has_body || (r->hidden == 0 && !(tag->meaning & OF_HEAD));
    if ((!r->is_foreign && !close_before(r, name)) || (tag->meaning & BLOCK && !break_text(r)))
        return false;
    if (tag->meaning & HEADING) {
        start_heading(r, tag);
        if (attributes->id.size)
            r->heading_id = attributes->id;
    } else {
        note_id(r, tag, attributes);
    }
    while (tag->kind == RUBY_TEXT && r->rubies > 0 && r->text.size && is_space(r->text.at[r->text.size - 1]))
        r->text.size--; /* CSS Ruby, 2.2 */
    if (!start_special(r, tag, attributes))
        return false;
    if (tag->meaning & VOID)
        return !(tag->meaning & BLOCK) || break_text(r);
    r->hidden += (tag->meaning & HIDDEN) != 0;
    r->unseen += (tag->meaning & READING) != 0;
    r->inert += tag->kind == TEMPLATE;
    r->rubies += tag->kind == RUBY;
    r->errors[IN_TAG] += attributes->is_closed && !r->is_foreign && !(tag->meaning & FOREIGN);
    if (attributes->is_closed && !(tag->meaning & (RAW | RAW_ENTITIES))) /* of these it is ignored */
        return end_element(r, tag);
    if (!open_element(r, name, tag, attributes))
        return false;
    return !(tag->meaning & (RAW | RAW_ENTITIES)) || take_raw(r, tag, attributes);
}

/* Read a start or an end tag whose name begins at `name_at`; false for a failure. */
static bool read_tag(Reader *r, const char *name_at, bool is_end)
{
    const char *at = name_at;
    while (at < r->end && !is_space(*at) && *at != '/' && *at != '>')
        at++;
    Name name = read_name(name_at, (size_t)(at - name_at));
    bool is_noted = !is_end && name.tag->meaning & NOTED;
    bool is_wanted = is_noted || !is_end;
    Attributes attributes = {.all = is_noted ? PyDict_New() : NULL};
    if (is_noted && attributes.all == NULL)
        return false;
    r->at = at;
    if (is_end) {
        const char *after = after_spaces(at, r->end);
        r->errors[IN_TAG] += after < r->end && *after != '>';
    } else if (r->n_elements == 0) {
        r->errors[IN_DECLARATION] += !r->has_doctype;
    }
    bool is_done = read_attributes(r, is_wanted, &attributes);
    if (is_done && r->at < r->end) { /* else the page ends within the tag, which is none */
        r->at++;
        is_done = is_end ? end_tag(r, name) : start_element(r, name, &attributes);
        r->n_elements += !is_end;
    }
    Py_XDECREF(attributes.all);
    return is_done;
}

/* Return what follows a comment or another declaration that begins at `at`. */
static const char *after_declaration(const char *at, const char *end)
{
    if (!starts_with(at, end, "<!--")) {
        const char *close = memchr(at, '>', (size_t)(end - at));
        return close ? close + 1 : end;
    }
    at += 4;
    if (at < end && *at == '>')
        return at + 1;
    if (starts_with(at, end, "->"))
        return at + 2;
    while (at < end && (at = memchr(at, '-', (size_t)(end - at))) != NULL) {
        if (starts_with(at, end, "-->"))
            return at + 3;
        if (starts_with(at, end, "--!>"))
            return at + 4;
        at++;
    }
    return end;
}

/* Go past a comment or another declaration, or take the text of one that has any; false for a failure. */
static bool read_declaration(Reader *r, const char *at)
{
    const char *mark = "<![cdata[";
    if (!r->is_foreign || !starts_with(at, r->end, mark)) { /* 13.2.5.42: elsewhere that is a comment */
        const char *html = "html", *legacy = "system \"about:legacy-compat\"";
        bool is_comment = starts_with(at, r->end, "<!--"), is_doctype = starts_with(at, r->end, "<!doctype");
        const char *name = is_doctype ? after_spaces(at + strlen("<!doctype"), r->end) : at;
        bool is_html = starts_with(name, r->end, html);
        name = after_spaces(name + (is_html ? strlen(html) : 0), r->end);
        name = after_spaces(name + (is_html && starts_with(name, r->end, legacy) ? strlen(legacy) : 0), r->end);
        r->at = after_declaration(at, r->end);
        bool has_end = r->at - at >= (is_comment ? 7 : 3) && r->at[-1] == '>' && (!is_comment || r->at[-2] == '-');
        bool is_right = is_comment || (is_doctype && is_html && name < r->end && *name == '>');
        r->errors[IN_DECLARATION] += !is_right || !has_end;
        r->has_doctype = r->has_doctype || is_doctype;
        return true;
    }
    at += strlen(mark);
    const char *end = at;
    while (end < r->end && !starts_with(end, r->end, "]]>"))
        end++;
    r->at = end < r->end ? end + 3 : end;
    return add_text(r, (Span){at, (size_t)(end - at)}, false);
}

/* Read the markup; false for a failure. */
static bool read_all(Reader *r)
{
    if (starts_with(r->at, r->end, "\xEF\xBB\xBF"))
        r->at += 3; /* the mark of its encoding is no text */
    while (r->at < r->end) {
        const char *at = r->at, *sign = at;
        while ((sign = memchr(sign, '<', (size_t)(r->end - sign))) != NULL) {
            char next = r->end - sign > 1 ? sign[1] : ' ';
            if (is_letter(next) || next == '!' || next == '?' || (next == '/' && r->end - sign > 2))
                break;
            sign++; /* a sign in the text */
        }
        r->at = sign ? sign : r->end;
        if (!add_text(r, (Span){at, (size_t)(r->at - at)}, true))
            return false;
        if (sign == NULL)
            break;
        bool is_end = sign[1] == '/';
        bool is_done = true;
        if (is_letter(sign[1 + is_end]))
            is_done = read_tag(r, sign + 1 + is_end, is_end);
        else if (is_end && sign[2] == '>')
            r->at = sign + 3;
        else
            is_done = read_declaration(r, sign);
        if (!is_done)
            return false;
        if (r->n_elements > r->elements_max) {
            r->is_cut = true;
            return end_link(r);
        }
    }
    count_unclosed(r, 0);
    return close_elements(r, 0) && end_link(r);
}

/* --- Scripts ----------------------------------------------------------------------------------------- */

enum { HAN, KANA, HANGUL, CYRILLIC, THAI, LATIN, N_SCRIPTS };

typedef struct {
    Py_UCS4 first, last;
    int script;
} Letters;

/* In order. */
static const Letters letters[] = {
    {'A', 'Z', LATIN}, {'a', 'z', LATIN}, {0xC0, 0x24F, LATIN}, {0x400, 0x4FF, CYRILLIC}, {0xE01, 0xE5B, THAI},
    {0x1100, 0x11FF, HANGUL}, {0x1E00, 0x1EFF, LATIN}, {0x3041, 0x30FF, KANA}, {0x3130, 0x318F, HANGUL},
    {0x31F0, 0x31FF, KANA}, {0x3400, 0x4DBF, HAN}, {0x4E00, 0x9FFF, HAN}, {0xAC00, 0xD7A3, HANGUL},
    {0xF900, 0xFAFF, HAN},
};
#define N_LETTERS ((int)(sizeof letters / sizeof *letters))

static PyObject *count_letters(PyObject *module, PyObject *text)
{
    (void)module;
    if (!PyUnicode_Check(text))
        return PyErr_Format(PyExc_TypeError, "a text is expected");
    Py_ssize_t counts[N_SCRIPTS] = {0};
    const Letters *of = letters; /* the range that the character before is in or before: mostly the next one's too */
    Py_ssize_t n = PyUnicode_GetLength(text);
    Py_UCS4 *characters = PyUnicode_AsUCS4Copy(text);
    if (characters == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_UCS4 c = characters[i];
        while (of > letters && c <= of[-1].last)
            of--;
        while (of < letters + N_LETTERS - 1 && c > of->last)
            of++;
        if (of->first <= c && c <= of->last)
            counts[of->script]++;
    }
    PyMem_Free(characters);
    return Py_BuildValue(
        "nnnnnn", counts[HAN], counts[KANA], counts[HANGUL], counts[CYRILLIC], counts[THAI], counts[LATIN]);
}

/* --- The module -------------------------------------------------------------------------------------- */

/* Take weights as they are given, none for no bytes; false when they are for other features. */
static bool take_network(const Py_buffer *bytes, int n_features, Network *network)
{
    bool is_right = bytes->len == 0 || bytes->len == network_size(n_features) * (Py_ssize_t)sizeof(float);
    if (!is_right)
        PyErr_Format(PyExc_ValueError, "weights for %d features are expected", n_features);
    *network = bytes->len ? bytes->buf : NULL;
    return is_right;
}

static PyObject *floats_of(const double *values, int64_t n)
{
    return PyBytes_FromStringAndSize((const char *)values, (Py_ssize_t)n * (Py_ssize_t)sizeof *values);
}

/* Score the blocks; return a list of the scores, or, when they are asked for, the features of both passes. */
static PyObject *judged(Reader *r, const Network *networks, bool is_measured)
{
    int64_t n = r->n_blocks, n_kept = is_measured ? n : 0;
    Layout layout = {
        .text = r->text.at, .blocks = r->blocks, .elements = r->elements, .n_blocks = n,
        .n_elements = r->n_elements_kept, .core = -1, .core_of_mass = -1,
    };
    size_t n_numbers = (size_t)(layout.n_elements + n_kept * (FIRST_FEATURES + SECOND_FEATURES));
    size_t n_seen = 2 * (size_t)n + 1, n_table = 2 * (size_t)layout.n_elements + 1;
    double *sums = PyMem_Malloc((n_numbers + 1) * sizeof *sums);
    float *scores = PyMem_Malloc(((size_t)n + 1) * sizeof *scores);
    float *units = PyMem_Malloc(((size_t)n + 1) * UNITS * sizeof *units);
    uint64_t *seen = PyMem_Calloc(n_seen, sizeof *seen);
    int32_t *table = PyMem_Malloc(2 * n_table * sizeof *table);
    PyObject *result = NULL;
    if (sums == NULL || scores == NULL || units == NULL || seen == NULL || table == NULL) {
        PyErr_NoMemory();
    } else {
        for (size_t i = 0; i < n_table; i++) {
            table[2 * i] = -1;
            table[2 * i + 1] = 0;
        }
        count_alike(&layout, table, n_table);
        Py_ssize_t title_size = 0;
        const char *title = r->title ? PyUnicode_AsUTF8AndSize(r->title, &title_size) : NULL;
        read_blocks(&layout, title, title ? (size_t)title_size : 0, seen, n_seen);
        double *first = is_measured ? sums + layout.n_elements : NULL;
        double *second = is_measured ? first + n * FIRST_FEATURES : NULL;
        judge(&layout, networks, scores, units, sums, first, second);
        if (is_measured)
            result = Py_BuildValue(
                "NN", floats_of(first, n * FIRST_FEATURES), floats_of(second, n * SECOND_FEATURES));
        else
            result = PyList_New((Py_ssize_t)n);
        for (Py_ssize_t i = 0; result && !is_measured && i < n; i++) {
            PyObject *score = PyFloat_FromDouble(scores[i]);
            if (score == NULL)
                Py_CLEAR(result);
            else
                PyList_SetItem(result, i, score);
        }
    }
    PyMem_Free(sums);
    PyMem_Free(scores);
    PyMem_Free(units);
    PyMem_Free(seen);
    PyMem_Free(table);
    return result;
}

static PyObject *result_of(Reader *r, const Network *networks, bool is_measured)
{
    PyObject *text = folded(r, r->text.at, r->text.size, '\n');
    PyObject *scores = text && end_block(r) ? judged(r, networks, is_measured) : NULL;
    PyObject *unseen = scores && !is_measured ? folded(r, r->unseen_text.at, r->unseen_text.size, '\n') : NULL;
    if (scores == NULL || (unseen == NULL && !is_measured)) {
        Py_XDECREF(text);
        Py_XDECREF(scores);
        return NULL;
    }
    if (is_measured)
        return Py_BuildValue("NN", text, scores);
    PyObject *title = r->title ? r->title : Py_None, *is_cut = r->is_cut ? Py_True : Py_False;
    const int64_t *errors = r->errors;
    return Py_BuildValue(
        "OOONNNOOO(LLLLL)", title, r->headings, r->heading_ids, text, scores, unseen, r->links, r->noted, is_cut,
        (long long)errors[UNCLOSED], (long long)errors[STRAY], (long long)errors[MISNESTED],
        (long long)errors[IN_TAG], (long long)errors[IN_DECLARATION]);
}

static void free_all(Reader *r)
{
    Py_XDECREF(r->links);
    Py_XDECREF(r->headings);
    Py_XDECREF(r->heading_ids);
    Py_XDECREF(r->noted);
    Py_XDECREF(r->title);
    Py_XDECREF(r->href);
    PyMem_Free(r->text.at);
    PyMem_Free(r->unseen_text.at);
    PyMem_Free(r->folded.at);
    PyMem_Free(r->decoded.at);
    PyMem_Free(r->alts.at);
    PyMem_Free(r->open);
    PyMem_Free(r->blocks);
    PyMem_Free(r->elements);
}

static PyObject *read_page(PyObject *arguments, bool is_measured)
{
    Py_buffer markup, first, second;
    Reader r = {.heading_at = -1, .title_at = -1, .element = -1};
    if (!PyArg_ParseTuple(
            arguments, is_measured ? "y*O!nnnny*y*:measure_blocks" : "y*O!nnnny*y*:read_markup", &markup,
            &PyDict_Type, &r.entities, &r.text_chars_max, &r.elements_max, &r.links_max, &r.anchor_chars_max,
            &first, &second))
        return NULL;
    Network networks[2];
    r.at = markup.buf;
    r.end = r.at + markup.len;
    r.links = PyDict_New();
    r.headings = PyList_New(0);
    r.heading_ids = PyList_New(0);
    r.noted = PyList_New(0);
    bool is_ready = r.links && r.headings && r.heading_ids && r.noted && make_room(&r.text, (size_t)markup.len / 2);
    is_ready = is_ready && take_network(&first, FIRST_FEATURES, &networks[0])
        && take_network(&second, SECOND_FEATURES, &networks[1]);
    PyObject *result = is_ready && read_all(&r) ? result_of(&r, networks, is_measured) : NULL;
    PyBuffer_Release(&markup);
    PyBuffer_Release(&first);
    PyBuffer_Release(&second);
    free_all(&r);
    return result;
}

static PyObject *read_markup(PyObject *module, PyObject *arguments)
{
    (void)module;
    return read_page(arguments, false);
}

static PyObject *measure_blocks(PyObject *module, PyObject *arguments)
{
    (void)module;
    return read_page(arguments, true);
}

static PyMethodDef methods[] = {
    {"read_markup", read_markup, METH_VARARGS, "See _markup.pyi."},
    {"measure_blocks", measure_blocks, METH_VARARGS, "See _markup.pyi."},
    {"count_letters", count_letters, METH_O, "See _markup.pyi."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_markup",
    .m_doc = "Reads HTML, see peers/crawler/parsing/parser.py.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__markup(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module
        && (PyModule_AddStringConstant(module, "SOURCES", KERNEL_SOURCES) < 0
            || PyModule_AddIntConstant(module, "FIRST_FEATURES", FIRST_FEATURES) < 0
            || PyModule_AddIntConstant(module, "SECOND_FEATURES", SECOND_FEATURES) < 0
            || PyModule_AddIntConstant(module, "UNITS", UNITS) < 0))
        Py_CLEAR(module);
    return module;
}
