/* What bounds the scores of a block of postings: the bytes in its skip entry, and what they are made of.

   A score rises with frequencies and falls with lengths. Of the body, where documents differ most, the greatest
   frequencies are kept with the least lengths that come with them, as a *staircase* of points, both rising:
   every posting has at most the frequency and at least the length of one of them. A staircase with more steps
   than are stored is cut by joining neighbours, which bounds more loosely, never wrongly. Of each other field
   there are the greatest frequency and the least length of all postings. */

#pragma once

#include "peers/engine/native/kernels.h"

#define POINTS 4
#define POINTS_AT 3 /* in a skip entry */
#define FIELDS_AT 7
#define FIELDS_WORDS 4 /* 24 bits of each of five */
#define FREQUENCY_ANY 65535 /* of a point */
#define FIELD_FREQUENCY_ANY 255
#define LENGTH_MAX 65535

/* While more points than are stored are collected, the staircase is not cut. */
#define POINTS_COLLECTED 16

/* A step of a staircase: no posting has more of the one and less of the other than one of its points. */
typedef struct {
    int64_t frequency;
    int64_t length;
} Point;

/* Join neighbouring points, those first that lose least; return how many are left. */
static int64_t cut_points(Point *points, int64_t n, int64_t n_max)
{
    while (n > n_max) {
        int64_t best = 0;
        double least = INFINITY;
        for (int64_t i = 0; i < n - 1; i++) {
            double frequencies = (double)points[i + 1].frequency / (double)points[i].frequency;
            double lengths = ((double)points[i + 1].length + 1.0) / ((double)points[i].length + 1.0);
            double loss = lesser(frequencies, lengths);
            if (loss < least) {
                least = loss;
                best = i;
            }
        }
        points[best].frequency = points[best + 1].frequency;
        for (int64_t i = best + 1; i < n - 1; i++)
            points[i] = points[i + 1];
        n--;
    }
    return n;
}

/* Add a point to a staircase, lengths and frequencies rising; return how many it has. */
static inline int64_t add_point(Point *points, int64_t n, int64_t frequency, int64_t length)
{
    int64_t i = n;
    while (i > 0 && points[i - 1].length > length)
        i--;
    if (i > 0 && points[i - 1].frequency >= frequency)
        return n;
    int64_t low = i;
    while (low > 0 && points[low - 1].length == length)
        low--;
    int64_t high = i;
    while (high < n && points[high].frequency <= frequency)
        high++;
    /* low:high are dominated; the new point takes their place. */
    memmove(points + low + 1, points + high, (size_t)(n - high) * sizeof(Point));
    points[low] = (Point){frequency, length};
    n += 1 - (high - low);
    return n == POINTS_COLLECTED ? cut_points(points, n, n - 1) : n;
}

static inline void write_points(Point *points, int64_t n, uint32_t *words, int64_t entry)
{
    n = cut_points(points, n, POINTS);
    for (int64_t i = 0; i < POINTS; i++)
        words[entry + POINTS_AT + i] =
            i < n ? (uint32_t)(points[i].frequency << 16 | points[i].length) : 0;
}

/* Return which field has the i-th place among those without points. */
static inline int other_field(int i)
{
    return i < BODY ? i : i + 1;
}

static inline void write_fields(const int64_t *most, const int64_t *least, uint32_t *words, int64_t entry)
{
    uint64_t halves[2] = {0, 0}; /* of five numbers of 24 bits two are in the first, three in both */
    for (int i = 0; i < FIELD_COUNT - 1; i++) {
        int field = other_field(i);
        uint64_t value = 0;
        if (most[field])
            value = (uint64_t)(least_of(most[field], FIELD_FREQUENCY_ANY) << 16
                               | least_of(least[field], LENGTH_MAX));
        int bit = 24 * i, within = bit & 63;
        halves[bit >> 6] |= value << within;
        if (within > 40)
            halves[(bit >> 6) + 1] |= value >> (64 - within);
    }
    for (int i = 0; i < FIELDS_WORDS; i++)
        words[entry + FIELDS_AT + i] = (uint32_t)(halves[i >> 1] >> (32 * (i & 1)));
}

/* Return frequency << 16 | length of the i-th field without points. */
static inline int64_t field_bounds(const uint32_t *words, int64_t entry, int i)
{
    int bit = 24 * i, shift = bit & 31;
    const uint32_t *from = words + entry + FIELDS_AT + (bit >> 5);
    uint64_t packed = from[0] >> shift;
    if (shift > 8)
        packed |= (uint64_t)from[1] << (32 - shift);
    return (int64_t)(packed & 0xFFFFFF);
}
