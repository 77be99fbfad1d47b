"""Read XML as a stream of events, within limits. Pure.

Expat builds no tree and fetches nothing. A document type, in which entities are declared that grow without
end or lead elsewhere, ends the reading at once where the format has none; else what it declares is left out
of texts, and bounded in attributes by expat itself (CVE-2013-0340). Names are local ones: producers differ in
prefixes and, between editions of the standards, in namespaces.

A token (a tag with its attributes, a comment) that has not come to its end is read again with every piece
that is fed, so one of 30 MB, which is 31 kB in a ZIP file, took 7 s: a token has a bound, and a document its
time.

Measured, 1,073 parts of 200 Office files with 191,000 elements: .32 s beside .40 of lxml.etree with a target,
and it is in Python: a process that reads no broken list needs no lxml.
"""

from __future__ import annotations

from typing import Final, Protocol
from xml.parsers import expat

from peers.documents.budget import Budget

ELEMENTS_MAX: Final = 1_000_000  # of one part; about half a second
DEPTH_MAX: Final = 512  # of elements: tables inside tables have some fifty
FEED_BYTES: Final = 65_536  # between two looks at the time
# Pictures of Word may stand in attributes, as base64. To read one of this takes 0.15 s, and 1 s if it is
# made of attributes.
TOKEN_BYTES_MAX: Final = 4 << 20


class XmlEvents(Protocol):
    """Receives the events of the XML that is read; any method may raise `Enough`."""

    def start(self, name: str, attributes: dict[str, str]) -> bool | None:
        """An element begins. Names, those of attributes too, are without prefix.

        Returns:
          True to leave it out, with all that is inside of it; its end is not told either.
        """

    def end(self, name: str) -> None:
        """And ends."""

    def text(self, text: str) -> None:
        """Text inside of it; some of it, if it is long."""


class Enough(Exception):
    """There is no need to read on."""


class _LocalNames(dict[str, str]):
    """Names without their prefixes, made once."""

    def __missing__(self, name: str) -> str:
        if len(self) > _NAMES_MAX:
            self.clear()
        local = self[name] = name.rpartition(":")[2]
        return local


_NAMES_MAX: Final = 10_000


def read_xml(
    markup: bytes,
    events: XmlEvents,
    budget: Budget,
    *,
    has_doctype: bool = False,
    encoding: str | None = None,
) -> bool:
    """Give the events of a document to `events`; False when it was not read to its end.

    That is because it is damaged, over a limit, there was enough, or no time is left: what came before was
    given.

    Args:
      has_doctype: a document type may be declared, as in XHTML and books; entities are left out all the same.
      encoding: that it is in, whatever it declares; None for what that says.
    """
    local = _LocalNames()
    counter = _Counter()
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def start(name: str, attributes: dict[str, str]) -> None:
        counter.enter()
        by_name = {local[key]: value for key, value in attributes.items()}
        if len(by_name) < len(attributes):  # of `id` and `r:id` the one with the prefix says more
            plain_first = sorted(attributes.items(), key=lambda each: ":" in each[0])
            by_name = {local[key]: value for key, value in plain_first}
        if events.start(local[name], by_name):
            left_out_at = counter.depth
            parser.StartElementHandler = lambda *_: counter.enter()
            parser.EndElementHandler = lambda _: leave(left_out_at)
            parser.CharacterDataHandler = None

    def end(name: str) -> None:
        counter.depth -= 1
        events.end(local[name])

    def leave(left_out_at: int) -> None:
        counter.depth -= 1
        if counter.depth < left_out_at:
            listen()

    def listen() -> None:
        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = events.text

    listen()
    if has_doctype:
        parser.UseForeignDTD(True)  # entities that are not declared are no error
        parser.DefaultHandler = _leave_out  # with it, those that are declared are not expanded in texts
    else:
        parser.StartDoctypeDeclHandler = _refuse
    return _fed(parser, markup, budget)


def _fed(parser: expat.XMLParserType, markup: bytes, budget: Budget) -> bool:
    try:
        for start in range(0, len(markup), FEED_BYTES):
            # Where it stands is where the token begins that is not complete.
            if budget.is_spent or start - parser.CurrentByteIndex > TOKEN_BYTES_MAX:
                return False
            parser.Parse(markup[start : start + FEED_BYTES], False)
        parser.Parse(b"", True)
    except (Enough, expat.ExpatError, ValueError, LookupError):  # the last two: of encodings
        return False
    return True


class _Counter:
    def __init__(self) -> None:
        self.depth = self._element_count = 0

    def enter(self) -> None:
        self.depth += 1
        self._element_count += 1
        if self.depth > DEPTH_MAX or self._element_count > ELEMENTS_MAX:
            raise Enough


def _refuse(*_: object) -> None:
    raise Enough


def _leave_out(*_: object) -> None:
    pass
