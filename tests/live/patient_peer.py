"""The command `tianmesh` of a peer that puts nobody into quarantine: all that is sent gets to it. [io]"""

from __future__ import annotations

from functools import partial
from math import inf

from mesh.actors.conduct import ConductSettings

if __name__ == "__main__":
    from peers import peer
    from peers.charges import conduct_of
    from peers.cli import main

    peer.conduct_of = partial(conduct_of, ConductSettings(quarantine_points=inf))  # type: ignore[attr-defined]
    main()
