"""Graphs of links: their files, their shape, their exact ranks.

`graph`       pages and links as arrays; `graph_files` reads them [io]
`ranks`       PageRank by power iteration, and how like two rankings are
`report`      the figures of a graph; `commands`: `tianmesh graph`
"""
