"""Search: one query over the whole mesh, exact, in stages of few messages.

`search` is the errand, `search_task` what its stages share. Each `stage` asks the shares of a `plan`:
`statistics_stage` terms (`term_statistics`), `search_stage`, `excerpt_stage` excerpts. Answers are put into
one order by `merged_hits` (`hit_list`, copies made one by `deduplication`, gone on with by a `cursor`); one
that is mistyped is asked as it was meant (`correction`, `correction_stage`), one that finds too little by
less (`relaxation`), one for pages like a stored one by `page_words`. What all searches share is the
`shared_state`: `punctuality` of members, `doubts` about them, the `result_cache`. Hits are confirmed by
`witnesses`; where members differ, `stand_in_check` and `witness_recheck` find out who is wrong. `readiness`
tells whether all slots answer, `demand` counts what several ask for.
"""
