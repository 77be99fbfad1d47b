"""The index engine, usable without a mesh, and the actor that runs it for one.

Library: `index` (add, delete, commit, merge; `Index.open`), `snapshot` (search and statistics over the
documents of some slots), `query` (made of what is typed in the language of `query_language`), `matching` and
`facets` (which documents, and how many of what), `ranking` (BM25F), `snippet`, `analysis` (text to terms;
of `folding`, `runs`, `segmentation`, `stemming` and `compounds`, checked by its `fingerprint`).
A segment's format is described in `segment`, with how damage is noticed; `builder`, from what `inversion`
finds in texts, and `merging` write it, `part` says what of it is live, `kernels` search it, `manifest` says
which segments count, `storage` and `directory` keep the files. `exporting` cuts the documents of some slots
out of an index, as segments that `adoption` checks before another index takes them over.

Actor: `indexer` collects pages and answers the gateways' questions through `index_reader`; the port
`segments_port` [io] commits in a thread; `segments_twin` stands in for it in simulations.
"""
