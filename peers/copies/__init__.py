"""Copies: pages of the mesh with the same title and main text are one group; one stands for it.

Pages of its own domain it hides; of other domains the first few are found, and searches show them under it.

Theory of operation
===================
What content a page has, the peer that answers for its slot tells the peer that answers for the slot of that
*content* (its digest, taken modulo the number of slots): there all pages of a group are known, whatever
peers and hosts they are on. It names the representative, and tells those who have the pages; each index then
leaves the copies out by itself, so that hits, counts and facets of a mesh fold as those of one peer do.

A copy may be shown twice for a while, but none is hidden for which nothing is shown. So a representative is
named first, and the others hear of it when it is in a commit of its index; a page whose content changes is
shown at once (`peers.engine.copies`); and when the answerer of a representative changes, it is asked again.
Who is told something of a page that does not have that content by now says so, and the page leaves the group.

The rows of pages (`content_row`) are a store, replicated and handed over as the others are. They have what
the page was named, so the index of every member of its team goes by it, and who becomes the answerer knows
it. Groups (`groups`) follow from these rows: they are in a table so that a restart loses none, and when the
answerer of their slot changes they are told anew, by all whose pages are in them, and forgotten where they
were. That is some 60 bytes a page for a share of the pages, and less than keeping them twice all the time.

`copies` is the actor: it has the `tellings` of contents to other peers, and the `namings` by groups; `marks`
are on their way to its index, and a `walk` looks through all rows when owners change. `wire_messages` are its
messages.
"""
