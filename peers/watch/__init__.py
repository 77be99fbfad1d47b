"""The watch: administrators are told when a page that is new to the mesh has a word of a list of theirs.

`watch_list` is the list, a decree; `matcher` finds its entries in a text, in the processes that take pages
apart, and `watched` is what it has found of a page. `watcher` is the actor of each peer that keeps the
`notices` of the pages that this peer has visited, and tells them to gateways (`wire_messages`).

`issuer` [io] reads and replaces the list, `list_file` is how people write one, `commands` [io] are `tianmesh
watch`. Without a list nothing of this is called.
"""
