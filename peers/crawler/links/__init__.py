"""Links: from the page that has them to the peers that own their hosts.

`links` sorts them: ours go to the frontier (`own_links`), those of others into the `outbox`, unless
`link_memory` has them or their owner is among the `deaf_members`. What the policy does not want waits in
`left_out_links` for another one; `domain_links` tells those to other domains, `searchers_words` which of them
searchers want; another order of the crawl means `order_change`.
"""
