# make demo    crawl and search the bundled web with three peers
# make test    lint, types and all tests
# make quick   the same without those that start real peers, servers or a browser
# make quality rank judged collections, beside other engines
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test quick kernels lint bench quality fit clean

demo: .venv
	$(BIN)/tianmesh demo

# What is timed goes one by one: it needs the machine for itself.
test: quick
	$(BIN)/pytest -m 'live and not timed' --numprocesses 2 --dist loadfile --durations 20
	$(BIN)/pytest -m timed --durations 20

quick: lint kernels
	$(BIN)/pytest -m 'not live' --numprocesses auto --dist worksteal --durations 20

# Compiled once, before several processes would do so at the same time.
kernels: .venv
	$(BIN)/python -c 'import peers.peer'

lint: .venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Benchmarks print figures beside those of a peer or a physical limit; they are no tests.
bench: .venv
	$(BIN)/pytest tests/benchmarks/bench_*.py --benchmark-enable -s

# Every judged collection beside other engines. HELP_PAGES names a folder with the unpacked packages
# libreoffice-help-zh-cn and -en-us, LUCENE_JAR a jar with Lucene (see peers/evaluation/lucene.py).
quality: .venv
	$(BIN)/tianmesh eval quality

# Weights of the ranking, fitted to the same collections with cross-validation; prints, changes nothing.
fit: .venv
	$(BIN)/tianmesh eval fit

# Rebuilt when the dependencies change.
.venv: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[test,simulations,evaluation,lucene]'
	touch .venv

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
