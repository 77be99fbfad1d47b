"""Words of the index that are like one that was typed.

`dictionary_scan` goes through a dictionary for words that are spelled or sound nearly alike; `similar_words`
counts the pages that have them.
"""
