"""Second looks at pages that other members say they have visited, so that invented ones are found.

The actor is `auditor`: it asks for pages of a sample once more, by turns that the peers lend which crawl
their hosts (`lent_turns`, above this room), and has another member look where it sees something else.
`audits` has the looks under way, `likeness` says how alike two texts are, `verdicts` which member has
invented pages.
"""
