"""Queries: from a typed text to required, excluded and scoring terms.

`query` is what is searched for, made by `query_parser` of a text in the `query_language`, put by
`native_forms` into the language that its words are of.
"""
