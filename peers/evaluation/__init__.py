"""How good the answers are: judged collections, measures, and our engine beside others.

`trec` reads and writes TREC's files of queries, judgements and rankings, `naming` gives hits the names that
judgements use; `judged` reads collections of documents; `measures` turns judgements and rankings into figures
and compares two rankings by a t-test; `engines` and `lucene` rank a collection in this process with ours and
others; `quality` makes the table of all; `fitting` finds weights. `main_text` has pages whose main text is
known, `main_text_fit` [io] finds the weights that tell it. `asking` [io] asks a running mesh the
queries of a file and tells what of the answers is odd, `asking_screen` [io] for people. `cli` [io] has the
commands. All but `trec`, `asking` and `asking_screen` need the extra `evaluation`.
"""
