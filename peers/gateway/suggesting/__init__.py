"""Suggestions while a query is being typed, and queries related to one.

`suggestion_errand` asks every index how it may go on; `merged_suggestions` makes one short list
of the answers.
"""
