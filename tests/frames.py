"""Frames as peers read them, for tests that stand in for a network."""

from __future__ import annotations

from mesh.actors.codec import Decoder
from peers.wire_tags import WIRE_TAGS

DECODER = Decoder(WIRE_TAGS.values())
decode = DECODER.decode
