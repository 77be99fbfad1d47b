"""Files of the data that peers have, for other engines and tools, read beside the peers while they run.

`peer_files` reads the table and the archive of a peer as they are on disk, `versions` brings those of several
peers together, `rows` takes pages apart, `revisits` tells what is there already, `writers` write, graphs of
links those of `graph` (with `graph_ranks`), formats of older engines those of `tianwang`, and `export_run` is
the pipeline between them for the `command`.
"""
