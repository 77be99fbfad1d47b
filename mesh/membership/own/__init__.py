"""This peer in the eyes of its mesh: its record, weight and licence.

`lifecycle` is stranger, member or gone, `own_record` what it says of itself; `queues` follow the members'
queues, and `balance` the weight from them; `licence_holder` keeps its licence, `serving_weights` tell who
answers, and `refutation` takes back what others say of it.
"""
