"""People's judgements of the results of engines: pools, grades, agreement, and the files of TREC.

`trec` reads and writes TREC's files of queries, judgements and rankings. A `pool` [io] has the first results
of several runs in an order that tells no engine; an `assessment` has the grades of one person, given in a
terminal (`assessment_screen` [io]) or on pages of a gateway, to which an `assessor_link` leads: a `desk` has
them at hand, and a peer keeps them in `judgement_files` [io]. `agreement` has kappa, and the one judgement
that is made of several.

Readers' clicks judge, too: `team_draft` makes one list of two rankings, `sign_test` says which is preferred;
by `examination`, how many look at each place, `counterfactual` has the worth of one that nobody was shown.
"""
