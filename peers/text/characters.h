/* The kernel of characters.py. */

#pragma once

#include "peers/kernel.h"

#define UNEVEN UINT32_MAX

/* Fold from a place on, to the end or to the first character of which that is not known to be even. */
KERNEL(fold_known, "wwWn", {
    Words codes;
    Words folded_to;
    MutableWords folded;
    int64_t done;
})
{
    int64_t done = a->done;
    for (; done < a->codes.size; done++) {
        uint32_t to = a->folded_to.at[a->codes.at[done]];
        if (to == 0 || to == UNEVEN)
            break;
        a->folded.at[done] = to - 1;
    }
    return done;
}
