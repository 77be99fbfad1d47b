"""Text analysis: the terms of a text. It knows no index.

`analysis` makes the terms and the atoms, of `folding` (spellings made equal), `runs` (stretches of one
script), `segmentation` (words of Chinese), `stemming` (forms), `compounds` (words with signs) and `spellings`
(words as they are written); `function_words` are those that a query is not about, and `keywords` those
that a page is; by the former `line_languages` tells which parts of a page are in another language.
`characters` has the classes of characters by which excerpts are cut. `version` is the number of all these
rules, and `fingerprint` tells whether the libraries installed analyse as it says. `word_discovery` finds
words that the dictionary lacks, `query_words` likewise in queries; `query_class` tells the purpose of a
query, `pinyin` says how characters are read, `regional_words` which words of the mainland, Taiwan and Hong
Kong mean the same, `synonyms` which others, as the owner of a mesh says.
"""
