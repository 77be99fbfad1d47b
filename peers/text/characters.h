/* The kernel of characters.py. */

#pragma once

#include "peers/kernel.h"

#define UNEVEN UINT32_MAX

#define BLOCK 32

/* Fold blocks of ASCII from a place on; return the first place of the block that has others, or is no whole one. */
WITH_WIDE_REGISTERS static int64_t fold_ascii(const uint32_t *codes, uint32_t *folded, int64_t done, int64_t size)
{
    for (; done + BLOCK <= size; done += BLOCK) {
        uint32_t bits = 0;
        for (int i = 0; i < BLOCK; i++)
            bits |= codes[done + i];
        if (bits >= 0x80)
            break;
        for (int i = 0; i < BLOCK; i++)
            folded[done + i] = codes[done + i] + ((codes[done + i] - 'A' < 26) << 5);
    }
    return done;
}

/* Fold from a place on, to the end or to the first character of which that is not known to be even. */
KERNEL(fold_known, "wwWn", {
    Words codes;
    Words folded_to;
    MutableWords folded;
    int64_t done;
})
{
    int64_t done = a->done;
    while (done < a->codes.size) {
        done = fold_ascii(a->codes.at, a->folded.at, done, a->codes.size);
        for (int64_t end = least_of(done + BLOCK, a->codes.size); done < end; done++) {
            uint32_t to = a->folded_to.at[a->codes.at[done]];
            if (to == 0 || to == UNEVEN)
                return done;
            a->folded.at[done] = to - 1;
        }
    }
    return done;
}
