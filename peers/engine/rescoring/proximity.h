/* The kernel of proximity.py, where the formula is. */

#pragma once

#include "peers/engine/matching/occurrence_lookup.h"

#define PROXIMITY_K 1.2
#define UNIT_MASK ((INT64_C(1) << PLACE_POSITION_SHIFT) - 1)
#define PLACE_MASK ((INT64_C(1) << PLACE_DOCUMENT_SHIFT) - 1)

/* Set the proximity of each document that has places; the memory is for a number of each unit. */
static void add_proximity(
    Ints of_all, Floats of_units, Floats lengths, double total, double *nearness, double *found)
{
    const int64_t *places = of_all.at;
    const double *idf = of_units.at;
    int64_t at = 0;
    while (at < of_all.size) {
        int64_t document = places[at] >> PLACE_DOCUMENT_SHIFT;
        for (int64_t unit = 0; unit < of_units.size; unit++)
            nearness[unit] = 0.0;
        int64_t last_unit = -1, last_position = 0;
        for (; at < of_all.size && places[at] >> PLACE_DOCUMENT_SHIFT == document; at++) {
            int64_t unit = places[at] & UNIT_MASK;
            int64_t position = (places[at] & PLACE_MASK) >> PLACE_POSITION_SHIFT;
            if (last_unit >= 0 && unit != last_unit && position > last_position) {
                double distance = (double)(position - last_position);
                double share = 1.0 / (distance * distance);
                nearness[unit] += idf[last_unit] * share;
                nearness[last_unit] += idf[unit] * share;
            }
            last_unit = unit;
            last_position = position;
        }
        double half = PROXIMITY_K * (0.5 + 0.5 * lengths.at[document]);
        double value = 0.0;
        for (int64_t unit = 0; unit < of_units.size; unit++)
            value += lesser(1.0, idf[unit]) * (nearness[unit] * (PROXIMITY_K + 1.0) / (nearness[unit] + half));
        found[document] = lesser(1.0, value / total);
    }
}

KERNEL(measure_proximity, "iffdF", {
    Ints places;
    Floats idf;
    Floats lengths;
    double total;
    MutableFloats found;
})
{
    Store store;
    if (!open_store(&store, stored_bytes(a->idf.size, sizeof(double))))
        return NO_MEMORY;
    add_proximity(a->places, a->idf, a->lengths, a->total, take_floats(&store, a->idf.size), a->found.at);
    close_store(&store);
    return 0;
}
