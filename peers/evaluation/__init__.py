"""How good the answers are: judged collections, measures, and our engine beside others.

`judged` reads collections of documents, queries and judgements; `runs` reads and writes TREC's files of
rankings; `measures` turns both into figures and compares two rankings by a t-test; `engines` and `lucene`
rank a collection in this process with ours and others; `quality` makes the table of all; `fitting` finds
weights. `cli` [io] has the commands, and asks a running mesh. Needs the extra `evaluation`.
"""
