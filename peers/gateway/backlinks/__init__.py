"""The pages that link to one: found by the gateway, and shown.

`backlinks_lookup` asks the team of the page, `backlinks_page` shows the links to people, `backlinks_json` to
programs.
"""
