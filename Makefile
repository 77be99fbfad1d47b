# make demo    crawl and search the bundled web with three peers
# make test    lint, types and all tests: everything that is promised, with what is in the repository
# make quick   the same without those that start real peers, servers or a browser
# make live    those alone, but for what is timed
# make test-more   what larger data beside the repository adds, and larger meshes; says what it skips
# make soak    a thousand fresh seeds of simulated faults; can be stopped and gone on with
# make wheel   build the wheel for all machines of this kind, of any Python from 3.11 on
# make release the wheel and the sources of a version, tried in environments of their own, with checksums
# make quality rank judged collections, beside other engines; first those left out of the fit
PYTHON ?= python3
BIN := .venv/bin
# Tests start hundreds of processes: each would compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: .venv demo test live quick computing test-more quarantine soak kernels lint bench quality fit wheel release clean

demo: .venv/product
	$(BIN)/tianmesh demo

# Those that compute go before those with real peers, which wait for half of the time: three of these at once on
# two cores, the longest first, and lint beside them. What is timed goes after them, one by one: it needs
# the machine for itself.
LONGEST = $(patsubst %,tests/live/test_%.py,campaign backup lab_launch importing documented_commands addresses \
  lying_member every_page crash descriptors) tests/peers/gateway/test_browser.py $(patsubst %,tests/live/test_%.py,nasty \
  topics regenerated_sites visiting_again aliases relay by_hand unreachable entities live_search inventing_member \
  damaged_table)
LIVE = $(LONGEST) $(filter-out $(LONGEST),$(sort $(shell grep -rl 'mark.live' tests --include='test_*.py')))
test: computing
	$(MAKE) --jobs 2 lint live || { echo 'lint or a live test has failed: see above, or "make lint"' >&2; exit 1; }
	$(BIN)/pytest -m 'timed and not more' --durations 20 $(shell grep -rl 'mark.timed' tests --include='test_*.py')

live: kernels
	$(BIN)/pytest -m 'live and not timed and not more' --numprocesses 3 --dist loadfile --no-loadscope-reorder \
	  --durations 20 $(LIVE)

quick: lint computing

computing: kernels
	$(BIN)/pytest -m 'not live and not more' --numprocesses auto --dist worksteal --durations 20

# Those that want data of others, in a folder ../shared; without it they are skipped, by name.
test-more: .venv/tests kernels
	$(BIN)/pytest -m more

# What fails now and then, of itself: left out above, by name and reason, in tests/quarantine.toml.
quarantine: kernels
	$(BIN)/pytest --quarantined || [ $$? = 5 ] # there is none

# 1,000 seeds of faults that nobody has seen; goes on after Ctrl-C (soak.jsonl has what is done).
soak: .venv/tests
	$(BIN)/tianmesh sim soak

# Built again when their sources in C change.
kernels: .venv/tests .venv/kernels
.venv/kernels: $(shell find peers -name '*.[ch]')
	$(BIN)/python -c 'from peers.build_kernels import build_in_place; build_in_place()'
	touch $@

lint: .venv/tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel: .venv/product
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/tianmesh-*.whl

# What is handed out: each has to crawl and search the demo web from an environment that has nothing else.
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release: .venv/product
	@grep -q '^## \[$(VERSION)\]' CHANGELOG.md || { echo 'CHANGELOG.md says nothing of $(VERSION)'; exit 1; }
	@git diff --quiet HEAD || { echo 'commit first: a release is made of what is committed'; exit 1; }
	rm -rf dist
	$(BIN)/hatchling build --directory dist --target sdist --target wheel
	for made in dist/tianmesh-*; do \
	  $(PYTHON) -m venv --clear dist/tried && dist/tried/bin/pip install --quiet $$made \
	  && [ "$$(dist/tried/bin/tianmesh --version)" = 'tianmesh $(VERSION)' ] \
	  && (cd dist/tried && bin/tianmesh demo --once --json >demo.json) || exit 1; \
	done
	rm -rf dist/tried
	cd dist && sha256sum tianmesh-* | tee SHA256SUMS

# Benchmarks print figures beside those of a peer or a physical limit; they are no tests.
bench: .venv/tests
	$(BIN)/pytest tests/benchmarks/bench_*.py --benchmark-enable -s

# Every judged collection beside other engines. HELP_PAGES names a folder with the unpacked packages
# libreoffice-help-zh-cn, -en-us and -de, LUCENE_JAR a jar with Lucene (see peers/evaluation/lucene.py).
quality: .venv/tests
	$(BIN)/tianmesh eval quality

# Weights of the ranking, fitted to the same collections with cross-validation; prints, changes nothing.
fit: .venv/tests
	$(BIN)/tianmesh eval fit

# The product alone, as a user has it.
.venv: .venv/product

# Made again when the dependencies change. What builds the kernels is installed once: pip would else fetch numpy
# a second time, for an environment of its own.
.venv/product: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet editables 'hatchling>=1.26' 'numpy>=2.0' 'setuptools>=70'
	$(BIN)/pip install --quiet --no-build-isolation --editable .
	touch $@

# With what tests, simulations and comparisons need besides.
.venv/tests: .venv/product
	$(BIN)/pip install --quiet --no-build-isolation --editable '.[test,simulations,evaluation,lucene]'
	touch $@ .venv/kernels

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
