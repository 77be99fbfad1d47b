"""Hand-over: which slots this peer may crawl, and how all keepers of a slot come to have the same data of it.

handover    the actor: takes news to those below, draws conclusions, says when slots can be crawled and served
standing    what is true of the slots of this peer: held, filled, complete, whose they are
claims      our claim, until all others have yielded it; yielding: the claims of others
bringing    orders to the stores, by the policy of `wants`: what is still to come, from whom, what first
offering    what others are to bring from here, after the rules of `offers`; taking: what they offer us
comparing   which slots are compared with whom, and when
messages    what it says to the stores of its peer; wire_messages: and both to those of other peers
settings    patience and pace of all that
store       what a store is, and its declaration: all that a further one costs
keeper      what the actor of a store delegates to: comparing, moving, forgetting, telling
exchange    how two stores of the same kind find what one of them lacks, and move it: pulling, what is brought
            here; giving, what others ask for by item_ids; part_checksum for what is on its way
slot_digests: of what is in a slot, kept up to date row by row
mirror      how what changes in a store reaches the rest of the team at once
item_store  a store that is nothing but values under names, ready to be used
"""
