"""How good the answers are: judged collections, measures, and our engine beside others.

`judged` reads collections of documents; `measures` turns judgements and rankings into figures and compares
two rankings by a t-test; `engines` and `lucene` rank a collection in this process with ours and others;
`quality` makes the table of all; `weight_fit` finds weights. `main_text` has pages whose main text is known,
`main_text_fit` [io] finds the weights that tell it. `segmenters` [io] compares ways to cut Chinese into
words. `query_run` [io] asks a running mesh the queries of a file and tells what of the answers is odd,
`query_run_screen` [io] for people. People judge (`peers.judging`) runs for a `query_set`; `error_rate` has
how sure a comparison of `judged_runs` is. `commands`, `pool_commands`, `invitation_commands` and
`error_rate_command` [io] are those of which `cli` tells. All that measures or ranks needs the `extra`.
"""
