# make demo    crawl and search the bundled web with three peers
# make test    lint, types and all tests
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench clean

demo: .venv
	$(BIN)/tianmesh demo

test: lint
	$(BIN)/pytest

lint: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Benchmarks print figures beside those of a peer or a physical limit; they are no tests.
bench: .venv
	$(BIN)/pytest tests/benchmarks/bench_*.py --benchmark-enable -s

# Rebuilt when the dependencies change.
.venv: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[test,simulations]'
	touch .venv

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
