# make install: everything into .venv    make demo: solve a first spec    make test: what CI runs
# make quick: after every change, some 90 s    make test-all: the long tests and many more random examples
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := .ci/constraints.txt
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS)

.PHONY: install demo test quick test-all

install: $(STAMP)

# setuptools builds the editable install from the environment itself: nothing unpinned is downloaded
# (and warns of folders named like the package, which are the package)
$(STAMP): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mtpp needs Python 3.11 or later: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip setuptools
	PYTHONWARNINGS=ignore $(PIP) --no-build-isolation --group dev --editable '.[gurobi,plots,scip]'
	$(PIP) --no-deps anrg-saga  # a second HEFT to compare with; its other dependencies want compilers
	touch $@

demo: install
	$(BIN)/mtpp solve examples/quickstart.mtpp

# a process a core; the tests of a file stay together, as they use the same compiled code
test quick test-all: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tests.tools.typecheck & types=$$!; \
	$(BIN)/pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder --amount=$(AMOUNT_$@) && wait $$types

AMOUNT_test := usual
AMOUNT_quick := quick
AMOUNT_test-all := all
