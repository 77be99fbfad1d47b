"""Excerpts of documents, and titles that tell pages apart.

`snippet` cuts excerpts, from the fragments that `windows` chooses, `sections` tells below which heading they
are, `synopsis` how a command is written, `definition` what a term is; `shown_entries` are those of a
directory; `shared_titles` finds titles that a whole site has alike.
"""
