"""The parts of every experiment, and of its results: nothing here knows a single one.

A `study` is an experiment: parameters, a run from a seed, rows, claims of its source; `figures` draws them,
`tables` are for terminals, CSV and JSON. The experiments are in `studies`.
"""
