"""Leave to join a mesh: the mesh root's signature over the two public keys of a peer.

The root key signs once per peer and may then lie in a safe: a member needs only the public root key,
which is in the `MeshConfig`, to tell a member's key from a stranger's.
"""

from __future__ import annotations

from dataclasses import dataclass

from mesh.errors import ConfigError
from mesh.identity import is_curve_key, verify_signature
from mesh.signing_key import SigningKey

PURPOSE = b"tianmesh certificate 1\x00"  # no other thing that the root signs begins like this


@dataclass(frozen=True, slots=True)
class Certificate:
    """The root's word that the holder of two keys is a member of one mesh."""

    mesh_id: bytes  # MeshConfig.digest()
    curve_public: bytes  # Z85, 40 characters
    signing_public: bytes  # Ed25519, 32 bytes
    signature: bytes  # by the root key, 64 bytes

    def is_valid(self, root_public: bytes) -> bool:
        """Tell whether the root signed exactly this; a published CURVE key is never valid."""
        return is_curve_key(self.curve_public) and verify_signature(
            root_public, _signed(self.mesh_id, self.curve_public, self.signing_public), self.signature
        )


def issue(root: SigningKey, mesh_id: bytes, curve_public: bytes, signing_public: bytes) -> Certificate:
    """Sign a peer's keys into the mesh.

    Raises:
      ConfigError: the CURVE key is malformed, or one whose secret is printed in a manual.
    """
    if not is_curve_key(curve_public):
        raise ConfigError(
            "the CURVE key is malformed or a published test key: make a new one with `tianmesh init`"
        )
    signature = root.sign(_signed(mesh_id, curve_public, signing_public))
    return Certificate(mesh_id, curve_public, signing_public, signature)


def _signed(mesh_id: bytes, curve_public: bytes, signing_public: bytes) -> bytes:
    """Join what is signed; lengths go in front, so that no two certificates have the same bytes."""
    fields = (mesh_id, curve_public, signing_public)
    return PURPOSE + b"".join(len(value).to_bytes(2, "big") + value for value in fields)
