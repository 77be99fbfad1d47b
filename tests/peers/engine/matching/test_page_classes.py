from __future__ import annotations

from random import Random

import msgspec
import numpy as np
import pytest

from peers.classes.model_fit import FittedModel, fitted_model, given_classes
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.matching import page_classes
from peers.engine.matching.page_classes import VISITS_MAX, classes_of, classing_cost
from peers.engine.pages.class_model import ClassModel, model_in
from peers.engine.pages.document import Document
from peers.engine.queries.query import Literal, LiteralKind, Query
from peers.engine.queries.query_parser import parse_query, read_query
from peers.engine.searching.effort import Effort, EffortSpentError
from peers.engine.snapshot import View
from tests.peers.classes.texts import SUBJECTS, samples_of, text_of


@pytest.fixture(scope="module")
def fitted() -> FittedModel:
    return fitted_model(samples_of(40))


@pytest.fixture(scope="module")
def model(fitted: FittedModel) -> ClassModel:
    return model_in(fitted.body)


def pages(count: int, seed: int = 5) -> list[Document]:
    """Pages of all classes, some with long texts, some with words of several, some with none known."""
    random = Random(seed)
    paths = list(SUBJECTS)
    made = []
    for n in range(count):
        path = paths[n % len(paths)]
        text = text_of(path, random, 300 if n % 9 == 0 else 14)
        text += f" {text_of(random.choice(paths), random)}" if n % 7 == 0 else ""
        made.append(
            Document(
                f"http://host{n % 31}.test/{n}",
                title=text_of(path, random, 6) if n % 3 else "",
                text="unheard-of" if n % 41 == 0 and n % 3 == 0 else text,
                boilerplate="quark goal genome " * 5,
                anchors=("noodles recipe sauce",),
            )
        )
    return made


def index_with(documents: list[Document], at_once: int = 1 << 20) -> Index:
    index = Index.open(MemoryStorage())
    for start in range(0, len(documents), at_once):
        index.add([(n % 64, page) for n, page in enumerate(documents[start : start + at_once])])
        index.commit()
    return index


def classes_by_url(index: Index, model: ClassModel) -> dict[str, int]:
    return {
        each.segment.url(document).decode(): int(number)
        for each in index.snapshot().segments
        for document, number in enumerate(classes_of(each.segment, model))
        if each.live[document]
    }


def test_postings_tell_the_classes_that_texts_do(fitted: FittedModel, model: ClassModel) -> None:
    documents = pages(900)
    told = given_classes(fitted, [f"{page.title}\n{page.text}" for page in documents])
    by_url = classes_by_url(index_with(documents), model)
    assert [by_url[page.url] for page in documents] == told.tolist()
    leaves = {number for number, row in enumerate(model.rows) if not model.children_of(number)}
    assert {-1, *leaves} <= set(told.tolist())


def test_menus_mislead_whole_texts_and_leave_main_texts_alone(fitted: FittedModel, model: ClassModel) -> None:
    """The book's 7.1: pages that are cleaned before are classed better; here by the fields that count."""
    random, paths = Random(8), list(SUBJECTS)
    documents, true = [], []
    for n in range(200):
        path = paths[n % 5]
        menu = " ".join(text_of(random.choice(paths), random) for _ in range(3))
        text = text_of(path, random, 20)
        documents.append(Document(f"http://a.test/{n}", text=text, boilerplate=menu))
        true.append(model.number_of(path[-1]))
    cleaned = given_classes(fitted, [page.text for page in documents])
    raw = given_classes(fitted, [f"{page.text}\n{page.boilerplate}" for page in documents])
    by_url = classes_by_url(index_with(documents), model)
    assert [by_url[page.url] for page in documents] == cleaned.tolist()
    assert (cleaned == true).sum() > 1.3 * (raw == true).sum()


def test_a_class_does_not_depend_on_segments_merges_and_memory(
    model: ClassModel,
) -> None:
    documents = pages(400)
    whole, parts = index_with(documents), index_with(documents, 37)
    expected = classes_by_url(whole, model)
    assert classes_by_url(parts, model) == expected
    while parts.merge_if_needed():
        pass
    assert classes_by_url(parts, model) == expected
    for each in whole.snapshot().segments:
        assert np.array_equal(page_classes._find(each.segment, model, 64), classes_of(each.segment, model))


def view_of(index: Index, model: ClassModel | None) -> View:
    return index.snapshot().responsible(np.ones(1 << 16, np.bool_), model)


def urls(view: View, query: Query) -> set[str]:
    _, _, hits = view.search(query, view.statistics(query.terms), 1_000)
    return {hit.url for hit in hits}


def test_a_class_is_found_with_those_below_it_and_counted(model: ClassModel) -> None:
    index = index_with(pages(400), 90)
    view, by_url = view_of(index, model), classes_by_url(index, model)
    words = read_query("page OR news OR 今天", classes=model.names).query
    for name in ("science", "Physics", "sports", "food", "*"):
        is_in = model.is_in([name.casefold()])
        of_class = {url for url, number in by_url.items() if is_in[number]}
        query = read_query(f"class:{name}", classes=model.names).query
        assert urls(view, query) == of_class
        both = read_query(f"(page OR news OR 今天) class:{name}", classes=model.names).query
        assert urls(view, both) == of_class & urls(view, words)
        without = read_query(f"(page OR news OR 今天) -class:{name}", classes=model.names).query
        assert urls(view, without) == urls(view, words) - of_class
        either = read_query(f"class:{name} class:tennis", classes=model.names).query
        assert urls(view, either) == of_class | {
            url for url, number in by_url.items() if number == model.number_of("tennis")
        }
        counts = view.facets(query).classes
        assert len(of_class) == (sum(counts.get(row.name, 0) for row in model.rows if row.parent < 0)) > 0
        if name != "*":
            assert counts[model.rows[model.number_of(name)].name] == len(of_class)


def test_without_a_model_there_are_no_classes(model: ClassModel) -> None:
    view = view_of(index_with(pages(60)), None)
    asked = Query(clauses=((Literal(LiteralKind.CLASS, ("\x10food",)),),))
    assert urls(view, asked) == set()
    assert view.facets(parse_query("page")).classes == {}


def test_classing_is_paid_for_once_and_never_out_of_reach(model: ClassModel) -> None:
    index = index_with(pages(300))
    [live] = index.snapshot().segments
    cost = classing_cost(live.segment, model)
    assert 0 < cost <= VISITS_MAX
    view, query = view_of(index, model), read_query("class:food", classes=model.names).query
    with pytest.raises(EffortSpentError):
        view.facets(query, Effort(cost - 1))
    assert view.facets(query, Effort(cost + 5_000)).classes
    assert classing_cost(live.segment, model) == 0
    assert view.facets(query, Effort(5_000)).classes


def test_another_model_counts_at_once(fitted: FittedModel, model: ClassModel) -> None:
    index = index_with(pages(200))
    before = view_of(index, model).facets(parse_query("page")).classes
    rows = [msgspec.structs.replace(row, threshold=1e6) for row in fitted.rows]
    strict = ClassModel(rows, model.weights, b"another" * 2)
    assert before
    assert view_of(index, strict).facets(parse_query("page")).classes == {}
    assert view_of(index, model).facets(parse_query("page")).classes == before
