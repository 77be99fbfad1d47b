"""Experiments: each a small file of parameters, a run from a seed, rows and a figure.

`study`      what an experiment is, and what comes of its repetitions
`catalogue`  all of them
`sweep`      repetitions and values of parameters on all cores or a `cluster`, with what is done already
`drawing`    how figures look; `tables`, files and words of an outcome; `report` one page of all of them
`commands`   `tianmesh sim NAME` and `tianmesh sim all`

`balance`, `speedup`  the book's figures 6-5 to 6-7, on `crawls`
`partition`  the book's three schemes, and others
`weights`    the thesis's rule for queues
`politeness` where more machines stop helping
`freshness`  policies of visiting again, for each budget
`orders`     what a crawl finds first, by each order of new pages
`search`     latency and completeness of answers
`postings`   bytes that queries read, the model of inverted files beside an index; `posting_lists` of it
`cache`, `querylog`  the book's chapter 9; `posting_caches` what keeps lists
`recovery`   what faults cost, as distributions over runs with them
`plan`       how many machines somebody needs
"""
