"""The directory: the classes of the mesh's pages with the numbers of pages in them, and a search within one.

Counts are those of a search for all that is in a class, so they are exact over the mesh. A gateway loads this
when somebody looks at the directory of a mesh that has classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mesh.urls import has_host
from peers.engine.pages.class_model import NO_CLASS, ClassModel
from peers.engine.queries.query_parser import ANY_CLASS
from peers.gateway.model.messages import PagesFound
from peers.gateway.site.pages import Here, Reader, Wish, render


class _Line(NamedTuple):
    """A class as the template wants it."""

    name: str
    href: str
    pages: str = ""
    below: tuple[_Line, ...] = ()


class Directory:
    """The part of the directory that is asked for.

    Attributes:
      is_unknown: whether there is no such class.
    """

    def __init__(self, classes: ClassModel, name: str) -> None:
        """Args: name: of a class; "" for the top."""
        self._classes = classes
        self._number = classes.number_of(name) if name else NO_CLASS
        self.is_unknown = bool(name) and self._number == NO_CLASS

    @property
    def everything(self) -> str:
        """The query for all pages that are in a class here."""
        return f"class:{ANY_CLASS if self._number == NO_CLASS else self._classes.rows[self._number].name}"

    def within(self, query: str) -> str:
        """Return the query for pages of this class alone."""
        return f"{query} {self.everything}"

    def page(self, reader: Reader, found: PagesFound) -> str:
        """The page, with the counts of a search for `everything`."""
        counts = dict(found.facets.classes) if found.facets else {}
        number = self._number
        path = self._classes.path_of(number)
        rows = self._classes.rows
        in_here = sum(counts.get(rows[top].name, 0) for top in self._classes.children_of(NO_CLASS))
        total = f"{counts.get(rows[number].name, 0) if number >= 0 else in_here:,}"
        return render(
            "directory.html",
            reader,
            Here("/directory", {"class": rows[number].name} if number >= 0 else {}),
            query="",
            path=[self._line(reader, each, {}) for each in path],
            total=reader.say("many_results", total=total),
            all_pages=Wish(self.everything).link(reader),
            below=self._below(reader, number, counts, levels=2),
            examples=[each for each in (rows[number].examples if number >= 0 else ()) if has_host(each)],
            is_covered=found.coverage.missing == 0,
        )

    def _below(
        self, reader: Reader, number: int, counts: Mapping[str, int], *, levels: int
    ) -> tuple[_Line, ...]:
        if not levels:
            return ()
        return tuple(
            self._line(reader, each, counts)._replace(
                below=self._below(reader, each, counts, levels=levels - 1)
            )
            for each in self._classes.children_of(number)
        )

    def _line(self, reader: Reader, number: int, counts: Mapping[str, int]) -> _Line:
        name = self._classes.rows[number].name
        return _Line(name, reader.link("/directory", **{"class": name}), f"{counts.get(name, 0):,}")
