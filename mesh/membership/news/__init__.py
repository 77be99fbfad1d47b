"""How news spread: which rumours are believed, and how they reach every member.

`gossip` sends rumours, by itself or on pings; `rumour_intake` believes them or not, `hearsay` weighs the bad
news of a single member; `decree_dissemination` brings decrees to everybody.
"""
