"""The counts of classes as the tree that the classes are: each once, those below it under it. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from peers.engine.pages.class_model import NO_CLASS, ClassModel
from peers.index.wire_messages import FacetValues


class CountedClass(NamedTuple):
    """A class with the number of pages in it and in those below it."""

    name: str
    pages: int
    below: tuple[CountedClass, ...] = ()


def parents_in(counts: FacetValues, classes: ClassModel | None) -> dict[str, str]:
    """Return by class the nearest one above it that is counted, too; "" for one that has none.

    Args:
      counts: by name; names that the classes do not have are of peers that have others by now.
    """
    counted = {name for name, _ in counts}
    return {name: _parent_of(name, counted, classes) for name in counted}


def tree_of(counts: FacetValues, classes: ClassModel | None, *, shown_max: int) -> tuple[CountedClass, ...]:
    """Return the counted classes that are below no other, with those below them, in the order of the counts.

    Args:
      shown_max: so many below each, and at the top.
    """
    below: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    parents = parents_in(counts, classes)
    for name, count in counts:
        below[parents[name]].append((name, count))
    return _nested("", below, shown_max)


def _nested(
    name: str, below: Mapping[str, list[tuple[str, int]]], shown_max: int
) -> tuple[CountedClass, ...]:
    return tuple(
        CountedClass(child, count, _nested(child, below, shown_max))
        for child, count in below.get(name, ())[:shown_max]
    )


def _parent_of(name: str, counted: Iterable[str], classes: ClassModel | None) -> str:
    if classes is None or (number := classes.number_of(name)) == NO_CLASS:
        return ""
    above = (classes.rows[each].name for each in reversed(classes.path_of(number)[:-1]))
    return next((each for each in above if each in counted), "")
