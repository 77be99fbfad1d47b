"""Webhooks: new hits of saved searches, posted to a URL of the mesh's owner. No peer knows of them.

    `saved_search`  which hits are new, and the deliveries that wait; pure
    `endpoint`      [io] the URL that gets them: signed, and at a public address unless told otherwise
    `watch`         [io] searches and deliveries in turns, each when it is due; its file survives any kill
    `command`       [io] `tianmesh webhook`

They are made by a process beside the peers, which asks a gateway as every program does: so a slow or hostile
endpoint costs no peer anything, and no two peers post the same.
"""
