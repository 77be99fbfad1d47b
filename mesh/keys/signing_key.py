"""Keys that speak for the mesh: the root's, which makes members, and those of administrators."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mesh.keys.identity import SECRET_BYTES


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An Ed25519 key pair. `of_secret` makes one from 32 secret bytes."""

    public: bytes  # 32 bytes
    secret: bytes = field(repr=False)
    _signing_key: Ed25519PrivateKey = field(repr=False, compare=False)

    @staticmethod
    def of_secret(secret: bytes) -> SigningKey:
        assert len(secret) == SECRET_BYTES, f"secret of {len(secret)} bytes"
        signing_key = Ed25519PrivateKey.from_private_bytes(secret)
        return SigningKey(signing_key.public_key().public_bytes_raw(), secret, signing_key)

    def sign(self, data: bytes) -> bytes:
        """Return the Ed25519 signature of `data`, 64 bytes."""
        return self._signing_key.sign(data)
