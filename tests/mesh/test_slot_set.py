"""Slot sets: what is encoded comes back, in the shorter form, and other bytes are refused."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteProtocolError
from mesh.slot_limits import SLOT_SET_BYTES_MAX, SLOTS_MAX
from mesh.slot_set import (
    NO_SLOTS,
    SlotMask,
    decode_slots,
    encode_slot_list,
    encode_slots,
)


def mask_of(slot_count: int, slots: set[int]) -> SlotMask:
    mask = np.zeros(slot_count, np.bool_)
    mask[list(slots)] = True
    return mask


@st.composite
def masks(draw: st.DrawFn) -> SlotMask:
    slot_count = draw(st.one_of(st.integers(1, 40), st.sampled_from([1_000, 50_000, SLOTS_MAX])))
    slots = draw(st.sets(st.integers(0, slot_count - 1), max_size=80))
    share = draw(st.sampled_from([0.0, 0.003, 0.01, 0.125, 0.3, 1.0]))
    random_ = np.random.default_rng(draw(st.integers(0, 1_000)))
    mask = mask_of(slot_count, slots) | (random_.random(slot_count) < share)
    mask[draw(st.integers(0, slot_count)) :] = False
    return ~mask if draw(st.booleans()) else mask


@given(masks())
def test_a_set_comes_back_as_it_was(mask: SlotMask) -> None:
    decoded = decode_slots(encode_slots(mask), len(mask))
    assert (decoded == mask).all()
    assert decoded.shape == mask.shape


@given(masks())
def test_a_set_takes_no_more_bytes_than_the_shorter_of_list_and_mask(mask: SlotMask) -> None:
    encoded = encode_slots(mask)
    shorter = 1 + min(2 * int(mask.sum()), (len(mask) + 7) // 8)
    assert len(encoded) <= shorter <= SLOT_SET_BYTES_MAX
    assert encoded[:1] == b"E" or len(encoded) == shorter


@pytest.mark.parametrize("peers", [8, 56, 150])
def test_the_share_of_a_peer_takes_two_bits_more_than_the_distance_of_its_slots(peers: int) -> None:
    mask = np.random.default_rng(peers).random(50_000) < 1 / peers
    encoded = encode_slots(mask)
    n_slots = int(mask.sum())
    assert 8 * len(encoded) <= n_slots * (2 + log2(50_000 / n_slots)) + 80
    assert (decode_slots(encoded, 50_000) == mask).all()


@given(st.data())
def test_a_share_that_was_changed_on_the_way_is_another_or_refused(data: st.DataObject) -> None:
    mask = np.random.default_rng(1).random(4_000) < 0.1
    encoded = bytearray(encode_slots(mask))
    assert encoded[:1] == b"E"
    encoded[data.draw(st.integers(1, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    try:
        decoded = decode_slots(bytes(encoded), 4_000)
    except RemoteProtocolError:
        return
    assert (decode_slots(encode_slots(decoded), 4_000) == decoded).all()
    for cut in (bytes(encoded[:-1]), bytes(encoded) + b"\0"):
        with pytest.raises(RemoteProtocolError):
            decode_slots(cut, 4_000)


@given(masks())
def test_a_list_of_slots_in_any_order_makes_the_same_bytes(mask: SlotMask) -> None:
    slots = np.flatnonzero(mask).tolist()
    assert encode_slot_list(reversed(slots), len(mask)) == encode_slots(mask)


def test_a_decoded_set_can_be_changed_without_changing_the_next_one() -> None:
    decoded = decode_slots(NO_SLOTS, 8)
    decoded[:] = True
    assert not decode_slots(NO_SLOTS, 8).any()


@given(st.binary(max_size=40), st.integers(1, 300))
def test_any_bytes_are_a_set_of_that_mesh_or_refused(encoded: bytes, slot_count: int) -> None:
    try:
        mask = decode_slots(encoded, slot_count)
    except RemoteProtocolError:
        return
    assert mask.shape == (slot_count,)
    assert mask.dtype == np.bool_


@pytest.mark.parametrize(
    "encoded",
    [b"", b"X", b"L\x00", b"L\x00\x08", b"M", b"M\x00\x00", b"m\x00"],
    ids=["nothing", "unknown form", "half a slot", "slot 8 of 8", "no mask", "two bytes", "small letter"],
)
def test_what_is_no_set_of_eight_slots_is_refused(encoded: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_slots(encoded, 8)


def test_bits_beyond_the_last_slot_are_ignored() -> None:
    assert decode_slots(b"M\xff", 3).tolist() == [True, True, True]
