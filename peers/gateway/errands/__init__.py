"""Errands: requests of users to the mesh, each ended by one answer.

An `errand` asks its questions in a `round`: of a slot's team (`team_errand`: a stored page by `page_lookup`,
versions by `versions_lookup`) or of all members (`roundup`: `status_roundup`, `history_roundup`; why a thing
is as it is: `inquiry`). `seed_errand` hands seeds to their owners, `drain_errand` empties a peer. A search is
one more errand, with a room of its own.
"""
