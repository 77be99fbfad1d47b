"""Link texts as a cell reads them, kept in a dict."""

from __future__ import annotations


class DictTexts(dict[bytes, tuple[str, ...]]):
    """A `peers.storage.link_texts.LinkTexts` by identity."""

    def of(self, identity: bytes) -> tuple[str, ...]:
        return self.get(identity, ())
