"""Words of the index that are like one that was typed, and completions of a beginning.

`dictionary_scan` goes through a dictionary for words that are spelled or sound nearly alike; `similar_words`
counts the pages that have them. `completions` finds texts and words that go on from there.
"""
