"""The first results of a search in groups: by the words of the pages, by their kinds or by their sites.

`word_groups` is the arithmetic, `groups` names and orders them, `groups_json` and `groups_page` tell of them.
"""
