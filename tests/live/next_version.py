"""The command `tianmesh` of an invented next version of the protocol, which speaks this one too. [io]"""

from __future__ import annotations

from mesh.actors import codec

if __name__ == "__main__":
    codec.PROTOCOL_VERSION += 1  # type: ignore[misc]
    from peers.cli import main  # only now: others take the number by its name

    main()
