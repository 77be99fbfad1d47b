"""Copies: pages of the mesh with the same title and all the same text are one group; one stands for it.

Pages of its own domain it hides; of other domains the first few are found, and searches show them under it.

`copies` is the actor, and says how all of this works: it has reports of contents to other
peers, and the `roles` by `groups`; `index_updates` are on their way to its index, and a `walk` looks through
all rows when owners change. The rows of pages (`content_row`) are a store, replicated and handed over as the
others are. `wire_messages` are its messages.
"""
