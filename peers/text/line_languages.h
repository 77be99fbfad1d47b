/* The kernel of line_languages.py. */

#pragma once

#include "peers/kernel.h"

/* Add up how large the runs of each line are: all of them, and those of each language that has a bit in their
   masks. */
KERNEL(count_runs, "iiiI2I", {
    Ints lines;
    Ints sizes;
    Ints masks;
    MutableIntRows hits; /* a row of each language */
    MutableInts totals;
})
{
    for (int64_t i = 0; i < a->lines.size; i++) {
        int64_t line = a->lines.at[i];
        a->totals.at[line] += a->sizes.at[i];
        for (int64_t language = 0, mask = a->masks.at[i]; mask; language++, mask >>= 1)
            a->hits.at[language * a->hits.columns + line] += (mask & 1) * a->sizes.at[i];
    }
    return 0;
}
