# make demo: what users need into .venv, and solve a first spec    make install: everything    make test: what CI runs
# make frameworks: torch, transformers and onnxruntime, for the tests of imports and runs
# make site: the documentation, in build/site    make wheel: the package as a wheel, in dist/
# make quick: after every change, some 60 s    make test-all: the long tests and many more random examples
# make test-newest: the tests with the newest version of every package, as pip gives it to users, in .newest
# make test-oldest: the tests with the oldest versions that pyproject.toml allows, in .oldest
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := .ci/constraints.txt
BASE := $(VENV)/.base
STAMP := $(VENV)/.installed
TORCH := $(VENV)/.torch
FRAMEWORKS := $(VENV)/.frameworks
EDITORS := $(VENV)/node/.installed
NODE := --no-save --no-audit --no-fund --ignore-scripts --loglevel=error @vscode/vsce@3.9.2 vscode-oniguruma@2.0.1 vscode-textmate@9.3.2
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint $(CONSTRAINTS)

# what does not wait for something else is done side by side
MAKEFLAGS += $(if $(filter 0,$(MAKELEVEL)),--jobs=4)
# each module is compiled when it is first imported, and kept: to compile all that pip installs takes as long as the rest
export PYTHONDONTWRITEBYTECODE :=
# IPython warns of an environment that is active and not the one it runs in
unexport VIRTUAL_ENV
# of tests that take long, a commit tries some, and a few commits try all (tests/turns.py); make test TURN= tries all
TURN ?= $(shell git rev-parse HEAD 2>/dev/null || echo 0)
TURNS = $(if $(filter usual,$*),$(TURN:%=--turn=%))

.PHONY: install frameworks demo wheel site test quick test-all test-newest test-oldest lint types

install: $(STAMP)

# setuptools builds the editable install from the environment itself: nothing unpinned is downloaded
# (and warns of folders named like the package, which are the package)
$(BASE): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mtpp needs Python 3.11 or later: make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip setuptools
	PYTHONWARNINGS=ignore $(PIP) --no-build-isolation --editable .
	touch $@

$(STAMP): $(BASE)
	PYTHONWARNINGS=ignore $(PIP) --no-build-isolation --group dev --editable '.[cluster,docs,gurobi,lsp,notebook,parquet,plots,scip]'
	$(PIP) --no-deps anrg-saga  # a second HEFT to compare with; its other dependencies want compilers
	touch $@

frameworks: $(FRAMEWORKS) $(EDITORS)

# torch is taken only from a CPU build that pip has at hand (an index would bring gigabytes of CUDA); without one its tests
# are skipped, and so are those of the packages that would bring it
$(TORCH): $(BASE)
	$(PIP) --no-index --no-deps torch || echo "pip has no CPU build of torch at hand: the tests of torch are skipped"
	touch $@

$(FRAMEWORKS): $(STAMP) $(TORCH)
	$(PIP) onnx onnxruntime filelock fsspec jinja2 networkx numpy setuptools sympy typing-extensions
	! $(BIN)/python -c 'import importlib.util as u; assert u.find_spec("torch")' 2>/dev/null \
	|| { $(PIP) accelerate transformers && $(PIP) --no-deps megatron-core; }
	touch $@

$(EDITORS):
	mkdir -p $(@D)
	if command -v npm >/dev/null; then npm install --prefix $(VENV)/node $(NODE); \
	else echo "there is no npm: the tests of highlighting and packaging by VS Code's own code are skipped"; fi
	touch $@

demo: $(BASE)
	$(BIN)/mtpp solve examples/quickstart.mtpp

# one file for every platform, in dist/
wheel: $(BASE)
	PYTHONWARNINGS=ignore $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	ls dist

# strictly: a warning is an error; without a network
site: install
	$(BIN)/python -m tests.tools.site

test: types pytest-usual
quick: types pytest-quick
test-all: types pytest-all

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/python -m tests.tools.typecheck

# a process a core; the tests of a file stay together, as they use the same compiled code; a few that failed are tried once
# more alone, as some have time limits that a busy machine does not keep, and then with the values in their assertions
pytest-%: frameworks lint
	$(BIN)/pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder --assert=plain --amount=$* $(TURNS) \
	|| $(BIN)/python -m tests.tools.again --amount=$*

# from an empty environment, as an old one would keep its versions
test-newest:
	rm -rf .newest
	$(MAKE) VENV=.newest CONSTRAINTS=/dev/null test

# what users install is as old as pyproject.toml allows; the rest as in .ci/constraints.txt
test-oldest:
	rm -rf .oldest && mkdir .oldest
	$(PYTHON) -m tests.tools.oldest > .oldest/constraints.txt
	$(MAKE) VENV=.oldest CONSTRAINTS=.oldest/constraints.txt pytest-usual  # old stubs of numpy do not tell all types
