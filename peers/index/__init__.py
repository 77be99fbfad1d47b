"""The index of a peer: the actor that runs the engine for a mesh, and its port.

`indexer` collects pages and decides over which slots the questions of gateways are answered; `answerer`
says what, through `index_reader`, which puts in messages what the engine finds. The port `questions_port`
[io] has that done on the event loop or, where it costs more, in a thread. The port
`segments_port` [io] commits in a thread, for which a `segment_builder` [io] has large segments built in a
`segment_process`; `segments_twin` stands in for it in simulations, in large ones over a `counting_index`.
What both do is in `commit`, `export_parts` and `damage`; `facet_counts` are facets as they travel; a
`sized_cache` keeps what was read lately. What they say to each other and to the cell is in `messages`, what
gateways ask and are answered in `wire_messages`. `words_command` [io] prints words that the dictionary lacks.
"""
