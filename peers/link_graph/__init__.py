"""The link graph of the mesh, if its policy has `[link_graph]`: which pages link to which.

`link_graph` is the actor; its store is by slots, replicated and handed over as others are. `source_row` is
the row of a page, with where it links to; `target_row` one of a page, with the links to it from one domain;
`tellings` brings the links from the owners of the former to those of the latter; `wire_messages` has what
they and gateways say. `command`, `rank_command` and `hubs_command` [io] have `tianmesh backlinks`,
`graph ranks` and `graph hubs`; `neighbours` answers what is around pages.

PageRank over it, if the policy says `ranks`: each slot ranks its own pages, and tells others the sums that it
gives to theirs. `slot_ranks` is the arithmetic of a slot, `rank_exchange` the conversation of the owners of
slots, `rank_work` both on one peer, in a thread, and `page_ranks` the part of the actor that has it done.
"""
