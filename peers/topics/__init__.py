"""Topics: how strongly they are written about, counted slice by slice over the whole mesh.

`topic_list` is the list of topics, a decree; `string_matcher` finds their strings in the processes that take
pages apart. `peers.crawler.topic_visits` holds the visits of a controller that count, `topics` is the actor
that brings them to the slots of their contents (`messages`, `wire_messages`) and keeps them as a store of
rows (`visit_row`); `tally` counts these, `series` are the eight of a topic.

`issuer` [io] reads and replaces the list, `string_proposals` finds strings in samples, `string_file` is how
people write them. Without a list nothing of this is called.
"""
