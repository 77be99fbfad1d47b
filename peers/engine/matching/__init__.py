"""The documents of one segment that match a query, and the best of them.

`segment_search` finds the best, `matching` all, at the price that `matching_cost` tells; `facets` counts them
by properties, `page_classes` tells which class each is in, `listed_files` which directory has a file of some
size and age, `occurrence_lookup` reads where some entries occur in a few of them.
"""
