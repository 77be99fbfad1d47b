"""The part of the membership that all others share: members and news of them, messages, settings.

`members` is the list, with the order of rumours by which all come to believe the same, `others` the same
without this peer; `rumours` the queue of news, `memory` what outlives the process, `licence` the rule until
when a peer may crawl, `credentials` the certificates, `decrees` those in force; `turn_outbox` gathers the
words of a turn.
"""
