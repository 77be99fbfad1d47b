"""Seal and open the row of an entity, with keys that follow from one secret.

Content is filled up to a multiple of 1 KiB, so that its length tells little, and sealed by ChaCha20-Poly1305
(RFC 8439) together with name, number and last day: no peer can show an old content under a new number.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from msgspec.structs import replace

from mesh.keys.signing_key import SigningKey
from peers.entities.sealed_row import (
    CONTENT_BYTES_MAX,
    FILL_BYTES,
    KEY_BYTES,
    NONCE_BYTES,
    NUMBER_MAX,
    SIGNATURE_BYTES,
    SealedRow,
    signed_part,
)

_LENGTH_BYTES: Final = 4
_UNSIGNED: Final = bytes(SIGNATURE_BYTES)


class RowReader:
    """The name of a row and the key that opens it, with which nobody changes it.

    Attributes:
      public: the name of the row, which its signatures are checked by.
      opening: the key.
    """

    def __init__(self, public: bytes, opening: bytes) -> None:
        assert len(public) == len(opening) == KEY_BYTES
        self.public, self.opening = public, opening
        self._cipher = ChaCha20Poly1305(opening)

    def open(self, row: SealedRow) -> bytes:
        """Return the content of a row.

        Raises:
          ValueError: it was sealed by another key, or changed, or has none.
        """
        nonce, sealed = row.sealed[:NONCE_BYTES], row.sealed[NONCE_BYTES:]
        try:
            plain = self._cipher.decrypt(nonce, sealed, self._beside(row.number, row.until_day))
        except (InvalidTag, ValueError) as error:
            raise ValueError("a row that this key does not open") from error
        length = int.from_bytes(plain[:_LENGTH_BYTES], "big")
        return plain[_LENGTH_BYTES : _LENGTH_BYTES + length]

    def _beside(self, number: int, until_day: int) -> bytes:
        return self.public + number.to_bytes(8, "big") + until_day.to_bytes(4, "big")


class RowKey(RowReader):
    """The keys of one row, which its owner has."""

    def __init__(self, secret: bytes) -> None:
        """Args: secret: 32 bytes that only the owner has; with them, anybody reads and changes the row."""
        assert len(secret) == KEY_BYTES, len(secret)
        self._signing = SigningKey.of_secret(_derived(secret, b"entity signs"))
        super().__init__(self._signing.public, _derived(secret, b"entity seals"))

    def seal(self, number: int, until_day: int, content: bytes, nonce: bytes) -> SealedRow:
        """Make a row with a content.

        Args:
          until_day: since the epoch.
          nonce: 12 bytes that were drawn for it.
        """
        assert len(content) <= CONTENT_BYTES_MAX, len(content)
        assert len(nonce) == NONCE_BYTES
        plain = len(content).to_bytes(_LENGTH_BYTES, "big") + content
        plain += bytes(-len(plain) % FILL_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, plain, self._beside(number, until_day))
        return self._signed(SealedRow(number, until_day, sealed, _UNSIGNED))

    def forget(self, row: SealedRow, until_day: int = 0) -> SealedRow:
        """Make the row that follows a row for good: without a content, to its last day at least.

        Args:
          until_day: the last day that a change of today has, so that it outlives every change until now.
        """
        number = min(row.number + 1, NUMBER_MAX)  # a forgotten row counts more whatever its number
        return self._signed(SealedRow(number, max(row.until_day, until_day), b"", _UNSIGNED))

    def _signed(self, row: SealedRow) -> SealedRow:
        return replace(row, signature=self._signing.sign(signed_part(self.public, row)))


def _derived(secret: bytes, purpose: bytes) -> bytes:
    return blake2b(secret, digest_size=KEY_BYTES, person=purpose).digest()
