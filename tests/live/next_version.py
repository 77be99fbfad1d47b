"""The command `tianmesh` of an invented next version of the protocol, which speaks this one too. [io]"""

from __future__ import annotations

from mesh.actors import codec

if __name__ == "__main__":
    codec.PROTOCOL_VERSION += 1  # type: ignore[misc]
    for function in (codec.encode, codec.Decoder.__init__):
        function.__kwdefaults__ = {"newest": codec.PROTOCOL_VERSION}
    from peers.cli import main  # only now: others take the number by its name

    main()
