"""The base of the kernels: how Python and C meet, and the open lists that kernels go through.

`compiled` joins a Python file and the C file beside it, `kernels` has the numbers that both go by, and
`lists` holds the opened postings of a query; `positions` are for C alone.
"""
