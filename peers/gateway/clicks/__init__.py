"""Searches in whose results counts which pages readers of the same query have opened.

`clicked_search` asks the peer that keeps the log of a query, then is a search of `gateway.search`. It is
loaded where the policy of the mesh gives clicks a weight.
"""
