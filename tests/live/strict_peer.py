"""The command `tianmesh` of a peer that takes few messages of each member. [io]"""

from __future__ import annotations

from functools import partial
from typing import Final

from mesh.actors.conduct import MESSAGE_BYTES_MIN, ConductSettings

MESSAGES_A_MINUTE: Final = 2_048  # far more than an honest member of a mesh at rest sends

if __name__ == "__main__":
    from peers import peer
    from peers.charges import conduct_of
    from peers.cli import main

    strict = ConductSettings(bytes_per_minute=MESSAGES_A_MINUTE * MESSAGE_BYTES_MIN)
    peer.conduct_of = partial(conduct_of, strict)  # type: ignore[attr-defined]
    main()
