"""Keys: which peers may be members, and the orders that are signed for all of them. Pure but for `key_file`.

A peer has an `identity`; a `certificate` makes it a member, a `voucher` stands for one in an invitation. The
owner of the mesh signs each `decree` with a `signing_key`, and each `signed_token` for its gateways.
`key_file` keeps keys on disk.
"""
