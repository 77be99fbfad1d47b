"""What all peers of one mesh must agree on, fixed when the mesh is born."""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.slots import SLOTS_MAX


class MeshConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The constitution of a mesh. Two peers with different digests refuse each other."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    root_key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]  # Ed25519 public key, signs certificates
    # 50,000 logical nodes, as Li, Yan, Wang 2004, section 6.2: enough for balance over 1,000 peers.
    slot_count: Annotated[int, Meta(ge=1, le=SLOTS_MAX)] = 50_000
    replicas: Annotated[int, Meta(ge=1, le=8)] = 2  # R, copies of everything including the owner's
    analysis_version: Annotated[int, Meta(ge=1)] = 1  # tokens of two versions do not meet

    def digest(self) -> bytes:
        """16 bytes that differ when any field does."""
        return blake2b(msgspec.json.encode(self, order="sorted"), digest_size=16).digest()
