"""Hand-over: which slots this peer may crawl, and that all who keep a slot have the same of it.

handover    the actor: claims slots, has its stores brought up to date, says when it can serve them
wants       its policy: what is still to be brought here, from whom, what first
messages    what it says to the stores of its peer
store       what a store is, and its declaration: all that a further one costs
keeper      what the actor of a store delegates to: comparing, moving, forgetting, telling
exchange    how two stores of the same kind find what one of them lacks, and move it
mirror      how what changes in a store reaches the rest of the team at once
item_store  a store that is nothing but values under names, ready to be used
"""
