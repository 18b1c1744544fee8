PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# One worker for each core, each with one thread: see tests/conftest.py.
WORKERS ?= logical
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal

.PHONY: demo test test-all check figures results bench clean

demo: $(READY)  ## plain training, one threshold, FairFrontier, RAAN and RL-RAAN on Adult: the table and the figure
	$(BIN)/raan demo

test: $(READY)  ## every test but the exhaustive ones
	$(PYTEST) -m 'not exhaustive'

test-all: test  ## every test: those of `make test`, then the exhaustive ones
	$(PYTEST) -m exhaustive

check: $(READY)  ## ruff, mypy (strict), the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

figures: $(READY)  ## the pictures of the docs
	$(BIN)/python docs/figures.py

results: $(READY)  ## the numbers of the docs, from the committed results
	$(BIN)/python -m docs.results

bench: $(READY)  ## what is measured, and against whom
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv

# Installed anew only when the project's dependencies change.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)
