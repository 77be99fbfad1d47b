"""The strength of a topic at a gateway: `counts_lookup` asks all peers for their counts and adds them up,
`topic_page` draws the series for people, `topic_json` has them for programs, as JSON and CSV.
"""
