"""Submitted sites at a gateway: `submission_page` for people, `submission_json` for programs.

The handlers are in `peers.gateway.submission_routes`, the conversation with other peers in
`peers.gateway.errands.submission_errand`, the sites themselves in `peers.submissions`.
"""
