PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEMO := .venv/.demo
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
# One worker for each core, each with one thread: see tests/conftest.py.
WORKERS ?= logical
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal

.PHONY: demo test test-all check docs wheel release figures notebooks results bench clean

demo: $(DEMO)  ## plain training, one threshold, FairFrontier, RAAN and RL-RAAN on Adult: the table and the figure
	$(BIN)/raan demo

test: $(READY)  ## every test but the exhaustive ones
	$(PYTEST) -m 'not exhaustive'

test-all: $(READY)  ## every test, the exhaustive ones too, with shapes and types checked everywhere
	$(PYTEST) --jaxtyping-packages=raan,checker.checked

check: $(READY)  ## ruff, mypy (strict), the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)  ## the site, strictly: a broken link is an error. The gallery is computed on Adult, found or fetched
	$(if $(wildcard ../shared/data),RAAN_DATA=$${RAAN_DATA:-../shared/data}) $(BIN)/mkdocs build --strict

wheel: $(READY)  ## build the wheel, install it in a clean environment, and use it there
	$(BIN)/python -m pytest -q -s tests/test_wheel.py

release: $(READY)  ## build wheel and source distribution, check them, try the wheel in a clean environment
	rm -rf build dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	RAAN_DIST=dist $(BIN)/python -m pytest -q -s tests/test_wheel.py
	@echo "Ready: git tag v$$($(BIN)/python -m raan --version | cut -d' ' -f2), then $(BIN)/twine upload dist/*"

figures: $(READY)  ## the pictures of the docs
	$(BIN)/python docs/figures.py

notebooks: $(READY)  ## execute the tutorials, and store what they print
	$(BIN)/python -m docs.notebooks

results: $(READY)  ## the numbers of the docs, from the committed results
	$(BIN)/python -m docs.results

bench: $(READY)  ## what is measured, and against whom
	$(BIN)/python -m reproduce

clean:
	rm -rf .venv

# Installed anew only when the project's dependencies change.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) '.[dev]'
	touch $(READY)

# What the demonstration needs, and no more; the developers' packages hold it, too. Python compiles what is imported;
# compiling all packages takes longer than the demonstration.
$(DEMO): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -f $(READY) || $(INSTALL) '.[torch]' --no-compile
	touch $(DEMO)
