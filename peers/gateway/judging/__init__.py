"""The page on which invited people judge a pool, query by query."""
