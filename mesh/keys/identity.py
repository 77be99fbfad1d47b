"""The identity of a peer: a CURVE key pair to be reached by, and a key to sign records that others pass on.

Both follow from one secret of 32 bytes, so that a key file holds one number and a simulated peer can
be made from a seed. CURVE proves who is at the other end of a connection; a signature proves who wrote
a record that came through third parties. The id of a peer is not in its keys: the mesh's root draws it
(`certificate`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

SECRET_BYTES = 32
CURVE_KEY_CHARS = 40  # Z85 of 32 bytes, the form in which ZeroMQ takes CURVE keys
Z85_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

# The key pairs printed in the manual page zmq_curve(7): their secrets are known to everybody.
PUBLISHED_CURVE_KEYS = frozenset(
    (b"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", b"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID")
)


@dataclass(frozen=True, slots=True)
class Identity:
    """The keys of one peer. `of_secret` makes one."""

    curve_public: bytes  # Z85, 40 characters
    signing_public: bytes  # Ed25519, 32 bytes
    curve_secret: bytes = field(repr=False)  # Z85, 40 characters
    secret: bytes = field(repr=False)  # 32 bytes, what all the others follow from
    _signing_key: Ed25519PrivateKey = field(repr=False, compare=False)

    @staticmethod
    def of_secret(secret: bytes) -> Identity:
        """Derive both key pairs from 32 secret bytes, the same ones every time."""
        assert len(secret) == SECRET_BYTES, f"secret of {len(secret)} bytes"
        curve_secret = _derived(secret, b"curve")
        curve_public = z85_of(
            X25519PrivateKey.from_private_bytes(curve_secret).public_key().public_bytes_raw()
        )
        signing_key = Ed25519PrivateKey.from_private_bytes(_derived(secret, b"signing"))
        return Identity(
            curve_public=curve_public,
            signing_public=signing_key.public_key().public_bytes_raw(),
            curve_secret=z85_of(curve_secret),
            secret=secret,
            _signing_key=signing_key,
        )

    def sign(self, data: bytes) -> bytes:
        """Return the Ed25519 signature of `data`, 64 bytes."""
        return self._signing_key.sign(data)

    def secret_shared_with(self, curve_public: bytes) -> bytes | None:
        """Compute the 32 bytes that only this peer and the holder of that key can (X25519).

        None when `curve_public` (Z85) is no key, or one that would make the secret known to everybody.
        """
        if not is_curve_key(curve_public):
            return None
        own = X25519PrivateKey.from_private_bytes(bytes_of_z85(self.curve_secret))
        try:
            return own.exchange(X25519PublicKey.from_public_bytes(bytes_of_z85(curve_public)))
        except ValueError:
            return None


def verify_signature(signing_public: bytes, data: bytes, signature: bytes) -> bool:
    """Tell whether the holder of the key signed `data`; a malformed key or signature did not."""
    try:
        Ed25519PublicKey.from_public_bytes(signing_public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_curve_key(key: bytes) -> bool:
    """Tell whether `key` is the Z85 text of a public CURVE key, and not one with a published secret."""
    if len(key) != CURVE_KEY_CHARS or key in PUBLISHED_CURVE_KEYS:
        return False
    try:
        bytes_of_z85(key)
    except ValueError:
        return False
    return True


def z85_of(data: bytes) -> bytes:
    """Encode bytes, a multiple of 4 of them, in base 85. Source: ZeroMQ RFC 32/Z85."""
    assert len(data) % 4 == 0
    return bytes(
        Z85_DIGITS[int.from_bytes(data[i : i + 4], "big") // 85**power % 85]
        for i in range(0, len(data), 4)
        for power in (4, 3, 2, 1, 0)
    )


def bytes_of_z85(text: bytes) -> bytes:
    """Decode Z85 text, a multiple of 5 digits.

    Raises:
      ValueError: a character is no digit, or five of them stand for more than 32 bits.
    """
    words = (text[i : i + 5] for i in range(0, len(text), 5))
    try:
        return b"".join(_number_of_z85(word).to_bytes(4, "big") for word in words)
    except OverflowError as error:
        raise ValueError("no Z85 text") from error


def _number_of_z85(digits: bytes) -> int:
    number = 0
    for digit in digits:
        number = number * 85 + Z85_DIGITS.index(digit)
    return number


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(secret, digest_size=32, person=b"tianmesh" + purpose).digest()
