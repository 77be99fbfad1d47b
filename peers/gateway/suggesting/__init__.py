"""Suggestions while a query is being typed.

`suggestion_errand` asks every index how it may go on; `merged_suggestions` makes one short list
of the answers.
"""
