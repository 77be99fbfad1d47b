"""Runs with faults: drawn from a seed, carried out, judged.

`faults` draws what goes wrong and when, `nemesis` makes it happen to each `machine` (`disks`, `clock`; it
also for one of another version). `fault_run` is one run, with some `run_extras`, `fault_runs` are many on all
cores, `soak` a thousand. A malicious member (`liar`) gives `false_answers`, `false_roles` and `false_leases`;
`conduct_watch` judges whether it is found out, `doubtful_versions` knows which pages only it has read.
`users` seed and search meanwhile, `stores` that a policy switches on are used, `pinner` has policies.
`watch` judges every request and commit when it is made, `recovery_time` how long after healing all is where
it belongs, `final_checks` the mesh at rest. `planted` bugs are to be found.
"""
