"""Messages, settings and values that the rooms of the gateway share. Pure.

`messages` go between the ports and the searcher, `wire_messages` between gateways; `settings` is what a
person may set. `status` is the table of all that is told of a peer and of the mesh, each number a `quantity`;
`member_lines` and `readiness_json` say it to people and programs, `time_words` say when; `histogram` counts
durations.
"""
