/* What all kernels are made of: views of arrays, memory that is given back when a kernel ends, and how a
   kernel is declared. How Python calls one is in kernel_module.c. */

#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An array of one dimension, and of two, row after row. */
#define VIEW(Name, Item) \
    typedef struct { \
        Item *at; \
        int64_t size; \
    } Name
#define TABLE_VIEW(Name, Item) \
    typedef struct { \
        Item *at; \
        int64_t rows; \
        int64_t columns; \
    } Name

VIEW(Bytes, const uint8_t);
VIEW(MutableBytes, uint8_t);
VIEW(Ints, const int64_t);
VIEW(MutableInts, int64_t);
VIEW(Floats, const double);
VIEW(MutableFloats, double);
VIEW(Words, const uint32_t);
VIEW(MutableWords, uint32_t);
VIEW(Sums, const uint64_t);
VIEW(MutableSums, uint64_t);
TABLE_VIEW(IntRows, const int64_t);
TABLE_VIEW(MutableIntRows, int64_t);
TABLE_VIEW(FloatRows, const double);
TABLE_VIEW(MutableFloatRows, double);
TABLE_VIEW(WordRows, const uint32_t);

/* What a kernel returns instead of a number: it found no memory. */
#define NO_MEMORY INT64_MIN

/* A function that is compiled twice where the system can choose when it loads it, the second time for registers
   of 256 bits. Only for functions of whole numbers: their results are the same, whatever the processor. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define WITH_WIDE_REGISTERS __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef WITH_WIDE_REGISTERS
#define WITH_WIDE_REGISTERS
#endif

/* Declare a kernel: its name, the letters of its arguments (see kernel_module.c), a struct of the same, and
   then the body of a function that sees them as `a` and returns a number. */
#define KERNEL(name, letters, ...) \
    static const char name##_letters[] = letters; \
    struct name##_arguments __VA_ARGS__; \
    static int64_t name(const struct name##_arguments *a)

static inline int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

static inline double greater(double a, double b)
{
    return a > b ? a : b;
}

/* One piece of memory that is dealt out in parts, each for numbers of 64 bits at most, and given back at
   once. How much it takes is said first: SIZED(...) adds up, taking deals out in the same order. */
typedef struct {
    char *next;
    char *memory;
} Store;

static inline size_t stored_bytes(int64_t n, size_t item_bytes)
{
    return ((size_t)n * item_bytes + 7) & ~(size_t)7;
}

static inline bool open_store(Store *store, size_t n_bytes)
{
    store->memory = store->next = malloc(n_bytes ? n_bytes : 1);
    return store->memory != NULL;
}

static inline void *take(Store *store, int64_t n, size_t item_bytes)
{
    char *taken = store->next;
    store->next += stored_bytes(n, item_bytes);
    return taken;
}

static inline int64_t *take_ints(Store *store, int64_t n)
{
    return take(store, n, sizeof(int64_t));
}

static inline double *take_floats(Store *store, int64_t n)
{
    return take(store, n, sizeof(double));
}

static inline void close_store(Store *store)
{
    free(store->memory);
}

static inline void fill(int64_t *numbers, int64_t n, int64_t value)
{
    for (int64_t i = 0; i < n; i++)
        numbers[i] = value;
}
