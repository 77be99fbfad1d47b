"""The index of a peer: the actor that runs the engine for a mesh, and its port.

`indexer` collects pages and answers the gateways' questions through `index_reader`, which says what the
engine found in messages; the port `segments_port` [io] commits in a thread; `segments_twin` stands in for it
in simulations, in large ones over a `counting_index`. What both do is in
`committing`, `exporting` and `damage`; `facet_counts` are facets as they travel; a `sized_cache` keeps what
was read lately. What they say to each other and to the cell is in `messages`, what gateways ask and are
answered in `wire_messages`. `words_command` [io] prints words that the dictionary lacks.
"""
