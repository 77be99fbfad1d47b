"""Excerpts of documents, and titles that tell pages apart.

`snippet` cuts excerpts, from the fragments that `windows` chooses; `shared_titles` finds titles that a whole
site has alike.
"""
