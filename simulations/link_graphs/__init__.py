"""Graphs of links: their files, their shape, their exact ranks, and a mesh of peers that ranks them.

`graph`       pages and links as arrays; `graph_files` reads them [io], `drawn_graph` draws some
`ranks`       PageRank by power iteration, and how like two rankings are; `hubs`: hubs and authorities
`rank_mesh`   peers that come to the same ranks by messages, under faults from a seed
`report`      the figures of a graph; `commands`: `tianmesh graph`
"""
