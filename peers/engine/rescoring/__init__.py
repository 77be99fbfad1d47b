"""The second score of the best documents, and how it is explained.

`model` mixes the first score with `features`, `proximity` of the words among them; `explanation` takes a
score apart.
"""
