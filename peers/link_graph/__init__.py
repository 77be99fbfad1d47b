"""PageRank over the mesh: each slot ranks its own pages, and tells others the sums that it gives to theirs.

`slot_ranks` is the arithmetic of a slot, `rank_exchange` what the owners of slots tell each other. No peer
runs them yet: `tianmesh sim pagerank` does, through losses, crashes, hand-overs and changed links.
"""
