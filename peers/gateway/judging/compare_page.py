"""The page on which a reader agrees to see results of two rankings, or takes that back. Without script."""

from __future__ import annotations

from peers.gateway.site.pages import Here, Reader, render


def compare_page(reader: Reader, *, has_agreed: bool) -> str:
    """Explain the comparison, with a button to take part or to leave."""
    return render("compare.html", reader, Here("/compare"), query="", has_agreed=has_agreed)
