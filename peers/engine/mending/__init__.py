"""Words of the index that are like one that was typed, and completions of a beginning.

`dictionary_scan` goes through a dictionary for words that are spelled nearly alike or sound like pinyin,
`similar_runs` looks up Chinese characters of like sound; `similar_words` counts the pages that have either.
`completions` finds texts and words that go on from there, `listed_words` those that a policy lists.
"""
