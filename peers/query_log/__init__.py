"""The mesh's own log of searches, kept if its policy says so: by day and query, of clients only digests.

`query_log` is the actor; its store is by slots of the queries' digests, replicated and handed over as others
are. `log_row` is what one client has asked on one day; `log_part` what others are told of rows: of a query
that few have asked on a day a count alone. `messages` come from the gateway of this peer, `wire_messages`
from other peers. `log_files` [io] reads query and click logs of other engines, in their layouts, and writes
the book's.
"""
