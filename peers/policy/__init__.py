"""The wishes of a mesh's owner for all its peers: the pages to crawl, how gently, and the pages not to show.

    `rules`      a policy: ordered rules, the first that matches a URL decides, by `patterns`; beside them
                 its `log_rules`, `submission_rules`, `graph_rules`
    `policy_file` a policy as people write it, in TOML
    `crawl_order` in which order pages are visited that never were
    `edits`      policies that differ by one wish: a scope, a pause, a take-down
    `rule_explanations` which rule decides about a URL, in words
    `decreed`    the policy that a decree carries; the classes of pages that another one does
    `guide_pages` [io] has a policy go by what example pages are about
    `policy_issuer` [io] reads and replaces the policy of a running mesh, by `decree_issuer` [io] for any kind

A policy travels as a decree; actors hear of it by `DecreesInForce`. Which key may sign which decree says
`mesh.keys.decree.Authority`, which every peer asks (`mesh.membership.news.decree_dissemination`) before it
takes one up.
"""
