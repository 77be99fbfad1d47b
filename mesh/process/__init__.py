"""Processes: a member of the mesh under trio, and the workshop of processes beside it. [io]

`runtime` runs a node: time, messages, commits. `member` puts transport, tables, membership and actors
together, `process` makes a process of it, with its log and its word to the service manager (`collector` of
garbage, `places` on disk). A `workshop` has processes that work on hostile content
(`workshop_process`) and have given up all else (`confinement`). `memory`, `cores` and `allocator` tell and
bound what a process uses; `background` work gives way to all other.
"""
