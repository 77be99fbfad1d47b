"""Two levels of merging: in a large mesh, a gateway has other peers ask most members for it.

A `group_round` cuts the peers that are asked into groups of about as many as there are groups; one of each is
its *aggregator*, to which the question goes (`wire_messages`). There it is an `aggregation`: an errand that
asks the members, checks and merges what they answer, and tells the gateway the best of it with what each
member says of its index. The gateway's stages of a search (`peers.gateway.search`) take that as if each
member had answered itself, and ask those themselves of which nothing comes, or something doubtful.
"""
