"""Excerpts of documents, and titles that tell pages apart.

`snippet` cuts excerpts, from the fragments that `windows` chooses, `sections` tells below which heading they
are, `synopsis` how a command is written; `shared_titles` finds titles that a whole site has alike.
"""
