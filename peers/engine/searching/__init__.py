"""The kernels of searching: the best documents that have all entries, or any of them, or were found before.

Each is one call for a segment: entries are looked up, their lists opened (`lists`), and documents scored
(`scoring`) in batches of at most a block. What is known of a batch is narrowed step by step, the cheapest
first, and only documents that could still become one of the best go on.

`conjunction` finds those with all entries, `disjunction` those with any, `found` ranks what was found before;
what a `batch` is, and how it is narrowed and scored, is the same for all.
"""
