"""The site: the pages, JSON and feeds that people and programs are shown. Pure.

`pages` makes results and status into HTML from `templates/` and `static/`, in the languages of `texts`;
results lead to `sections`, or are narrowed to a `date_range`; `feeds`, `found_json`, `yacy_json` and
`elastic_json` (of an `elastic_query`) are for programs, `command_json` reads what they send. A stored copy is
shown by `stored_page` as a `marked_snapshot` (read beside the event loop: `stored_reader`), its versions by
`versions_page` with the `difference` of two, by `versions_json`, as a `memento` and in a `cdx`; the mesh's
past by `history_page` from a `history_view`, in `charts`. `bot_page` tells web masters who asks their hosts.
"""
