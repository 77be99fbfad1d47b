"""Failure detection of a single member: whose silence it is, and when it counts.

`prober` pings and waits as `round_trips` teach, `suspicions` run out, `local_health` tells when the fault may
be ours, `separations` when it is that of the network between two that are well.
"""
