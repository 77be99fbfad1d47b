from __future__ import annotations

import base64
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from mesh.keys.decree import POLICY, Authority, Signer, appoint
from mesh.keys.signed_token import (
    CLOCK_SKEW_S,
    HOLDER_CHARS_MAX,
    KNOWN_MAX,
    PREFIX,
    TOKEN_CHARS_MAX,
    SignedToken,
    TokenJudge,
    TokenRight,
    sign_token,
)
from mesh.keys.signing_key import SigningKey

ROOT, ANN, EVE = (SigningKey.of_secret(letter * 32) for letter in (b"r", b"a", b"e"))
MESH, OTHER = b"mesh of test", b"another mesh"
BY_ROOT = Signer(ROOT, MESH)
BY_ANN = Signer(ANN, MESH, appoint(ROOT, MESH, ANN.public))
NOW = 1_700_000_000.0


@pytest.fixture
def judge() -> TokenJudge:
    return TokenJudge(Authority(ROOT.public, MESH))


def text_by(signer: Signer, right: TokenRight = TokenRight.ORDERS, end_s: float = NOW + 60.0) -> bytes:
    return sign_token(signer, right, "Prometheus", end_s).text().encode()


@pytest.mark.parametrize("signer", [BY_ROOT, BY_ANN])
@pytest.mark.parametrize("right", list(TokenRight))
def test_what_the_root_or_an_administrator_has_signed_counts(
    judge: TokenJudge, signer: Signer, right: TokenRight
) -> None:
    token = judge.judge(text_by(signer, right), NOW).token
    assert token is not None
    assert (token.right, token.holder, token.not_after) == (right, "Prometheus", NOW + 60)


def test_a_token_ends_and_clocks_may_differ_by_five_minutes(judge: TokenJudge) -> None:
    text = text_by(BY_ANN)
    for _ in range(2):  # one that is known ends as well
        assert judge.judge(text, NOW + 59.0 + CLOCK_SKEW_S).token is not None
        judged = judge.judge(text, NOW + 60.0 + CLOCK_SKEW_S)
        assert judged.token is None
        assert "ended at 2023-11-14 22:14 UTC" in judged.why
    assert judge.judge(text, NOW - 86_400.0).token is not None  # who has just signed it may be ahead


@pytest.mark.parametrize(
    "signer",
    [
        Signer(EVE, MESH),  # nobody's warrant
        Signer(EVE, MESH, BY_ANN.warrant),  # that of somebody else
        Signer(EVE, MESH, appoint(EVE, MESH, EVE.public)),  # her own
        Signer(ROOT, OTHER),
        Signer(ANN, OTHER, appoint(ROOT, OTHER, ANN.public)),
        Signer(ANN, MESH, appoint(ROOT, OTHER, ANN.public)),  # an administrator of another mesh
    ],
)
def test_nobody_else_can_make_one(judge: TokenJudge, signer: Signer) -> None:
    judged = judge.judge(text_by(signer), NOW)
    assert judged.token is None
    assert "no administrator of this mesh" in judged.why


def test_a_decree_and_a_warrant_are_no_tokens(judge: TokenJudge) -> None:
    """The same keys sign them; the signature of one must not do for the other."""
    fields = TokenRight.ORDERS, "eve", int(NOW) + 60, ROOT.public, b""
    decree = BY_ROOT.decree(POLICY, "", 1, msgspec.msgpack.encode((MESH, *fields)))
    for signature in (decree.signature, BY_ANN.warrant, ROOT.sign(msgspec.msgpack.encode((MESH, *fields)))):
        text = SignedToken(*fields, signature=signature).text().encode()
        assert judge.judge(text, NOW).token is None


def test_no_field_can_be_changed(judge: TokenJudge) -> None:
    token = sign_token(BY_ANN, TokenRight.READ, "ann", NOW + 60.0)
    changed = (
        replace(token, right=TokenRight.ORDERS),
        replace(token, holder="bob"),
        replace(token, not_after=token.not_after + 1),
        replace(token, signer=ROOT.public, warrant=b""),
    )
    assert judge.judge(token.text().encode(), NOW).token == token
    for each in changed:
        assert judge.judge(each.text().encode(), NOW).token is None


def test_a_flipped_bit_anywhere_makes_it_none(judge: TokenJudge) -> None:
    packed = bytearray(msgspec.msgpack.encode(sign_token(BY_ANN, TokenRight.READ, "ann", NOW + 60.0)))
    for place in range(len(packed)):
        for bit in (1, 64):
            packed[place] ^= bit
            text = PREFIX.encode() + base64.urlsafe_b64encode(packed).rstrip(b"=")
            assert judge.judge(text, NOW).token is None, place
            packed[place] ^= bit


@pytest.mark.parametrize(
    "text",
    [
        b"",
        PREFIX.encode(),
        text_by(BY_ANN)[:-3],
        text_by(BY_ANN)[len(PREFIX) :],
        text_by(BY_ANN) + b"!",
        text_by(BY_ANN).replace(b"-", b"+"),
        PREFIX.encode() + b"A" * (TOKEN_CHARS_MAX + 1),
        PREFIX.encode() + b"A" * 10_000_000,
        PREFIX.encode() + b"\xff\xfe\x00",
        PREFIX.encode() + base64.urlsafe_b64encode(b"\x91" * 360),  # nested lists
        PREFIX.encode() + base64.urlsafe_b64encode(b"\xdd\xff\xff\xff\xff"),  # a list of 4 thousand million
    ],
)
def test_what_is_damaged_or_long_is_none(judge: TokenJudge, text: bytes) -> None:
    judged = judge.judge(text, NOW)
    assert judged.token is None
    assert "damaged or cut off" in judged.why


def test_noise_is_no_token(judge: TokenJudge) -> None:
    random = Random(5)
    for _ in range(2_000):
        noise = random.randbytes(random.randrange(300))
        text = PREFIX.encode() + base64.urlsafe_b64encode(noise).rstrip(b"=")
        assert judge.judge(text, NOW).token is None


def test_what_an_expelled_administrator_has_signed_opens_nothing_any_more(judge: TokenJudge) -> None:
    known, new = text_by(BY_ANN), text_by(BY_ANN, end_s=NOW + 61.0)
    assert judge.judge(known, NOW).token is not None
    judge.revoke(frozenset({ANN.public.hex()}))
    judge.revoke(frozenset({"a-member"}))  # what comes later takes nothing back
    for text in (known, new):
        judged = judge.judge(text, NOW)
        assert judged.token is None
        assert "expelled" in judged.why
    assert judge.judge(text_by(BY_ROOT), NOW).token is not None


def test_so_many_are_remembered_and_no_more(judge: TokenJudge) -> None:
    texts = [text_by(BY_ANN, end_s=NOW + number) for number in range(1, KNOWN_MAX + 2)]
    for text in texts:
        assert not judge.is_known(text)
        assert judge.judge(text, NOW).token is not None
        assert judge.is_known(text)
    assert not judge.is_known(texts[0])
    assert judge.judge(texts[0], NOW).token is not None


def test_what_does_not_count_is_not_remembered(judge: TokenJudge) -> None:
    text = text_by(Signer(EVE, MESH))
    judge.judge(text, NOW)
    assert not judge.is_known(text)


@pytest.mark.parametrize("holder", ["", "a\nb", "a\x1b[31m", "é", "x" * (HOLDER_CHARS_MAX + 1), "ann\n"])
def test_who_it_is_for_can_be_logged(holder: str) -> None:
    with pytest.raises(ValueError, match=r"\$\[1\]"):
        sign_token(BY_ANN, TokenRight.READ, holder, NOW)


def test_the_longest_is_not_too_long(judge: TokenJudge) -> None:
    text = sign_token(BY_ANN, TokenRight.ORDERS, "x" * HOLDER_CHARS_MAX, 1 << 40).text()
    assert len(text) <= TOKEN_CHARS_MAX
    assert judge.judge(text.encode(), NOW).token is not None
